"""What an installer would take from where, in its own report: pip's JSON, uv's pylock.toml."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from torchpick.environment import toml
from torchpick.errors import InstallerError
from torchpick.installers import run
from torchpick.installers.command import Command
from torchpick.model.noun import Noun
from torchpick.model.requirement import normal

_MOST_BYTES = 64 << 20


class Item(Noun):
    """One package that would be installed: its file's URL, and what it says that it requires."""

    name: str
    version: str
    url: str
    requires: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        return {"name": self.name, "version": self.version, "url": self.url}


def of(command: Command, environ: Mapping[str, str]) -> tuple[Item, ...]:
    """Run a command that reports; its own message becomes the error if it fails."""
    if command.installer == "uv":
        heard = run.capture(command, environ)
        _check(command, heard)
        return locked(heard.out)
    with file() as report:
        place = command.argv.index("install") + 1
        argv = (*command.argv[:place], "--report", report, *command.argv[place:])
        _check(command, run.capture(command._replace(argv=argv), environ))
        return items(text(report))


def _check(command: Command, heard: run.Heard) -> None:
    if heard.status:
        lines = [line for line in heard.words.splitlines() if line.strip()]
        hint = "`--index-base URL` specifies a mirror, `torchpick refresh` reads what is on the wheel index now"
        raise InstallerError(
            f"{command.installer} could not resolve the requirements: " + "\n".join(lines[-12:]), hint=hint
        )


@contextmanager
def file() -> Iterator[str]:
    """A file for pip to write to: its stdout carries other words as well."""
    import tempfile

    handle, path = tempfile.mkstemp(prefix="torchpick-", suffix=".json")
    os.close(handle)
    try:
        yield path
    finally:
        os.unlink(path)


def text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as stream:
        return stream.read(_MOST_BYTES)


def items(report: str) -> tuple[Item, ...]:
    """The packages of pip's installation report."""
    try:
        return tuple(
            Item(
                normal(item["metadata"]["name"]),
                str(item["metadata"]["version"]),
                str(item["download_info"]["url"]),
                tuple(map(str, item["metadata"].get("requires_dist") or ())),
            )
            for item in json.loads(report)["install"]
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InstallerError("pip's report is not valid", hint="`--installer uv`") from error


def locked(lock: str) -> tuple[Item, ...]:
    """The packages of a pylock.toml."""
    try:
        return tuple(
            Item(normal(each["name"]), str(each.get("version", "")), _url(each))
            for each in toml.loads(lock).get("packages", ())
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InstallerError("uv's lock is not valid", hint="`--installer pip`") from error


def _url(package: Mapping[str, object]) -> str:
    """The file that would be taken: a wheel, else the archive or the folder."""
    wheels = package.get("wheels")
    first = wheels[0] if isinstance(wheels, list) and wheels else None
    for place in (first, *(package.get(key) for key in ("archive", "sdist", "vcs", "directory"))):
        if isinstance(place, Mapping):
            return str(place.get("url") or place.get("path") or "")
    return ""
