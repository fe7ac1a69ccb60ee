"""Poetry's own tables, as far as torch is concerned: its constraints, and what a classic file depends on. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from torchpick.errors import TorchpickError
from torchpick.model.names import normal
from torchpick.model.versions import is_dotted

# How the markers end of what holds where none of our extras is on.
_NONE_OF_OURS = re.compile(r"(?:^|\) and )extra != '[^']*'(?: and extra != '[^']*')*$")
# What tomlkit hands out has no type worth the name.
Node = Any


def specifier(text: str, what: str) -> str:
    """A constraint of Poetry's as PEP 440 has it: `^2.5` → `>=2.5,<3.0`, `~2.5` → `>=2.5,<2.6`, `2.5` → `==2.5`."""
    if "|" in text:
        hint = "specify one range: `--torch` for torch, one clause of `python` in the file"
        raise TorchpickError(f'`{what} = "{text}"` is several ranges', hint=hint, code="TOML")
    # A blank between clauses joins them, one behind an operator does not.
    words = text.replace(",", " ").split()
    clauses: list[str] = []
    for word in words:
        if clauses and not clauses[-1].strip("<>=!~^"):
            clauses[-1] += word
        else:
            clauses.append(word)
    return ",".join(part for clause in clauses for part in _clause(clause, what))


def _clause(clause: str, what: str) -> list[str]:
    if clause == "*":
        return []
    version = clause.lstrip("<>=!~^")
    operator = clause[: len(clause) - len(version)]
    if operator == "^" or (operator == "~" and is_dotted(version)):
        if not is_dotted(version):
            raise TorchpickError(f"`{clause}` of {what} is not a valid constraint", hint="such as ^2.5", code="TOML")
        return [f">={version}", f"<{_next(version, caret=operator == '^')}"]
    return [clause if operator and operator != "=" else f"=={version}"]


def _next(version: str, *, caret: bool) -> str:
    """The first version that `^` or `~` leaves out: the first number that is not zero goes up, or the second."""
    digits = [int(part) for part in version.split(".")]
    if caret:
        place = next((place for place, digit in enumerate(digits) if digit), len(digits) - 1)
    else:
        place = min(1, len(digits) - 1)
    raised = [*digits[:place], digits[place] + 1]
    return ".".join(map(str, (*raised, *([0] if place == 0 and len(digits) > 1 else []))))


def constraint(value: Node) -> str | None:
    """What a dependency says of its version: a text, or a table's `version`; None where it is another thing.

    Of several alternatives the one that names no source: it is the author's own, and the others were written for
    extras.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        said = value.get("version")
        return str(said) if isinstance(said, str) and "source" not in value else None
    if isinstance(value, list):
        return next((said for said in map(constraint, value) if said is not None), None)
    return None


def dependencies(poetry: Mapping[str, Node]) -> dict[str, Node]:
    """Every dependency of a classic file, of its groups too, by its normal name; the main ones win."""
    tables = [poetry.get("dependencies"), poetry.get("dev-dependencies")]
    groups = poetry.get("group")
    if isinstance(groups, Mapping):
        tables += [group.get("dependencies") for group in groups.values() if isinstance(group, Mapping)]
    found: dict[str, Node] = {}
    for table in tables:
        for name, value in table.items() if isinstance(table, Mapping) else ():
            found.setdefault(normal(str(name)), value)
    return found


def kept(poetry: Mapping[str, Node], names: Iterable[str]) -> dict[str, object]:
    """What the main table says of these packages itself: a constraint, or a table with a version and no source.

    In a list that an earlier run wrote it is the alternative without a source, less the markers that were added.
    """
    table = poetry.get("dependencies")
    found: dict[str, object] = {}
    for name, value in table.items() if isinstance(table, Mapping) else ():
        own = (
            next((one for one in value if isinstance(one, Mapping) and _is_own(one)), None)
            if isinstance(value, list)
            else value
        )
        if normal(str(name)) in names and (isinstance(own, str) or (isinstance(own, Mapping) and _is_own(own))):
            found[normal(str(name))] = own if isinstance(own, str) else _without_ours(own)
    return found


def _is_own(table: Mapping[str, Node]) -> bool:
    ours = " ".join(str(table.get("markers", "")).split())
    return "version" in table and "source" not in table and not ours.startswith("extra == ")


def _without_ours(table: Mapping[str, Node]) -> dict[str, object]:
    markers = _NONE_OF_OURS.sub("", str(table.get("markers", "")))
    markers = markers.removeprefix("(") if markers != table.get("markers") else markers
    rest = {key: value for key, value in table.items() if key != "markers"}
    return {**rest, "markers": markers} if markers else rest


def alternatives(
    pins: Mapping[str, Iterable[str]], sources: Mapping[str, str], own: object | None
) -> list[dict[str, object]]:
    """One package's constraints: those of each extra, where it alone is on, and the author's where none of them is.

    `pins` maps an extra to its requirements of the package, `sources` to the source they come from.
    """
    names = list(pins)
    found: list[dict[str, object]] = []
    for name, requirements in pins.items():
        for requirement in requirements:
            text, _, marker = requirement.partition(";")
            markers = alone(name, names) + (f" and {marker.strip()}" if marker.strip() else "")
            source = {"source": sources[name]} if name in sources else {}
            found.append({"version": _version(text), **source, "markers": markers, "optional": True})
    if own is not None:
        table = dict(own) if isinstance(own, Mapping) else {"version": own}
        none = " and ".join(f"extra != '{name}'" for name in names)
        theirs = table.get("markers")
        found.append({**table, "markers": f"({theirs}) and {none}" if theirs else none})
    return found


def _version(requirement: str) -> str:
    """`torch==2.14.1+cu126` → `2.14.1+cu126`; a range stays one."""
    return re.sub(r"^[A-Za-z0-9._-]*?(?=[<>=!~]|$)", "", requirement.strip()).removeprefix("==")


def alone(name: str, names: Iterable[str]) -> str:
    """The marker under which this extra is on and none of the others."""
    return " and ".join([f"extra == '{name}'", *(f"extra != '{other}'" for other in names if other != name)])
