"""What are we talking about? The nouns: GPUs, drivers, machines, builds, wishes, verdicts, picks. Pure."""

from __future__ import annotations

__all__ = ["INSTALL_LINE", "VERSION", "Enum", "IntEnum", "NamedTuple"]

VERSION = "0.1.0"
# How to install torchpick. It is not yet published, so from a checkout; tests/test_docs.py checks that no other text
# says it another way.
INSTALL_LINE = "python -m pip install ."

TYPE_CHECKING = False
if TYPE_CHECKING:
    from enum import Enum, IntEnum
    from typing import NamedTuple
else:
    # For what each start loads: to import typing costs as much as the bare interpreter and enum half of it, and
    # collections.namedtuple compiles a constructor for each class. Every other module takes the library's own; tests
    # hold these against them.
    from _collections import _tuplegetter

    class _Declared(type):
        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, object]) -> type:
            fields = tuple(body.get("__annotations__", ()))
            defaults = {field: body.pop(field) for field in fields if field in body}
            body |= {field: _tuplegetter(place, "") for place, field in enumerate(fields)}
            if fields:
                body |= {"_fields": fields, "__match_args__": fields, "_field_defaults": defaults}
            return super().__new__(cls, name, bases, {"__slots__": (), **body})

    class NamedTuple(tuple, metaclass=_Declared):  # noqa: SLOT001 # the metaclass gives every class its empty slots
        def __new__(cls, *values, **named):  # noqa: ANN002, ANN003, ANN204 # checkers see typing's
            if named or len(values) != len(cls._fields):
                known = {**cls._field_defaults, **named}
                rest = cls._fields[len(values) :]
                if len(values) > len(cls._fields) or not known.keys() >= {*rest} or not named.keys() <= {*rest}:
                    raise TypeError(f"{cls.__name__} takes {', '.join(cls._fields)}")
                values += tuple(map(known.__getitem__, rest))
            return tuple.__new__(cls, values)

        _make = classmethod(tuple.__new__)

        def _replace(self, **changes):  # noqa: ANN003, ANN202
            made = self._make([changes.pop(field, value) for field, value in zip(self._fields, self, strict=True)])
            if changes:
                raise ValueError(f"Got unexpected field names: {[*changes]!r}")
            return made

        def _asdict(self):  # noqa: ANN202
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):  # noqa: ANN204
            return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self._asdict().items())})"

        def __getnewargs__(self):  # noqa: ANN204
            return tuple(self)

    class _Members(type):
        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, object]) -> type:
            values = {key: body.pop(key) for key in [*body] if key.isupper()}
            made = super().__new__(cls, name, bases, body)
            for key, value in values.items():
                member = int.__new__(made, value) if issubclass(made, int) else object.__new__(made)
                member.name, member.value = key, value
                setattr(made, key, member)
            made._names = tuple(values)
            return made

        def __iter__(cls):  # noqa: ANN204
            return (getattr(cls, name) for name in cls._names)

    class Enum(metaclass=_Members):
        def __repr__(self) -> str:
            return f"{type(self).__name__}.{self.name}"

        def __reduce__(self):  # noqa: ANN204
            return getattr, (type(self), self.name)

    class IntEnum(Enum, int):
        pass
