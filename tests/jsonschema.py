"""As much of JSON Schema as the contract's schema uses; a keyword that it does not know is an error."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "null": type(None),
}
_IGNORED = {"$schema", "$defs", "title", "description"}


# What is published of the envelope that every command prints.
ENVELOPE: Mapping[str, Any] = json.loads((Path(__file__).parents[1] / "docs" / "schema.json").read_text("utf-8"))


def envelope_faults(answer: object) -> list[str]:
    """Where what a command printed is not as docs/schema.json says."""
    return list(faults(answer, ENVELOPE, ENVELOPE))


def faults(value: object, schema: Mapping[str, Any], root: Mapping[str, Any], path: str = "$") -> Iterator[str]:
    """Where the value is not as the schema says."""
    for keyword, rule in schema.items():
        if keyword in _IGNORED or keyword in ("then", "maxItems"):
            continue
        yield from _RULES[keyword](value, rule, schema, root, path)


def _type(value: object, rule: Any, _: object, __: object, path: str) -> Iterator[str]:
    names = [rule] if isinstance(rule, str) else rule
    fits = any(isinstance(value, _TYPES[name]) and (name != "integer" or value not in (True, False)) for name in names)
    # True == 1, so a plain number is told from a flag by its class.
    if not (fits or ("integer" in names and type(value) is int)):
        yield f"{path}: is {type(value).__name__}, must be {rule}"


def _properties(value: object, rule: Any, _: object, root: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name in rule.keys() & value.keys():
            yield from faults(value[name], rule[name], root, f"{path}.{name}")


def _additional(value: object, rule: Any, schema: Any, root: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name in value.keys() - schema.get("properties", {}).keys():
            yield from faults(value[name], rule, root, f"{path}.{name}")


def _required(value: object, rule: Any, _: object, __: object, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (f"{path}: {name} is missing" for name in rule if name not in value)


def _items(value: object, rule: Any, _: object, root: Any, path: str) -> Iterator[str]:
    if isinstance(value, list):
        for place, item in enumerate(value):
            yield from faults(item, rule, root, f"{path}[{place}]")


def _min_items(value: object, rule: Any, schema: Any, __: object, path: str) -> Iterator[str]:
    if isinstance(value, list) and not rule <= len(value) <= schema.get("maxItems", len(value)):
        yield f"{path}: has {len(value)} items"


def _minimum(value: object, rule: Any, _: object, __: object, path: str) -> Iterator[str]:
    if isinstance(value, int) and value < rule:
        yield f"{path}: is below {rule}"


def _pattern(value: object, rule: Any, _: object, __: object, path: str) -> Iterator[str]:
    if isinstance(value, str) and not re.search(rule, value):
        yield f"{path}: {value!r} does not match {rule}"


def _any_of(value: object, rule: Any, _: object, root: Any, path: str) -> Iterator[str]:
    found = [list(faults(value, each, root, path)) for each in rule]
    if all(found):
        yield from found[0]


def _all_of(value: object, rule: Any, _: object, root: Any, path: str) -> Iterator[str]:
    for each in rule:
        yield from faults(value, each, root, path)


def _if(value: object, rule: Any, schema: Any, root: Any, path: str) -> Iterator[str]:
    if not list(faults(value, rule, root, path)):
        yield from faults(value, schema["then"], root, path)


def _ref(value: object, rule: str, _: object, root: Any, path: str) -> Iterator[str]:
    yield from faults(value, root["$defs"][rule.rpartition("/")[2]], root, path)


_RULES: Mapping[str, Any] = {
    "type": _type,
    "properties": _properties,
    "additionalProperties": _additional,
    "required": _required,
    "items": _items,
    "minItems": _min_items,
    "minimum": _minimum,
    "pattern": _pattern,
    "const": lambda value, rule, _, __, path: [] if value == rule else [f"{path}: {value!r} is not {rule!r}"],
    "enum": lambda value, rule, _, __, path: [] if value in rule else [f"{path}: {value!r} is none of {rule}"],
    "anyOf": _any_of,
    "allOf": _all_of,
    "if": _if,
    "$ref": _ref,
}
