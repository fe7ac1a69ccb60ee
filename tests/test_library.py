"""The contract of the library: its names, its call, its errors."""

from __future__ import annotations

import copy
import json
import pickle
import pydoc
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import torchpick
from tests import library_sample
from tests.wheels import making
from torchpick.environment.requirements import RequirementArgs
from torchpick.install import asking, handover
from torchpick.model.machine import Trouble
from torchpick.run import Run

CASES = json.loads(Path(__file__).with_name("library.json").read_text("utf-8"))


def test_the_public_names_are_what_all_says() -> None:
    assert sorted(dir(torchpick)) == sorted(torchpick.__all__)
    for name in torchpick.__all__:
        assert getattr(torchpick, name) is not None


def test_what_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        torchpick.nothing  # noqa: B018


def test_a_told_machine_is_answered() -> None:
    pick = torchpick.pick(
        gpus=["sm_61"], driver="580.95.05", python="3.11", platform="linux-x86_64", glibc="2.35", torch="<2.12"
    )

    assert pick.version == "2.11.0+cu126"
    assert pick.index_url == "https://download.pytorch.org/whl/cu126"
    assert pick.requirements == ("torch==2.11.0+cu126",)
    answer = json.loads(pick.to_json())
    assert answer["pick"]["version"] == pick.version
    assert answer["status"] == "ok"


def test_companions_are_pinned_where_they_are_asked_for() -> None:
    pick = torchpick.pick(
        gpus=["a100"], driver="580.95.05", python="3.12", platform="linux-x86_64", companions={"torchvision": ""}
    )

    assert pick.requirements[1].startswith("torchvision==")


def test_no_gpu_is_an_empty_list() -> None:
    assert torchpick.pick(gpus=[], python="3.12", platform="linux-x86_64").version.endswith("+cpu")


def test_where_nothing_runs_that_is_a_value_and_the_error_of_requiring_it_carries_the_answer() -> None:
    pick = torchpick.pick(gpus=["sm_61", "sm_120"], driver="580.95.05", python="3.12", platform="linux-x86_64")

    assert not pick.ok
    for ask in (pick.require, lambda: pick.version):
        with pytest.raises(torchpick.NoBuildError) as caught:
            ask()
        assert (caught.value.pick, caught.value.exit_status) == (pick, 3)
        assert caught.value.hint
    refusal = torchpick.pick(gpus=["gfx1032"], torch="==2.9.1", python="3.12", platform="linux-x86_64").refusal
    assert "HSA_OVERRIDE_GFX_VERSION=10.3.0" in str(refusal)  # by the rules of the table
    assert [group.verdict.build.version for group in caught.value.pick.plan] == ["2.15.0+cu132", "2.14.1+cu126"]


def test_a_fleet_with_a_machine_on_which_nothing_runs_has_its_groups_and_is_not_ok() -> None:
    facts = {"python": "3.12", "platform": "linux-x86_64"}
    machines = [
        torchpick.pick(gpus=[gpu], driver=driver, **facts).machine  # type: ignore[arg-type]
        for gpu, driver in (("sm_86", "580.95.05"), ("sm_120", "535.183.01"))
    ]

    alone, both = torchpick.fleet(machines[:1]), torchpick.fleet([*machines, SILENT])

    assert (alone.ok, alone.require()) == (True, alone)
    assert (both.ok, [left.code for left in both.left_out], len(both.groups)) == (
        False, ["DRIVER_MISMATCH", "NO_BUILD"], 1,
    )  # fmt: skip
    with pytest.raises(torchpick.NoBuildError, match="no build runs on"):
        both.require()
    for none in ([], [SILENT]):
        assert (torchpick.fleet(none).groups, len(torchpick.fleet(none).left_out)) == ((), len(none))


KERNELS = making.library(making.module("sm_80"), making.module("sm_90"))
SILENT = library_sample.MACHINE._replace(trouble=Trouble("DRIVER_MISMATCH", "updated", "reboot"))


def test_a_gpu_that_does_not_answer_is_a_value_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "kernels.so"
    file.write_bytes(KERNELS)
    monkeypatch.setattr(Run, "find_machine", lambda _run: SILENT)

    inspection = torchpick.inspect(str(file))

    for answer in (torchpick.detect(), torchpick.pick(), torchpick.plan("vllm")):
        assert not answer.ok
        with pytest.raises(torchpick.DetectionError, match="updated") as caught:
            answer.require()
        assert (caught.value.hint, caught.value.machine) == ("reboot", SILENT)
    assert (torchpick.pick().refusal, torchpick.plan("vllm").hints) == (("updated", "reboot"), ("reboot",))
    assert (torchpick.pick().to_dict()["status"], torchpick.plan().to_dict()["exit"]) == ("no_answer", 4)
    assert (inspection.ok, inspection.verdicts, inspection.trouble) == (False, (), SILENT.trouble)


def test_each_argument_of_a_plan_is_part_of_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    orders: list[asking.Order] = []

    def plan(_run: Run, order: asking.Order) -> tuple[torchpick.Stack, None]:
        orders.append(order)
        return torchpick.Stack(SILENT, ()), None

    monkeypatch.setattr(handover, "plan_environment", plan)
    torchpick.plan(
        "vllm", files=["r.txt"], constraints=["c.txt"], editables=["."], groups=["dev"], only_binary=["a"],
        no_binary=["b"], pre=True, no_deps=True, allow_mixed=True, gpus=[], python="3.12", platform="linux-x86_64",
    )  # fmt: skip

    typed = RequirementArgs(("vllm",), ("r.txt",), ("c.txt",), (".",), ("dev",))
    rules = asking.file_rules(("a",), ("b",), pre=True)
    assert orders == [asking.Order(typed, no_deps=True, allow_mixed=True, passed_on=rules)]


def test_what_a_call_returns_can_be_sent_and_is_json(tmp_path: Path) -> None:
    file = tmp_path / "kernels.so"
    file.write_bytes(KERNELS)
    machine = {"driver": "580.95.05", "python": "3.12", "platform": "linux-x86_64"}
    answers: list[Any] = [
        library_sample.MACHINE,
        torchpick.pick(gpus=["sm_86"], companions=["torchvision"], **machine),  # type: ignore[arg-type]
        torchpick.pick(gpus=["sm_61", "sm_120"], **machine),  # type: ignore[arg-type]
        torchpick.pick(gpus=["gfx1201"], python="3.12", platform="windows-x86_64"),
        torchpick.plan("vllm", gpus=["sm_86"], offline=True, **machine),  # type: ignore[arg-type]
        torchpick.plan("vllm", gpus=["sm_61"], offline=True, **machine),  # type: ignore[arg-type]
        torchpick.fleet([library_sample.MACHINE, SILENT]),
        torchpick.inspect(str(file), gpus=["sm_61"], **machine),  # type: ignore[arg-type]
    ]

    for answer in answers:
        assert json.loads(answer.to_json()) == json.loads(json.dumps(answer.to_dict()))
        assert pickle.loads(pickle.dumps(answer)) == answer  # noqa: S301


def test_help_on_a_type_begins_with_what_it_is() -> None:
    """On the first screen, above what every tuple has; a sentence of its own, and not its fields in brackets."""
    for name in torchpick.__all__:
        if isinstance(noun := getattr(torchpick, name), type):
            screen = pydoc.plain(pydoc.render_doc(noun)).splitlines()[:24]

            assert noun.__doc__, name
            assert not noun.__doc__.startswith(f"{name}("), name
            assert any(noun.__doc__.splitlines()[0] in line for line in screen), name


def test_the_sample_program_runs(tmp_path: Path) -> None:
    file = tmp_path / "kernels.so"
    file.write_bytes(KERNELS)

    assert library_sample.picked("GTX 1080 Ti")[0] == "2.14.1+cu126"
    assert library_sample.planned()["torch"] == "2.14.1+cu126"
    assert library_sample.fleet() == {"n1": 1}
    assert library_sample.inspected(str(file)) == ["will not run"]
    assert library_sample.refused()


@pytest.mark.process
def test_without_its_dependencies_a_build_is_picked_and_a_command_names_what_it_lacks() -> None:
    """`-S` hides everything that is installed."""
    program = f"""
import sys; sys.path.insert(0, {str(Path(torchpick.__file__).parents[1])!r})
import torchpick
from torchpick.cli import main
print(torchpick.detect().ok is not None, torchpick.pick(gpus=["MX330"], driver="580.119.02").ok)
sys.exit(main(["plan", "vllm", "--gpu", "sm_61"]))
"""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.returncode, done.stdout) == (1, "True True\n")
    said = "error: No module named 'packaging'\n\nhint: install torchpick with its dependencies: without `--no-deps`\n"
    assert done.stderr == said


def test_a_bad_argument_is_a_usage_error() -> None:
    with pytest.raises(torchpick.UsageError, match="is not a known GPU"):
        torchpick.pick(gpus=["rtx 9090"])


def test_detecting_gives_a_machine_and_leaves_the_name_callable() -> None:
    machine = torchpick.detect(python="3.12")

    assert machine.python.version == "3.12"
    assert isinstance(machine, torchpick.Machine)
    assert callable(torchpick.detect)


@pytest.mark.parametrize(("arguments", "words"), CASES["what_is_of_another_kind_is_told_in_a_sentence"])
def test_what_is_of_another_kind_is_told_in_a_sentence(arguments: dict[str, Any], words: str) -> None:
    told: dict[str, Any] = {"gpus": ["sm_61"], "python": "3.12", "platform": "linux-x86_64", **arguments}

    with pytest.raises(torchpick.UsageError) as caught:
        torchpick.pick(**told)

    assert words in caught.value.message
    assert caught.value.hint


def test_an_error_crosses_to_another_process() -> None:
    with pytest.raises(torchpick.NoBuildError) as caught:
        torchpick.pick(gpus=["sm_61", "sm_120"], driver="580.95.05", python="3.12", platform="linux-x86_64").require()

    for again in (pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value)):  # noqa: S301
        assert isinstance(again, torchpick.NoBuildError)
        assert (str(again), again.hint, again.code) == (str(caught.value), caught.value.hint, "NO_BUILD")
        assert again.pick == caught.value.pick


def test_a_pick_and_a_machine_are_shown_in_one_line() -> None:
    pick = torchpick.pick(
        gpus=["GTX 1080 Ti", "GTX 1080 Ti"], driver="580.95.05", python="3.12", platform="linux-x86_64"
    )
    nothing = torchpick.pick(gpus=["sm_61"], driver="600", python="3.12", platform="linux-x86_64")

    machine = "2 x GTX 1080 Ti (sm_61), driver 580.95.05, linux-x86_64, Python 3.12"
    assert repr(pick) == f"<Pick torch {pick.version} for {machine}>"
    assert repr(pick.machine) == f"<Machine {machine}>"
    assert repr(nothing) == "<Pick of nothing for sm_61, driver 600, linux-x86_64, Python 3.12>"


EVERYDAY = ["", "<2.12", ">=2.5,<2.8", "==2.9.1", "!=2.14.1", "~=2.7.0", "==2.6.*"]
COMPANIONS = [{"torchvision": ""}, {"torchvision": ">=0.20", "torchaudio": ""}, {"torchvision": "<0.30"}]
PASCAL = {"gpus": ["sm_61"], "driver": "580.95.05", "python": "3.12", "platform": "linux-x86_64"}
STRIX = {"gpus": ["gfx1151"], "python": "3.12", "platform": "windows-x86_64"}  # its torchvision is 0.29.0a0+rocm10.1.0


@pytest.mark.process
def test_picks_with_everyday_specifiers_need_no_dependency() -> None:
    """`-S` hides everything that is installed."""
    wishes: list[dict[str, Any]] = [{**PASCAL, "torch": torch} for torch in EVERYDAY]
    wishes += [{**machine, "companions": companions} for machine in (PASCAL, STRIX) for companions in COMPANIONS]
    source = str(Path(torchpick.__file__).parents[1])
    program = (
        f"import sys; sys.path.insert(0, {source!r}); import torchpick\n"
        f"print([torchpick.pick(**wish).requirements for wish in {wishes}])"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.stdout.strip(), done.stderr) == (str([torchpick.pick(**wish).requirements for wish in wishes]), "")
    assert "torchvision[device-gfx1151]==0.29.0a0+rocm10.1.0" in done.stdout


@pytest.mark.process
def test_a_library_is_inspected_without_a_dependency(tmp_path: Path) -> None:
    file = tmp_path / "kernels.so"
    file.write_bytes(KERNELS)
    source = str(Path(torchpick.__file__).parents[1])
    told = f"{str(file)!r}, gpus=['sm_61', 'sm_80'], driver='580.95.05', python='3.12'"
    program = f"import sys; sys.path.insert(0, {source!r}); import torchpick; print(torchpick.inspect({told}).verdict)"

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.stdout, done.stderr) == ("will not run\n", "")


def test_companions_may_be_names_and_a_specifier_may_name_what_it_is_of() -> None:
    machine = {"gpus": ["sm_75"], "driver": "580.95.05", "python": "3.12", "platform": "linux-x86_64"}

    picked = torchpick.pick(companions=["torchvision"], torch="torch<2.14", **machine)  # type: ignore[arg-type]

    assert picked.requirements == torchpick.pick(companions={"torchvision": ""}, torch="<2.14", **machine).requirements  # type: ignore[arg-type]
