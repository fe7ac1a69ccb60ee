"""Packages that install the same module as another: which of them is left out, and what is said of it."""

from __future__ import annotations

from tests.installers.test_commands import job
from torchpick.environment.requirements import Given
from torchpick.install import twins
from torchpick.model.machine import Note
from torchpick.model.package import PackageFacts

KNOWN = {"one": PackageFacts("one", (), rivals=("other",))}
BOTH = job(Given(("one", "other")), held={"one": "1", "other": "2"})


def test_an_installer_that_can_leaves_the_double_out() -> None:
    found = twins.apart(BOTH, ["one", "other"], KNOWN, leaves_out=True)

    assert (found.left_out, found.held) == (("other",), {"one": "1"})
    assert [note.text for note in found.notes] == ["one and other install the same module, so other is left out"]


def test_a_double_that_is_there_or_cannot_be_left_out_has_to_go_first() -> None:
    there = BOTH._replace(target=BOTH.target._replace(installed={"other": "2"}))

    for found in (
        twins.apart(BOTH, ["one", "other"], KNOWN, leaves_out=False),
        twins.apart(there, ["one", "other"], KNOWN, leaves_out=True),
    ):
        assert ["uninstall both, then install one alone" in note.text for note in found.notes] == [True]
    assert twins.apart(BOTH, ["one", "other"], KNOWN, leaves_out=False).left_out == ()


def test_what_was_said_before_is_said_anew_and_all_else_stays() -> None:
    before = BOTH._replace(notes=(Note("SAME_MODULE", "of an earlier turn"), Note("ELSE", "stays")))

    found = twins.apart(before, ["one"], KNOWN, leaves_out=True)

    assert found.notes == (Note("ELSE", "stays"),)
