"""What are we talking about? The nouns: GPUs, drivers, machines, builds, wishes, verdicts, picks. Pure."""

from __future__ import annotations

__all__ = ["INSTALL_LINE", "VERSION", "NamedTuple"]

VERSION = "0.1.0"
# How to install torchpick. It is not yet published, so from a checkout; tests/test_docs.py checks that no other text
# says it another way.
INSTALL_LINE = "python -m pip install ."

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    # For what each start loads: typing's own, without typing, which costs as much as the bare interpreter. Made by
    # collections.namedtuple as typing's is; the annotations are not evaluated.
    from collections import namedtuple

    class _Declared(type):
        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, object]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = body["__annotations__"]
            defaults = [body.pop(field) for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])  # noqa: PYI024
            for key, value in body.items():
                if key not in ("__module__", "__qualname__"):
                    setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Declared):
        pass
