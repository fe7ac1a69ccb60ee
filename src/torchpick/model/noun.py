"""`Noun`, `OneOf` and `Scale`: what type checkers know as NamedTuple, Enum and IntEnum, at a tenth of their cost.

A decision imports some forty nouns. typing.NamedTuple compiles a constructor for each with exec, and typing itself must
be loaded; the enum module loads a dozen others, a sixth of the instructions of a start. A noun is the same immutable
tuple with the same interface; a member is the number of its place, so that a scale is ordered as it is written, the
least first. tests/model/test_noun.py and test_one_of.py hold each against the library's own.
"""

from __future__ import annotations

from operator import itemgetter

__all__ = ["Noun", "OneOf", "Scale"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from enum import Enum as OneOf
    from enum import IntEnum as Scale
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

        # From the values at once, in half the time.
        _make = classmethod(tuple.__new__)

        def __repr__(self) -> str:
            inside = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({inside})"

        def __getnewargs__(self) -> tuple[object, ...]:
            return tuple(self)

        def _replace(self, **changes: object) -> Noun:
            values = [*self]
            for name, value in changes.items():
                values[self._fields.index(name)] = value
            return tuple.__new__(type(self), values)

        def _asdict(self) -> dict[str, object]:
            return dict(zip(self._fields, self, strict=True))

    def _filled(cls: type[Noun], given: int, named: dict[str, object]) -> list[object]:
        """The values of the fields that no positional argument gave."""
        defaults, values = cls._field_defaults, []
        for name in cls._fields[given:]:
            if name in named:
                values.append(named.pop(name))
            elif name in defaults:
                values.append(defaults[name])
            else:
                raise TypeError(f"{cls.__name__} is missing {name!r}")
        if named or given > len(cls._fields):
            raise TypeError(f"{cls.__name__} does not take {', '.join(named) or 'so many values'}")
        return values

    class _Members(type):
        """Makes one member of each name in capitals."""

        def __new__(cls, name, bases, body):  # noqa: ANN001, ANN204 # checkers see Enum
            values = {key: value for key, value in body.items() if key.isupper()}
            made = super().__new__(cls, name, bases, {key: body[key] for key in body if key not in values})
            for place, (key, value) in enumerate(values.items()):
                member = int.__new__(made, place)
                member.name, member.value = key, value
                setattr(made, key, member)
            made._members = tuple(getattr(made, key) for key in values)
            return made

        def __iter__(cls):  # noqa: ANN204
            return iter(cls._members)

    class OneOf(int, metaclass=_Members):
        """One of a few members, each with its name and its value."""

        def __repr__(self) -> str:
            return f"{type(self).__name__}.{self.name}"

        __str__ = __repr__

    Scale = OneOf
