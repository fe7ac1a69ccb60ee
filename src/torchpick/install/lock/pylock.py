"""A Lock as the text of a pylock.toml (PEP 751), checked by the packaging library before anybody sees it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from torchpick.errors import TorchpickError
from torchpick.model.lock import Lock, LockedPackage, LockFile
from torchpick.model.versions import numbers

# PEP 751: `pylock.toml`, or `pylock.<name>.toml` without a dot in the name; both installers know it by that alone.
_NAME = re.compile(r"pylock(?:\.[^.]+)?\.toml")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def is_name(file: str) -> bool:
    """Whether pip and uv take a file of this name for a lock."""
    return _NAME.fullmatch(file) is not None


def text(lock: Lock, told: Mapping[str, object]) -> str:
    """The file; `told` is what `[tool.torchpick]` says of the pick."""
    from packaging.pylock import Pylock, PylockUnsupportedVersionError, PylockValidationError

    made: dict[str, object] = {
        "lock-version": "1.0",
        "environments": [lock.environment.marker],
        "requires-python": _requires(lock.environment.python),
        "created-by": "torchpick",
        "packages": [_package(each) for each in lock.packages],
        "tool": {"torchpick": dict(told)},
    }
    try:
        checked = Pylock.from_dict(made).to_dict()
    except (PylockValidationError, PylockUnsupportedVersionError) as error:
        hint = "the index gives what no lock can hold; leave that requirement out, or name its file"
        raise TorchpickError(f"the lock would not be one: {error}", hint=hint, code="LOCK") from error
    return _document(checked)


def _requires(python: str) -> str:
    major, minor = numbers(python)[:2]
    return f">={major}.{minor},<{major}.{minor + 1}"


def _package(package: LockedPackage) -> dict[str, object]:
    value: dict[str, object] = {"name": package.name}
    if package.version is not None:
        value["version"] = package.version
    if package.index_url is not None:
        value["index"] = package.index_url
    if package.vcs is not None:
        value["vcs"] = dict(package.vcs)
    if package.archive is not None:
        value["archive"] = _file(package.archive, named=False)
    if package.sdist is not None:
        value["sdist"] = _file(package.sdist)
    if package.wheels:
        value["wheels"] = [_file(each) for each in package.wheels]
    return value


def _file(file: LockFile, *, named: bool = True) -> dict[str, object]:
    value: dict[str, object] = {}
    if named:  # pip 26.1 does not take `%2B` in a URL for the plus that the file's name has
        value["name"] = file.name
    value["url"] = file.url
    if file.size is not None:
        value["size"] = file.size
    # An empty table is refused by the check above: no file goes without a hash.
    value["hashes"] = {} if file.sha256 is None else {"sha256": file.sha256}
    return value


def _document(table: Mapping[str, object]) -> str:
    """TOML in the order given; one line for each wheel, so that a difference reads well."""
    lines: list[str] = []
    later: list[str] = []
    for name, value in table.items():
        if name == "packages" and isinstance(value, list):
            for each in value:
                lines_of = [f"{_key(key)} = {_value(inner, key=key)}" for key, inner in each.items()]
                later += ["", "[[packages]]", *lines_of]
        elif name == "tool" and isinstance(value, Mapping):
            for tool, facts in value.items():
                later += ["", f"[tool.{_key(tool)}]", *(f"{_key(key)} = {_value(each)}" for key, each in facts.items())]
        else:
            lines.append(f"{_key(name)} = {_value(value, key=name)}")
    return "\n".join([*lines, *later]) + "\n"


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _value(name)


def _value(value: object, *, key: str = "") -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        if '"' in value and "'" not in value and value.isprintable():
            return f"'{value}'"  # a marker, as a person would write it
        # TOML's basic strings are JSON's, but for the delete character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(name)} = {_value(each)}" for name, each in value.items())
        return f"{{ {inside} }}"
    if isinstance(value, (list, tuple)):
        if key in ("wheels", "environments"):
            return "[\n" + "".join(f"    {_value(each)},\n" for each in value) + "]"
        return f"[{', '.join(_value(each) for each in value)}]"
    return str(value)
