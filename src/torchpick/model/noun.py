"""`Noun`: what type checkers know as NamedTuple, at a tenth of its cost.

A decision imports some twenty nouns. typing.NamedTuple compiles a constructor for each with exec, and typing itself
must be loaded: together 5 of the 20 milliseconds that a start may cost (three bare interpreters). A noun is the same
immutable tuple with the same interface; tests/model/test_noun.py holds the two against each other.
"""

from __future__ import annotations

from operator import itemgetter

__all__ = ["Noun"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple as Noun
else:

    class _Shape(type):
        """Reads the fields of a noun off its annotations."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, object]) -> _Shape:
            defaults = {key: value for key, value in body.items() if not key.startswith("_")}
            noun = super().__new__(cls, name, bases, {"__slots__": (), **body})
            if bases != (tuple,):
                noun._fields = noun.__match_args__ = tuple(noun.__annotations__)
                noun._field_defaults = {field: defaults[field] for field in noun._fields if field in defaults}
                for place, field in enumerate(noun._fields):
                    setattr(noun, field, property(itemgetter(place)))
            return noun

    class Noun(tuple, metaclass=_Shape):  # noqa: SLOT001 # _Shape gives every class its empty slots
        """An immutable value: a field for each annotation of the class, in their order."""

        def __new__(cls, *values, **named):  # noqa: ANN002, ANN003, ANN204 # checkers see NamedTuple
            if named or len(values) != len(cls._fields):
                values = (*values, *_filled(cls, len(values), named))
            return tuple.__new__(cls, values)

        def __repr__(self) -> str:
            inside = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({inside})"

        def __getnewargs__(self) -> tuple[object, ...]:
            return tuple(self)

        def _replace(self, **changes: object) -> Noun:
            values = [changes.pop(name, value) for name, value in zip(self._fields, self, strict=True)]
            if changes:
                raise TypeError(f"{type(self).__name__} has no {', '.join(changes)}")
            return tuple.__new__(type(self), values)

        def _asdict(self) -> dict[str, object]:
            return dict(zip(self._fields, self, strict=True))

    def _filled(cls: type[Noun], given: int, named: dict[str, object]) -> list[object]:
        """The values of the fields that no positional argument gave."""
        defaults, found = cls._field_defaults, []
        for name in cls._fields[given:]:
            if name in named:
                found.append(named.pop(name))
            elif name in defaults:
                found.append(defaults[name])
            else:
                raise TypeError(f"{cls.__name__} is missing {name!r}")
        if named or given > len(cls._fields):
            raise TypeError(f"{cls.__name__} does not take {', '.join(named) or 'so many values'}")
        return found
