"""`torchpick matrix` as a command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.fakes import pagenames
from torchpick.cli import main, webpage

TOLD = ["--platform", "linux-x86_64", "--python", "3.12"]


@pytest.fixture(autouse=True)
def _names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webpage, "names", pagenames.names)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["matrix", *words])
    out, err = capsys.readouterr()
    return status, out, err


def test_two_told_gpus_are_not_made_to_share_a_driver(capsys: pytest.CaptureFixture[str]) -> None:
    """A Pascal card ends at driver 580; that must not hold an H100 back in its own column."""
    _, out, _ = run(capsys, *TOLD, "--json", "--gpu", "sm_61", "--gpu", "sm_90")

    rows = json.loads(out)["rows"]
    assert [row["driver"]["version"] for row in rows] == ["580", "615"]
    assert [row["newest"] for row in rows] == ["2.14.1+cu126", "2.15.0+cu132"]


def test_a_file_is_of_one_machine(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["detect", "--json", "--gpu", "sm_61", "--driver", "535.1", *TOLD, "--glibc", "2.35"]) == 0
    one = capsys.readouterr().out
    (tmp_path / "one").write_text(one, "utf-8")
    (tmp_path / "two").write_text(one + one.replace("sm_61", "sm_90"), "utf-8")

    status, out, _ = run(capsys, "--machine", str(tmp_path / "one"))
    refused, _, said = run(capsys, "--machine", str(tmp_path / "two"))

    assert (status, refused) == (0, 2)
    assert out.startswith("linux-x86_64, Python 3.12, glibc 2.35\n")
    assert "torchpick fleet FILE" in said


@pytest.mark.parametrize(("words", "why"), [
        ([*TOLD, "torch>=9"], "`torch>=9` was asked for, and no known build"),
        ([*TOLD, "--gpu", "Quadro 4000"], "holds no code for Quadro 4000 (sm_20)"),
        (["--platform", "windows-arm64", "--python", "3.11"], "hint: with Python 3.13: torch 2.14.0+cu134"),
])  # fmt: skip
def test_nothing_to_show_says_why_and_what_would_have_to_change(
    capsys: pytest.CaptureFixture[str], words: list[str], why: str
) -> None:
    status, out, err = run(capsys, *words)

    assert (status, out) == (3, "")
    assert why in err


@pytest.mark.parametrize(("words", "newest"), [
        (["--platform", "macos-arm64"], [["torch", "Apple silicon"], ["2.15.0", "cpu"]]),
        (["--platform", "macos-arm64", "--gpu", "M2 Max"], [["torch", "Apple M2 Max"], ["2.15.0", "cpu"]]),
        (["--platform", "linux-x86_64", "--gpu", "Arc A770"], [["torch", "Arc A770"], ["2.14.1", "xpu"]]),
])  # fmt: skip
def test_a_gpu_that_needs_no_code_in_the_wheel_has_a_column_too(
    capsys: pytest.CaptureFixture[str], words: list[str], newest: list[list[str]]
) -> None:
    status, out, _ = run(capsys, *words, "--python", "3.12")

    assert status == 0
    assert [re.split(r" {2,}", line) for line in out.splitlines()[2:4]] == newest
    assert "None" not in out


def test_an_intel_mac_has_no_gpu_to_show(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--platform", "macos-x86_64")[:2] == (0, "no build uses a GPU on macos-x86_64\n")


def test_the_page_is_one_file_of_bounded_size_that_loads_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """And its name cannot reach the terminal raw."""
    file = tmp_path / "a\x1b[2J.html"

    status, out, _ = run(capsys, *TOLD, "--html", str(file))

    page = file.read_text(encoding="utf-8")
    assert (status, out) == (0, f"{tmp_path}/a\\x1b[2J.html\n")
    assert len(page.encode()) < 1_500_000
    assert "{{" not in page.replace("{{}}", "")
    assert "default-src 'none'" in page
    assert not {'src="', "<link", "@import", "url("} & {
        mark for mark in ('src="', "<link", "@import", "url(") if mark in page
    }
    assert '"start":{"system":"linux-x86_64","python":"Python 3.12"}' in page
    assert "<noscript><p>This page needs JavaScript; <code>torchpick matrix</code>" in page


def test_the_page_goes_to_stdout_for_a_dash_and_a_mirrors_password_is_not_published(
    capsys: pytest.CaptureFixture[str],
) -> None:
    mirror = ("--index-base", "https://me:secret@mirror.example/whl")

    status, out, _ = run(capsys, *TOLD, "--html", "-", "torch>=2.14", *mirror)

    assert status == 0
    assert out.startswith("<!doctype html>")
    assert "secret" not in out
    assert "https://me:****@mirror.example/whl/{b}" in out  # the page fills the backend in


@pytest.mark.parametrize(
    "words", [["--gpu", "a100"], ["--glibc", "2.28"], ["--machine", "x.json"], ["--only", "0"], ["--json"]]
)
def test_what_a_page_cannot_heed_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, *TOLD, "--html", "-", *words)

    assert status == 2
    assert "hint: " in err or "--json" in words


def test_a_place_that_cannot_be_written_is_an_error_and_no_traceback(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, _, err = run(capsys, *TOLD, "--html", str(tmp_path / "no" / "such" / "folder.html"))

    assert status == 1
    assert err.startswith("error: cannot write ")
