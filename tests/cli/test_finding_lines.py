"""A finding as doctor and explain print it, line by line."""

from __future__ import annotations

import pytest

from torchpick.cli import doctor
from torchpick.model.finding import Ailment, Finding

FOUND = Finding(Ailment.GPUS_HIDDEN, "it is so")
HEAD = [("warning", "GPUS_HIDDEN"), ("", "it is so"), ("why", Ailment.GPUS_HIDDEN.why)]


@pytest.mark.parametrize(("finding", "shared", "more"), [
        (FOUND, (), []), (FOUND._replace(advice="do that"), (), [("do", "do that")]),
        (FOUND._replace(cure="run this"), (), [("run", "run this")]),
        (FOUND._replace(cure="run this", advice="and that"), (), [("run", "run this"), ("note", "and that")]),
        (FOUND._replace(cure="run this", brings="torch", advice="and that"), (), [("run", "run this"), ("note",
         "torch; and that")]),
        (FOUND._replace(cure="run this", brings="torch", advice="and that"), ("run this",), [("note", "and that")]),
        (FOUND._replace(cure="run this", brings="torch"), ("run this",), []),
        (FOUND._replace(cure="run this"), ("another",), [("run", "run this")]),
])  # fmt: skip
def test_a_finding_says_what_is_wrong_why_and_what_to_run(
    finding: Finding, shared: tuple[str, ...], more: list[tuple[str, str]]
) -> None:
    assert list(doctor.lines(finding, shared)) == [*HEAD, *more]
    assert [label for label, _ in doctor.lines(finding._replace(weight="error"))][:3] == ["error", "", "why"]
