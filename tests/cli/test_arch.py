"""`torchpick arch` where the capability of a GPU is not known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_machines import PASCAL
from torchpick.cli import main
from torchpick.model.arch import Arch
from torchpick.model.machine import Python


@pytest.mark.parametrize(("arches", "status", "line"), [([None, "sm_86"], 0, "8.6\n"), ([None], 2, "")])
def test_a_gpu_whose_capability_is_not_known_is_passed_over(
    arches: list[str | None], status: int, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = {
        "platform": {"os": "linux", "cpu": "x86_64", "glibc": "2.35"},
        "python": {"version": "3.12"},
        "driver": {"version": "580.95.05"},
        "gpus": [{"vendor": "nvidia", "name": "a new one", "arch": arch} for arch in arches],
    }
    (tmp_path / "machine").write_text(json.dumps(machine), "utf-8")

    assert main(["arch", "--machine", str(tmp_path / "machine")]) == status
    assert capsys.readouterr().out == line


def test_machines_that_are_left_out_are_named_and_each_architecture_once_in_their_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    platform, python = {"os": "linux", "cpu": "x86_64", "glibc": "2.35"}, {"version": "3.12"}
    lines = [
        {
            "platform": platform, "python": python, "name": name,
            "gpus": [{"vendor": vendor, "arch": arch} for arch in arches],
        }
        for name, vendor, arches in (
            ("a", "nvidia", ["sm_120", "sm_86"]), ("b", "nvidia", []), ("c", "nvidia", ["sm_86"]),
        )
    ]  # fmt: skip
    (tmp_path / "machines").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    amd = [{**lines[0], "gpus": [{"vendor": "amd", "arch": arch} for arch in ("gfx90a", "gfx1100", "gfx90a")]}]
    (tmp_path / "amd").write_text(json.dumps(amd[0]), "utf-8")

    assert main(["arch", "--machine", str(tmp_path / "machines")]) == 0
    out, err = capsys.readouterr()
    assert (out, "left out" in err, "b" in err) == ("8.6;12.0\n", True, True)
    assert main(["arch", "--machine", str(tmp_path / "amd")]) == 0
    assert capsys.readouterr().out == "gfx90a;gfx1100\n"


def test_what_older_drivers_take_is_said_of_one_machine_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gpu = PASCAL.gpus[0]
    ampere = PASCAL._replace(driver=None, gpus=(gpu._replace(arch=Arch.parse("sm_86")),))
    for number, lines in enumerate(([ampere], [ampere, ampere._replace(python=Python("3.12"))])):
        (tmp_path / "machines").write_text("\n".join(json.dumps(each.to_dict()) for each in lines), "utf-8")
        assert main(["--machine", str(tmp_path / "machines")]) == 0
        assert ("older drivers" in capsys.readouterr().out) is (number == 0)
