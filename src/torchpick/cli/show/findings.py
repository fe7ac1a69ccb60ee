"""Findings and explanations as a person reads them: the worst first, each with what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence

from torchpick.cli.show.text import block
from torchpick.model.finding import SEVERITIES, Finding

Paint = Callable[[str], str]
Lines = Iterable[tuple[str, str]]


def of(finding: Finding, shared: Collection[str] = ()) -> Lines:
    """One finding as labelled lines; a `shared` command is said once, after all of them."""
    yield finding.severity, finding.code
    yield "", finding.text
    yield "why", finding.ailment.why
    if finding.cure is not None and finding.cure not in shared:
        yield "run", finding.cure
    remark = finding.advice if finding.cure in shared else finding.remark
    if remark is not None:
        yield "note" if finding.cure is not None else "do", remark


def page(head: Lines, findings: Sequence[Finding], width: int | None, bold: Paint = str) -> str:
    """What was looked at, then every finding, then the commands that fix several of them."""
    cures = Counter(finding.cure for finding in findings if finding.cure is not None)
    shared = [cure for cure, many in cures.items() if many > 1]
    parts = [block(head, width, bold)]
    parts += [block(of(finding, shared), width, bold) for finding in findings]
    for cure in shared:
        fixed = [finding for finding in findings if finding.cure == cure]
        parts.append(block(_fix(cure, fixed), width, bold))
    return "\n\n".join(part for part in parts if part)


def _fix(cure: str, fixed: Sequence[Finding]) -> Lines:
    yield "run", cure
    yield "", f"fixes {', '.join(dict.fromkeys(finding.code for finding in fixed))}"
    yield from (("", brings) for brings in dict.fromkeys(finding.brings for finding in fixed) if brings)


def count(findings: Sequence[Finding]) -> str:
    """`2 errors, 1 note`."""
    found = []
    for severity in SEVERITIES:
        many = sum(finding.severity == severity for finding in findings)
        if many:
            found.append(f"{many} {severity}{'s' if many > 1 else ''}")
    return ", ".join(found) or "nothing wrong"
