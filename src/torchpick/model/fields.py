"""Reading JSON objects field by field, with a path in each complaint (`builds[3].arches[0]`)."""

from __future__ import annotations

import json

# Bounds for whatever comes from outside; the largest file of ours is far below them.
MOST_ITEMS = 100_000


class ShapeError(ValueError):
    """A value is not of the shape it must have; `path` says which."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path
        self.message = message


def kind(value: object) -> str:
    """What a JSON value is, in a person's words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    words = {int: "a number", float: "a number", str: "text", list: "a list", dict: "an object"}
    return words.get(type(value), type(value).__name__)


class Fields:
    """One JSON object, read by name."""

    __slots__ = ("_path", "_value")

    def __init__(self, value: object, path: str = "") -> None:
        if not isinstance(value, dict):
            raise ShapeError(path, f"must be an object, is {kind(value)}")
        self._value: dict[str, object] = value
        self._path = path

    def at(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name

    def fail(self, name: str, message: str) -> ShapeError:
        return ShapeError(self.at(name), message)

    def has(self, name: str) -> bool:
        return name in self._value

    def raw(self, name: str) -> object:
        if name not in self._value:
            raise self.fail(name, "is missing")
        return self._value[name]

    def only(self, *names: str) -> None:
        """Refuse keys that the format does not know."""
        for name in self._value:
            if name not in names:
                raise self.fail(name, "is not a key of this format")

    def text(self, name: str, most: int | None = None) -> str:
        value = self.raw(name)
        if not isinstance(value, str):
            raise self.fail(name, f"must be text, is {kind(value)}")
        if most is not None and len(value) > most:
            raise self.fail(name, f"has {len(value)} characters, more than {most}")
        return value

    def maybe_text(self, name: str, most: int | None = None) -> str | None:
        return None if self._value.get(name) is None else self.text(name, most)

    def flag(self, name: str, default: bool | None = None) -> bool:
        if default is not None and name not in self._value:
            return default
        value = self.raw(name)
        if not isinstance(value, bool):
            raise self.fail(name, f"must be true or false, is {kind(value)}")
        return value

    def maybe_flag(self, name: str) -> bool | None:
        return None if self._value.get(name) is None else self.flag(name)

    def number(self, name: str) -> int:
        value = self.raw(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.fail(name, f"must be a whole number, is {kind(value)}")
        return value

    def items(self, name: str) -> list[object]:
        value = self.raw(name)
        if not isinstance(value, list):
            raise self.fail(name, f"must be a list, is {kind(value)}")
        if len(value) > MOST_ITEMS:
            raise self.fail(name, f"has {len(value)} items, more than {MOST_ITEMS}")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        found = []
        for place, value in enumerate(self.items(name)):
            if not isinstance(value, str):
                raise ShapeError(f"{self.at(name)}[{place}]", f"must be text, is {kind(value)}")
            found.append(value)
        return tuple(found)

    def object(self, name: str) -> Fields:
        return Fields(self.raw(name), self.at(name))

    def maybe_object(self, name: str) -> Fields | None:
        return None if self._value.get(name) is None else self.object(name)

    def objects(self, name: str) -> list[Fields]:
        return [Fields(value, f"{self.at(name)}[{place}]") for place, value in enumerate(self.items(name))]

    def names(self) -> list[str]:
        return list(self._value)


def loads(text: str | bytes) -> object:
    """Parse JSON; ShapeError instead of the decoder's own errors, hostile depth included."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
        raise ShapeError("", f"is not JSON: {error}") from error
    return value
