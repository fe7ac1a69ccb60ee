from __future__ import annotations

from torchpick import api
from torchpick.install import verification
from torchpick.machine.verify import Ran, Verified

PICK = api.pick(gpus=["sm_61", "sm_86"], driver="580.95.05", python="3.12", platform="linux-x86_64", glibc="2.35")


def test_the_table_says_why_a_build_that_is_not_the_pick_cannot_run() -> None:
    ran = Ran(0, "sm_61", ok=False, text="CUDA error: no kernel image is available")

    objection = verification.why(ran, Verified("2.14.1+cu130", (ran,)), PICK)

    assert objection is not None
    assert (objection.reason.name, objection.gpu) == ("NO_KERNELS", 0)


def test_of_a_build_that_it_does_not_know_it_says_nothing() -> None:
    ran = Ran(0, "sm_61", ok=False)

    assert verification.why(ran, Verified("2.16.0a0+git", (ran,)), PICK) is None
    assert verification.why(ran, Verified(None, (ran,)), PICK) is None
