from __future__ import annotations

import pytest

from torchpick import api
from torchpick.install.handover import verify_pick
from torchpick.machine import verify
from torchpick.machine.verify import Results
from torchpick.model.arch import Arch, Fit
from torchpick.model.machine import Gpu

PICK = api.pick(gpus=["sm_61", "sm_86"], driver="580.95.05", python="3.12", platform="linux-x86_64", glibc="2.35")


def test_an_xpu_build_computes_on_intels_gpus_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    nvidia, intel = Gpu(0, "nvidia", "RTX 3090", Arch.parse("sm_86")), Gpu(1, "intel", "Arc A770", None)
    asked: dict[str, tuple[str, ...]] = {}

    def run(_: str, kind: str, gpus: tuple[Gpu, ...], *__: object) -> Results:
        asked[kind] = tuple(gpu.vendor for gpu in gpus)
        return None, (), None

    monkeypatch.setattr(verify, "run_kernels", run)
    for backend in ("xpu", "cu130", "cpu"):
        pick = api.pick(gpus=["none"], backends=[backend], platform="linux-x86_64", python="3.12", glibc="2.35")
        verify_pick(pick._replace(machines=(pick.machine._replace(gpus=(nvidia, intel)),)), "python", {})

    assert asked == {"xpu": ("intel",), "cuda": ("nvidia",), "cpu": ()}

    asked.clear()
    pick = api.pick(gpus=["none"], backends=["cu130"], platform="linux-x86_64", python="3.12", glibc="2.35")
    verify_pick(pick, "python", {})
    assert asked == {"cpu": ()}


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float]]:
    """With what torch is started, and how long it may take."""
    seen: list[tuple[str, float]] = []

    def run(_python: str, kind: str, _gpus: object, _environ: object, deadline: float) -> Results:
        seen.append((kind, deadline))
        return None, (), None

    monkeypatch.setattr(verify, "run_kernels", run)
    return seen


def test_a_driver_that_compiles_the_code_first_gets_more_time(computed: list[tuple[str, float]]) -> None:
    verdict = PICK.verdicts[0]
    compiled = verdict._replace(fits=(*verdict.fits, verdict.fits[0]._replace(fit=Fit.JIT)))

    for pick in (PICK, PICK._replace(verdicts=(compiled, *PICK.verdicts[1:]))):
        verify_pick(pick, "python", {})

    assert computed == [("cuda", verify.DEADLINE_S), ("cuda", verify.JIT_DEADLINE_S)]


def test_only_macs_compute_with_mps(computed: list[tuple[str, float]]) -> None:
    pick = api.pick(gpus=["none"], python="3.12", platform="macos-arm64")
    apple = pick.machine._replace(gpus=(Gpu(0, "apple", "M4", None),))

    for each in (pick, pick._replace(machines=(apple,))):
        verify_pick(each, "python", {})

    assert [kind for kind, _ in computed] == ["cpu", "mps"]
