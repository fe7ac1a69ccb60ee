"""The rows of the compat files → builds, drivers, floors. Pure; every fault is a ShapeError with its path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from torchpick.model.arch import Arch
from torchpick.model.build import Build, Evidence
from torchpick.model.drivers import DriverTable
from torchpick.model.fields import Fields, ShapeError, kind
from torchpick.model.libraries import Floor, LibraryFloors
from torchpick.model.versions import is_dotted, numbers, release_key

T = TypeVar("T")
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
    "companion_basis": str,
    "kind": str,
    "ref": int,
    "twin": (list, type(None)),
}
_CHECKS = tuple(INDEX_COLUMNS.values())

# (torch, backend) → companions and the basis of that pairing
Companions = Callable[[str, str], tuple[dict[str, str | None], str]]


def index_builds(fields: Fields) -> tuple[Build, ...]:
    """The builds of one compact index."""
    platform = fields.text("platform")
    arch_sets = [
        None if value is None else _arches(Fields({"set": value}, "").texts("set"), f"arch_sets[{place}]")
        for place, value in enumerate(fields.items("arch_sets"))
    ]
    python_sets = [
        Fields({"set": value}, f"python_sets[{place}]").texts("set")
        for place, value in enumerate(fields.items("python_sets"))
    ]
    refs = fields.texts("refs")
    found = []
    for place, row in enumerate(fields.items("builds")):
        torch, backend, version, cuda, arches, pythons, tags, glibc, libraries, lacks, *rest = _columns(row, place)
        published, yanked, companions, basis, evidence, ref, twin = rest
        path = f"builds[{place}]"
        _released(torch, f"{path}.torch")
        _dotted(cuda, f"{path}.cuda")
        _dotted(glibc, f"{path}.glibc")
        found.append(
            Build(
                torch=torch,
                backend=backend,
                platform=platform,
                version=version,
                cuda=cuda,
                arches=_at(arch_sets, arches, f"{path}.arch_set"),
                pythons=_at(python_sets, pythons, f"{path}.python_set"),
                tags=tuple(tags),
                glibc=glibc,
                libraries=_libraries(libraries, f"{path}.libraries"),
                lacks=_lacks(lacks, f"{path}.lacks") if lacks else {},
                published=published,
                yanked=yanked,
                companions=_texts_or_null(companions, f"{path}.companions"),
                companion_basis=basis,
                evidence=Evidence(evidence, _at(refs, ref, f"{path}.ref"), _twin(twin, f"{path}.twin")),
            )
        )
    return tuple(found)


def _columns(row: object, place: int) -> list[Any]:
    if not isinstance(row, list) or len(row) != len(_CHECKS):
        raise ShapeError(f"builds[{place}]", f"must be a list of {len(_CHECKS)} columns")
    for value, allowed in zip(row, _CHECKS, strict=True):
        if not isinstance(value, allowed):
            name = list(INDEX_COLUMNS)[row.index(value)]
            raise ShapeError(f"builds[{place}].{name}", f"must not be {kind(value)}")
    return row


def readable_builds(fields: Fields, companions: Companions) -> list[Build]:
    """The builds of one readable release file."""
    torch = fields.text("torch")
    _released(torch, fields.at("torch"))
    return [_readable(row, torch, companions) for row in fields.objects("builds")]


def _readable(row: Fields, torch: str, companions: Companions) -> Build:
    evidence = row.object("evidence")
    twin = evidence.maybe_object("twin")
    backend = row.text("backend")
    paired, basis = companions(torch, backend)
    for name in ("cuda", "glibc"):
        _dotted(row.maybe_text(name), row.at(name))
    word = evidence.text("kind")
    if word not in ("measured", "declared"):
        raise evidence.fail("kind", f"must be measured or declared, is {word!r}")
    return Build(
        torch=torch,
        backend=backend,
        platform=row.text("platform"),
        version=row.text("version"),
        cuda=row.maybe_text("cuda"),
        arches=None if row.raw("arches") is None else _arches(row.texts("arches"), row.at("arches")),
        pythons=row.texts("pythons"),
        tags=row.texts("tags"),
        glibc=row.maybe_text("glibc"),
        libraries=_libraries(row.raw("libraries"), row.at("libraries")),
        lacks=_lacks(row.raw("lacks"), row.at("lacks")),
        published=row.maybe_flag("published"),
        yanked=row.flag("yanked"),
        companions=paired,
        companion_basis=basis,
        evidence=Evidence(
            word, evidence.text("ref"), None if twin is None else (twin.text("file"), twin.text("sha256"))
        ),
    )


def companions(fields: Fields) -> Companions:
    """Which torchvision and torchaudio go with a torch: companions.json as a question."""
    pairs = {}
    for pair in fields.objects("pairs"):
        found = {name: pair.maybe_text(name) for name in ("torchvision", "torchaudio")}
        pairs[pair.text("torch")] = found, pair.text("basis")
    missing: tuple[dict[str, str | None], str] = ({"torchvision": None, "torchaudio": None}, "inferred")
    exceptions = {}
    for row in fields.objects("exceptions") if fields.has("exceptions") else []:
        torch = row.text("torch")
        base, basis = pairs.get(torch, missing)
        changed = {name: row.maybe_text(name) for name in ("torchvision", "torchaudio") if row.has(name)}
        exceptions[torch, row.text("backend")] = {**base, **changed}, basis
    return lambda torch, backend: exceptions.get((torch, backend)) or pairs.get(torch, missing)


def drivers(fields: Fields) -> DriverTable:
    """The rules of drivers.json; the first row of a toolkit is its oldest release."""
    toolkits: dict[str, dict[str, str]] = {}
    for row in fields.objects("toolkits"):
        if row.maybe_text("update") is None:
            toolkits[row.text("cuda")] = _per_os(row)
    last = {
        _capability(text, row.at("capabilities")): row.number("branch")
        for row in fields.objects("last_branch")
        for text in row.texts("capabilities")
    }
    first = {
        _capability(text, row.at("capabilities")): _per_os(row)
        for row in fields.objects("first_driver")
        for text in row.texts("capabilities")
    }
    native = []
    for row in fields.objects("native"):
        _dotted(row.text("cuda"), row.at("cuda"))
        native.append((row.number("branch"), row.text("cuda")))
    if not native:
        raise fields.fail("native", "must not be empty")
    return DriverTable(
        toolkits=toolkits,
        majors={row.number("cuda_major"): _per_os(row) for row in fields.objects("majors")},
        native=tuple(sorted(native)),
        last_branch=last,
        first_driver=first,
    )


def floors(fields: Fields) -> LibraryFloors:
    """The floors of libraries.json."""
    return LibraryFloors(cudnn=_floors(fields, "cudnn"), nccl=_floors(fields, "nccl"))


def _floors(fields: Fields, library: str) -> tuple[Floor, ...]:
    found = []
    for row in fields.objects(library):
        _dotted(row.text("from"), row.at("from"))
        major = row.number("cuda_major") if row.has("cuda_major") else None
        found.append(Floor(row.text("from"), _capability(row.text("floor"), row.at("floor")), major))
    return tuple(found)


def _per_os(row: Fields) -> dict[str, str]:
    found = {}
    for os in ("linux", "windows"):
        text = row.maybe_text(os)
        if text is not None:
            _dotted(text, row.at(os))
            found[os] = text
    return found


def _capability(text: str, path: str) -> tuple[int, int]:
    if not is_dotted(text) or text.count(".") != 1:
        raise ShapeError(path, f"must be a capability such as 8.6, is {text!r}")
    major, minor = numbers(text)
    return major, minor


def _arches(texts: tuple[str, ...], path: str) -> tuple[Arch, ...]:
    found = []
    for place, text in enumerate(texts):
        try:
            found.append(Arch.parse(text))
        except ValueError as error:
            raise ShapeError(f"{path}[{place}]", str(error)) from error
    return tuple(found)


def _lacks(value: object, path: str) -> dict[str, tuple[Arch, ...]]:
    row = Fields(value, path)
    return {library: _arches(row.texts(library), row.at(library)) for library in row.names()}


def _libraries(value: object, path: str) -> dict[str, str]:
    row = Fields(value, path)
    found = {name: row.text(name) for name in row.names()}
    for name in ("cudnn", "nccl"):  # these two are compared; triton's may be a range
        _dotted(found.get(name), row.at(name))
    return found


def _texts_or_null(value: object, path: str) -> dict[str, str | None]:
    row = Fields(value, path)
    return {name: row.maybe_text(name) for name in row.names()}


def _twin(value: list[object] | None, path: str) -> tuple[str, str] | None:
    if value is None:
        return None
    file, sha256 = value if len(value) == 2 else (None, None)
    if not isinstance(file, str) or not isinstance(sha256, str):
        raise ShapeError(path, "must be a file name and its sha256")
    return file, sha256


def _dotted(text: str | None, path: str) -> None:
    if text is not None and not is_dotted(text):
        raise ShapeError(path, f"must be numbers between dots, is {text!r}")


def _released(text: str, path: str) -> None:
    try:
        release_key(text)
    except ValueError as error:
        raise ShapeError(path, f"must be a version, is {text!r}") from error


def _at(values: list[T] | tuple[T, ...], place: int, path: str) -> T:
    if not 0 <= place < len(values):
        raise ShapeError(path, f"must be below {len(values)}, is {place}")
    return values[place]
