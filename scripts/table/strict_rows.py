"""The values that every readable file of compat spells alike. Every fault is a ShapeError with its path. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from torchpick.model.arch import Arch
from torchpick.model.fields import Fields, ShapeError
from torchpick.model.versions import is_dotted, release_key, remembered

_arch = remembered(Arch.parse)  # a file names some thirty, again and again


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


def paired_with(row: Fields, names: Iterable[str]) -> dict[str, str | None]:
    """The companions of these names, None where there is none."""
    found = {name: row.maybe_text(name) for name in names}
    for name, version in found.items():
        if version is not None:
            released(version, row.at(name))
    return found


def released(text: str, path: str) -> None:
    try:
        release_key(text)
    except ValueError as error:
        raise ShapeError(path, f"must be a version, is {text!r}") from error


def dotted(text: str | None, path: str) -> None:
    if text is not None and not is_dotted(text):
        raise ShapeError(path, f"must be numbers between dots, is {text!r}")
