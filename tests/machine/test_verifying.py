"""What is made of the answers of torch itself, and of a source's: complete, cut off, or from a process that died."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from torchpick.errors import InstallerError
from torchpick.machine import probe, verify
from torchpick.machine.probe import Device, DriverReading, failed_reading
from torchpick.machine.verify import Ran, Results
from torchpick.model.arch import Arch
from torchpick.model.machine import Gpu, Machine, Platform, Python

ONE = Gpu(3, "nvidia", "RTX 3090", Arch.parse("sm_86"), "GPU-a")
TWO = Gpu(5, "nvidia", None, Arch.parse("sm_61"), "GPU-b")
RX, ARC = Gpu(0, "amd", "RX", Arch.parse("gfx1100")), Gpu(1, "intel", "Arc", None)
APPLE = Gpu(0, "apple", "M3", None)


@pytest.mark.parametrize(("family", "gpus", "kind", "work"), [
    ("cuda", (ONE, TWO, RX._replace(counted=False), ARC), "cuda", (ONE, TWO)), ("rocm", (RX,), "cuda", (RX,)),
    ("xpu", (ARC, ONE), "xpu", (ARC,)), ("cpu", (ONE,), "cpu", ()), ("cpu", (APPLE,), "mps", ()),
    ("cpu", (APPLE._replace(counted=False),), "cpu", ()), ("cuda", (), "cuda", ()),
])  # fmt: skip
def test_who_has_to_compute(family: str, gpus: tuple[Gpu, ...], kind: str, work: tuple[Gpu, ...]) -> None:
    assert verify.devices_to_check(family, Machine(Platform("linux", "x86_64"), Python("3.12"), gpus=gpus)) == (
        kind,
        work,
    )


HEAD = {"torch": "2.9.1+cu126", "devices": 1}


def python(folder: Path, *lines: object, more: str = "") -> str:
    """A program that answers so, and then does what stands in `more`."""
    file = folder / "python"
    said = "".join(f"echo '{json.dumps(line)}'\n" for line in lines)
    file.write_text(
        f'#!/bin/sh\necho "$CUDA_VISIBLE_DEVICES,$CUDA_DEVICE_ORDER" > {folder}/seen\n{said}{more}\n', "utf-8"
    )
    file.chmod(0o755)
    return str(file)


NOT_SEEN = ("NOT_SEEN", "torch does not see it")
DIED = "DIED"


@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="a shell's script is no program there")
def test_whether_torch_compile_works_stands_beside_what_was_computed(tmp_path: Path) -> None:
    def ran(*lines: object, more: str = "", deadline_s: float = 60.0) -> Results:
        return verify.run_kernels(python(tmp_path, *lines, more=more), "cuda", (ONE,), os.environ, deadline_s)

    assert ran(HEAD, {}, {"compiles": ""})[2] == ""
    assert ran(HEAD, {}, {"compiles": "it lacks triton"})[2] == "it lacks triton"
    assert ran(HEAD, {})[2] is None
    late = ran(HEAD, {}, more="sleep 60", deadline_s=2.0)
    assert (late[1][0].ok, late[2]) == (True, "it did not finish within 2 s")


@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="a shell's script is no program there")
@pytest.mark.parametrize(
    ("lines", "more", "torch", "ran"),
    [
        ([HEAD | {"devices": 2}, {}, {}], "", "2.9.1+cu126", [(3, "RTX 3090 (sm_86)", True, "", ""), (5,
         "sm_61", True, "", "")]),
        ([HEAD | {"devices": 2}, {"name": "H200"}, {"name": "T4", "error": "WRONG", "text": "x"}], "", "2.9.1+cu126",
         [(3, "H200", True, "", ""), (5, "T4", False, "WRONG", "x")]),  # the machine that was described is another
        ([HEAD, {"error": "WRONG", "text": "x"}], "", "2.9.1+cu126",
         [(3, "RTX 3090 (sm_86)", False, "WRONG", "x"), (5, "sm_61", False, *NOT_SEEN)]),
        ([HEAD | {"devices": 3}, {}, {}, {}], "", "2.9.1+cu126",
         [(3, "RTX 3090 (sm_86)", True, "", ""), (5, "sm_61", True, "", ""), (None, "cuda", True, "", "")]),
        ([HEAD | {"devices": 2}, {}], "echo cause >&2; exit 7", "2.9.1+cu126",
         [(3, "RTX 3090 (sm_86)", True, "", ""), (5, "sm_61", False, DIED, "it ended with status 7: cause")]),
        ([HEAD | {"devices": 2}], "kill -ABRT $$", "2.9.1+cu126",
         [(3, "RTX 3090 (sm_86)", False, DIED, "it was ended by SIGABRT"),
          (5, "sm_61", False, DIED, "the check ended before its turn")]),
        ([], "exit 1", None, [(None, "torch", False, DIED, "it ended with status 1")]),
        ([{"error": "ImportError", "text": "no torch"}], "", None, [(None, "torch", False, "ImportError", "no torch")]),
    ],
)  # fmt: skip
def test_what_each_gpu_computed_or_why_not(
    lines: list[object], more: str, torch: str | None, ran: list[tuple[object, ...]], tmp_path: Path
) -> None:
    environ = {"PATH": os.environ["PATH"], "CUDA_VISIBLE_DEVICES": "1"}
    found = verify.run_kernels(python(tmp_path, *lines, more=more), "cuda", (ONE, TWO), environ, 60.0)

    assert found == (torch, tuple(Ran(*each) for each in ran), None)  # type: ignore[arg-type]
    assert (tmp_path / "seen").read_text("utf-8") == "GPU-a,GPU-b,\n"


@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="a shell's script is no program there")
@pytest.mark.parametrize(
    ("kind", "gpus", "seen"),
    [
        ("cuda", (ONE, TWO._replace(uuid=None)), "1,PCI_BUS_ID\n"), ("cuda", (ONE._replace(uuid="MIG-a"),),
         "1,PCI_BUS_ID\n"),
        ("cuda", (), "1,\n"), ("cuda", (RX,), "1,\n"), ("cuda", (ONE, RX), "1,\n"), ("cpu", (), "1,\n"),
    ],
)  # fmt: skip
def test_what_the_shell_hides_is_shown_where_the_gpus_are_known(
    kind: str, gpus: tuple[Gpu, ...], seen: str, tmp_path: Path
) -> None:
    environ = {"PATH": os.environ["PATH"], "CUDA_VISIBLE_DEVICES": "1"}
    verify.run_kernels(python(tmp_path, HEAD, {}), kind, gpus, environ, 60.0)

    assert (tmp_path / "seen").read_text("utf-8") == seen


@pytest.mark.process
def test_an_interpreter_that_does_not_start_is_named() -> None:
    with pytest.raises(InstallerError, match=r"/no/such does not start: No such file") as caught:
        verify.run_kernels("/no/such", "cpu", (), {}, 60.0)
    assert caught.value.hint == "`--python PATH`"


ANSWER = b'{"driver": "580.95.05", "devices": [{"name": "X", "capability": [6, 1]}]}\n'


@pytest.mark.parametrize(
    ("each", "failure"),
    [
        ({"answer": ANSWER[:-1]}, failed_reading("nvml", "silent", "nvml exited without an answer (status 0)")),
        ({"answer": ANSWER[:-1], "talk": b"first\nlast words\xff \n", "status": 3},
         failed_reading("nvml", "silent", "nvml exited without an answer (status 3): last words\ufffd")),
        ({"talk": b"x" * 300},
         failed_reading("nvml", "silent", f"nvml exited without an answer (status 0): {'x' * 200}")),
        ({"overflow": True, "status": -9}, failed_reading("nvml", "silent", "nvml gave an endless answer")),
        ({"status": -11}, failed_reading("nvml", "crashed", "nvml crashed (SIGSEGV)")),
        ({"status": -250}, failed_reading("nvml", "crashed", "nvml crashed (signal 250)")),
        ({"answer": b"x\n"}, failed_reading("nvml", "silent", "gave an answer that cannot be read: ")),
        ({"answer": b'{"failure": {"kind": "refused", "text": "t", "code": 9}}\n'},
         failed_reading("nvml", "refused", "t", 9)),
        ({"answer": b'{"failure": {"kind": "refused", "text": "t", "code": 9}}\n', "talk": b"This is a STUB library"},
         failed_reading("nvml", "stub", "t", 9)),
    ],
)  # fmt: skip
def test_what_a_source_s_process_leaves_is_an_answer_or_a_failure(
    each: dict[str, object], failure: DriverReading
) -> None:
    left = {"answer": b"", "talk": b"", "overflow": False, "status": 0} | each
    found = probe.read_answer("nvml", SimpleNamespace(**left))  # type: ignore[arg-type]

    assert found._replace(text=found.text[: len(failure.text)]) == failure


def test_a_complete_answer_counts_however_its_process_ended() -> None:
    left = SimpleNamespace(answer=ANSWER, talk=b"stub", overflow=True, status=-11)

    assert probe.read_answer("nvml", left) == DriverReading(  # type: ignore[arg-type]
        "nvml", "580.95.05", None, (Device("X", (6, 1)),)
    )
