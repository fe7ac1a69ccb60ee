"""Findings as a list that a notebook shows as a table, and the one that only a running process can have."""

from __future__ import annotations

from collections.abc import Iterable

from torchpick.model.finding import Ailment, Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.doctor.facts import Facts


class FoundList(list[Finding]):
    """A list of findings, worst first."""

    def _repr_html_(self) -> str:
        return html(self)


def html(findings: Iterable[Finding]) -> str:
    from torchpick.model.envelope import html_table

    rows = [(each.severity, each.code, each.text, each.cure or each.advice or "") for each in findings]
    return html_table(rows, ("severity", "code", "what", "fix")) if rows else "<p>nothing is wrong</p>"


def of_process(facts: Facts, imported: str | None) -> tuple[Finding, ...]:
    """Where this process has imported another torch than the one that its environment holds now."""
    installed = None if facts.torch is None else facts.torch.version
    if imported is None or installed is None or imported == installed:
        return ()
    text = f"this process has imported torch {imported}, and torch {installed} is installed now"
    advice = "restart the kernel (or the program): a module that is imported stays as it is"
    return (Finding(Ailment.RESTART_KERNEL, text, {"imported": imported, "installed": installed}, advice),)
