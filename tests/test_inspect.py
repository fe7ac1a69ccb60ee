"""`torchpick inspect` from its command line to its exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import torchpick
from tests.wheels import making
from torchpick.cli import main

TORCH = "torch-2.15.0-cp312-cp312-manylinux_2_28_x86_64.whl"
LINALG = making.library(*[making.module("sm_80", "sm_90")] * 32, making.module("sm_75", "sm_80", "sm_90"))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, made the current one, with a torch in small, a package and a library."""
    (tmp_path / TORCH).write_bytes(making.torch_wheel(more={"torch/lib/libtorch_cuda_linalg.so": LINALG}))
    (tmp_path / "plain-1.0-py3-none-any.whl").write_bytes(making.wheel({"plain/x.py": b""}))
    (tmp_path / "tri-1.0-py3-none-any.whl").write_bytes(making.wheel({"tri/bin/ptxas": b"\x7fELF"}))
    variants = {
        f"b/libb_cuda{n}.so": making.library(making.module(code)) for n, code in ((126, "sm_60"), (132, "sm_80"))
    }
    (tmp_path / "bits-1.0-py3-none-any.whl").write_bytes(making.wheel(variants))
    (tmp_path / "one.so").write_bytes(
        making.library(making.module("sm_70", "compute_80"), making.module("sm_52", size=872))
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def results(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    answer = json.loads(capsys.readouterr().out)
    assert answer["command"] == "inspect"
    found: list[dict[str, Any]] = answer["results"]
    return found


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(("words", "status", "verdict"), [
    ([TORCH, "--gpu", "sm_61"], 3, "will not run"), ([TORCH, "--gpu", "7.5"], 0, "runs"),
    ([TORCH, "--gpu", "7.5", "--deep"], 3, "partly"), ([TORCH, "--gpu", "a100", "--deep"], 0, "runs"),
    (["one.so", "--gpu", "9.0"], 0, "runs by JIT"),
    (["one.so", "--gpu", "9.0", "--cuda-driver", "12.0"], 3, "will not run"),
    (["plain-1.0-py3-none-any.whl", "--gpu", "9.0"], 0, "no GPU code"),
    (["tri-1.0-py3-none-any.whl", "--gpu", "9.0"], 0, "compiles at run time"),
    (["bits-1.0-py3-none-any.whl", "--gpu", "6.1"], 0, "runs"),
    (["bits-1.0-py3-none-any.whl", "--gpu", "5.0"], 3, "will not run"),
    ([TORCH, "--gpu", "8.0", "--driver", "525.60.13"], 3, "will not run"),
    ([TORCH, "--gpu", "8.0", "--gpu", "6.1"], 3, "will not run"),
])  # fmt: skip
def test_the_verdict_is_the_exit_status(
    words: list[str], status: int, verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", *words, "--json"]) == status
    assert results(capsys)[0]["verdict"] == verdict


@pytest.mark.usefixtures("files")
def test_the_json_of_a_deep_look(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--deep", TORCH, "--gpu", "sm_75", "--json"]) == 3
    [result] = results(capsys)

    assert (result["sass"], result["ptx"], result["cuda"]) == (["sm_75", "sm_80", "sm_90"], [], "13.2")
    assert (result["depth"], result["complete"], result["version"]) == ("whole", True, "2.15.0+cu132")
    [library] = result["libraries"]
    assert library["path"] == "torch/lib/libtorch_cuda_linalg.so"
    assert library["modules"] == 33
    assert result["gpus"][0]["failing"][0]["text"] == "1 of 33 modules load"


@pytest.mark.usefixtures("files")
def test_the_page_fits_a_narrow_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")

    main(["inspect", TORCH, "--gpu", "6.1", "--deep"])

    assert max(map(len, capsys.readouterr().out.splitlines())) <= 50


@pytest.mark.usefixtures("files")
def test_the_page_for_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", TORCH, "--gpu", "GTX 1080 Ti"]) == 3
    out = capsys.readouterr().out

    assert "torch 2.15.0+cu132" in out
    assert "code      sm_75 sm_80 sm_90" in out
    assert "PTX       none" in out
    assert "`--deep` reads every library" in out
    assert "sm_61     will not run" in out


@pytest.mark.process
def test_a_bare_name_is_looked_up_in_the_environment_that_is_active(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It comes before the interpreter that torchpick runs in."""
    environment = tmp_path / "e"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    site = next(environment.glob("[lL]ib/**/site-packages"))
    for name, data in {
        "gpupkg/_C.so": making.library(making.module("sm_90")),
        "gpupkg-4.0.dist-info/RECORD": b"gpupkg/_C.so,,\n",
    }.items():
        (site / name).parent.mkdir()
        (site / name).write_bytes(data)
    monkeypatch.setenv("VIRTUAL_ENV", str(environment))
    assert main(["inspect", "gpupkg", "--gpu", "9.0", "--json"]) == 0
    [result] = results(capsys)

    assert (result["version"], result["sass"]) == ("4.0", ["sm_90"])


@pytest.mark.usefixtures("files")
def test_modules_without_a_kernel_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    main(["inspect", "one.so", "--gpu", "none"])

    assert "and 1 without a kernel" in capsys.readouterr().out


@pytest.mark.usefixtures("files")
def test_several_things_are_all_told_whatever_one_of_them_is(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["inspect", "gone.whl", "plain-1.0-py3-none-any.whl", TORCH, "--gpu", "6.1"]
    assert main([*words, "--json"]) == 1
    first, second, third = results(capsys)
    assert first["error"]["code"] == "NOT_FOUND"
    assert (second["verdict"], third["verdict"]) == ("no GPU code", "will not run")
    assert main(words) == 1
    out, err = capsys.readouterr()
    assert "error: no such file: gone.whl" in err
    assert "will not run" in out


@pytest.mark.usefixtures("files")
def test_the_json_has_the_machine_or_all_of_them_and_why_none_was_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["detect", "--json", "--gpu", "sm_61", "--driver", "580.95.05", "--platform", "linux-x86_64"])
    machine = capsys.readouterr().out
    (tmp_path / "fleet").write_text(machine + machine.replace("sm_61", "sm_90"), "utf-8")

    answers = []
    for words in (["--gpu", "6.1"], ["--machine", "fleet"], ["--platform", "windows-x86_64"]):
        main(["inspect", "plain-1.0-py3-none-any.whl", *words, "--json"])
        answers.append(json.loads(capsys.readouterr().out))
    one, several, none = answers

    assert one["machine"]["gpus"][0]["arch"] == "sm_61"
    assert "machines" not in one
    assert [each["gpus"][0]["arch"] for each in several["machines"]] == ["sm_61", "sm_90"]
    assert several["machine"] is None
    assert [each["gpu"] for each in several["results"][0]["gpus"]] == ["sm_61", "sm_90"]
    assert [note["code"] for note in none["notes"]] == ["NOT_JUDGED"]
    assert one["notes"] == several["notes"] == []


@pytest.mark.usefixtures("files")
def test_one_thing_that_fails_is_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "gone.whl", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["status"], answer["error"]["code"]) == ("error", "NOT_FOUND")


@pytest.mark.usefixtures("files")
def test_no_gpu_told_and_none_found_judges_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", TORCH, "--platform", "windows-x86_64"]) == 0
    out, err = capsys.readouterr()

    assert "will not run" not in out
    assert "note: no GPU is checked" in err


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("words", [
    [], ["x.whl", "--flags"],
    ["one.so", "--gpu", "no such gpu"], ["--gpu=none", "a b"],
])  # fmt: skip
def test_slips_of_the_pen(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", *words]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ") or "\nerror: " in err
    assert "hint: " in err


def test_names_from_an_archive_reach_the_terminal_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "evil-1.0-py3-none-any.whl"
    file.write_bytes(making.wheel({"a/\x1b[31mred\x9b.so": making.library(making.module("sm_80"))}))
    main(["inspect", str(file), "--gpu", "6.1"])
    out = capsys.readouterr().out

    assert "\x1b" not in out
    assert "\x9b" not in out
    assert "\\x1b[31mred" in out


def test_an_amd_gpu_is_not_served_by_cuda_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.so").write_bytes(making.library(making.module("sm_80")))

    assert main(["inspect", str(tmp_path / "one.so"), "--gpu", "gfx1100", "--json"]) == 3
    assert results(capsys)[0]["gpus"][0]["gpu"] == "gfx1100"


@pytest.mark.usefixtures("files")
def test_a_driver_that_does_not_support_the_gpu_is_said_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", TORCH, "--gpu", "6.1", "--driver", "595.58.03"]) == 3
    out = capsys.readouterr().out

    assert "driver 595.58.03 does not support sm_61: driver branch 580 is the last that supports it; it needs a" in out
    assert "('" not in out


@pytest.mark.usefixtures("files")
def test_the_function_says_what_the_command_says() -> None:
    inspection = torchpick.inspect("bits-1.0-py3-none-any.whl", gpus=["sm_52", "sm_86"])

    assert inspection.reading.file == "bits-1.0-py3-none-any.whl"
    assert not inspection.ok
    assert [(str(verdict.gpu), verdict.word) for verdict in inspection.verdicts] == [
        ("sm_52", "will not run"),
        ("sm_86", "runs"),
    ]


_FLAGS = """\
torch 2.15.0+cu132: 0.0 MB
  code      sm_75 sm_80 sm_90
  PTX       none
  CUDA      13.2
  read      the compiled flags; `--deep` reads every library
"""
PAGES = {
    f"{TORCH} --gpu 8.0 --driver 525.60.13": f"""\
{_FLAGS}  sm_80     will not run
            it is built with CUDA 13.2, which needs driver 580
""",
    f"{TORCH} --gpu 6.1 --driver 595.58.03": f"""\
{_FLAGS}  sm_61     will not run
            driver 595.58.03 does not support sm_61: driver branch 580 is the
              last that supports it; it needs a driver of branch 580
""",
    f"{TORCH} --gpu 8.0 --gpu 8.0 --gpu 7.5 --driver 580.95.05": f"""\
{_FLAGS}  sm_80     runs, by its sm_80
  sm_75     runs, by its sm_75
""",
    f"{TORCH} --gpu 6.1": """\
torch 2.15.0+cu132: 0.0 MB
  code      sm_75 sm_80 sm_90
  PTX       none
  CUDA      13.2
  read      the compiled flags; `--deep` reads every library
  sm_61     will not run
""",
    f"{TORCH} --gpu 7.5 --deep": """\
torch 2.15.0+cu132: 0.0 MB
  code      sm_75 sm_80 sm_90
  PTX       none
  CUDA      13.2
  library                  modules  code
  libtorch_cuda_linalg.so       33  sm_75 sm_80 sm_90
  sm_75     partly, by its sm_75
            torch/lib/libtorch_cuda_linalg.so: 1 of 33 modules load
""",
    "one.so --gpu 9.0 --gpu sm_61": """\
one.so: 0.0 MB
  code      sm_52 sm_70
  PTX       compute_80
  library  modules  code
  one.so         1  sm_52 sm_70 compute_80
                    and 1 without a kernel
  sm_90     runs by JIT, by its compute_80
  sm_61     will not run
            one.so: its module does not load
""",
    "plain-1.0-py3-none-any.whl tri-1.0-py3-none-any.whl bits-1.0-py3-none-any.whl --gpu 6.1": """\
plain 1.0: 0.0 MB
  no GPU code
  sm_61     no GPU code
tri 1.0: 0.0 MB
  compiles at run time
  compiles  at run time, with tri/bin/ptxas
  sm_61     compiles at run time
bits 1.0: 0.0 MB
  code      sm_60 sm_80
  PTX       none
  library          modules  code
  libb_cuda126.so        1  sm_60
  libb_cuda132.so        1  sm_80
  sm_61     runs, by its sm_60
            judged libb_cuda126.so, the one for the newest CUDA that runs
              here, as no torch was given
""",
}


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("words", PAGES)
def test_the_whole_page_for_a_person(
    words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    main(["inspect", *words.split()])

    assert capsys.readouterr() == (PAGES[words], "")
