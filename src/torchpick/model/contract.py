"""The JSON that commands print under --json, as a JSON Schema (draft 2020-12).

It promises keys, not their absence: keys are added freely within one schema number and none is renamed.
"""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.model.arch import Fit
from torchpick.model.envelope import SCHEMA
from torchpick.model.machine import VENDORS
from torchpick.model.verdict import Reason

Schema = dict[str, object]

# Of `inspect`, the worst over the GPUs; null where none was judged.
VERDICTS = ("runs", "runs by JIT", "partly", "will not run", "no GPU code", "compiles at run time")
STATUSES = ("ok", "no_build", "no_answer", "error")
# Several machines, their GPUs as (machine, GPU) places.
_MACHINE = {"type": "integer", "minimum": 0, "description": "place in `machines`; only where there are several"}
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
            unserved=_list({"type": "array", "description": "machine and GPU that no build serves"}),
            considered=_list(_ref("verdict")),
            findings=_list(_ref("finding")),
            results=_list({"anyOf": [_ref("result"), _ref("unread")]}),
            locks=_list(_ref("lock")),
            error=_ref("error"),
        ),
        "allOf": [
            _when("ok", _deciding(), {"required": ["pick"], "properties": {"pick": _ref("pick")}}),
            _when("no_build", {}, {"properties": {"exit": {"const": 3}, "pick": {"type": "null"}}}),
            _when("no_answer", {}, {"required": ["error"], "properties": {"exit": {"const": 4}}}),
        ],
        "$defs": _definitions(),
    }


def _definitions() -> Schema:
    text: Schema = {"type": "string"}
    flag: Schema = {"type": "boolean"}
    return {
        "note": _object({"code": _code("stable"), "text": text}),
        "error": _object({"code": _code("stable"), "text": text, "hint": _text_or_null("the next command")}),
        "platform": _object({"os": text, "cpu": text, "glibc": _text_or_null(), "libc": _text_or_null()}),
        "python": _object(
            {
                "version": text,
                "implementation": text,
                "free_threaded": flag,
                "executable": _text_or_null(),
                "source": text,
            }
        ),
        "driver": _object(
            {
                "version": _text_or_null(),
                "cuda": _text_or_null("the CUDA that it speaks itself"),
                "source": text,
                "cuda_source": _text_or_null(),
                "os": _text_or_null("another system's driver decides, as under WSL2"),
            }
        ),
        "gpu": _object(
            {
                "index": {"type": "integer", "minimum": 0},
                "vendor": {"enum": list(VENDORS)},
                "name": _text_or_null(),
                "arch": _text_or_null("sm_61 or gfx1100; null when unknown"),
                "uuid": _text_or_null(),
                "pci": _text_or_null(),
                "visible": flag,
                "integrated": flag,
                "counted": {**flag, "description": "whether a build must serve it"},
                "source": text,
            }
        ),
        "machine": _object(
            {
                "platform": _ref("platform"),
                "python": _ref("python"),
                "driver": _maybe(_ref("driver")),
                "gpus": _list(_ref("gpu")),
                "notes": _list(_ref("note")),
            },
            name=_text_or_null(),
            trouble=_maybe(_ref("error")),
        ),
        "fit": _object(
            {
                "gpu": _GPU,
                "fit": {"enum": [each.word for each in Fit]},
                "via": _text_or_null("the code that serves it"),
            },
            machine=_MACHINE,
        ),
        "evidence": _object(
            {
                "kind": {"enum": ["measured", "declared"]},
                "ref": text,
                "twin": _maybe(_object({"file": text, "sha256": text})),
            }
        ),
        "pick": _object(
            {
                "torch": text,
                "backend": text,
                "version": {**text, "description": "with its local label where the wheel has one"},
                "cuda": _text_or_null(),
                "index_url": text,
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
            }
        ),
        "change": _object({"code": _code("stable"), "text": text, "version": text}),
        "objection": _object(
            {"code": {"enum": [each.name for each in Reason]}, "text": text}, gpu=_GPU, machine=_MACHINE
        ),
        "verdict": _object(
            {
                "torch": text,
                "backend": text,
                "version": text,
                "platform": text,
                "ok": flag,
                "objections": _list(_ref("objection")),
            }
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
                "name": _text_or_null("with --each: the NAME of pylock.NAME.toml"),
                "environments": _list(text),
                "packages": _list(_ref("locked")),
                "computed": _list({**text, "description": "a file whose hash no index told"}),
                "notes": _list(_ref("note")),
            },
            pick=_ref("pick"),
        ),
        "locked": _object(
            {
                "name": text,
                "version": _text_or_null(),
                "marker": _text_or_null("where it belongs; null for all of `environments`"),
                "files": _list(_object({"url": text, "sha256": {**text, "pattern": "^[0-9a-f]{64}$"}})),
            }
        ),
        "finding": _object(
            {
                "code": _code("stable"),
                "severity": {"enum": ["error", "warning", "note"]},
                "text": text,
                "seen": {"type": "object"},
                "cure": _text_or_null("a command"),
            }
        ),
    }


# What these print is the pick; an installer's own failure is told in `error` beside it.
_DECIDING = ("pick", "url", "label", "env", "install")


def _deciding() -> Schema:
    return {"command": {"enum": list(_DECIDING)}}


def _when(status: str, also: Schema, then: Schema) -> Schema:
    return {"if": {"properties": {"status": {"const": status}, **also}}, "then": then}


def _object(required: Mapping[str, object], **optional: object) -> Schema:
    return {"type": "object", "required": list(required), "properties": {**required, **optional}}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _maybe(value: Schema) -> Schema:
    return {"anyOf": [value, {"type": "null"}]}


def _text_or_null(about: str = "") -> Schema:
    return {"type": ["string", "null"], **({"description": about} if about else {})}


def _code(about: str) -> Schema:
    return {"type": "string", "pattern": "^[A-Z][A-Z0-9_]*$", "description": about}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}
