"""Findings and explanations as a person reads them: the worst first, each with what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from torchpick.emit.text import plain, wrap
from torchpick.model.finding import SEVERITIES, Finding

Paint = Callable[[str], str]
Lines = Iterable[tuple[str, str]]
_INDENT = 11
# A command stays on one line, so that it can be copied.
_WHOLE = ("run", "threads")


def block(lines: Lines, width: int | None, bold: Paint = str) -> str:
    """Labelled lines; the text is wrapped to what is left of the width."""
    found = []
    before = ""
    for label, text in lines:
        parts = [text] if width is None or label in _WHOLE else wrap(text, max(width - _INDENT, 30))
        for place, part in enumerate(map(plain, parts)):
            shown = label if place == 0 and label != before else ""
            found.append(f"{bold(shown.ljust(_INDENT)) if shown else ' ' * _INDENT}{part}")
        before = label
    return "\n".join(line.rstrip() for line in found)


def of(finding: Finding) -> Lines:
    """One finding as labelled lines."""
    yield finding.severity, finding.code
    yield "", finding.text
    yield "why", finding.ailment.why
    if finding.cure is not None:
        yield "run", finding.cure
    if finding.advice is not None:
        yield "note" if finding.cure is not None else "do", finding.advice


def page(head: Lines, findings: Sequence[Finding], width: int | None, bold: Paint = str) -> str:
    """What was looked at, then every finding."""
    parts = [block(head, width, bold), *(block(of(finding), width, bold) for finding in findings)]
    return "\n\n".join(part for part in parts if part)


def count(findings: Sequence[Finding]) -> str:
    """`2 errors, 1 note`."""
    found = []
    for severity in SEVERITIES:
        many = sum(finding.severity == severity for finding in findings)
        if many:
            found.append(f"{many} {severity}{'s' if many > 1 else ''}")
    return ", ".join(found) or "nothing wrong"
