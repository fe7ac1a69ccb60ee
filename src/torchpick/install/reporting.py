"""What an installer would take from where, in its own report: pip's JSON, uv's pylock.toml."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from torchpick.environment import toml
from torchpick.environment.requirementfiles import file_of, is_version, is_word, requirement
from torchpick.environment.requirements import wheel_of
from torchpick.environment.world import text_of
from torchpick.errors import InstallerError, ResolverError
from torchpick.install.command import MOST_BYTES, Command, CompletedInstaller, capture_command, stored_file
from torchpick.install.job import Job
from torchpick.model.address import Address, is_sha256
from torchpick.model.build import Build
from torchpick.model.noun import Noun
from torchpick.model.redaction import redacted
from torchpick.model.versions import grouped, normal, release_key

# Where PEP 751 lets a package come from, and what it has of a version control system beside the URL.
_SOURCES = ("wheels", "archive", "sdist", "vcs", "directory")
_VCS = ("type", "requested-revision", "commit-id", "subdirectory")
# What pip says before it says what is wrong.
_CHATTER = ("Collecting", "Looking in", "Downloading", "Using cached", "Obtaining", "WARNING", "Processing")


class ReportedFile(Noun):
    """A file as a report names it."""

    url: Address
    sha256: str | None = None
    size: int | None = None


class ReportedPackage(Noun):
    """One package that would be installed: its file's URL, and what it says that it requires.

    `source` is what PEP 751 calls the place: `wheels` or `sdist` of an index, else `archive`, `vcs` or `directory`.
    """

    name: str
    version: str
    url: str
    requires: tuple[str, ...] = ()
    source: str = "wheels"
    files: tuple[ReportedFile, ...] = ()
    vcs: Mapping[str, str] = {}

    def to_json(self) -> dict[str, object]:
        return {"name": self.name, "version": self.version, "url": self.url}


def read_report(command: Command, environ: Mapping[str, str]) -> tuple[ReportedPackage, ...]:
    """Run a command that reports; its own message becomes the error if it fails."""
    report = run_and_read_report(command, environ)
    return read_uv_lock(report) if command.installer == "uv" else read_pip_report(report)


def run_and_read_report(command: Command, environ: Mapping[str, str]) -> str:
    """The report of a command: uv's stdout, or what pip, whose stdout has other words too, writes to a file."""
    with TemporaryDirectory(prefix="torchpick-") as folder:
        report = os.path.join(folder, "report.json")
        more = () if command.installer == "uv" else ("--report", report)
        heard = capture_command(command._replace(argv=(*command.argv, *more)), environ)
        if heard.status:
            raise refusal(command.installer, heard)
        if not more:
            return heard.out
        return text_of(report, MOST_BYTES)


def refusal(installer: str, heard: CompletedInstaller) -> ResolverError:
    """The resolver's refusal in its own words; pip explains a conflict on stdout."""
    said = heard.words if installer == "uv" else f"{heard.out}\n{heard.words}"
    lines = [line for line in said.splitlines() if line.strip() and not line.lstrip().startswith(_CHATTER)]
    words = redacted("\n".join(lines[-16:])) or f"it exited with status {heard.status}"
    hint = f"the words are {installer}'s own; `torchpick list` shows the torch builds that run here"
    message = f"{installer} could not resolve the requirements:\n{words}"
    return ResolverError(message, hint=hint, installer=installer, status=heard.status)


def read_pip_report(report: str) -> tuple[ReportedPackage, ...]:
    """The packages of pip's installation report."""
    try:
        return tuple(map(_of_pip_report, json.loads(report)["install"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InstallerError("pip's report is not valid", hint="`--installer uv`") from error


def _of_pip_report(item: Mapping[str, Mapping[str, Any]]) -> ReportedPackage:
    about, info = item["metadata"], item["download_info"]
    url, archive = Address(str(info["url"])), info.get("archive_info") or {}
    files: tuple[ReportedFile, ...] = (ReportedFile(url, _sha256(archive)),)
    source, vcs = "wheels" if url.partition("#")[0].endswith(".whl") else "sdist", {}
    if "vcs_info" in info:
        source, files = "vcs", ()
        vcs = {"type": info["vcs_info"]["vcs"], **info["vcs_info"], "subdirectory": info.get("subdirectory")}
    elif item.get("is_direct"):
        source = "directory" if "dir_info" in info else "archive"
    requires = tuple(map(str, about.get("requires_dist") or ()))
    return ReportedPackage(_name(about["name"]), _version(about["version"]), url, requires, source, files, _vcs(vcs))


def read_uv_lock(lock: str) -> tuple[ReportedPackage, ...]:
    """The packages of a pylock.toml."""
    try:
        return tuple(map(_of_uv_lock, toml.loads(lock).get("packages", ())))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InstallerError("uv's lock is not valid", hint="`--installer pip`") from error


def _of_uv_lock(package: Mapping[str, Any]) -> ReportedPackage:
    """A package with the files that would be taken: the wheels, else the archive or the folder."""
    name, version = _name(package["name"]), _version(package.get("version", ""))
    source = next((each for each in _SOURCES if package.get(each)), "")
    places = package.get(source) or ()
    places = [places] if isinstance(places, Mapping) else places
    files = tuple(
        ReportedFile(
            Address(str(each.get("url") or Path(os.path.abspath(each.get("path", ""))).as_uri())),
            _sha256(each),
            each.get("size"),
        )
        for each in places
    )
    vcs = _vcs(package[source]) if source == "vcs" else {}
    return ReportedPackage(name, version, files[0].url if files else "", source=source, files=files, vcs=vcs)


def _name(text: str) -> str:
    if not is_word(text):
        raise ValueError("it has a name that is not one")
    return normal(text)


def _version(text: object) -> str:
    if text != "" and not is_version(str(text)):
        raise ValueError("it has a version that is not one")
    return str(text)


def _vcs(place: Mapping[str, object]) -> dict[str, str]:
    """What PEP 751 has of a version control system; pip's report writes the same names with underscores."""
    found = {name.replace("_", "-"): value for name, value in place.items()}
    return {name: str(found[name]) for name in _VCS if found.get(name) is not None}


def _sha256(place: Mapping[str, Any]) -> str | None:
    """The digest where it is one."""
    hashes = place.get("hashes")
    value = hashes.get("sha256") if isinstance(hashes, Mapping) else None
    return value.lower() if isinstance(value, str) and is_sha256(value) else None


# `name @ URL` and `name==version`, as uv writes its pins.
_PLACED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])? @ (\S+)")
_PINNED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)")


def resolve_freely(
    resolver: Command,
    job: Job,
    offered: Sequence[Build],
    torch_requirements: Callable[[str], Sequence[str]],
    environ: Mapping[str, str],
) -> Mapping[str, str]:
    """The version of each package; ResolverError, in the resolver's own words, where it refuses."""
    limits = stored_file(job.place, "limits", ".txt", file_of([_release_range(offered)]))
    with folder_of_stubs(stubs_of_builds(offered, torch_requirements)) as folder:
        argv = (*resolver.argv, "--find-links", folder, "-c", limits.path)
        report = run_and_read_report(resolver._replace(argv=argv, files=(*resolver.files, limits)), environ)
    if resolver.installer == "uv":
        return versions_of_pins(report)
    return {item.name: item.version for item in read_pip_report(report)}


def _release_range(offered: Sequence[Build]) -> str:
    """A constraint that keeps the resolver to these builds: the user's index may hold other releases."""
    releases = sorted({build.torch for build in offered}, key=release_key)
    return requirement("torch", f">={releases[0]},<={releases[-1]}" if releases else "==0+nothing.runs.here")


def versions_of_pins(text: str) -> Mapping[str, str]:
    """Uv's `name==version` and `name @ URL` lines."""
    versions: dict[str, str] = {}
    for line in map(str.strip, text.splitlines()):
        if match := _PINNED.match(line):
            versions[normal(match[1])] = match[2]
        elif placed := _PLACED.match(line):
            versions[normal(placed[1])] = wheel_of(placed[2])[1]
    return {name: version for name, version in versions.items() if version}


class Stub(Noun):
    name: str
    version: str
    requires: tuple[str, ...] = ()


def stubs_of_builds(builds: Iterable[Build], torch_requirements: Callable[[str], Sequence[str]]) -> tuple[Stub, ...]:
    """Torch, with what a release of it requires, and its companions, each of which needs its very torch.

    One that belongs to several torches needs one of their releases: which of them it is, the pick decides.
    """
    builds = [*builds]
    needs = grouped((pin, build) for build in builds for pin in build.companion_pins.items())
    found = [Stub(name, version, (_one_of(mine),)) for (name, version), mine in needs.items()]
    torches = (Stub("torch", build.version, tuple(torch_requirements(build.torch))) for build in builds)
    return tuple(sorted({*torches, *found}))


def _one_of(builds: list[Build]) -> str:
    if len(builds) == 1:
        return f"torch=={builds[0].version}"
    releases = sorted({build.torch for build in builds}, key=release_key)
    return f"torch>={releases[0]},<={releases[-1]}"


@contextmanager
def folder_of_stubs(stubs: Iterable[Stub]) -> Iterator[str]:
    """A folder for `--find-links` that holds exactly these."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="torchpick-stubs-") as folder:
        for stub in stubs:
            _write(folder, stub)
        yield folder


def _write(folder: str, stub: Stub) -> None:
    from zipfile import ZipFile

    stem = f"{stub.name}-{stub.version}"
    requires = "".join(f"Requires-Dist: {line}\n" for line in stub.requires)
    with ZipFile(os.path.join(folder, f"{stem}-py3-none-any.whl"), "w") as archive:
        info = f"{stem}.dist-info"
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {stub.name}\nVersion: {stub.version}\n{requires}"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
