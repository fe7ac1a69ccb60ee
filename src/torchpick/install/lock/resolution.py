"""One environment's resolution by uv or pip: the command for it, and the packages that come out."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

from torchpick.environment import toml
from torchpick.errors import InstallerError, UsageError
from torchpick.installers import needs, reporting, run
from torchpick.installers.command import Command
from torchpick.installers.store import StoredFile as Written
from torchpick.model.build import Build
from torchpick.model.lock import LockedPackage, LockEnvironment, LockFile
from torchpick.model.noun import Noun
from torchpick.model.redaction import redacted
from torchpick.model.requirement import normal
from torchpick.model.versions import numbers

# uv 0.13.8 knows these versions of glibc by name; the tags of torch's own wheels ask for 2.17 or 2.28.
_GLIBCS = ((2, 17), (2, 28), *((2, minor) for minor in range(31, 41)))
_UV_PLATFORMS = {
    "windows-x86_64": "x86_64-pc-windows-msvc",
    "windows-arm64": "aarch64-pc-windows-msvc",
    "macos-arm64": "aarch64-apple-darwin",
    "macos-x86_64": "x86_64-apple-darwin",
}
# The names of PEP 751 for a version control system are pip's and uv's own.
_VCS_KEYS = ("type", "url", "requested-revision", "commit-id", "subdirectory")

# What pip says before it says what is wrong.
_CHATTER = ("Collecting", "Looking in", "Downloading", "Using cached", "Obtaining", "WARNING", "Processing")
# `name @ URL`, as uv writes what is taken from a place.
_PLACED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])? @ (\S+)", re.MULTILINE)


class Aim(Noun):
    """What to resolve for. `python` is an interpreter of this computer; None for an environment elsewhere."""

    environment: LockEnvironment
    python: str | None = None
    glibc: str | None = None


def aimed(resolver: Command, aim: Aim, build: Build) -> Command:
    """The resolver of an installation, turned to another environment; only uv can."""
    if aim.python is not None or resolver.installer != "uv":
        return resolver
    place = resolver.argv.index("--python")
    words = ("--python-version", aim.environment.python, "--python-platform", uv_platform(aim))
    argv = (*resolver.argv[:place], *words, *resolver.argv[place + 2 :])
    # uv takes an Apple machine for one of macOS 13 where nothing is said.
    macos = macos_of(build)
    more = {"MACOSX_DEPLOYMENT_TARGET": macos} if macos is not None else {}
    return resolver._replace(argv=argv, set={**resolver.set, **more})


def macos_of(build: Build) -> str | None:
    """The oldest macOS that the build runs on, by its tag: `macosx_14_0_arm64` → `14.0`."""
    found = [re.match(r"macosx_(\d+)_(\d+)_", tag) for tag in build.tags]
    return next((f"{match[1]}.{match[2]}" for match in found if match), None)


def uv_platform(aim: Aim) -> str:
    """The platform as uv calls it, with the newest glibc it knows that is not newer than the machine's."""
    name = aim.environment.platform
    if name in _UV_PLATFORMS:
        return _UV_PLATFORMS[name]
    has = numbers(aim.glibc)[:2] if aim.glibc is not None else (2, 28)
    fitting = [each for each in _GLIBCS if each <= has] or [_GLIBCS[0]]
    return f"{name.partition('-')[2]}-manylinux_{fitting[-1][0]}_{fitting[-1][1]}"


class Resolved(Noun):
    """What a resolution came to: a version for each package, or the place it is taken from."""

    versions: Mapping[str, str]
    places: Mapping[str, str]


def versions(resolver: Command, limits: tuple[Written, ...], environ: Mapping[str, str]) -> Resolved:
    """The version of every package, by uv; no file is downloaded for its hash."""
    heard = run.capture(_limited(resolver, limits), environ)
    _check(resolver, heard)
    places = {normal(name): url for name, url in _PLACED.findall(heard.out)}
    return Resolved(dict(needs.of_pins(heard.out).versions), places)


def packages(resolver: Command, limits: tuple[Written, ...], environ: Mapping[str, str]) -> tuple[LockedPackage, ...]:
    """The packages and the files that the installer would take."""
    command = _limited(resolver, limits)
    if command.installer == "uv":
        heard = run.capture(command._replace(argv=(*command.argv, "--format", "pylock.toml")), environ)
        _check(command, heard)
        return of_pylock(heard.out, os.getcwd())
    with reporting.file() as report:
        _check(command, run.capture(command._replace(argv=(*command.argv, "--report", report)), environ))
        return of_report(reporting.text(report))


def _limited(resolver: Command, limits: tuple[Written, ...]) -> Command:
    """The first file is the page of links, the others are constraints."""
    page, *rest = limits
    words = ["--find-links", page.path, *(word for each in rest for word in ("-c", each.path))]
    return resolver._replace(argv=(*resolver.argv, *words), files=(*resolver.files, *limits))


def _check(command: Command, heard: run.Heard) -> None:
    if not heard.status:
        return
    said = heard.words if command.installer == "uv" else f"{heard.out}\n{heard.words}"
    lines = [line for line in said.splitlines() if line.strip() and not line.lstrip().startswith(_CHATTER)]
    message = redacted(f"{command.installer} could not resolve the requirements: " + "\n".join(lines[-12:]))
    if re.search(r"\btorch\w*==", message):
        hint = "`torchpick list` shows the builds that run; ask for what goes with one of them"
    else:
        hint = f"check the names and {command.installer}'s index settings; the words above are its own"
    raise InstallerError(message, hint=hint)


def of_pylock(text: str, folder: str) -> tuple[LockedPackage, ...]:
    """The packages of uv's lock; its relative paths are of `folder`."""
    from packaging.pylock import Pylock, PylockUnsupportedVersionError, PylockValidationError

    wrong = InstallerError("uv's lock is not what it should be", hint="`--installer pip`, or another uv")
    try:
        made = toml.loads(text)
        for package in made.get("packages", ()):
            for file in (*package.get("wheels", ()), package.get("sdist"), package.get("archive")):
                if file is not None:
                    # What has no hash yet gets it later; the check is of all else.
                    file["hashes"] = file.get("hashes") or {"none": ""}
        Pylock.from_dict(made)
    except (PylockValidationError, PylockUnsupportedVersionError) as error:
        raise InstallerError(f"{wrong.message}: {error}", hint=wrong.hint) from error
    except (ValueError, AttributeError, TypeError) as error:
        raise wrong from error
    return tuple(_of_uv(each, folder) for each in made["packages"])


def _of_uv(package: Mapping[str, object], folder: str) -> LockedPackage:
    name = str(package["name"])
    if "directory" in package:
        raise folder_refused(name)
    vcs = package.get("vcs")
    version, index = package.get("version"), package.get("index")
    wheels = package.get("wheels")
    return LockedPackage(
        name=name,
        version=None if version is None else str(version),
        wheels=tuple(_file(each, folder) for each in wheels) if isinstance(wheels, list) else (),
        sdist=_maybe_file(package.get("sdist"), folder),
        archive=_maybe_file(package.get("archive"), folder),
        vcs={key: str(vcs[key]) for key in _VCS_KEYS if key in vcs} if isinstance(vcs, Mapping) else None,
        index_url=None if index is None else str(index),
    )


def _maybe_file(value: object, folder: str) -> LockFile | None:
    return _file(value, folder) if isinstance(value, Mapping) else None


def _file(value: Mapping[str, object], folder: str) -> LockFile:
    url, hashes, size = value.get("url"), value.get("hashes"), value.get("size")
    if url is None:
        url = Path(os.path.join(folder, str(value["path"]))).resolve().as_uri()
    digest = hashes.get("sha256") if isinstance(hashes, Mapping) else None
    return LockFile(str(url), _sha256(digest), size if isinstance(size, int) else None)


def _sha256(value: object) -> str | None:
    """The digest where it is one."""
    return value.lower() if isinstance(value, str) and re.fullmatch(r"[0-9a-fA-F]{64}", value) else None


def of_report(text: str) -> tuple[LockedPackage, ...]:
    """The packages of pip's report."""
    try:
        return tuple(_of_pip(item) for item in json.loads(text)["install"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InstallerError("pip's report is not what it should be", hint="`--installer uv`") from error


def _of_pip(item: Mapping[str, Mapping[str, object]]) -> LockedPackage:
    about, info = item["metadata"], item["download_info"]
    name, url = normal(str(about["name"])), str(info["url"])
    found = LockedPackage(name, str(about["version"]))
    if "dir_info" in info:
        raise folder_refused(name)
    vcs = info.get("vcs_info")
    if isinstance(vcs, Mapping):
        known = {"type": vcs["vcs"], "url": url, "requested-revision": vcs.get("requested_revision")}
        known |= {"commit-id": vcs["commit_id"], "subdirectory": info.get("subdirectory")}
        return found._replace(vcs={key: str(value) for key, value in known.items() if value is not None})
    archive = info["archive_info"]
    hashes = archive.get("hashes") if isinstance(archive, Mapping) else None
    file = LockFile(url, _sha256(hashes.get("sha256")) if isinstance(hashes, Mapping) else None)
    if item.get("is_direct"):
        return found._replace(archive=file)
    return found._replace(wheels=(file,)) if file.name.endswith(".whl") else found._replace(sdist=file)


def folder_refused(name: str) -> UsageError:
    hint = "build a wheel of it and name that, or lock what it needs: `-r pyproject.toml`"
    return UsageError(f"{name} is a folder, which has no hash that a lock could hold", hint=hint)
