"""`torchpick list --companions`: which torchvision, torchaudio … belong to which torch, on which backend."""

from __future__ import annotations

import os
from collections.abc import Iterable

from torchpick.cli import console
from torchpick.cli.arguments import Arguments
from torchpick.cli.show import table
from torchpick.decide import requested
from torchpick.environment import interpreter
from torchpick.environment.world import World
from torchpick.errors import UsageError
from torchpick.knowledge import pairings
from torchpick.knowledge.compat import Knowledge
from torchpick.knowledge.pairings import BuildCompanions
from torchpick.model import envelope
from torchpick.model.build import COMPANIONS, DEFAULT_INDEX, backend_order
from torchpick.model.machine import PLATFORMS
from torchpick.model.request import Wish
from torchpick.model.versions import admits, release_key

_COLUMNS = (*COMPANIONS, "torchcodec", "torchtext", "torchdata", "torchao")
_INFERRED = "~"


def run(args: Arguments) -> int:
    """Print the table; no machine is looked at."""
    rows = _rows(args)
    if args.json:
        print(envelope.dumps(envelope.new("list", companions=rows)))
        return 0
    print(table.headed(_cells(rows), console.width(), console.painter(args)))
    note = "inferred: neither its metadata nor its release notes name that torch, only an older one"
    console.notes(args, f"{_INFERRED} {note}")
    return 0


def _rows(args: Arguments) -> list[BuildCompanions]:
    platform = args.platform or os.environ.get("TORCHPICK_PLATFORM") or interpreter.own(World.here()).platform.name
    if platform not in PLATFORMS:
        raise UsageError(f"`{platform}` is not a platform of PyTorch's builds", hint=f"one of {', '.join(PLATFORMS)}")
    knowledge = Knowledge(os.environ)
    wish = requested.narrowed(Wish(), args.requirements, lambda: knowledge.family)
    admitted = admits(wish.torch)
    known = knowledge.file("companions.json", pairings.others)
    builds = knowledge.table((platform,), default_index=DEFAULT_INDEX in (args.backend or ())).of(platform)
    chosen = [
        build for build in builds if admitted(build.torch) and build.backend in (args.backend or (build.backend,))
    ]
    chosen.sort(key=lambda build: backend_order(build.backend))
    chosen.sort(key=lambda build: release_key(build.torch), reverse=True)
    return [pairings.beside(build, known) for build in chosen]


def _cells(rows: Iterable[BuildCompanions]) -> list[tuple[str, ...]]:
    """A line for all backends of a release that have the same companions; the labels are those of the backends."""
    found: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        versions = tuple(_cell(row, name) for name in _COLUMNS)
        found.setdefault((row.build.torch, *versions), []).append(row.build.backend)
    lines = [(key[0], ", ".join(backends), *key[1:]) for key, backends in found.items()]
    return [("torch", "backend", *_COLUMNS), *lines]


def _cell(row: BuildCompanions, name: str) -> str:
    known = row.companions.get(name)
    if known is None:
        return "-"
    return known.version.partition("+")[0] + (_INFERRED if known.basis == "inferred" else "")
