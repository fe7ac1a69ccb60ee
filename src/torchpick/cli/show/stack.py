"""A stack for a person: its pins as a table, what stands in the way, its notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from torchpick.cli.show.text import headed, plain
from torchpick.model.machine import Note
from torchpick.model.package import Package
from torchpick.model.stack import Stack

# A refusal shows so many reasons; `--json` has all.
_MOST_REASONS = 6
# The codes that say what may not run.
_DOUBTS = ("PARTIAL_LIBRARY", "PACKAGE_UNREAD")


def table(stack: Stack, width: int | None, bold: Callable[[str], str] = str) -> str:
    """Every pin, what it is for, whether it runs, and why it was chosen."""
    rows = [("package", "version", "CUDA", "verdict", "from", "why")]
    rows += [(each.name, each.version, each.cuda or "-", each.verdict, each.index, each.why) for each in stack.packages]
    return headed(rows, width, bold)


def versions(rows: Iterable[tuple[Package, Stack]], width: int | None, bold: Callable[[str], str] = str) -> str:
    """The versions of a package, newest first, each with the torch it would be with, or why it does not fit."""
    cells = [("version", "torch", "CUDA", "verdict", "why")]
    for package, stack in rows:
        pin = next((each for each in stack.packages if each.name == package.name), None)
        if pin is None:
            objection = next((each.objection for each in stack.objections if each.name == package.name), None)
            if objection is None and stack.objections:
                objection = stack.objections[0].objection
            cells.append(
                (
                    package.version,
                    "-",
                    package.cuda or "-",
                    "-" if objection is None else objection.code,
                    "" if objection is None else objection.text,
                )
            )
        else:
            why = "; ".join(note.text.removeprefix(f"{package.who}: ") for note in _doubts(stack))
            cells.append((package.version, stack.version("torch") or "-", pin.cuda or "-", pin.verdict, why))
    return headed(cells, width, bold)


def of_torch(rows: Iterable[tuple[Package, Stack]]) -> list[str]:
    """What the torch builds beside the versions lack, a line each: many versions are beside the same."""
    found: dict[str, None] = {}
    for _, stack in rows:
        of_packages = _doubts(stack)
        found |= {each.text: None for each in stack.notes if each.code in _DOUBTS and each not in of_packages}
    return [*found]


def _doubts(stack: Stack) -> list[Note]:
    """The notes on whether a package of it runs, torch's own aside."""
    pinned = [f"{each.name} {each.version}" for each in stack.packages]
    return [each for each in stack.notes if each.code in _DOUBTS and any(who in each.text for who in pinned)]


def refusal(stack: Stack) -> str:
    """Why no environment fits, and what would have to change."""
    gpus = ", ".join(gpu.label for gpu in stack.machine.counted)
    driver = stack.machine.driver
    where = f" for {gpus}" if gpus else ""
    where += f" with driver {driver.version}" if gpus and driver is not None and driver.version else ""
    what = "no environment fits" if stack.objections else "nothing is known that could be planned of"
    lines = [f"error: {what} {' '.join(stack.asked)}{where}"]
    lines += [
        plain(f"  {f'{each.name} {each.span}'.rstrip()}: {each.objection.text}")
        for each in stack.objections[:_MOST_REASONS]
    ]
    if len(stack.objections) > _MOST_REASONS:
        lines.append(f"  and {len(stack.objections) - _MOST_REASONS} more reasons; `--json` has all")
    if stack.hints:
        lines += ["", *(f"hint: {plain(hint)}" for hint in stack.hints)]
    return "\n".join(lines)
