"""A lock as the text of a pylock.toml (PEP 751), checked by the packaging library before anybody sees it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from torchpick.errors import TorchpickError
from torchpick.index.listing import file_of
from torchpick.installers.reporting import ReportedFile
from torchpick.model.machine import Machine
from torchpick.model.noun import Noun
from torchpick.model.pythons import marker_facts
from torchpick.model.versions import numbers


class LockedPackage(Noun):
    """A package at one version: files of an index, or the one place that was asked for."""

    name: str
    version: str
    source: str = "wheels"  # as `Item` has it
    files: tuple[ReportedFile, ...] = ()
    vcs: Mapping[str, str] = {}
    index_url: str = ""


def marker(machine: Machine) -> str:
    """What PEP 508 can say of the environment that a lock is for."""
    known = marker_facts(machine.python.version, platform=machine.platform)
    told = ("sys_platform", "platform_machine", "python_version")
    return " and ".join(f"{name} == '{known[name]}'" for name in told)


def text(machine: Machine, packages: Iterable[LockedPackage], given: Mapping[str, object]) -> str:
    """The file; `given` is what `[tool.torchpick]` says of the pick."""
    import tomlkit
    from packaging.pylock import Pylock, PylockValidationError

    major, minor = numbers(machine.python.version)[:2]
    made: dict[str, object] = {
        "lock-version": "1.0",
        "environments": [marker(machine)],
        "requires-python": f">={major}.{minor},<{major}.{minor + 1}",
        "created-by": "torchpick",
        "packages": list(map(_package, packages)),
        "tool": {"torchpick": dict(given)},
    }
    try:
        checked = Pylock.from_dict(made).to_dict()
    except PylockValidationError as error:
        hint = "the index gives what no lock can hold; leave that requirement out, or name its file"
        raise TorchpickError(f"the lock would not be one: {error}", hint=hint, code="LOCK") from error
    lines = [{name: _line(value) for name, value in package.items()} for package in checked["packages"]]
    return tomlkit.dumps({**checked, "packages": lines})


def _line(value: object) -> object:
    """A table or several in one line, so that a difference of two locks reads well."""
    import tomlkit

    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        table.update(value)
        return table
    if isinstance(value, list):
        array = tomlkit.array()
        array.extend(map(_line, value))
        return array
    return value


def _package(package: LockedPackage) -> dict[str, object]:
    value: dict[str, object] = {"name": package.name}
    if package.version:
        value["version"] = package.version
    if package.index_url:
        value["index"] = package.index_url
    if package.source == "vcs":
        return {**value, "vcs": dict(package.vcs)}
    files = [_file(each, named=package.source != "archive") for each in package.files]
    return {**value, package.source: files if package.source == "wheels" else files[0]}


def _file(file: ReportedFile, *, named: bool) -> dict[str, object]:
    # An empty table is refused by the check above: no file goes without a hash.
    value: dict[str, object] = {"url": file.url, "hashes": {"sha256": file.sha256} if file.sha256 else {}}
    if named:  # pip 26.1 does not take `%2B` in a URL for the plus that the file's name has
        value["name"] = file_of(file.url)
    return value if file.size is None else {**value, "size": file.size}
