"""What an installer would take from where, in its own report: pip's JSON, uv's pylock.toml."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from torchpick.environment import toml
from torchpick.environment.requirementline import is_version, is_word
from torchpick.environment.world import text_of
from torchpick.errors import InstallerError, ResolverError
from torchpick.installers import run
from torchpick.installers.run import Command
from torchpick.model.address import Address, is_sha256
from torchpick.model.noun import Noun
from torchpick.model.redaction import redacted
from torchpick.model.versions import normal

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


class Item(Noun):
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


def of(command: Command, environ: Mapping[str, str]) -> tuple[Item, ...]:
    """Run a command that reports; its own message becomes the error if it fails."""
    report = said(command, environ)
    return locked(report) if command.installer == "uv" else items(report)


def said(command: Command, environ: Mapping[str, str]) -> str:
    """The report of a command: uv's stdout, or what pip, whose stdout has other words too, writes to a file."""
    with TemporaryDirectory(prefix="torchpick-") as folder:
        report = os.path.join(folder, "report.json")
        more = () if command.installer == "uv" else ("--report", report)
        heard = run.capture(command._replace(argv=(*command.argv, *more)), environ)
        if heard.status:
            raise refused(command.installer, heard)
        if not more:
            return heard.out
        return text_of(report, run.MOST_BYTES)


def refused(installer: str, heard: run.CompletedInstaller) -> ResolverError:
    """The resolver's refusal in its own words; pip explains a conflict on stdout."""
    said = heard.words if installer == "uv" else f"{heard.out}\n{heard.words}"
    lines = [line for line in said.splitlines() if line.strip() and not line.lstrip().startswith(_CHATTER)]
    words = redacted("\n".join(lines[-16:])) or f"it exited with status {heard.status}"
    hint = f"the words are {installer}'s own; `torchpick list` shows the torch builds that run here"
    message = f"{installer} could not resolve the requirements:\n{words}"
    return ResolverError(message, hint=hint, installer=installer, status=heard.status)


def items(report: str) -> tuple[Item, ...]:
    """The packages of pip's installation report."""
    try:
        return tuple(map(_of_pip, json.loads(report)["install"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InstallerError("pip's report is not valid", hint="`--installer uv`") from error


def _of_pip(item: Mapping[str, Mapping[str, Any]]) -> Item:
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
    return Item(_name(about["name"]), _version(about["version"]), url, requires, source, files, _vcs(vcs))


def locked(lock: str) -> tuple[Item, ...]:
    """The packages of a pylock.toml."""
    try:
        return tuple(map(_of_lock, toml.loads(lock).get("packages", ())))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InstallerError("uv's lock is not valid", hint="`--installer pip`") from error


def _of_lock(package: Mapping[str, Any]) -> Item:
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
    return Item(name, version, files[0].url if files else "", source=source, files=files, vcs=vcs)


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
