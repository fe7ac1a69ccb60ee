"""The JSON that commands print under --json, as a JSON Schema (draft 2020-12).

It promises keys, not their absence: keys are added freely within one schema number and none is renamed.
"""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.model.arch import Fit
from torchpick.model.build import BUILD_NAMES, Build, Evidence, TwinWheel
from torchpick.model.envelope import SCHEMA
from torchpick.model.finding import SEVERITIES, Finding
from torchpick.model.machine import VENDORS, Driver, Gpu, Machine, Note, Platform, Python, Trouble
from torchpick.model.stack import PIN_VERDICTS, PinnedPackage, Stack
from torchpick.model.support import VERDICTS
from torchpick.model.verdict import GpuFit, Objection, Reason, Verdict

Schema = dict[str, object]

_CODE: Schema = {"type": "string", "pattern": "^[A-Z][A-Z0-9_]*$", "description": "stable"}
STATUSES = ("ok", "no_build", "no_answer", "error")
# Several machines, their GPUs as (machine, GPU) places.
_MACHINE = {"type": "integer", "minimum": 0, "description": "place in `machines`; only where there are several"}
_BUILD_VERSION: Schema = {"type": "string", "description": "with its local label where the wheel has one"}
_GPU = {"type": "integer", "minimum": 0, "description": "`gpus[].index` of the machine"}


def schema() -> Schema:
    """The schema of one envelope, whichever command printed it."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "torchpick --json",
        "description": "One object on stdout, also for errors. Keys may be added; none is renamed or taken away.",
        **_object(
            {
                "schema": {"const": SCHEMA},
                "version": {"type": "string", "description": "of torchpick"},
                "command": {"type": "string"},
                "status": {"enum": list(STATUSES)},
                "exit": {"type": "integer", "description": "the exit status"},
            },
            machine=_maybe(_ref("machine")),
            machines=_list(_ref("machine")),
            pick=_maybe(_ref("pick")),
            plan=_list(_ref("group")),
            changes=_list(_ref("change")),
            left_out=_list(_ref("left_out")),
            unserved=_list({"type": "array", "description": "machine and GPU that no build supports"}),
            considered=_list(_ref("verdict")),
            findings=_list(_ref("finding")),
            results=_list({"anyOf": [_ref("result"), _ref("unread")]}),
            lock=_ref("lock"),
            stack=_maybe(_ref("stack")),
            versions=_list({"type": "object"}),
            hints=_list({"type": "string", "description": "what would have to change, best first"}),
            notes=_list(_ref("note")),
            objections={
                "type": "object",
                "description": "by package, where no environment fits",
                "additionalProperties": _list(_ref("objection")),
            },
            environ=_object(
                {
                    "set": {"type": "object", "additionalProperties": {"type": "string"}},
                    "unset": _list({"type": "string"}),
                    "files": {"type": "object", "description": "by path: what the values of `set` name"},
                },
            ),
            error=_ref("error"),
        ),
        "allOf": [
            _when(
                "ok",
                {"command": {"enum": list(_DECIDING)}},
                {"required": ["pick"], "properties": {"pick": _ref("pick")}},
            ),
            _when("no_build", {}, {"properties": {"exit": {"const": 3}, "pick": {"type": "null"}}}),
            _when("no_answer", {}, {"required": ["error"], "properties": {"exit": {"const": 4}}}),
        ],
        "$defs": _definitions(),
    }


def _definitions() -> Schema:
    text: Schema = {"type": "string"}
    flag: Schema = {"type": "boolean"}
    return {
        "note": _noun(Note, code=_CODE),
        "error": _noun(Trouble, code=_CODE, hint=_text_or_null("the next command")),
        "platform": _noun(Platform, optional=("macos",), macos=_text_or_null("the version of a Mac's system")),
        "python": _noun(Python),
        "driver": _noun(
            Driver,
            cuda=_text_or_null("the CUDA version that it supports itself"),
            os=_text_or_null("another system's driver decides, as under WSL2"),
        ),
        "gpu": _noun(
            Gpu,
            index={"type": "integer", "minimum": 0},
            vendor={"enum": list(VENDORS)},
            arch=_text_or_null("sm_61 or gfx1100; null when unknown"),
            counted={**flag, "description": "whether a build must support it"},
        ),
        "machine": _with(_noun(Machine, optional=("name", "trouble")), **_several()),
        "left_out": _object({"code": _CODE, "text": text, "hint": _text_or_null()}, **_several()),
        "fit": _noun(
            GpuFit,
            optional=("machine",),
            gpu=_GPU,
            fit={"enum": [fit.word for fit in Fit]},
            via=_text_or_null("the code that supports it"),
            machine=_MACHINE,
        ),
        "evidence": _noun(Evidence, kind={"enum": ["measured", "declared"]}, twin=_maybe(_noun(TwinWheel))),
        "pick": _object(
            {
                **_fields(Build, "torch", "backend", "version", "cuda", version=_BUILD_VERSION),
                "index_url": _text_or_null("the wheel index of its torch; null for your own index"),
                "requirements": _list(text),
                "companions": {"type": "object", "additionalProperties": text},
                "fits": _list(_ref("fit")),
                "evidence": _ref("evidence"),
                "notes": _list(_ref("note")),
            }
        ),
        "group": _object(
            {
                "machines": _list({"type": "integer"}),
                "gpus": _list({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}),
                "pick": _ref("pick"),
            },
            **_several(),
        ),
        "change": _object({"code": _CODE, "text": text, "version": text}),
        "objection": _object(
            _fields(Objection, "code", "text", code={"enum": [each.name for each in Reason]}),
            gpu=_GPU,
            machine=_MACHINE,
        ),
        "verdict": _object({**_fields(Build, *BUILD_NAMES), **_fields(Verdict, "ok", "objections")}),
        "stack": _object(
            _fields(
                Stack,
                *("requirements", "packages", "index_url", "notes"),
                index_url=_text_or_null("the wheel index of its torch"),
            )
        ),
        "pinned": _noun(
            PinnedPackage,
            cuda=_text_or_null("the CUDA major that it links or brings"),
            index={**text, "description": "where it comes from"},
            verdict={"enum": list(PIN_VERDICTS)},
            evidence={"enum": ["measured", "declared"]},
        ),
        "coverage": _object({name: {"type": "integer", "minimum": 0} for name in ("sass", "ptx", "none")}),
        "library": _object(
            {
                "path": text,
                "sass": _list(text),
                "ptx": _list(text),
                "modules": {"type": "integer", "description": "those with a kernel"},
                "coverage": {"type": "object", "additionalProperties": _ref("coverage")},
                "elsewhere": _list({"type": "object"}),
            }
        ),
        "result": _object(
            {
                "target": {**text, "description": "as it was named"},
                "sass": _list(text),
                "ptx": _list(text),
                "size": {"type": "integer"},
                "bytes_read": {"type": "integer"},
                "requests": {"type": "integer"},
                "complete": {**flag, "description": "false where only a part was read"},
                "verdict": _maybe({"enum": list(VERDICTS)}),
                "libraries": _list(_ref("library")),
            }
        ),
        "unread": _object({"target": text, "error": _ref("error")}),
        "lock": _object(
            {
                "path": text,
                "environment": {**text, "description": "the marker that holds in the one environment it is for"},
                "packages": _list(_ref("locked")),
                "computed": _list({**text, "description": "a file whose hash was computed here, as no index gives it"}),
                "notes": _list(_ref("note")),
            }
        ),
        "locked": _object(
            {
                "name": text,
                "version": _text_or_null(),
                "files": _list(_object({"url": text, "sha256": {**text, "pattern": "^[0-9a-f]{64}$"}})),
            }
        ),
        "finding": _object(
            _fields(
                Finding,
                *("code", "severity", "text", "seen", "cure"),
                code=_CODE,
                severity={"enum": list(SEVERITIES)},
                cure=_text_or_null("a command"),
            )
        ),
    }


# What these print is the pick; an installer's own failure is in `error` beside it.
_DECIDING = ("pick", "url", "label", "env", "install")


def _when(status: str, also: Schema, then: Schema) -> Schema:
    return {"if": {"properties": {"status": {"const": status}, **also}}, "then": then}


# Nouns inside of nouns, by the name of their definition.
_NAMED = {
    "Platform": "platform",
    "Python": "python",
    "Driver": "driver",
    "Gpu": "gpu",
    "Note": "note",
    "Trouble": "error",
    "Objection": "objection",
    "PinnedPackage": "pinned",
}
_PLAIN = {"str": "string", "int": "integer", "bool": "boolean"}


def _noun(noun: type, /, *, optional: tuple[str, ...] = (), **known: Schema) -> Schema:
    """What torchpick.model.fields writes of a noun: its fields as they are declared, and what else is `known` of them.

    The fields in `optional` come last, in that order.
    """
    found = _fields(noun, *noun.__annotations__, **known)
    required = {name: value for name, value in found.items() if name not in optional}
    return _object(required, **{name: found[name] for name in optional})


def _fields(noun: type, /, *names: str, **known: Schema) -> Schema:
    """Some fields and properties of a noun, each as it is declared or `known`."""
    kinds = noun.__annotations__
    return {
        name: known.get(name) or _declared(kinds.get(name) or getattr(noun, name).fget.__annotations__["return"])
        for name in names
    }


def _declared(kind: str) -> Schema:
    """The schema of an annotation."""
    if kind.startswith("tuple[") and kind.endswith(", ...]"):
        return _list(_declared(kind.removeprefix("tuple[").removesuffix(", ...]")))
    if kind.startswith("Mapping["):
        return {"type": "object"}
    if kind == "str | None":
        return _text_or_null()
    if kind.endswith(" | None"):
        return _maybe(_declared(kind.removesuffix(" | None")))
    return {"type": _PLAIN[kind]} if kind in _PLAIN else _ref(_NAMED[kind])


def _object(required: Mapping[str, object], **optional: object) -> Schema:
    return {"type": "object", "required": list(required), "properties": {**required, **optional}}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _maybe(value: Schema) -> Schema:
    return {"anyOf": [value, {"type": "null"}]}


def _several() -> Schema:
    """Machines that are alike stand once."""
    return {
        "count": {"type": "integer", "minimum": 0, "description": "how many machines it stands for"},
        "hosts": _text_or_null("their names, such as n[1-400]; null where none has one"),
    }


def _with(value: Schema, **optional: object) -> Schema:
    """An object that may have these keys as well."""
    known = value["properties"]
    return {**value, "properties": {**(known if isinstance(known, dict) else {}), **optional}}


def _text_or_null(about: str = "") -> Schema:
    return {"type": ["string", "null"], **({"description": about} if about else {})}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}
