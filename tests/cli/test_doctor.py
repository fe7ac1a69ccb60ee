"""`torchpick doctor` as a person and a program meet it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from shutil import rmtree, which

import pytest

import torchpick
from tests.doctor.homes import CU126, Home
from tests.fakes.nvidia import Computer, Fakes, gpu
from torchpick.cli import install, main
from torchpick.cli.arguments import Arguments
from torchpick.cli.progress import Progress
from torchpick.environment.child import Running
from torchpick.install.asking import TargetQuestion
from torchpick.install.handover import Learnt
from torchpick.machine import computer, probe

pytestmark = pytest.mark.process
MX330 = ("--gpu", "MX330", "--driver", "580.119.02")


@pytest.fixture
def sick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    return Home(tmp_path / ".venv").torch()


def test_nothing_wrong_is_said_and_how_it_runs(sick: Home, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["doctor", "--python", sick.python, "--gpu", "RTX 4090", "--gpu", "A100", "--quiet"])
    out, err = capsys.readouterr()

    assert (status, err) == (0, "")
    assert "torch 2.9.1+cu128, built for sm_70 sm_75 sm_80 sm_86 sm_90 sm_100 sm_120 (measured)" in out
    assert "RTX 4090 (sm_89): runs the machine code of sm_86" in out
    assert "A100 (sm_80): runs its own machine code" in out
    assert "result     nothing wrong" in out
    sick.torch(requires=["absent"])
    assert main(["doctor", "--python", sick.python, "--gpu", "RTX 4090"]) == 3
    assert "(sm_89): runs" not in capsys.readouterr().out


class Handed:
    """Takes the place of the installer, and keeps what it was handed."""

    def __init__(self, patch: pytest.MonkeyPatch, status: int, change: Callable[[], object] = lambda: None) -> None:
        self.got: list[tuple[TargetQuestion, Learnt]] = []
        self._status, self._change = status, change
        patch.setattr(install, "install_answer", self._install)

    def _install(self, _args: Arguments, question: TargetQuestion, learnt: Learnt, _progress: Progress) -> int:
        self.got.append((question, learnt))
        self._change()
        return self._status


def test_fix_installs_exactly_what_it_showed(
    sick: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    handed = Handed(monkeypatch, 7)

    status = main(["doctor", "--python", sick.python, *MX330, "--fix"])
    out, err = capsys.readouterr()

    ((question, learnt),) = handed.got
    assert (learnt.answer.pick.version, question.target.prefix) == ("2.9.1+cu126", str(sick.root))
    assert question.order.args.words == ("torch==2.9.1",)
    assert status == 7
    shown = f"torchpick install torch==2.9.1 {' '.join(MX330)} --python {sick.python}"
    assert f"running {shown}" in err
    assert f"run        {shown}" in out


def test_fix_without_anything_to_fix(sick: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--python", sick.python, "--gpu", "sm_86", "--fix"]) == 0
    assert "nothing here that another build of torch fixes" in capsys.readouterr().err
    assert main(["doctor", "--python", sick.python, "--gpu", "sm_61", "--driver", "380.1", "--fix"]) == 3
    assert "nothing here that another build of torch fixes" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--json", "--verbose", "--fix"])
def test_a_mirror_s_password_is_never_printed(
    flag: str, sick: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_INDEX", "https://anna:hunter2@mirror.example/whl/cu130")
    (sick.root / "pip.conf").write_text(
        "[global]\nextra-index-url = https://bob:pa55word@mirror.example/whl/cu118\n", "utf-8"
    )
    mirror = "https://carol:s3cret99@mirror.example/whl"
    Handed(monkeypatch, 1)

    main(["doctor", "--python", sick.python, *MX330, "--index-base", mirror, flag])
    out, err = capsys.readouterr()

    for secret in ("hunter2", "pa55word", "s3cret99"):
        assert secret not in out + err


@pytest.mark.parametrize(("words", "said"), [
        (["--python", "3.12"], "is a version"),
        (["--python", "/nowhere/python"], "is neither a Python nor an environment"),
        (["--gpu", "GTX 9999"], "is not a known GPU"), (["--machine", "/nowhere.json"], "nowhere.json"),
])  # fmt: skip
def test_what_cannot_be_meant_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["doctor", *words])
    out, err = capsys.readouterr()

    assert status in (1, 2)
    assert said in err + out
    assert "hint" in err + out
    assert "Traceback" not in err


def test_a_machine_from_a_file_is_judged(sick: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["detect", "--json", "--gpu", "MX330", "--driver", "580.119.02"])
    line = capsys.readouterr().out
    (tmp_path / "one.json").write_text(line, "utf-8")
    (tmp_path / "two.json").write_text(line + line, "utf-8")

    assert main(["doctor", "--python", sick.python, "--machine", str(tmp_path / "one.json")]) == 3
    assert f"--machine {tmp_path / 'one.json'}" in capsys.readouterr().out
    assert main(["doctor", "--python", sick.python, "--machine", str(tmp_path / "two.json")]) == 2


def test_the_active_environment_is_the_default(
    sick: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", str(sick.root))
    assert main(["doctor", "--gpu", "sm_86"]) == 0
    assert "the active virtual environment" in capsys.readouterr().out

    monkeypatch.delenv("VIRTUAL_ENV")
    below = sick.root.parent / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    assert main(["doctor", "--gpu", "sm_86"]) == 0
    assert ".venv" in capsys.readouterr().out


def test_a_name_alone_is_looked_for_on_path_unless_such_a_folder_is_here(
    sick: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (sick.root / "bin" / "sickpython").symlink_to("python")
    monkeypatch.setenv("PATH", str(sick.root / "bin"))
    assert main(["doctor", "--python", "sickpython", "--gpu", "MX330", "--driver", "580.119.02"]) == 3
    assert f"looked at  {sick.root}" in capsys.readouterr().out

    monkeypatch.chdir(sick.root.parent)
    assert main(["doctor", "--python", sick.root.name, "--gpu", "MX330", "--driver", "580.119.02"]) == 3
    assert f"looked at  {sick.root}" in capsys.readouterr().out


def test_a_hostile_name_in_the_metadata_does_not_reach_the_terminal(
    sick: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    sick.add("torchvision", "0.24.1", {"torchvision/_C.so": b"x"}, requires=["torch==1.0\x1b[31m; extra == 'x'"])
    sick.write("torchvision/version.py", "__version__ = '0.20.1\x1b]0;title\x07+cu130'\n")

    main(["doctor", "--python", sick.python, "--gpu", "sm_86"])

    assert "\x1b" not in capsys.readouterr().out


def test_the_library_says_the_same_and_imports_no_torch(sick: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", str(sick.root))

    found = torchpick.check(gpus=["MX330"], driver="580.119.02")

    assert [(each.code, each.severity) for each in found] == [("NO_KERNELS", "error")]
    assert found[0].to_dict()["cure"] == f"torchpick install torch==2.9.1 {' '.join(MX330)}"
    sick.torch("2.9.1+cu126", "12.6", CU126)
    assert torchpick.check(gpus=["MX330"], driver="580.119.02", python=sick.python) == ()


def test_after_the_fix_it_looks_again_and_0_means_that_nothing_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine without a GPU, the companions of the same build; nothing becomes a CPU build."""
    sick = (
        Home(tmp_path / "login" / ".venv")
        .torch("2.14.1+cu126", "12.6", CU126)
        .companion("torchvision", "0.22.1+cu126", codes="")
    )

    def change() -> None:
        rmtree(sick.site / "torchvision-0.22.1.dist-info")
        sick.companion("torchvision", "0.29.1+cu126", codes="")

    handed = Handed(monkeypatch, 0, change)
    for name, text in (("pyproject.toml", "[project]\nname = 'app'\n"), ("uv.lock", "version = 1\n")):
        (sick.root.parent / name).write_text(text, "utf-8")
    status = main(["doctor", "--python", sick.python, "--gpu", "none", "--fix"])
    err = " ".join(capsys.readouterr().err.split())

    ((question, learnt),) = handed.got
    assert question.order.args.words == ("torch==2.14.1", "torchvision")
    assert learnt.answer.pick.requirements == ("torch==2.14.1+cu126", "torchvision==0.29.1+cu126")
    assert status == 0
    assert "looked again: 1 warning" in err
    assert "uv.lock has no torch, and the next `uv sync` takes 2.14.1 out: `torchpick pin` and then" in err


@pytest.mark.skipif(not sys.platform.startswith("linux") or which("cc") is None, reason="no C compiler")
def test_a_fix_asks_the_driver_once_before_and_once_after(
    sick: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installer that changed nothing has fixed nothing."""
    (root := tmp_path / "root").mkdir()
    made = Computer(root, Fakes(tmp_path / "fakes")).driver().say(gpu(1, "6.1", "NVIDIA GeForce GTX 1080 Ti"))
    monkeypatch.setenv("FAKE_NVIDIA", str(made.config))
    look, start, children = computer.look, probe.start, list[str]()

    def counted(source: str, libraries: Sequence[str], limit_s: float) -> Running:
        children.append(source)
        return start(source, libraries, limit_s)

    monkeypatch.setattr(computer, "look", lambda how, platform: look(how._replace(world=made.world()), platform))
    monkeypatch.setattr(probe, "start", counted)
    Handed(monkeypatch, 0)
    sick.add("needy", "1.0", requires=["torch<2.9"])  # a warning is not said again

    status = main(["doctor", "--python", sick.python, "--fix"])
    err = capsys.readouterr().err

    assert status == 3
    assert err.count("still ") == err.count("still NO_KERNELS") == 1
    assert children == ["nvml", "nvml"]


def test_a_fix_that_was_interrupted_ends_as_such(
    sick: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Handed(monkeypatch, 130)

    assert main(["doctor", "--python", sick.python, *MX330, "--fix"]) == 130
    assert "not fixed" in capsys.readouterr().err


def test_one_command_for_several_findings_is_printed_once(
    sick: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sick.companion("torchvision", "0.22.1+cu128").add("needy", "1.0", requires=["torch<2.9"])
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")

    assert main(["doctor", "--python", sick.python, *MX330, "--gpu", "RTX 4090"]) == 3
    blocks = [block.splitlines() for block in capsys.readouterr().out.split("\n\n")]

    found = ["NO_KERNELS", "COMPANION_MISMATCH", "PACKAGE_NO_KERNELS", "REQUIREMENT_UNMET", "GPUS_HIDDEN"]
    assert [block[0].split()[1] for block in blocks[1:-1]] == found
    assert [line for line in blocks[0] if line.startswith(("runs", "result"))] == ["result     3 errors, 2 warnings"]
    again = "torchpick install torch==2.9.1 torchvision --gpu MX330 --gpu 'RTX 4090' --driver 580.119.02"
    runs = [line for block in blocks for line in block if line.startswith("run ")]
    assert runs == ["run        unset CUDA_VISIBLE_DEVICES", f"run        {again} --python {sick.python}"]
    assert [line.strip() for line in blocks[-1][1:]] == [
        f"fixes {', '.join(found[:3])}",
        "that is 2.9.1+cu126, which keeps the version; it cannot keep needy 1.0 (it requires torch<2.9)",
    ]


@pytest.mark.parametrize("flags", ["--backend cu126", "--cpu"])
def test_what_is_asked_for_beside_the_machine_is_in_the_command(
    flags: str, sick: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    sick.companion("torchvision", "0.22.1+cu128", codes="")

    assert main(["doctor", "--python", sick.python, "--gpu", "none", *flags.split()]) == 3
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("run "))
    assert flags in line
