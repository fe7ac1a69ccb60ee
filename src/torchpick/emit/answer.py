"""The answer for a person: what was found, the pick, the command to run, and why not newer."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from torchpick.emit import pip, words
from torchpick.emit.text import plain, wrap
from torchpick.model.envelope import redacted
from torchpick.model.machine import Machine, Note
from torchpick.model.verdict import Pick, Reason, Verdict
from torchpick.model.versions import release_key

Paint = Callable[[str], str]


def text(pick: Pick, install: str | None, width: int | None, bold: Paint = str) -> str:
    """Lines under five headings, readable without colour. `install` is the command that takes the pick.

    Prose is wrapped to the width; a command stays on one line, so that it can be copied.
    """
    commands = [
        *([install] if install else []),
        shlex.join(["pip", "install", *pip.words(pick.build, pick.wish, redacted(pick.index_url))]),
    ]
    parts = [
        ("found", _wrapped(_found_all(pick.machines), width)),
        ("pick", _wrapped(_pick(pick), width)),
        ("run", commands[:1]),
        ("or", commands[1:]),
        ("why not newer", _wrapped(why_not_newer(pick), width)),
        ("note", _wrapped([note.text for note in _notes(pick)], width)),
    ]
    lines = []
    for heading, body in parts:
        for place, each in enumerate(map(plain, body)):
            shown = bold(each) if (heading, place) == ("pick", 0) else each
            lines.append(f"{bold(heading.ljust(_INDENT)) if place == 0 else ' ' * _INDENT}{shown}")
        if body and (heading != "run" or len(commands) == 1):
            lines.append("")
    return "\n".join(lines[:-1])


_INDENT = len("why not newer") + 2


def _notes(pick: Pick) -> list[Note]:
    return [*(note for machine in pick.machines for note in machine.notes), *pick.notes]


def _wrapped(lines: list[str], width: int | None) -> list[str]:
    if width is None:
        return lines
    return [part for line in lines for part in wrap(line, max(width - _INDENT, 30))]


def _found_all(machines: tuple[Machine, ...]) -> list[str]:
    """Each machine's lines; those that are alike but for their name are told once, with their number."""
    alike: dict[tuple[str, ...], int] = {}
    for machine in machines:
        lines = tuple(found(machine if len(machines) == 1 else machine._replace(name=None)))
        alike[lines] = alike.get(lines, 0) + 1
    return [
        f"{count} × {line}" if count > 1 and place == 0 else line
        for lines, count in alike.items()
        for place, line in enumerate(lines)
    ]


def found(machine: Machine) -> list[str]:
    """The machine in two lines or so."""
    lines = [machine.name] if machine.name else []
    for gpu in machine.gpus:
        counted = "" if gpu.counted else ", not counted"
        lines.append(f"{gpu.label}{counted}")
    if not machine.gpus:
        lines.append("no GPU")
    facts = []
    if machine.driver is not None:
        spoken = f" (CUDA {machine.driver.cuda})" if machine.driver.cuda else ""
        assumed = ", assumed" if machine.driver.source == "assumed" else ""
        facts.append(f"driver {machine.driver.version or 'not told'}{spoken}{assumed}")
    facts.append(machine.platform.name + (f", glibc {machine.platform.glibc}" if machine.platform.glibc else ""))
    python = machine.python
    facts.append(f"Python {python.version}{'t' if python.free_threaded else ''}")
    return [*lines, ", ".join(facts)]


def _pick(pick: Pick) -> list[str]:
    build = pick.build
    lines = [f"torch {pick.version}"]
    for verdict in pick.verdicts:
        lines += [f"{_label(pick, fit.machine, fit.gpu)}: {words.fit(fit.fit, fit.via)}" for fit in verdict.fits]
    lines = [*dict.fromkeys(lines)]  # machines that are alike say the same
    if pick.companions:
        lines.append("with " + ", ".join(f"{name} {version}" for name, version in pick.companions.items()))
    lines.append(f"evidence: {words.evidence(build)}")
    return lines


def _label(pick: Pick, machine: int | None, gpu: int) -> str:
    return next(each.label for each in pick.machines[machine or 0].gpus if each.index == gpu)


def why_not_newer(pick: Pick) -> list[str]:
    """For up to three newer releases, why none of their builds was taken: the reason that most of them share."""
    chosen = release_key(pick.build.torch)
    newer: dict[str, list[Verdict]] = {}
    for verdict in pick.considered:
        if release_key(verdict.build.torch) > chosen and verdict.rank.suits == 2:
            newer.setdefault(verdict.build.torch, []).append(verdict)
    lines = []
    for torch, verdicts in list(newer.items())[:3]:
        candidates = [each for each in verdicts if Reason.BACKEND_NOT_ALLOWED not in each.reasons] or verdicts
        by_text: dict[str, list[str]] = {}
        for each in candidates:
            by_text.setdefault(each.objections[0].text if each.objections else "", []).append(each.build.backend)
        lines += [f"{torch} {', '.join(backends)}: {why}" for why, backends in by_text.items()]
    if len(newer) > 3:
        lines.append(f"and {len(newer) - 3} more; `torchpick list` shows all")
    return lines
