"""What is installed for a Python, read in place: its metadata and its files, and none of its code."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from torchpick.doctor import interpreter
from torchpick.doctor.facts import CondaPackage, Distribution, Environment, Fault, normal

# Bounds on what is read: conda's base environment has some 600 projects, torch's RECORD 1.5 MB.
MOST_PROJECTS = 20_000
_MOST_METADATA = 4 << 20
_MOST_RECORD = 64 << 20
_MOST_FILES = 200_000

_BINARY = re.compile(r"\.(?:so(?:\.[0-9]+)*|dll|pyd)$", re.IGNORECASE)
# A line of RECORD that names a library; a name with a comma is quoted, which no library of a wheel is.
_RECORDED = re.compile(rb"^([^,\"\r\n\0]{1,1024}\.(?:so|dll|pyd)[.0-9]{0,32}),", re.MULTILINE | re.IGNORECASE)
# Files that two projects may share without harm.
_SHARED = re.compile(r"(^|/)(__init__\.py|LICENSE[^/]*|py\.typed)$|\.dist-info/|__pycache__/")


def read(python: str, environ: Mapping[str, str], *, source: str = "told", metadata: bool = True) -> Environment:
    """The environment of an interpreter or folder. Without `metadata` only names and versions are read."""
    here = interpreter.layout(python, environ)
    faults: list[Fault] = []
    found: list[Distribution] = []
    for folder in here.sites:
        found += _distributions(folder, faults, metadata=metadata)
        if len(found) > MOST_PROJECTS:
            faults.append(Fault(folder, f"holds more than {MOST_PROJECTS} projects; the rest is not read"))
            break
    return Environment(
        executable=here.executable,
        prefix=here.prefix,
        version=here.version,
        implementation=here.implementation,
        free_threaded=here.free_threaded,
        sites=here.sites,
        distributions=tuple(found[:MOST_PROJECTS]),
        conda=_conda(here.prefix),
        torches=tuple(site for site in here.sites if os.path.isfile(os.path.join(site, "torch", "version.py"))),
        faults=tuple(faults),
        gone=here.gone,
        source=source,
    )


def _distributions(folder: str, faults: list[Fault], *, metadata: bool) -> list[Distribution]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith((".dist-info", ".egg-info")))
    except OSError as error:
        faults.append(Fault(folder, f"cannot be read: {error.strerror}"))
        return []
    return [each for name in names if (each := _distribution(folder, name, metadata=metadata)) is not None]


def _distribution(folder: str, info: str, *, metadata: bool) -> Distribution | None:
    """One project; what its metadata does not tell is taken from the folder's name."""
    name, _, version = info.rpartition(".")[0].partition("-")
    version = version.partition("-py")[0] if info.endswith(".egg-info") else version
    if not name:
        return None
    if not metadata:
        return Distribution(normal(name), version, folder, info)
    inside = os.path.join(folder, info)
    file = os.path.join(inside, "METADATA" if info.endswith(".dist-info") else "PKG-INFO")
    if os.path.isfile(inside):  # an old .egg-info is the metadata itself
        file = inside
    text, problem = _head(file)
    said: dict[str, list[str]] = {}
    for line in text.splitlines():
        key, mark, value = line.partition(":")
        if mark and not line.startswith((" ", "\t")):
            said.setdefault(key.strip().lower(), []).append(value.strip())
    faults = [f"{os.path.basename(file)} {problem}"] if problem else []
    if info.endswith(".dist-info") and not os.path.isfile(os.path.join(inside, "RECORD")):
        faults.append("RECORD is missing")
    installer, _ = _head(os.path.join(inside, "INSTALLER")) if normal(name) == "torch" else ("", "")
    return Distribution(
        name=normal(_first(said, "name") or name),
        version=_first(said, "version") or version,
        folder=folder,
        info=info,
        requires=tuple(said.get("requires-dist", ())),
        installer=installer.strip()[:40] or None,
        faults=tuple(faults),
    )


def _first(said: Mapping[str, list[str]], key: str) -> str:
    return said[key][0][:200] if said.get(key) else ""


def _head(file: str) -> tuple[str, str]:
    """The header of a metadata file, and what is wrong with it."""
    try:
        with open(file, "rb") as stream:
            data = stream.read(_MOST_METADATA)
    except OSError as error:
        return "", "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
    if not data.strip():
        return "", "is empty"
    head = re.split(rb"\r?\n\r?\n", data, maxsplit=1)[0]
    return head.decode("utf-8", "replace"), ""


def _conda(prefix: str) -> tuple[CondaPackage, ...]:
    """What conda installed there, by the names of its records: NAME-VERSION-BUILD.json."""
    try:
        names = sorted(os.listdir(os.path.join(prefix, "conda-meta")))[:MOST_PROJECTS]
    except OSError:
        return ()
    parts = (name.removesuffix(".json").rsplit("-", 2) for name in names if name.endswith(".json"))
    return tuple(CondaPackage(*each) for each in parts if len(each) == 3)


def libraries(one: Distribution) -> tuple[str, ...]:
    """The shared libraries of a project, by its RECORD; without one (conda, Debian) those of its own folders."""
    record = os.path.join(one.folder, one.info, "RECORD")
    try:
        if os.path.getsize(record) > _MOST_RECORD:
            return ()
        with open(record, "rb") as file:
            data = file.read(_MOST_RECORD)
    except OSError:
        data = b""
    if data.strip():
        names = dict.fromkeys(match.decode("utf-8", "replace") for match in _RECORDED.findall(data))
        return tuple(name for name in names if not name.startswith(("/", "..")) or _inside(one.folder, name))
    return tuple(_walked(one))


def _inside(folder: str, name: str) -> bool:
    """Whether a path that climbs out of the folder still names a file of the environment (bin/, share/)."""
    return ".." in name and os.path.exists(os.path.join(folder, name))


def _walked(one: Distribution) -> Iterator[str]:
    text, _ = _head(os.path.join(one.folder, one.info, "top_level.txt"))
    count = 0
    for top in text.split() or [one.name.replace("-", "_")]:
        if not top.isidentifier():
            continue
        for root, below, names in os.walk(os.path.join(one.folder, top)):
            below.sort()
            count += len(names)
            if count > _MOST_FILES:
                return
            for name in sorted(names):
                if _BINARY.search(name):
                    yield os.path.relpath(os.path.join(root, name), one.folder)


def overwritten(one: Distribution, other: Distribution) -> str | None:
    """A file that two projects both installed, the later over the earlier; None where they share none of weight."""
    if one.folder != other.folder:
        return None
    mine = set(libraries(one))
    return next((name for name in libraries(other) if name in mine and not _SHARED.search(name)), None)
