"""A row of a compact index → a build, and the values that every file of compat spells alike. Pure.

Every fault is a ShapeError with its path.
"""

from __future__ import annotations

from torchpick.model.arch import Arch
from torchpick.model.build import Build, Evidence, TwinWheel
from torchpick.model.fields import Fields, ShapeError, kind
from torchpick.model.versions import is_dotted, release_key, remembered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, TypeVar

    from torchpick.model.table import Read

    T = TypeVar("T")

_arch = remembered(Arch.parse)  # a file names some thirty, again and again
_MAYBE_TEXT = (str, type(None))

# The columns of a compact index, in order, and what each may hold.
INDEX_COLUMNS: dict[str, type | tuple[type, ...]] = {
    "torch": str,
    "backend": str,
    "version": str,
    "cuda": _MAYBE_TEXT,
    "arch_set": int,
    "python_set": int,
    "tags": list,
    "glibc": _MAYBE_TEXT,
    "libraries": dict,
    "lacks": dict,
    "published": (bool, type(None)),
    "yanked": bool,
    "companions": dict,
    "basis_set": int,
    "kind": str,
    "ref": int,
    "twin": (list, type(None)),
}
_CHECKS = tuple(INDEX_COLUMNS.values())


def index_shelf(fields: Fields) -> dict[str, Read]:
    """The builds of one compact index by release; a row is checked when its release is read."""
    reader = _IndexReader(fields)
    places: dict[str, list[tuple[int, object]]] = {}
    for place, row in enumerate(fields.items("builds")):
        torch = row[0] if isinstance(row, list) and row else None
        if not isinstance(torch, str):
            raise ShapeError(f"builds[{place}]", "must be a list that starts with a release")
        if torch not in places:
            released(torch, f"builds[{place}].torch")
        places.setdefault(torch, []).append((place, row))
    return {torch: reader.read_later(rows) for torch, rows in places.items()}


class _IndexReader:
    """The shared lists of an index, and what was already checked: its rows repeat one another a lot."""

    def __init__(self, fields: Fields) -> None:
        self.platform = fields.text("platform")
        self.arch_sets = [
            None if value is None else read_arches(_text_list(value, f"arch_sets[{place}]"), f"arch_sets[{place}]")
            for place, value in enumerate(fields.items("arch_sets"))
        ]
        self.python_sets = [
            _text_list(value, f"python_sets[{place}]") for place, value in enumerate(fields.items("python_sets"))
        ]
        self.refs = fields.texts("refs")
        self.bases: list[Mapping[str, str]] = [
            {name: row.text(name) for name in row.names()} for row in fields.objects("bases")
        ]
        self._shapes: set[tuple[type, ...]] = set()
        self._numbers: set[str | None] = {None}
        self._releases: set[str] = set()
        self._libraries: dict[tuple[object, ...], dict[str, str]] = {}
        self._companions: dict[tuple[object, ...], dict[str, str | None]] = {}
        self._evidence: dict[tuple[str, int], Evidence] = {}

    def read_later(self, rows: list[tuple[int, object]]) -> Read:
        return lambda: self.builds(rows)

    def builds(self, rows: list[tuple[int, object]]) -> tuple[Build, ...]:
        found = []
        for place, row in rows:
            try:
                found.append(self._build(row))
            except ShapeError as error:
                path = f"builds[{place}].{error.path}" if error.path else f"builds[{place}]"
                raise ShapeError(path, error.message) from error
        return tuple(found)

    def _build(self, row: object) -> Build:
        torch, backend, version, cuda, arches, pythons, tags, glibc, libraries, lacks, *rest = self._columns(row)
        published, yanked, companions, basis, kind_, ref, twin = rest
        if torch not in self._releases:
            released(torch, "torch")
            self._releases.add(torch)
        for name, text in (("cuda", cuda), ("glibc", glibc)):
            if text not in self._numbers:
                dotted(text, name)
                self._numbers.add(text)
        if version.partition("+")[0] != torch:
            raise ShapeError("version", f"must be a version of {torch}, is {version[:40]!r}")
        held = _once(self._libraries, libraries, read_libraries, "libraries")
        paired = _once(self._companions, companions, _companions, "companions")
        rests_on = self._evidence.get((kind_, ref))
        if rests_on is None:
            rests_on = self._evidence[kind_, ref] = Evidence(kind_, _at(self.refs, ref, "ref"))
        return Build(
            torch,
            backend,
            self.platform,
            version,
            cuda,
            _at(self.arch_sets, arches, "arch_set"),
            _at(self.python_sets, pythons, "python_set"),
            tuple(tags),
            glibc,
            held,
            read_lacks(lacks, "lacks") if lacks else {},
            published,
            yanked,
            paired,
            _at(self.bases, basis, "basis_set"),
            rests_on if twin is None else rests_on._replace(twin=_twin(twin, "twin")),
        )

    def _columns(self, row: object) -> list[Any]:
        """The row, if its columns hold what they may."""
        if not isinstance(row, list) or len(row) != len(_CHECKS):
            raise ShapeError("", f"must be a list of {len(_CHECKS)} columns")
        shape = tuple(map(type, row))
        if shape not in self._shapes:
            for (name, allowed), value in zip(INDEX_COLUMNS.items(), row, strict=True):
                if not isinstance(value, allowed):
                    raise ShapeError(name, f"must not be {kind(value)}")
            self._shapes.add(shape)
        return row


def _once(
    known: dict[tuple[object, ...], T], value: dict[str, object], read: Callable[[object, str], T], path: str
) -> T:
    """What `read` makes of the object, asked once for each that holds the same."""
    key = tuple(value.items())
    try:
        return known[key]
    except (KeyError, TypeError):  # TypeError: a value that cannot be part of a key, which `read` tells by its path
        found = read(value, path)
    known[key] = found
    return found


def _text_list(value: object, path: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ShapeError(path, f"must be a list, is {kind(value)}")
    for place, each in enumerate(value):
        if not isinstance(each, str):
            raise ShapeError(f"{path}[{place}]", f"must be a string, not {kind(each)}")
    return tuple(value)


def read_arches(texts: tuple[str, ...], path: str) -> tuple[Arch, ...]:
    found = []
    for place, text in enumerate(texts):
        try:
            found.append(_arch(text))
        except ValueError as error:
            raise ShapeError(f"{path}[{place}]", str(error)) from error
    return tuple(found)


def read_lacks(value: object, path: str) -> dict[str, tuple[Arch, ...]]:
    row = Fields(value, path)
    return {library: read_arches(row.texts(library), row.at(library)) for library in row.names()}


def read_libraries(value: object, path: str) -> dict[str, str]:
    row = Fields(value, path)
    found = {name: row.text(name) for name in row.names()}
    for name in ("cudnn", "nccl"):  # these two are compared; triton's may be a range
        dotted(found.get(name), row.at(name))
    return found


def _companions(value: object, path: str) -> dict[str, str | None]:
    row = Fields(value, path)
    return paired_with(row, row.names())


def paired_with(row: Fields, names: Iterable[str]) -> dict[str, str | None]:
    """The companions of these names, None where there is none."""
    found = {name: row.maybe_text(name) for name in names}
    for name, version in found.items():
        if version is not None:
            released(version, row.at(name))
    return found


def _twin(value: list[object], path: str) -> TwinWheel:
    file, sha256 = value if len(value) == 2 else (None, None)
    if not isinstance(file, str) or not isinstance(sha256, str):
        raise ShapeError(path, "must be a file name and its sha256")
    return TwinWheel(file, sha256)


def released(text: str, path: str) -> None:
    try:
        release_key(text)
    except ValueError as error:
        raise ShapeError(path, f"must be a version, is {text!r}") from error


def dotted(text: str | None, path: str) -> None:
    if text is not None and not is_dotted(text):
        raise ShapeError(path, f"must be numbers between dots, is {text!r}")


def _at(values: list[T] | tuple[T, ...], place: int, path: str) -> T:
    if not 0 <= place < len(values):
        raise ShapeError(path, f"must be below {len(values)}, is {place}")
    return values[place]
