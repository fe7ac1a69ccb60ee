"""The one writer of requirements for pip and uv, in files and as arguments. Pure.

In a file a line end, a backslash before it, a `#` behind a blank, a dash in front and `${NAME}` have a meaning.
"""

from __future__ import annotations

from torchpick.errors import InstallerError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from torchpick.model.address import Address

_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._")
_VERSION = _WORD.union("+!")
_SPECIFIER = _VERSION.union("*,=<>~")


def requirement(
    name: str, specifier: str = "", *, address: Address | None = None, extras: Iterable[str] = (), marker: str = ""
) -> str:
    """`NAME[EXTRAS]SPECIFIER ; MARKER`, or `NAME[EXTRAS] @ ADDRESS ; MARKER`, as it may stand in a file or alone."""
    inside = tuple(extras)
    if not (is_word(name) and all(map(is_word, inside)) and is_specifier(specifier)):
        raise refused(f"{name}[{','.join(inside)}]{specifier}", "is not a name with a version")
    front = f"{name}[{','.join(inside)}]" if inside else name
    what = specifier if address is None else f" @ {address}"
    return checked(f"{front}{what} ; {marker}" if marker else f"{front}{what}")


def argument(word: str) -> str:
    """A requirement in somebody's own words as an argument of its own; an error where it would be an option."""
    if not word.isprintable():
        raise refused(word, "has a line end or a control character in it")
    if not word or word.startswith("-"):
        raise refused(word, "would be an option")
    return word


def checked(line: str) -> str:
    """A requirement in somebody's own words, which says in a file what it says alone; else an error."""
    argument(line)
    if line.startswith("#") or " #" in line or " -" in line or line.endswith("\\"):
        raise refused(line, "would be an option or a comment in a requirements file, or continue on the next line")
    if "${" in line:
        raise refused(line, "names a variable, which pip and uv expand in a requirements file")
    return line


def file_of(requirements: Iterable[str], *, editables: Iterable[str] = ()) -> str:
    """A requirements file."""
    lines = [*(f"-e {checked(path)}" for path in editables), *map(checked, requirements)]
    return "".join(f"{line}\n" for line in lines)


def is_word(text: str) -> bool:
    """Whether the text may be a name, an extra, or a tag of a wheel."""
    return bool(text) and _WORD.issuperset(text) and text[0] not in "-."


def is_version(text: str) -> bool:
    return bool(text) and _VERSION.issuperset(text) and text[0] not in "-."


def is_specifier(text: str) -> bool:
    """Whether the text may be versions and comparisons of such."""
    return _SPECIFIER.issuperset(text)


def refused(text: str, why: str) -> InstallerError:
    from torchpick.model.redaction import redacted

    hint = "write it as NAME, NAME==VERSION or NAME @ URL, with the URL percent-encoded"
    return InstallerError(f"`{redacted(' '.join(text.split()))}` {why}", hint=hint)
