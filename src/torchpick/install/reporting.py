"""What an installer would take from where, in its own report: pip's JSON, uv's pylock.toml.

And what its own resolver makes of requirements whose METADATA nobody else can have: it is offered the builds of torch
that run here as stand-ins, with what torch itself requires, and nothing is bound.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from zipfile import ZipFile

from torchpick.environment import toml
from torchpick.environment.requirementfiles import is_version, is_word
from torchpick.environment.world import text_of
from torchpick.errors import InstallerError, ResolverError
from torchpick.install.command import MOST_BYTES, Command, capture_command
from torchpick.model.address import Address, is_sha256, redacted
from torchpick.model.build import Build
from torchpick.model.versions import grouped, normal, release_key

# Where PEP 751 lets a package come from.
_SOURCES = ("wheels", "archive", "sdist", "vcs", "directory")
# What pip says before it says what is wrong.
_CHATTER = ("Collecting", "Looking in", "Downloading", "Using cached", "Obtaining", "WARNING", "Processing")


# A file as a report names it: its address, its sha256 and its size.
ReportedFile = tuple[Address, str | None, int | None]


class ReportedPackage(NamedTuple):
    """A package that would be installed, with the URL of its file.

    `source` is as PEP 751 has it: `wheels` or `sdist` of an index, else `archive`, `vcs` or `directory`.
    """

    name: str
    version: str
    url: str = ""
    source: str = "wheels"
    files: tuple[ReportedFile, ...] = ()
    index_url: str = ""


def read_report(command: Command, environ: Mapping[str, str]) -> tuple[ReportedPackage, ...]:
    """Run a command that reports: on stdout, or pip, which has other words there too, to a file.

    Its own message becomes the error if it fails.
    """
    with TemporaryDirectory(prefix="torchpick-", ignore_cleanup_errors=True) as folder:
        report = os.path.join(folder, "report.json")
        options = () if command.installer == "uv" else ("--report", report)
        completed = capture_command(command._replace(argv=(*command.argv, *options)), environ)
        if completed.returncode:
            raise resolver_error(command.installer, completed)
        return read_pip_report(text_of(report, MOST_BYTES)) if options else read_uv_lock(completed.stdout)


def resolver_error(installer: str, completed: CompletedProcess[str]) -> ResolverError:
    """The resolver's refusal in its own words; pip explains a conflict on stdout."""
    output = completed.stderr if installer == "uv" else f"{completed.stdout}\n{completed.stderr}"
    lines = [line for line in output.splitlines() if line.strip() and not line.lstrip().startswith(_CHATTER)]
    words = redacted("\n".join(lines[-16:])) or f"it exited with status {completed.returncode}"
    hint = f"the words are {installer}'s own; `torchpick list` shows the torch builds that run here"
    message = f"{installer} could not resolve the requirements:\n{words}"
    return ResolverError(message, hint=hint, installer=installer, status=completed.returncode)


def read_pip_report(report: str) -> tuple[ReportedPackage, ...]:
    try:
        return tuple(map(_package_of_pip, json.loads(report)["install"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InstallerError("pip's report is not valid", hint="`--installer uv`") from error


def _package_of_pip(entry: Mapping[str, Mapping[str, Any]]) -> ReportedPackage:
    metadata, info = entry["metadata"], entry["download_info"]
    url, archive = Address(str(info["url"])), info.get("archive_info") or {}
    package = ReportedPackage(_name(metadata["name"]), _version(metadata["version"]), url)
    if "vcs_info" in info:
        return package._replace(source="vcs")
    source = "wheels" if url.partition("#")[0].endswith(".whl") else "sdist"
    if entry.get("is_direct"):
        source = "directory" if "dir_info" in info else "archive"
    return package._replace(source=source, files=((url, _sha256(archive), None),))


def read_uv_lock(lock: str) -> tuple[ReportedPackage, ...]:
    try:
        return tuple(map(_package_of_lock, toml.loads(lock).get("packages", ())))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InstallerError("uv's lock is not valid", hint="`--installer pip`") from error


def _package_of_lock(table: Mapping[str, Any]) -> ReportedPackage:
    """A package with the files that would be taken: the wheels, else the archive or the folder."""
    source = next((source for source in _SOURCES if table.get(source)), "")
    entries = table.get(source) or ()
    entries = [entries] if isinstance(entries, Mapping) else entries
    files = tuple(
        (
            Address(str(entry.get("url") or Path(os.path.abspath(entry.get("path", ""))).as_uri())),
            _sha256(entry),
            entry.get("size"),
        )
        for entry in entries
    )
    url = next((url for url, _, _ in files), "")
    return ReportedPackage(_name(table["name"]), _version(table.get("version", "")), url, source, files)


def _name(text: str) -> str:
    if not is_word(text):
        raise ValueError("it has a name that is not one")
    return normal(text)


def _version(text: object) -> str:
    if text != "" and not is_version(str(text)):
        raise ValueError("it has a version that is not one")
    return str(text)


def _sha256(table: Mapping[str, Any]) -> str | None:
    hashes = table.get("hashes")
    value = hashes.get("sha256") if isinstance(hashes, Mapping) else None
    return value.lower() if isinstance(value, str) and is_sha256(value) else None


# The resolver's own choice.


@contextmanager
def stand_ins(builds: Sequence[Build], torch_requirements: Callable[[str], Sequence[str]]) -> Iterator[tuple[str, str]]:
    """A folder for `--find-links` with a wheel of each build and companion that holds nothing but METADATA.

    With it the releases that they are of: the user's index may hold others. Torch requires what its release requires, a
    companion its very torch; one that belongs to several torches needs one of their releases: which of them it is, the
    pick decides.
    """
    companions = grouped((pin, build) for build in builds for pin in build.companion_pins.items())
    with TemporaryDirectory(prefix="torchpick-stubs-", ignore_cleanup_errors=True) as folder:
        for build in builds:
            _write_wheel(folder, "torch", build.version, torch_requirements(build.torch))
        for (name, version), torches in companions.items():
            needs = f"=={torches[0].version}" if len(torches) == 1 else _release_range(torches)
            _write_wheel(folder, name, version, [f"torch{needs}"])
        yield folder, _release_range(builds) if builds else "==0+nothing.runs.here"


def _release_range(builds: Iterable[Build]) -> str:
    releases = sorted({build.torch for build in builds}, key=release_key)
    return f">={releases[0]},<={releases[-1]}"


def _write_wheel(folder: str, name: str, version: str, requires: Iterable[str]) -> None:
    info = f"{name}-{version}.dist-info"
    lines = "".join(f"Requires-Dist: {line}\n" for line in requires)
    with ZipFile(os.path.join(folder, f"{name}-{version}-py3-none-any.whl"), "w") as archive:
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{lines}")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
