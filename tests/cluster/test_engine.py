"""An engine's own calls, and what it makes of an answer; the programs are of the shell."""

from __future__ import annotations

import os
import time
from collections import deque
from pathlib import Path

import pytest

from tests.cluster.standin import A100, StandIn, ended, said
from torchpick.cluster import engine as engines
from torchpick.cluster import sources
from torchpick.cluster.engine import Call, ClusterError, Engine
from torchpick.errors import UsageError

SYSTEM = {"PATH": "/usr/bin:/bin"}
on_posix = pytest.mark.skipif(os.name == "nt", reason="the programs are those of a POSIX shell")


def engine(*options: str, program: str = "torchpick", left_s: float = 60.0, **environ: str) -> Engine:
    reader = StandIn(lambda _: ended()).reader
    return Engine(program, None, options, reader, {**SYSTEM, **environ}, time.monotonic() + left_s)


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


def test_without_time_left_nobody_is_asked_and_each_host_is_said_to_be() -> None:
    made = engine(left_s=0.0)
    waiting: deque[Call] = deque([(["a", "b"], ["no-such-program"]), (["c"], ["no-such-program"])])

    assert [*made.calls(waiting, 5)] == []
    [left] = made.reader.fleet().left_out
    assert (left.hosts.text, left.code, left.text) == ("a,b,c", "NOT_ASKED", "no time was left to ask it")


@pytest.mark.parametrize(("answer", "said_", "has", "found"), [
    (said(A100), "", "", "sm_80"), (said(A100), "", "gpu:1", "sm_80"), (said(), "", "", "no GPU"),
    (said(), "", "gpu:1", "NO_GPU_GIVEN: its job was given none of its gpu:1"),
    (b"nonsense", "", "", "UNREAD: n1's answer, line 1: not JSON: nonsense"),
    (b" \n", "it hangs", "", "NO_ANSWER: it hangs"),
    (b"", "bash: tp: command not found", "", "NO_TORCHPICK: bash: tp: command not found"),
    (b"", "/opt/tp: No such file or directory", "", "NO_TORCHPICK: /opt/tp: No such file or directory"),
    (b"", "'tp' is not recognized as a command", "", "NO_TORCHPICK: 'tp' is not recognized as a command"),
    (b"", "No module named tp", "", "NO_TORCHPICK: No module named tp"),
    (b"", "bash: nvidia-smi: not found", "", "NO_ANSWER: bash: nvidia-smi: not found"),
    (b"", "tp: killed", "", "NO_ANSWER: tp: killed"),
])  # fmt: skip
def test_what_is_made_of_an_answer(answer: bytes, said_: str, has: str, found: str) -> None:
    stand = StandIn(lambda _: ended())
    stand.take("n1", answer, said_, has)

    assert stand.found == {"n1": found}


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


@pytest.mark.parametrize(("source", "options", "image", "message", "hint"), [
        ("", (), None, "a SOURCE is empty", "such as `torchpick fleet slurm`, a folder, a file, or `-`"),
        ("slurm", (), "i", "`--run` starts Jobs on Kubernetes, and not on `slurm`",
         "`torchpick fleet kubernetes --run --image IMAGE`"),
        ("x.json", (), "i", "`--run` starts Jobs on Kubernetes, and not on `x.json`",
         "`torchpick fleet kubernetes --run --image IMAGE`"),
        ("x.json", ("-v",), None, "`x.json` takes no options after `--`", "they are for srun, kubectl or ssh"),
        ("ray:x", ("-v",), None, "`ray:x` takes no options after `--`", "they are for srun, kubectl or ssh"),
        ("ssh", (), None, "`ssh` needs a file of hosts", "`torchpick fleet ssh:HOSTFILE`"),
        ("ssh:", ("-v",), None, "`ssh` needs a file of hosts", "`torchpick fleet ssh:HOSTFILE`"),
])  # fmt: skip
def test_a_source_that_cannot_be_meant(
    source: str, options: tuple[str, ...], image: str | None, message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        sources.check_source(source, options, image)
    assert (caught.value.message, caught.value.hint) == (message, hint)


@on_posix
def test_the_program_is_words_a_call_has_its_own_limit_and_a_long_last_line_is_cut() -> None:
    made = engine(program="env '/opt/a b/tp'")
    waiting: deque[Call] = deque([(["a"], ["sleep", "5"]), (["b"], ["sh", "-c", "printf %0400d 0 >&2; exit 1"])])

    assert made.command[:2] == ("env", "/opt/a b/tp")
    ends = {hosts[0]: engines.failure_words(result) for hosts, result in made.calls(waiting, 1)}
    assert ends == {"a": "it did not answer in time", "b": "0" * 300}
