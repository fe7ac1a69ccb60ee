from __future__ import annotations

import pytest

from torchpick import api
from torchpick.install import verification
from torchpick.machine import verify
from torchpick.machine.verify import Ran, Verified
from torchpick.model.arch import Arch
from torchpick.model.machine import Gpu

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


def test_an_xpu_build_computes_on_intels_gpus_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    nvidia, intel = Gpu(0, "nvidia", "RTX 3090", Arch.parse("sm_86")), Gpu(1, "intel", "Arc A770", None)
    asked: dict[str, tuple[str, ...]] = {}

    def run(_: str, kind: str, gpus: tuple[Gpu, ...], *__: object) -> Verified:
        asked[kind] = tuple(gpu.vendor for gpu in gpus)
        return Verified(None, ())

    monkeypatch.setattr(verify, "run", run)
    for backend in ("xpu", "cu130", "cpu"):
        pick = api.pick(gpus=["none"], backends=[backend], platform="linux-x86_64", python="3.12", glibc="2.35")
        verification.verified(pick._replace(machines=(pick.machine._replace(gpus=(nvidia, intel)),)), "python", {})

    assert asked == {"xpu": ("intel",), "cuda": ("nvidia",), "cpu": ()}
