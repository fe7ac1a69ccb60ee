"""The answer for a person: what was found, the pick, the command to run, and why not newer."""

from __future__ import annotations

from collections.abc import Callable

from torchpick.emit import pip, words
from torchpick.emit.text import plain
from torchpick.model.machine import Machine
from torchpick.model.verdict import Pick, Reason, Verdict
from torchpick.model.versions import release_key

Paint = Callable[[str], str]


def text(pick: Pick, install: str, bold: Paint = str) -> str:
    """Lines under four headings, readable without colour. `install` is the command that takes the pick."""
    parts = [
        ("found", [line for machine in pick.machines for line in found(machine)]),
        ("pick", _pick(pick, bold)),
        ("run", [install, f"or  pip install {pip.line(pick)}"]),
        ("why not newer", why_not_newer(pick)),
        ("note", [note.text for machine in pick.machines for note in machine.notes] + [n.text for n in pick.notes]),
    ]
    lines = []
    for heading, body in parts:
        for place, each in enumerate(body):
            lines.append(f"{bold(heading.ljust(_WIDTH)) if place == 0 else ' ' * _WIDTH}{plain(each)}")
        if body:
            lines.append("")
    return "\n".join(lines[:-1])


_WIDTH = len("why not newer") + 2


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


def _pick(pick: Pick, bold: Paint) -> list[str]:
    build = pick.build
    lines = [bold(f"torch {pick.version}")]
    for verdict in pick.verdicts[:1]:
        lines += [f"{_label(pick, fit.machine, fit.gpu)}: {words.fit(fit.fit, fit.via)}" for fit in verdict.fits]
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
        lines.append("; ".join(f"{torch}+{', '.join(backends)}: {why}" for why, backends in by_text.items()))
    if len(newer) > 3:
        lines.append(f"and {len(newer) - 3} more; `torchpick list` shows all")
    return lines
