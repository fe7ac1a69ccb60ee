"""Constraints that lead torch's family elsewhere."""

from __future__ import annotations

import pytest

from tests.installers.test_commands import PICK
from torchpick.environment import requirements
from torchpick.errors import UsageError
from torchpick.install import constraints


@pytest.mark.parametrize("name", ["torch", "torchvision"])
def test_an_address_of_the_family_elsewhere_is_refused(name: str) -> None:
    line = requirements.parse(f"{name} @ https://me:secret@evil.example/{name}.whl", "c.txt")

    with pytest.raises(UsageError, match=rf"leads {name} to https://\S*evil\.example") as caught:
        constraints.check_addresses([line], PICK)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["torch<3", "numpy @ https://user.example/numpy.whl", f"torch @ {PICK.index_url}/t.whl"]
)
def test_other_constraints_hold(text: str) -> None:
    constraints.check_addresses([requirements.parse(text, "c.txt")], PICK)
