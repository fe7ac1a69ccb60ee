"""`torchpick explain` over words, stdin and logs, combined with what is installed."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tests.doctor.homes import Home
from tests.growth import in_line
from torchpick.cli import main

pytestmark = pytest.mark.process
KERNELS = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
OLD = ("--gpu", "sm_61", "--driver", "580.95.05")


class Stdin(io.TextIOWrapper):
    def __init__(self, data: bytes, *, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(data))
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    found = Home(tmp_path / ".venv")
    monkeypatch.setenv("VIRTUAL_ENV", str(found.root))
    return found


def test_the_issue_s_own_example(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(f"{KERNELS}\n".encode()))

    status = main(["explain", *OLD])
    out = capsys.readouterr().out

    assert status == 0
    assert "CUDA error 209" in out
    assert "torchpick install torch --gpu sm_61 --driver 580.95.05" in out
    assert "2.14.1+cu126" in out
    assert "`export TORCH_CUDA_ARCH_LIST=…`" in out
    assert "https://github.com/" not in out
    assert main(["explain", *OLD, "--more", KERNELS]) == 0
    assert "https://github.com/" in capsys.readouterr().out


def test_a_whole_log_on_stdin(home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    home.torch()
    log = b"step\n" * 1000 + b"CUDA out of memory\n" + b"\xff\xfe\0step\n" * 1000 + KERNELS.encode()
    monkeypatch.setattr(sys, "stdin", Stdin(log))

    assert main(["explain", "-", *OLD]) == 0
    out, err = capsys.readouterr()

    assert "line 2002: " in out
    assert "OUT_OF_MEMORY" not in out
    assert "the text has OUT_OF_MEMORY too: `--more` explains all" in err


def test_what_is_wrong_here_stands_first_then_what_an_install_changes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    def labels(*words: str) -> list[str]:
        assert main(["explain", *OLD, *words]) == 0
        out = capsys.readouterr().out
        assert ".." not in out
        return [label for line in out.splitlines() if (label := line[:11].strip())]

    text = f"CUDA out of memory\n{KERNELS}"
    here, of_all = ["error", "run", "note"], ["seen", "won't help", "causes"]
    memory = ["note", "do", "why", *of_all]
    assert labels("--more", text) == [*here, "do", "why", *of_all, "threads", *memory]
    assert labels("--more", f"torch 2.9.1+cu128\n{text}") == [
        *(*here, "why", *of_all[:2], "means", "causes", "threads"), *memory,
    ]  # fmt: skip
    assert labels(text) == [*here, "do", "why", *of_all[:2]]
    assert labels("CUDA out of memory")[:4] == memory[:4]


def test_an_environment_that_cannot_be_looked_at_does_not_hide_the_meaning(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", "/nowhere")

    assert main(["explain", KERNELS]) == 0
    out, err = capsys.readouterr()
    assert "CUDA error 209" in out
    assert "was not looked at" in err


@pytest.mark.parametrize("data", [b"all is well\n", b"\0" * 1000, "кириллица".encode("cp1251")])
def test_nothing_known_is_exit_1(
    data: bytes, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(data))

    assert main(["explain"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "no known error" in err
    assert "`torchpick doctor` examines" in err


@pytest.mark.parametrize(("words", "data"), [([""], b"not read"), ([], b""), (["-"], b" \n\n"), ([], b" " * (3 << 20))])
def test_an_empty_text_is_refused(
    words: list[str], data: bytes, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(data))

    assert main(["explain", *words]) == 2
    assert "no text was given" in capsys.readouterr().err


def test_a_terminal_without_a_text_is_told_how(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(b"", terminal=True))

    assert main(["explain"]) == 2
    assert "hint" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--gpu", "GTX 9999", KERNELS], ["--machine", "-"], ["--driver", "x", KERNELS]])
def test_what_the_user_told_wrongly_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *words]) == 2
    assert "hint" in capsys.readouterr().err


def test_escapes_in_a_log_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "\x1b[31mCUDA out of memory\x1b]0;title\x07"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_a_gpu_that_no_build_supports_gets_no_command(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    home.torch()

    assert main(["explain", "--gpu", "sm_30", KERNELS]) == 0
    out = capsys.readouterr().out

    assert "no published build from torch 1.7.0 on is known to run on sm_30" in out
    assert "torchpick install" not in out


def test_a_file_is_read_and_a_python_may_be_another_machine_s(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "log.txt").write_text(f"torch==2.9.1+cu130\n{KERNELS}\n", "utf-8")

    assert main(["explain", *OLD, "--python", "3.12", str(tmp_path / "log.txt")]) == 0
    out = capsys.readouterr().out

    assert "torch 2.9.1+cu130 holds no code for sm_61" in out
    assert "torchpick install torch==2.9.1 --gpu sm_61 --driver 580.95.05\n" in out


@pytest.mark.parametrize(
    "path", ["./out/log.txt", r"C:\logs\job", "out/train.log", "job.err", "job.out", "/nowhere/log", "~/log"]
)
def test_a_file_that_is_not_there_is_said_and_not_taken_for_a_text(
    path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["explain", path]) == 2
    assert f"cannot read {path}: No such file" in capsys.readouterr().err
    for text in ("N/A", "torch.cuda.OutOfMemoryError", "CUDA out of memory in ./train.log"):
        assert main(["explain", text]) < 2


def test_a_torch_that_does_not_run_is_named_without_any_error_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "Package Version\ntorch 2.9.1+cpu\nRTX 4070 SUPER, driver 560.35.03"]) == 0
    out = capsys.readouterr().out

    assert "torch 2.9.1+cpu is a CPU build, and there is RTX 4070 SUPER (sm_89)" in out
    assert "2.9.1+cu126" in out
    assert main(["explain", "torch 2.9.1+cu128\nRTX 4070, driver 580.95.05, my loss is NaN"]) == 1


def test_what_the_command_says_is_not_to_be_done_once_more(capsys: pytest.CaptureFixture[str]) -> None:
    seen = "RTX 5090, driver 581.29\nAssertionError: Torch not compiled with CUDA enabled\n"

    assert main(["explain", f"{seen}in D:\\ComfyUI_windows_portable\\python_embeded\\Lib"]) == 0
    out = capsys.readouterr().out

    assert "--driver 581.29 --python python_embeded/python.exe\n" in out
    assert out.count("torchpick install") == 1


@pytest.mark.parametrize(("text", "says", "never"), [
        (f"torch 2.7.1+cu128 RTX 5090 driver 580.95.05\n{KERNELS}", "a package beside it", "torchpick install"),
        (f"torch 2.6.0+cu124 RTX 5090 driver 580.95.05\n{KERNELS}", "torchpick install torch==2.7.0",
         "beside it, which"), ("docker run me\nFound no NVIDIA driver on your system", "--gpus all", "WSL"),
        ("WSL 2\nFound no NVIDIA driver on your system", "driver of Windows", "docker"),
        ("RX 7900 XTX\nFound no NVIDIA driver on your system", "ROCm build", "NVIDIA driver of"),
        ("Windows 11, RX 9070 XT\nTorch not compiled with CUDA enabled", "+rocm", "no published build"),
        ("MacBook M2\nTorch not compiled with CUDA enabled", "MPS", "+cu1"),
])  # fmt: skip
def test_the_same_words_mean_another_thing_elsewhere(
    text: str, says: str, never: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", text]) == 0
    out = capsys.readouterr().out

    assert says in " ".join(out.split())
    assert never not in out


@pytest.mark.parametrize(("lines", "says"), [
        (("torch==2.9.1+cu128", "torchvision==0.20.1+cu124", "RuntimeError: operator torchvision::nms does not exist"),
         "torchvision 0.20.1+cu124 does not belong to torch 2.9.1+cu128: torchvision 0.24.1+cu128 does"),
        (("torch==2.2.0+cu121", "numpy==2.1.0", "A module that was compiled using NumPy 1.x cannot be run in"),
         "numpy 2.1.0 is installed beside torch 2.2.0+cu121, and torch supports NumPy 2 from 2.3 on"),
])  # fmt: skip
def test_versions_in_a_text_that_do_not_go_together_are_named(
    lines: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "\n".join(lines), "--gpu", "RTX 4090", "--driver", "580.95.05"]) == 0

    assert says in capsys.readouterr().out


def test_the_driver_of_a_text_decides(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", f"NVIDIA driver 570.124.06; RTX 5090: {KERNELS}"]) == 0

    assert "that is 2.13.0+cu129" in capsys.readouterr().out


@pytest.mark.parametrize("text", [
        f"on Windows 11, RTX 3090, Python 3.11\n{KERNELS}",
        "Could not load library libcudnn_ops_infer.so.8: cannot open shared object file",
        "ERROR: No matching distribution found for torch==1.13.1\nPython 3.11, RTX 3090",
        "JetPack 6.2 on a Jetson Orin: torch.cuda.is_available() is False",
        f"ImportError: /{'x' * 300}/flash_attn_2_cuda.so: undefined symbol: _ZN3c105ErrorC2E{'x' * 200}",
])  # fmt: skip
def test_an_answer_is_one_screen_and_begins_with_the_point(
    text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    assert main(["explain", text]) == 0
    out, err = capsys.readouterr()

    assert len((out + err).splitlines()) <= 14
    labels = [line.split(" ")[0] for line in out.splitlines() if line[0] != " "]
    assert labels[0] == "error"
    assert labels[1] in ("run", "do")
    assert main(["explain", "--more", text]) == 0
    assert len(capsys.readouterr().out) > len(out)


def test_a_second_step_has_room_before_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "RTX 4090 on Windows, driver 528.24: NameError: name '_C' is not defined"]) == 0

    assert "FORCE_CUDA=1" in capsys.readouterr().out


def test_of_a_large_log_a_line_says_how_much_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    watched = Terminal()
    monkeypatch.setattr(sys, "stdin", Stdin(b"step 1 of 2, loss 0.1\n" * 1_500_000 + KERNELS.encode()))
    monkeypatch.setattr(sys, "stderr", watched)

    assert main(["explain", *OLD]) == 0
    assert "reading the text: 0:0" in watched.getvalue()


@pytest.mark.parametrize("error", [f"RuntimeError: {KERNELS}", "SomeError: nobody knows it"])
def test_of_a_password_in_an_address_nothing_is_printed(error: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whether the line is printed whole, or is cut anywhere in the address."""
    address = f"https://me:{'pw' * 40}@index.example/simple"
    for before in range(0, 60, 12):
        for line in (f"{'x' * before} {address} {error}", f"{error} {'y' * 300} {address}{'z' * before}"):
            main(["explain", f"torch\n\n{line}"])

            assert "pwpw" not in "".join(capsys.readouterr())
    main(["explain", "--json", f"{error} {address}"])
    assert "pwpw" not in "".join(capsys.readouterr())


def test_an_unknown_end_costs_time_in_line_with_its_length() -> None:
    in_line(lambda count: main(["explain", "FooError: y" + "; ``" * count]), (4000, 16_000), floor=0.02)
