"""What of the packages beside torch is held in a lock."""

from __future__ import annotations

from collections.abc import Mapping

from tests.install.test_agreement import agreement, facts
from tests.installers.test_commands import job
from torchpick.install.lock import judging


def test_of_torchs_family_only_the_very_version_that_was_judged_is_held() -> None:
    judged = agreement(facts("torchao", v2="12"), "torchao")

    def left(version: str) -> tuple[Mapping[str, str], Mapping[str, str]]:
        held = {"torch": "2.14.1", "torchao": version}
        made = judging._judged_only(job(held=held, related={"torchao": version}), judged)
        return made.held, made.related

    assert left("2.0") == ({"torch": "2.14.1", "torchao": "2.0"}, {"torchao": "2.0"})
    assert left("3.0") == ({"torch": "2.14.1"}, {})
