"""JSON in and out, with a path in each complaint (`builds[3].arches[0]`).

`written` goes by the fields that a noun declares; what is read from outside has a `from_json` for each noun.
"""

from __future__ import annotations

from _json import make_scanner

from torchpick.model import VERSION
from torchpick.model.address import redacted_json
from torchpick.model.arch import Arch, Fit
from torchpick.model.versions import is_dotted

SCHEMA = 1

# Bounds for whatever comes from outside; the largest file of ours is far below them.
MOST_ITEMS = 100_000
# The longest fact of one line is a Windows instance id of 200 characters, its documented maximum.
MOST_LINE = 256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol, TypeVar

    V = TypeVar("V")

    class Noun(Protocol):
        """What has names for its fields, as a NamedTuple does and a bare tuple does not."""

        def _asdict(self) -> dict[str, Any]: ...


class ShapeError(ValueError):
    """A value is not of the shape it must have; `path` says which."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path
        self.message = message


def kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    words = {int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}
    return words.get(type(value), type(value).__name__)


class Fields:
    """One JSON object, read by name."""

    __slots__ = ("_path", "_value")

    def __init__(self, value: object, path: str = "") -> None:
        if not isinstance(value, dict):
            raise ShapeError(path, f"must be an object, not {kind(value)}")
        self._value: dict[str, object] = value
        self._path = path

    def at(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name

    def fail(self, name: str, message: str) -> ShapeError:
        return ShapeError(self.at(name), message)

    def has(self, name: str) -> bool:
        return name in self._value

    def lacks(self, name: str) -> bool:
        """Whether it is null or not there."""
        return self._value.get(name) is None

    def raw(self, name: str) -> object:
        if name not in self._value:
            raise self.fail(name, "is missing")
        return self._value[name]

    def _of(self, wanted: type[V], word: str, name: str) -> V:
        value = self.raw(name)
        if not isinstance(value, wanted):
            raise self.fail(name, f"must be {word}, not {kind(value)}")
        return value

    def text(self, name: str, most: int | None = None) -> str:
        value = self._of(str, "a string", name)
        if most is not None and len(value) > most:
            raise self.fail(name, f"has {len(value)} characters, more than {most}")
        return value

    def text_or(self, name: str, default: str) -> str:
        """One line; the default where it is not there, null or empty."""
        return self.text(name, MOST_LINE) if self._value.get(name) not in (None, "") else default

    def maybe_text(self, name: str, most: int | None = None) -> str | None:
        return None if self.lacks(name) else self.text(name, most)

    def maybe_dotted(self, name: str) -> str | None:
        """Numbers between dots, as drivers, CUDA and systems are numbered."""
        text = self.maybe_text(name)
        if text is not None and not is_dotted(text):
            raise self.fail(name, f"must be numbers between dots, is {text[:40]!r}")
        return text

    def flag(self, name: str) -> bool:
        return self._of(bool, "a boolean", name)

    def flag_or(self, name: str, default: bool) -> bool:  # a value of the object
        return self.flag(name) if self.has(name) else default

    def number(self, name: str) -> int:
        value = self.raw(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.fail(name, f"must be an integer, not {kind(value)}")
        return value

    def maybe_number(self, name: str) -> int | None:
        return None if self.lacks(name) else self.number(name)

    def items(self, name: str) -> list[object]:
        value: list[object] = self._of(list, "a list", name)
        if len(value) > MOST_ITEMS:
            raise self.fail(name, f"has {len(value)} items, more than {MOST_ITEMS}")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        strings = []
        for place, value in enumerate(self.items(name)):
            if not isinstance(value, str):
                raise ShapeError(f"{self.at(name)}[{place}]", f"must be a string, not {kind(value)}")
            strings.append(value)
        return tuple(strings)

    def mapping(self, name: str) -> dict[str, Any]:
        """An object as it stands, whose values are checked where they are used."""
        return self._of(dict, "an object", name)

    def object(self, name: str) -> Fields:
        return Fields(self.raw(name), self.at(name))

    def maybe_object(self, name: str) -> Fields | None:
        return None if self.lacks(name) else self.object(name)

    def objects(self, name: str) -> list[Fields]:
        return [Fields(value, f"{self.at(name)}[{place}]") for place, value in enumerate(self.items(name))]

    def maybe_objects(self, name: str, most: int = MOST_ITEMS) -> list[Fields]:
        listed = self.objects(name) if self.has(name) else []
        if len(listed) > most:
            raise self.fail(name, f"has {len(listed)} items, more than {most}")
        return listed

    def names(self) -> list[str]:
        return list(self._value)


def noun_of(noun: type[V], row: Mapping[str, Any], **others: object) -> V:
    """A noun of an object that is ours and as `written` has it; keys that are no field of it are passed over."""
    names = set(row).intersection(noun._fields)  # type: ignore[attr-defined]  # a noun
    values = {name: tuple(row[name]) if isinstance(row[name], list) else row[name] for name in names}
    return noun(**{**values, **others})


class _Context:
    """The default settings of the json module's scanner."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    memo: dict[str, str] = {}  # noqa: RUF012 # the scanner's own

    @staticmethod
    def parse_constant(name: str) -> float:
        return float(name.replace("Infinity", "inf"))


def loads(text: str | bytes) -> object:
    """Parse JSON; ShapeError instead of the decoder's own errors, hostile depth included."""
    try:
        return _scanned(text)
    except Exception:  # noqa: BLE001 # whatever is wrong, the json module finds it again and has the words for it
        import json
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
        raise ShapeError("", f"is not JSON: {error}") from error
    return value


def _scanned(text: str | bytes) -> object:
    """The value, by the scanner under the json module: the module itself loads nine files, re among them."""
    plain = (text if isinstance(text, str) else text.decode()).strip(" \t\n\r")
    value, end = make_scanner(_Context)(plain, 0)  # type: ignore[arg-type]  # typeshed has another shape of it
    if end != len(plain):
        raise ValueError("more than one value")
    return value


def written(noun: Noun, *names: str, optional: tuple[str, ...] = ()) -> dict[str, object]:
    """A noun as a JSON object: a key for each of these fields and properties, for every field where none is named.

    Those in `optional` are left out where they are None.
    """
    values = {name: plain(getattr(noun, name)) for name in names or noun._asdict()}
    return {name: value for name, value in values.items() if value is not None or name not in optional}


def plain(value: Any) -> Any:  # noqa: ANN401 # whatever a noun holds, as JSON has it
    """Nouns as objects, by a `to_dict` of their own where they have one; whatever else it holds as JSON has it."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Arch):
        return str(value)
    if isinstance(value, Fit):
        return value.word
    if hasattr(value, "_fields"):
        return written(value)
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if hasattr(value, "items"):
        return {key: plain(item) for key, item in value.items()}
    return value


_STATUS = {0: "ok", 3: "no_build", 4: "no_answer"}


def envelope(command: str, status: int = 0, /, **facts: object) -> dict[str, object]:
    """What every command prints under `--json`: the keys that are always there, and this command's facts."""
    word = _STATUS.get(status, "error")
    return {"schema": SCHEMA, "version": VERSION, "command": command, "status": word, "exit": status, **facts}


def dumps(value: dict[str, object]) -> str:
    """One line with the nouns in it as JSON, for a pipe and for `--machine`: without secrets, and in ASCII alone."""
    import json

    return json.dumps(shown(value), separators=(", ", ": "))


def shown(value: object) -> Any:  # noqa: ANN401 # as `plain`
    return redacted_json(plain(value))


def html(value: object) -> str:
    """What a notebook shows of a value: objects as tables, lists one item below the other, without secrets."""
    from html import escape

    value = shown(value)
    if isinstance(value, dict):
        rows = [f"<tr><th>{escape(name)}</th><td>{html(part)}</td></tr>" for name, part in value.items() if part]
        return f"<table>{''.join(rows)}</table>"
    return "<br>".join(map(html, value)) if isinstance(value, list) else escape(str(value))
