"""An engine's own calls, and what it makes of an answer; the programs are of the shell."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.cluster.standin import A100, StandIn, ended, said
from torchpick.cluster import engine as engines
from torchpick.cluster import sources
from torchpick.cluster.engine import Call, ClusterError, Engine
from torchpick.environment import child
from torchpick.environment.child import ChildResult, Running
from torchpick.errors import UsageError

SYSTEM = {"PATH": "/usr/bin:/bin"}
on_posix = pytest.mark.skipif(os.name == "nt", reason="the programs are those of a POSIX shell")


def engine(*options: str, program: str = "torchpick", left_s: float = 60.0, **environ: str) -> Engine:
    reader = StandIn(lambda _: ended()).reader
    return Engine(program, None, options, reader, {**SYSTEM, **environ}, time.monotonic() + left_s)


def test_the_command_of_a_machine_and_the_time_that_is_left() -> None:
    made = engine(program="env -i '/opt/a b/tp'")

    assert made.command == ("env", "-i", "/opt/a b/tp", "detect", "--json", "--compact")
    assert 50 < made.left_s <= 60
    assert engine(left_s=-1.0).left_s == 0


@on_posix
def test_a_call_has_the_environment_and_its_own_limit() -> None:
    made = engine(WORD="given")

    assert made.call(["sh", "-c", "echo $WORD; echo talk >&2; exit 3"]) == ended(b"given\n", b"talk\n", 3)
    assert made.call(["sleep", "60"], limit_s=0.01).status is None


@on_posix
def test_the_output_of_a_program_that_fails_is_its_own_error() -> None:
    made = engine()

    assert made.output(["echo", "x"], "a hint") == b"x\n"
    with pytest.raises(ClusterError) as caught:
        made.output(["sh", "-c", "echo first >&2; echo last >&2; exit 1"], "a hint")
    assert (caught.value.message, caught.value.hint, caught.value.code) == ("sh: last", "a hint", "CLUSTER")


@on_posix
def test_a_program_may_print_more_than_a_detection_does() -> None:
    assert len(engine().output(["head", "-c", "1500000", "/dev/zero"], "")) == 1_500_000


@on_posix
def test_calls_end_in_any_order_and_more_may_be_put_among_them() -> None:
    made = engine()
    waiting: deque[Call] = deque([(["a", "b"], ["echo", "1"]), (["c"], ["sh", "-c", "exit 3"])])
    found = []
    for hosts, result in made.calls(waiting, 60):
        found.append((hosts, result.status, result.answer))
        if hosts == ["a", "b"]:
            waiting.append((["d"], ["echo", "2"]))

    assert sorted(found) == [(["a", "b"], 0, b"1\n"), (["c"], 3, b""), (["d"], 0, b"2\n")]


@on_posix
def test_so_many_calls_run_at_once_and_none_longer_than_its_limit_or_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []

    def finish_each(
        begin: Callable[[], tuple[object, Running, float]], at_once: int
    ) -> Iterator[tuple[str, ChildResult]]:
        for _ in range(2):
            _, running, limit_s = begin()
            running.stop()
            limits.append(limit_s)
        yield str(at_once), ChildResult(0, b"", b"")

    monkeypatch.setattr(child, "finish_each", finish_each)
    made = engine(left_s=1000.0)
    for limit_s in (5, 5000):
        waiting: deque[Call] = deque([(["a"], ["true"]), (["b"], ["true"])])
        assert [hosts for hosts, _ in made.calls(waiting, limit_s)] == ["32"]

    assert limits[:2] == [5, 5]
    assert all(500 < each <= 1000 for each in limits[2:])


def test_without_time_left_nobody_is_asked_and_each_host_is_said_to_be() -> None:
    made = engine(left_s=0.0)
    waiting: deque[Call] = deque([(["a", "b"], ["no-such-program"]), (["c"], ["no-such-program"])])

    assert [*made.calls(waiting, 5)] == []
    [left] = made.reader.fleet().left_out
    assert (left.hosts.text, left.code, left.text) == ("a,b,c", "NOT_ASKED", "no time was left to ask it")


@pytest.mark.parametrize(
    ("answer", "said_", "has", "found"),
    [
        (said(A100), "", "", "sm_80"),
        (said(A100), "", "gpu:1", "sm_80"),
        (said(), "", "", "no GPU"),
        (said(), "", "gpu:1", "NO_GPU_GIVEN: its job was given none of its gpu:1"),
        (b"nonsense", "", "", "UNREAD: n1's answer, line 1: not JSON: nonsense"),
        (b" \n", "it hangs", "", "NO_ANSWER: it hangs"),
        (b"", "bash: tp: command not found", "", "NO_TORCHPICK: bash: tp: command not found"),
        (b"", "/opt/tp: No such file or directory", "", "NO_TORCHPICK: /opt/tp: No such file or directory"),
        (b"", "'tp' is not recognized as a command", "", "NO_TORCHPICK: 'tp' is not recognized as a command"),
        (b"", "No module named tp", "", "NO_TORCHPICK: No module named tp"),
        (b"", "bash: nvidia-smi: not found", "", "NO_ANSWER: bash: nvidia-smi: not found"),
        (b"", "tp: killed", "", "NO_ANSWER: tp: killed"),
    ],
)
def test_what_is_made_of_an_answer(answer: bytes, said_: str, has: str, found: str) -> None:
    stand = StandIn(lambda _: ended())
    stand.take("n1", answer, said_, has)

    assert stand.found == {"n1": found}


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (ended(status=None), "it did not answer in time"),
        (ended(talk=b"first\nlast \n\n", status=1), "last"),
        (ended(talk=b"x" * 400, status=1), "x" * 300),
        (ended(status=0), "it ended with status 0"),
        (ended(status=-9), "it ended with status -9"),
    ],
)
def test_why_a_program_gave_no_answer(result: ChildResult, why: str) -> None:
    assert engines.failure_words(result) == why


@on_posix
def test_a_program_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "kubectl"
    broken.write_text("#!/no/such/interpreter\n", "utf-8")
    broken.chmod(0o755)

    with pytest.raises(ClusterError) as caught:
        engines.start_program(["kubectl", "get"], {"PATH": str(tmp_path)})
    assert caught.value.message == "cannot start kubectl: No such file or directory"
    assert caught.value.hint == "is it installed completely?"
    with pytest.raises(ClusterError) as caught:
        engines.start_program(["srun", "-n1"], {"PATH": str(tmp_path)})
    assert caught.value.message == "`srun` is not on PATH"
    assert caught.value.hint == "run this where the cluster's programs are installed"


@pytest.mark.parametrize(
    ("source", "options", "image", "message", "hint"),
    [
        ("", (), None, "a SOURCE is empty", "such as `torchpick fleet slurm`, a folder, a file, or `-`"),
        ("slurm", (), "i", "`--run` starts Jobs on Kubernetes, and not on `slurm`",
         "`torchpick fleet kubernetes --run --image IMAGE`"),
        ("x.json", (), "i", "`--run` starts Jobs on Kubernetes, and not on `x.json`",
         "`torchpick fleet kubernetes --run --image IMAGE`"),
        ("x.json", ("-v",), None, "`x.json` takes no options after `--`", "they are for srun, kubectl or ssh"),
        ("ray:x", ("-v",), None, "`ray:x` takes no options after `--`", "they are for srun, kubectl or ssh"),
        ("ssh", (), None, "`ssh` needs a file of hosts", "`torchpick fleet ssh:HOSTFILE`"),
        ("ssh:", ("-v",), None, "`ssh` needs a file of hosts", "`torchpick fleet ssh:HOSTFILE`"),
    ],
)  # fmt: skip
def test_a_source_that_cannot_be_meant(
    source: str, options: tuple[str, ...], image: str | None, message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        sources.check_source(source, options, image)
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_each_engine_is_asked_and_a_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = {"slurm:p": "scontrol", "kubernetes:c": "kubectl", "ssh:hosts": "ssh"}
    Path("hosts").write_text("n1", "utf-8")
    Path("n1.json").write_bytes(said(A100))
    for source, program in first.items():
        stand = StandIn(lambda _: ended(status=1))
        with pytest.raises(ClusterError) if program != "ssh" else nullcontext():
            sources.read_source(source, stand.engine)
        assert stand.asked[0][0].split()[0] == program
    stand = StandIn(lambda _: ended())
    sources.read_source("n1.json", stand.engine)

    assert [str(gpu.arch) for machine in stand.reader.fleet().machines for gpu in machine.gpus] == ["sm_80"]
