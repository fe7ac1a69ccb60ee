"""What a refresh leaves in the cache: the compact index of one platform, written, and checked when it is read. Pure.

Every fault is a ShapeError with its path. The shipped indexes are written by the same function.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from torchpick.knowledge import indexes
from torchpick.model.arch import Arch
from torchpick.model.build import Build
from torchpick.model.fields import MOST_LINE, Fields, ShapeError, kind
from torchpick.model.noun import Noun
from torchpick.model.table import Shelf, is_day
from torchpick.model.versions import is_dotted, release_key

T = TypeVar("T")
_TEXT = (str, type(None))
# The columns of an index, in order, and what each may hold.
COLUMNS: dict[str, tuple[type, ...]] = {
    "torch": (str,),
    "backend": (str,),
    "version": (str,),
    "cuda": _TEXT,
    "arch_set": (int,),
    "python_set": (int,),
    "tags": (list,),
    "glibc": _TEXT,
    "libraries": (dict,),
    "lacks": (dict,),
    "published": (bool, type(None)),
    "yanked": (bool,),
    "companions": (dict,),
    "basis_set": (int,),
    "kind": (str,),
    "ref": (int,),
    "twin": (list, type(None)),
}


def index(platform: str, builds: Iterable[Build]) -> dict[str, object]:
    """The index with the newest release first; values that many rows share stand in it once."""
    arch_sets: dict[tuple[str, ...] | None, int] = {}
    python_sets: dict[tuple[str, ...], int] = {}
    refs: dict[str, int] = {}
    bases: dict[tuple[tuple[str, str], ...], int] = {}
    listed: list[list[object]] = []
    for build in sorted(builds, key=lambda build: release_key(build.torch), reverse=True):
        arches = None if build.arches is None else tuple(map(str, build.arches))
        evidence = build.evidence
        listed.append(
            [
                build.torch,
                build.backend,
                build.version,
                build.cuda,
                _place(arch_sets, arches),
                _place(python_sets, tuple(build.pythons)),
                list(build.tags),
                build.glibc,
                dict(build.libraries),
                {library: list(map(str, lacking)) for library, lacking in build.lacks.items()},
                build.published,
                build.yanked,
                dict(build.companions),
                _place(bases, tuple(sorted(build.companion_basis.items()))),
                evidence.kind,
                _place(refs, evidence.ref),
                None if evidence.twin is None else list(evidence.twin),
            ]
        )
    return {
        "schema": 1,
        "platform": platform,
        "arch_sets": [None if arches is None else list(arches) for arches in arch_sets],
        "python_sets": [list(tags) for tags in python_sets],
        "refs": list(refs),
        "bases": [dict(basis) for basis in bases],
        "builds": listed,
    }


def _place(known: dict[T, int], value: T) -> int:
    return known.setdefault(value, len(known))


class RefreshedBuilds(Noun):
    """The builds of an index, the day on which it was written, and the names of all that its server lists."""

    shelf: Shelf
    date: str | None
    listed: frozenset[str] | None


def name_of(version: str, backend: str) -> str:
    """What a build is listed as."""
    return f"{version} {backend}"


def read(value: object) -> RefreshedBuilds:
    """Every build of an index."""
    check(value)
    index: Mapping[str, Any] = value  # type: ignore[assignment]  # it is one
    date = Fields(index).maybe_text("date")
    shelf = Shelf.of(build for builds in indexes.index_shelf(index).values() for build in builds())
    listed = frozenset(Fields(index).texts("listed")) if "listed" in index else None
    return RefreshedBuilds(shelf, date if date is not None and is_day(date) else None, listed)


def check(value: object) -> None:
    """Whether the value is an index with nothing in it that a judgement would stumble over."""
    fields = Fields(value)
    fields.text("platform")
    sizes = {"ref": len(fields.texts("refs"))}
    for name, read_one in (("arch_set", _arches), ("python_set", _texts), ("basis_set", _mapping)):
        shared = "bases" if name == "basis_set" else f"{name}s"
        for place, each in enumerate(fields.items(shared)):
            if each is not None or name != "arch_set":
                read_one(each, f"{shared}[{place}]")
        sizes[name] = len(fields.items(shared))
    for place, row in enumerate(fields.items("builds")):
        _check_row(row, f"builds[{place}]", sizes)


def _check_row(row: object, path: str, sizes: Mapping[str, int]) -> None:
    if not isinstance(row, list) or len(row) != len(COLUMNS):
        raise ShapeError(path, f"must be a list of {len(COLUMNS)} columns")
    column = dict(zip(COLUMNS, row, strict=True))
    for name, allowed in COLUMNS.items():
        if type(column[name]) not in allowed:
            raise ShapeError(f"{path}.{name}", f"must not be {kind(column[name])}")
        if name in sizes and not 0 <= column[name] < sizes[name]:
            raise ShapeError(f"{path}.{name}", f"must be below {sizes[name]}, is {column[name]}")
    _check_values(column, path)


def _check_values(column: Mapping[str, Any], path: str) -> None:
    """The values whose columns hold what they may."""
    _release(column["torch"], f"{path}.torch")
    if column["version"].partition("+")[0] != column["torch"]:
        raise ShapeError(f"{path}.version", f"must be a version of {column['torch']}, is {column['version'][:40]!r}")
    _texts(column["tags"], f"{path}.tags")
    libraries = _mapping(column["libraries"], f"{path}.libraries")
    # These are compared; triton's may be a range.
    for name, text in (*column.items(), *libraries.items()):
        if name in ("cuda", "glibc", "cudnn", "nccl") and text is not None and not is_dotted(text):
            raise ShapeError(f"{path}.{name}", f"must be numbers between dots, is {text!r}")
    for library, missing in column["lacks"].items():
        _arches(missing, f"{path}.lacks.{library}")
    companions = {name: version for name, version in column["companions"].items() if version is not None}
    for name, version in _mapping(companions, f"{path}.companions").items():
        _release(version, f"{path}.companions.{name}")
    if column["twin"] is not None and len(_texts(column["twin"], f"{path}.twin")) != 2:
        raise ShapeError(f"{path}.twin", "must be a file name and its sha256")


def _texts(value: object, path: str) -> tuple[str, ...]:
    folder, _, name = path.rpartition(".")
    strings = Fields({name: value}, folder).texts(name)
    if any(len(text) > MOST_LINE for text in strings):
        raise ShapeError(path, f"must not have more than {MOST_LINE} characters")
    return strings


def _mapping(value: object, path: str) -> dict[str, str]:
    row = Fields(value, path)
    return {name: row.text(name) for name in row.names()}


def _arches(value: object, path: str) -> None:
    for place, text in enumerate(_texts(value, path)):
        try:
            Arch.parse(text)
        except ValueError as error:
            raise ShapeError(f"{path}[{place}]", str(error)) from error


def _release(text: str, path: str) -> None:
    try:
        release_key(text)
    except ValueError as error:
        raise ShapeError(path, f"must be a version, is {text!r}") from error
