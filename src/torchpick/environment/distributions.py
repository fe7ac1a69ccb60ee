"""What is installed for a Python, read in place: its metadata and its files, and none of its code."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping

from torchpick.environment import layout
from torchpick.environment.world import start_of, text_of
from torchpick.model.noun import Noun
from torchpick.model.versions import normal

# Bounds on what is read: torch's RECORD has 1.5 MB.
_MOST_METADATA = 4 << 20
MOST_REQUIRES = 10_000  # the most that was seen are some 900, of apache-airflow
_MOST_RECORD = 64 << 20
_MOST_LINE = 4096

_BINARY = re.compile(r"\.(?:so(?:\.[0-9]+)*|dll|pyd)$", re.IGNORECASE)


class Distribution(Noun):
    """An installed project: where it lies, what it requires, and what of its metadata could not be read."""

    name: str
    version: str
    folder: str
    info: str
    requires: tuple[str, ...] = ()
    installer: str | None = None
    faults: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.name} {self.version}"


class CondaPackage(Noun):
    name: str
    version: str
    build: str


class Fault(Noun):
    """Something that could not be read, and why."""

    where: str
    what: str


class Environment(Noun):
    """What is installed for one Python; `sites` in the order of its search path, `distributions` likewise.

    `torches` are the folders that hold a torch package.
    """

    executable: str | None
    prefix: str
    version: str
    implementation: str = "cp"
    free_threaded: bool = False
    sites: tuple[str, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    conda: tuple[CondaPackage, ...] = ()
    torches: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    source: str = "given"
    full_version: str | None = None

    @property
    def program(self) -> str:
        """What to call its Python by in a command."""
        return self.executable or "python"

    def find(self, name: str) -> Distribution | None:
        """The one that an import would meet first."""
        return next((each for each in self.distributions if each.name == name), None)

    def named(self, start: str) -> Iterator[Distribution]:
        """Every first one whose name begins so."""
        seen: set[str] = set()
        for each in self.distributions:
            if each.name.startswith(start) and each.name not in seen:
                seen.add(each.name)
                yield each


def read(
    python: str, environ: Mapping[str, str], *, source: str = "given", is_others: bool = False, metadata: bool = True
) -> Environment:
    """The environment of an interpreter or folder. Without `metadata` only names and versions are read.

    In one that is others' nothing is run.
    """
    here = layout.written(python) if is_others else layout.of(python, environ)
    faults: list[Fault] = []
    found = [one for folder in here.sites for one in in_folder(folder, faults, metadata=metadata)]
    return Environment(
        executable=here.executable,
        prefix=here.prefix,
        version=here.version,
        implementation=here.implementation,
        free_threaded=here.free_threaded,
        sites=here.sites,
        distributions=tuple(found),
        conda=_conda(here.prefix),
        torches=tuple(site for site in here.sites if os.path.isfile(os.path.join(site, "torch", "version.py"))),
        faults=tuple(faults),
        source=source,
        full_version=here.full_version,
    )


def in_folder(folder: str, faults: list[Fault] | None = None, *, metadata: bool = False) -> list[Distribution]:
    """The projects in one folder, by the names of their metadata; what could not be read joins the faults."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith((".dist-info", ".egg-info")))
    except OSError as error:
        if faults is not None:
            faults.append(Fault(folder, f"cannot be read: {error.strerror}"))
        return []
    return [each for name in names if (each := _distribution(folder, name, metadata=metadata)) is not None]


def installed(name: str, folders: Iterable[str]) -> Distribution | None:
    """One project with its metadata; the first folder wins."""
    for folder in folders:
        one = next((one for one in in_folder(folder) if one.name == name), None)
        if one is not None:
            return _distribution(folder, one.info, metadata=True)
    return None


def _distribution(folder: str, info: str, *, metadata: bool) -> Distribution | None:
    """One project; what its metadata lacks is taken from the folder's name."""
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
    installer = text_of(os.path.join(inside, "INSTALLER")) if normal(name) == "torch" else ""
    return Distribution(
        name=normal(_first(said, "name") or name),
        version=_first(said, "version") or version,
        folder=folder,
        info=info,
        requires=tuple(said.get("requires-dist", ())[:MOST_REQUIRES]),
        installer=installer.strip()[:40] or None,
        faults=tuple(faults),
    )


def _first(said: Mapping[str, list[str]], key: str) -> str:
    return said[key][0][:200] if said.get(key) else ""


def _head(file: str) -> tuple[str, str]:
    """The header of a metadata file, and what is wrong with it."""
    data = start_of(file, _MOST_METADATA)
    if data is None:
        return "", "cannot be read" if os.path.exists(file) else "is missing"
    if not data.strip():
        return "", "is empty"
    return re.split(rb"\r?\n\r?\n", data, maxsplit=1)[0].decode("utf-8", "replace"), ""


def _conda(prefix: str) -> tuple[CondaPackage, ...]:
    """What conda installed there, by the names of its records: NAME-VERSION-BUILD.json."""
    try:
        names = sorted(os.listdir(os.path.join(prefix, "conda-meta")))
    except OSError:
        return ()
    parts = (name.removesuffix(".json").rsplit("-", 2) for name in names if name.endswith(".json"))
    return tuple(CondaPackage(*each) for each in parts if len(each) == 3)


def files(one: Distribution) -> tuple[str, ...]:
    """The files of a project, by its RECORD; without one (conda, Debian) those of its own folders."""
    record = start_of(os.path.join(one.folder, one.info, "RECORD"), _MOST_RECORD + 1) or b""
    if not record.strip() or len(record) > _MOST_RECORD:  # a monstrous one is nobody's list of files
        return tuple(_walked(one))
    # A NUL or an endless line is somebody's joke, not a file of ours. Behind a name, which may hold commas, stand the
    # hash and the size.
    lines = (line for line in record.decode("utf-8", "replace").splitlines() if len(line) < _MOST_LINE)
    return tuple(line.rsplit(",", 2)[0].strip('"') for line in lines if line and "\0" not in line)


def libraries(one: Distribution) -> tuple[str, ...]:
    """The shared libraries among them; of those outside its folder (bin/, share/) the ones that are there."""
    names = dict.fromkeys(name for name in files(one) if name[:1] != "/" and _BINARY.search(name))
    return tuple(name for name in names if name[:2] != ".." or os.path.exists(os.path.join(one.folder, name)))


def _walked(one: Distribution) -> Iterator[str]:
    tops = text_of(os.path.join(one.folder, one.info, "top_level.txt")).split() or [one.info.partition("-")[0]]
    for top in tops:
        if top.isidentifier():
            for root, below, names in os.walk(os.path.join(one.folder, top)):
                below.sort()
                yield from (os.path.relpath(os.path.join(root, name), one.folder) for name in sorted(names))


def overwritten(one: Distribution, other: Distribution) -> str | None:
    """A library that two projects both installed, the later over the earlier; None where they share none."""
    if one.folder != other.folder:
        return None
    mine = set(libraries(one))
    return next((name for name in libraries(other) if name in mine), None)
