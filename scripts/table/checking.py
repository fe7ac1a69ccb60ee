"""Whether every file of compat/ is of its format, exactly: formats.json has a schema of each.

compat/README.md says the same in words. What no schema can say, that one value contradicts another, is asked here.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchpick.errors import CompatError
from torchpick.model.fields import ShapeError, loads
from torchpick.model.finding import Ailment
from torchpick.model.versions import parsed

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

COMPAT = Path(__file__).parents[2] / "compat"
MOST_BYTES = 16 << 20
Row = Mapping[str, Any]
Fault = tuple[str, str]  # where, and what is wrong
_HINT = "compat/README.md describes the format"
_FORMATS: Row = json.loads(Path(__file__).with_name("formats.json").read_text("utf-8"))
FILES = [name for name in _FORMATS["files"] if name not in ("torch-X.Y.Z.json", "packages/NAME.json")]
# What is no repetition in a regular expression, whatever signs it has: an escaped sign, and a class of signs.
_WITHOUT_MEANING = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_UNBOUNDED = re.compile(r"[*+]|\{\d*,\}")
# What may begin anywhere in a text is not looked for further on than this from each beginning.
_WIDEST = 2000


def main(words: Sequence[str]) -> int:
    """Check a compat folder; each fault on a line of its own."""
    faults = check(Path(words[0]) if words else COMPAT)
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


def check(compat: Path) -> list[CompatError]:
    """The first fault of each file, in the order of their names; indexes are made of these files."""
    paths = sorted(path for path in compat.rglob("*") if path.is_file() and path.name != "README.md")
    names = [name for path in paths if not (name := path.relative_to(compat).as_posix()).startswith("index/")]
    faults = [fault for name in names if (fault := _fault(compat / name, name)) is not None]
    return faults + [CompatError("is missing", file=name, path="", hint=_HINT) for name in FILES if name not in names]


def _fault(path: Path, name: str) -> CompatError | None:
    try:
        check_file(path, name)
    except CompatError as fault:
        return fault
    return None


def check_file(path: Path, name: str) -> None:
    """Check one file as the kind that its name says; raises CompatError with the place of the fault."""
    try:
        fault = next(_faults(path, name), None)
    except OSError as error:
        raise CompatError(f"cannot be read: {error.strerror}", file=name, path="", hint=_HINT) from error
    except ShapeError as error:
        fault = error.path, error.message
    if fault is not None:
        raise CompatError(fault[1], file=name, path=fault[0], hint=_HINT)


def _faults(path: Path, name: str) -> Iterator[Fault]:
    kind = "torch-X.Y.Z.json" if name.startswith("torch-") else re.sub(r"(?<=^packages/).*", "NAME.json", name)
    if kind not in _FORMATS["files"]:
        yield "", "is no file of this table"
        return
    if path.stat().st_size > MOST_BYTES:
        yield "", f"is larger than {MOST_BYTES >> 20} MiB"
        return
    value: Any = loads(path.read_bytes())
    yield from schema_faults(kind, value)
    if kind in _CONTRADICTIONS:
        yield from _CONTRADICTIONS[kind](value, name)


def schema_faults(kind: str, value: Any) -> Iterator[Fault]:  # noqa: ANN401 # JSON
    """Where a file is not as the schema of its kind says, the most telling fault first."""
    from jsonschema.exceptions import best_match

    error: ValidationError | None = best_match(_validator(kind).iter_errors(value))
    if error is not None:
        steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
        yield steps.removeprefix("."), error.message


@cache
def _validator(kind: str) -> Draft202012Validator:
    from jsonschema import Draft202012Validator, FormatChecker

    formats = FormatChecker(formats=())
    formats.checks("requirement", raises=ValueError)(lambda text: bool(parsed(text)))
    formats.checks("bounded expression", raises=re.error)(lambda text: is_bounded(str(text)))
    return Draft202012Validator({**_FORMATS["files"][kind], "$defs": _FORMATS["$defs"]}, format_checker=formats)


def is_bounded(expression: str) -> bool:
    """Whether it is a regular expression that repeats nothing without end, which takes longer than the text is long.

    All of a text may be looked through from its start, where that is tried once.
    """
    re.compile(expression)
    if expression.startswith(r"\A"):
        expression = expression.replace(r"[\s\S]*", "")
    elif any(int(most) > _WIDEST for most in re.findall(r"\[\\s\\S\]\{\d*,(\d+)\}", expression)):
        return False
    return _UNBOUNDED.search(_WITHOUT_MEANING.sub("x", expression)) is None


def _release(file: Row, name: str) -> Iterator[Fault]:
    torch = file["torch"]
    if name != f"torch-{torch}.json":
        yield "torch", "must be the release that the file is named after"
    seen = set()
    for place, build in enumerate(file["builds"]):
        if {build["version"].partition("+")[0], (build["real"] or torch).partition("+")[0]} != {torch}:
            yield f"builds[{place}].version", f"must be a version of {torch}"
        key = build["backend"], build["platform"]
        if key in seen:
            yield f"builds[{place}].backend", f"{key[0]} for {key[1]} is here twice"
        seen.add(key)


def _package(file: Row, name: str) -> Iterator[Fault]:
    if name != f"packages/{file['name']}.json":
        yield "name", "must be the package that the file is named after"
    for place, version in enumerate(file["versions"]):
        read = file["name"] == "torch" or (version["file"] and version["sha256"])
        if version["evidence"]["kind"] == "measured" and not read:
            yield f"versions[{place}].evidence.kind", "must be declared where no file with its sha256 was read"


def _drivers(file: Row, _: str) -> Iterator[Fault]:
    numbers = [row["branch"] for row in file["branches"]]
    if numbers != sorted(set(numbers)):
        yield "branches", "must be sorted by branch, each once"
    for place, row in enumerate(file["branches"]):
        if row["windows_last"] < row["branch"]:
            yield f"branches[{place}].windows_last", f"must not be below {row['branch']}"


def _family(file: Row, _: str) -> Iterator[Fault]:
    yield from _unlisted("pinned", file["pinned"], file["names"])


def _gpus(file: Row, _: str) -> Iterator[Fault]:
    for place, row in enumerate(file["pci"]["ranges"]):
        if row["last"] < row["first"]:
            yield f"pci.ranges[{place}].last", "must not be below the first"


def _intel(file: Row, _: str) -> Iterator[Fault]:
    generations = [row["generation"] for row in file["generations"]]
    for part in ("names", "pci"):
        yield from _unlisted(part, [row["generation"] for row in file[part]], generations)


def _vendors(file: Row, _: str) -> Iterator[Fault]:
    yield from _unlisted("builds", [row["index"] for row in file["builds"]], [row["name"] for row in file["indexes"]])


def _errors(file: Row, _: str) -> Iterator[Fault]:
    codes = [ailment.name for ailment in Ailment]
    for place, row in enumerate(file["signatures"]):
        yield from _unlisted(f"signatures[{place}].findings", row["findings"], codes)
        if row["install"] and row["no_use"] and not row["links"]:
            yield f"signatures[{place}].links", "must name a thread"
        for number, step in enumerate(row.get("steps", ())):
            path = f"signatures[{place}].steps[{number}].do"
            yield from _unlisted(path, re.findall(r"<([a-z][\w ]*)>", step["do"]), step["where"])


def _words(file: Row, _: str) -> Iterator[Fault]:
    for name, expressions in file["words"].items():
        for place, expression in enumerate(expressions):
            if "(" not in expression and any(re.fullmatch(r"[A-Za-z0-9]{1,4}", one) for one in expression.split("|")):
                yield f"words.{name}[{place}]", r"must have `\b` around so short a word"


def _unlisted(path: str, names: Sequence[str], listed: Iterable[str]) -> Iterator[Fault]:
    for place, name in enumerate(names):
        if name not in listed:
            yield f"{path}[{place}]", f"names what this table does not have: {name!r}"


_CONTRADICTIONS: Mapping[str, Callable[[Row, str], Iterable[Fault]]] = {
    "torch-X.Y.Z.json": _release,
    "packages/NAME.json": _package,
    "drivers.json": _drivers,
    "family.json": _family,
    "gpus.json": _gpus,
    "intel.json": _intel,
    "vendors.json": _vendors,
    "errors.json": _errors,
    "words.json": _words,
}
