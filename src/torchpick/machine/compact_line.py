"""A machine in a line of less than 1,000 bytes: what decides, equal GPUs once with `count` and `indexes`; and its name.

Launchers cut long lines into each other: slurmstepd forwards output in pieces of at most 1,024 bytes
(SLURM_IO_MAX_MSG_LEN in its io.c).
"""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.model import envelope
from torchpick.model.fields import written
from torchpick.model.machine import MOST_GPUS, Driver, Gpu, Machine, Platform, Trouble

MOST_BYTES = 1_000
# Prose is cut to this: the important part comes first.
_MOST_TEXT = 110
_MOST_NAME = 64


def line(found: Machine) -> str:
    """The envelope of `detect --json` in this form; without the GPUs' names where it would be too long with them."""
    status = "ok" if found.trouble is None else "no_answer"
    for named in (True, False):
        value = machine(found, named=named)
        text = envelope.dumps(
            envelope.new("detect", status=status, exit_status=0 if found.trouble is None else 4, machine=value)
        )
        if len(text) < MOST_BYTES:
            break
    return text


def machine(found: Machine, *, named: bool = True) -> dict[str, object]:
    """What `to_json` writes, without what no decision needs."""
    python = found.python
    value: dict[str, object] = {
        "name": None if found.name is None else found.name[:_MOST_NAME],
        "platform": _present(found.platform),
        "python": {
            "version": python.version,
            **({"implementation": python.implementation} if python.implementation != "cp" else {}),
            **({"free_threaded": True} if python.free_threaded else {}),
        },
        "driver": None if found.driver is None else _present(found.driver),
        "gpus": _rows(found.gpus, named=named),
    }
    if found.trouble is not None:
        value["trouble"] = trouble(found.trouble)
    return value


def trouble(full: Trouble) -> Trouble:
    return Trouble(full.code, _cut(full.text), _cut(full.hint))


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else text[: _MOST_TEXT - 3] + "..."


def _present(facts: Platform | Driver) -> dict[str, object]:
    return written(facts, optional=facts._fields)


def _rows(gpus: tuple[Gpu, ...], *, named: bool) -> list[dict[str, object]]:
    """Equal GPUs once."""
    alike: dict[Gpu, list[int]] = {}
    for gpu in gpus:
        kind = gpu._replace(index=0, name=gpu.name if named else None, uuid=None, pci=None, source="")
        alike.setdefault(kind, []).append(gpu.index)
    rows: list[dict[str, object]] = []
    for gpu, indexes in alike.items():
        row: dict[str, object] = {"arch": None if gpu.arch is None else str(gpu.arch)}
        if gpu.vendor != "nvidia":
            row["vendor"] = gpu.vendor
        if gpu.name is not None:
            row["name"] = gpu.name[:_MOST_NAME]
        if len(indexes) > 1:
            row["count"] = len(indexes)
        if len(indexes) > 1 or indexes[0] != len(rows):
            row["indexes"] = indexes
        usual = {"visible": True, "integrated": False, "counted": True}
        row |= {flag: not value for flag, value in usual.items() if getattr(gpu, flag) != value}
        rows.append(row)
    return rows


def expanded(value: object) -> object:
    """The same machine with a row for each GPU; what is not in this form is left for the reader to judge."""
    if not isinstance(value, dict) or not isinstance(value.get("gpus"), list):
        return value
    rows = value["gpus"]
    if not any(isinstance(row, dict) and ("count" in row or "indexes" in row) for row in rows):
        return value
    gpus: list[object] = []
    for row in rows:
        indexes = _indexes(row, len(gpus)) if isinstance(row, dict) else None
        if indexes is None or len(gpus) + len(indexes) > MOST_GPUS + 1:
            gpus.append(row)
            continue
        bare = {name: field for name, field in row.items() if name not in ("count", "indexes")}
        gpus += [{**bare, "index": index} for index in indexes]
    return {**value, "gpus": gpus}


def _indexes(row: dict[str, object], start: int) -> list[int] | None:
    listed, count = row.get("indexes"), row.get("count", 1)
    if isinstance(listed, list):
        return listed if all(type(index) is int for index in listed) else None
    return list(range(start, start + count)) if type(count) is int and 0 < count <= MOST_GPUS else None


_MOST_HOST = 253  # a DNS name
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def host_name(environ: Mapping[str, str]) -> str | None:
    """Slurm's own name of the node, which several slurmd on one host do not share, else the system's."""
    import platform  # not socket, which costs more than the name is worth

    return (environ.get("SLURMD_NODENAME") or platform.node())[:_MOST_HOST] or None


def file_name(name: str) -> str:
    """The name as one of a file: no separator, and not hidden."""
    return "".join(char if char in _SAFE else "_" for char in name).lstrip(".")[:_MOST_HOST] or "host"
