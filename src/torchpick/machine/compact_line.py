"""A machine in a line of less than 1,000 bytes: what decides, equal neighbours among the GPUs once, with `count`.

Launchers cut long lines into each other: slurmstepd forwards output in pieces of at most 1,024 bytes
(SLURM_IO_MAX_MSG_LEN in its io.c).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from torchpick.model.fields import dumps, envelope, written
from torchpick.model.machine import MOST_GPUS, Driver, Gpu, Machine, Platform, Python, Trouble

MOST_BYTES = 1_000
# Prose is cut to this: the important part comes first.
_MOST_TEXT = 110
_MOST_NAME = 64


def line(found: Machine) -> str:
    """The envelope of `detect --json` in this form; without the GPUs' names where it would be too long with them."""
    status = 0 if found.trouble is None else 4
    for named in (True, False):
        value = machine(found, named=named)
        text = dumps(envelope("detect", status, machine=value))
        if len(text) < MOST_BYTES:
            break
    return text


def machine(found: Machine, *, named: bool = True) -> dict[str, object]:
    """What `to_json` writes, without what no decision needs."""
    value: dict[str, object] = {
        "name": None if found.name is None else found.name[:_MOST_NAME],
        "platform": _present(found.platform),
        "python": _present(found.python._replace(executable=None, source="given")),
        "driver": None if found.driver is None else _present(found.driver),
        "gpus": _rows(found.gpus, named=named),
    }
    if found.trouble is not None:
        code, text, hint = found.trouble
        value["trouble"] = Trouble(code, _cut(text), _cut(hint))
    return value


def _cut(text: str) -> str:
    """The text, or as many of its words as there is room for."""
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 4].rsplit(' ', 1)[0]} ..."


def _present(facts: Platform | Python | Driver | Gpu) -> dict[str, object]:
    """What says more than a reader takes for granted."""
    usual = {"index": 0, "vendor": "nvidia", **facts._field_defaults}
    return {name: value for name, value in written(facts).items() if value != usual.get(name)}


def _rows(gpus: tuple[Gpu, ...], *, named: bool) -> list[dict[str, object]]:
    """Equal neighbours once."""
    most = _MOST_NAME if named else 0
    kinds = (
        gpu._replace(index=0, name=(gpu.name or "")[:most] or None, uuid=None, pci=None, source="given") for gpu in gpus
    )
    rows: list[dict[str, object]] = []
    for gpu, alike in groupby(kinds):
        count = len(list(alike))
        rows.append({**_present(gpu), **({"count": count} if count > 1 else {})})
    return rows


def expanded(value: object) -> object:
    """The same machine with a row for each GPU; what is not in this form is left for the reader to judge."""
    if not isinstance(value, dict) or not isinstance(value.get("gpus"), list):
        return value
    gpus: list[object] = []
    for row in value["gpus"][: MOST_GPUS + 1]:
        count = row.get("count") if isinstance(row, dict) else None
        if type(count) is int and 0 < count <= MOST_GPUS:
            gpus += [{name: row[name] for name in row if name != "count"}] * count
        else:
            gpus.append(row)
    return {**value, "gpus": gpus}


_MOST_HOST = 253  # a DNS name
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def host_name(environ: Mapping[str, str]) -> str | None:
    """Slurm's own name of the node, which several slurmd on one host do not share, else the system's."""
    import platform  # not socket, which costs more than the name is worth

    return (environ.get("SLURMD_NODENAME") or platform.node())[:_MOST_HOST] or None


def file_name(name: str) -> str:
    """The name as one of a file: no separator, and not hidden."""
    return "".join(char if char in _SAFE else "_" for char in name).lstrip(".")[:_MOST_HOST] or "host"
