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


@pytest.mark.usefixtures("files")
def test_the_function_says_what_the_command_says() -> None:
    inspection = torchpick.inspect("bits-1.0-py3-none-any.whl", gpus=["sm_52", "sm_86"])

    assert inspection.reading.file == "bits-1.0-py3-none-any.whl"
    assert not inspection.ok
    assert [(str(verdict.gpu), verdict.word) for verdict in inspection.verdicts] == [
        ("sm_52", "will not run"),
        ("sm_86", "runs"),
    ]
