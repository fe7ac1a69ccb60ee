from __future__ import annotations

import json

import pytest

from torchpick.cli import main
from torchpick.cli.text import fact_table
from torchpick.errors import UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.machine import given
from torchpick.model.arch import Arch
from torchpick.model.machine import Driver, Gpu, Machine, Note, Platform, Python, Trouble
from torchpick.model.pick import Request

MACHINE = Machine(
    platform=Platform("linux", "x86_64", "2.36", "glibc"),
    python=Python("3.12", executable="/env/bin/python", source=".venv"),
    driver=Driver("580.95.05", "13.0", "nvml", "nvml"),
    gpus=(
        Gpu(0, "nvidia", "RTX 4090", Arch("sm", 8, 9), "GPU-1", "0000:01:00.0", source="nvml"),
        Gpu(1, "amd", "evil\x1b[31m", Arch.parse("gfx1036"), integrated=True, counted=False, source="kfd"),
    ),
    notes=(Note("OTHER_VENDOR_LEFT_OUT", "left\x1b out"),),
)


def test_every_fact_stands_beside_its_source() -> None:
    assert fact_table(MACHINE) == [
        "platform  linux-x86_64, glibc 2.36", "python    3.12 (cp312), /env/bin/python  [.venv]",
        "driver    580.95.05  [nvml]", "cuda      13.0, supported by the driver  [nvml]",
        "gpu 0     RTX 4090, sm_89, 0000:01:00.0, GPU-1  [nvml]",
        "gpu 1     evil\\x1b[31m, gfx1036, integrated, left out  [kfd]", "", "note: left\\x1b out",
    ]  # fmt: skip


@pytest.mark.parametrize(("platform", "shown"), [
        (Platform("linux", "aarch64", None, "musl"), "linux-aarch64, musl"),
        (Platform("linux", "x86_64"), "linux-x86_64, C library unknown"),
        (Platform("windows", "x86_64"), "windows-x86_64"),
])  # fmt: skip
def test_a_platform_is_shown_with_its_c_library_where_it_has_one(platform: Platform, shown: str) -> None:
    assert fact_table(MACHINE._replace(platform=platform))[0] == f"platform  {shown}"


def test_a_gpu_without_a_name_or_a_capability_and_one_that_is_hidden() -> None:
    gpus = (Gpu(0, "nvidia", None, None, visible=False), Gpu(1, "apple", "M3", None, source=""))
    silent = Driver(None, "12.6", "nvml")

    found = fact_table(MACHINE._replace(gpus=gpus, notes=(), driver=silent))

    assert found[2:] == [
        "cuda      12.6, supported by the driver  [unknown]",
        "gpu 0     an unnamed GPU, capability unknown, hidden by CUDA_VISIBLE_DEVICES  [given]",
        "gpu 1     M3",
    ]
    assert "driver" not in "".join(fact_table(MACHINE._replace(gpus=gpus, notes=(), driver=None))[2:3])


def test_where_nothing_answers_nothing_is_said_of_a_gpu() -> None:
    silent = MACHINE._replace(gpus=(), notes=(), trouble=Trouble("DRIVER_HANGS", "nvml did not answer", "reboot"))

    assert "no GPU was found" not in fact_table(silent)[-1]
    assert "not known" in fact_table(silent)[-1]


@pytest.mark.parametrize(("words", "status"), [
        (["--gpu", "sm_6x"], 2), (["--only", "a"], 2), (["--gpu", "none", "--only", "0"], 2),
        (["--gpus", "visible", "--gpu", "sm_61"], 2), (["--machine", "machines.jsonl"], 2),
        (["--platform", "amiga"], 2), (["--python", "/no/such/python", "--gpu", "none"], 2),
])  # fmt: skip
def test_errors_have_a_hint_and_a_status(words: list[str], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["detect", *words]) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert "\n\nhint: " in err
    assert main(["detect", *words, "--json"]) == status
    out, err = capsys.readouterr()
    assert (json.loads(out)["exit"], err) == (status, "")


@pytest.mark.parametrize(("text", "seconds"), [("", 10.0), ("30", 30.0), ("0.5", 0.5)])
def test_the_deadline(text: str, seconds: float) -> None:
    assert given.read_overrides(Request(), Knowledge({"TORCHPICK_DETECT_TIMEOUT": text})).timeout == seconds


@pytest.mark.parametrize("text", ["0", "-1", "soon", "1e9", "9999", "nan", "1.2.3"])
def test_a_deadline_that_is_none(text: str) -> None:
    with pytest.raises(UsageError, match="TORCHPICK_DETECT_TIMEOUT"):
        given.read_overrides(Request(), Knowledge({"TORCHPICK_DETECT_TIMEOUT": text}))
