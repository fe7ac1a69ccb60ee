"""In which words the programs of a cluster are asked, for how long, and what is made of each answer; nothing runs."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.test_nodes import A100 as LABELS
from tests.cli.test_nodes import BASE, node
from tests.cluster.standin import A100, COMMAND, StandIn, ended, said
from torchpick.cluster import kubernetes_nodes, ray, slurm, sources
from torchpick.cluster.engine import ClusterError
from torchpick.environment.child import ChildResult
from torchpick.errors import UsageError

COMMAND_TEXT = " ".join(COMMAND)
# The labels of one say nothing of its GPUs, and one is called nothing at all.
LISTED = [
    node("g0", LABELS), node("c0", BASE), node("g1", LABELS), node("", LABELS),
    node("g2", BASE, capacity={"nvidia.com/gpu": "1"}),
]  # fmt: skip
NODES = json.dumps({"kind": "List", "items": LISTED}).encode()
KUBECTL = "kubectl --request-timeout=30s"


class Pods:
    """What kubectl answers where each of these texts is one pod's state, and `said` what the pods print."""

    def __init__(self, *pods: str, created: ChildResult | None = None) -> None:
        self.pods, self.created, self.jobs, self.file = pods, created or ended(), "", ""

    def __call__(self, words: Sequence[str]) -> ChildResult:
        if "create" in words:
            self.file = words[-1]
            self.jobs = Path(self.file).read_text(encoding="utf-8")
            return self.created
        if "pods" in words:
            return ended("".join(f"\x1e{pod}" for pod in self.pods).encode())
        if "logs" in words:
            return ended(said(A100) if words[-1] == "p0" else b"", b"" if words[-1] == "p0" else b"x\nsh: torchpick\n")
        return ended(NODES if "nodes" in words else b"")


def test_kubernetes_nodes_are_listed_in_these_words_and_nothing_else_is_asked() -> None:
    plain = StandIn(Pods(), "--kubeconfig=x")
    kubernetes_nodes.detect("", plain.engine)
    named = StandIn(Pods())
    kubernetes_nodes.detect("here", named.engine)

    assert plain.asked == [(f"{KUBECTL} --kubeconfig=x get nodes -o json", None)]
    assert named.asked == [("kubectl --context=here --request-timeout=30s get nodes -o json", None)]
    assert named.found == {
        "g0": "sm_80", "c0": "no GPU", "g1": "sm_80",
        "g2": "NO_CAPABILITY: it has nvidia.com/gpu, and no label gives the compute capability or the product",
    }  # fmt: skip


def test_a_job_for_each_gpu_node_is_made_read_and_deleted_in_these_words() -> None:
    pods = Pods("0 p0 Succeeded Completed  ", "1 p1 Failed Error  \n unmet", "2 p2 Failed Error why")
    stand = StandIn(pods, image="registry.example/x")

    kubernetes_nodes.detect("", stand.engine)

    jobs = json.loads(pods.jobs)
    mark = jobs["items"][0]["metadata"]["labels"]["torchpick.example/run"]
    own = f"--selector=torchpick.example/run={mark}"
    texts = [(re.sub(r"-o=jsonpath=.*", "-o=jsonpath", text), limit) for text, limit in stand.asked]
    assert texts == [
        (f"{KUBECTL} get nodes -o json", None), (f"{KUBECTL} create --validate=false -f {pods.file}", None),
        (f"{KUBECTL} get pods {own} -o=jsonpath", None), (f"{KUBECTL} logs --limit-bytes=65536 p0", 30),
        (f"{KUBECTL} logs --limit-bytes=65536 p1", 30), (f"{KUBECTL} logs --limit-bytes=65536 p2", 30),
        (f"{KUBECTL} delete jobs {own} --wait=false", 15),
    ]  # fmt: skip
    assert len(mark) == 12
    assert (jobs["apiVersion"], jobs["kind"]) == ("v1", "List")
    assert re.fullmatch(r".*/torchpick-[a-z0-9_]{8}/jobs\.json", pods.file)
    assert not Path(pods.file).parent.exists()
    specs = [job["spec"]["template"]["spec"] for job in jobs["items"]]
    assert [spec["nodeSelector"] for spec in specs] == [{"kubernetes.io/hostname": f"g{place}"} for place in range(3)]
    assert {(spec["containers"][0]["image"], *spec["containers"][0]["command"]) for spec in specs} == {
        ("registry.example/x", *COMMAND)
    }
    assert stand.found == {
        "g0": "sm_80",
        "g1": "NO_ANSWER: its pod failed: Error unmet sh: torchpick",
        "g2": "NO_ANSWER: its pod failed: Error why sh: torchpick",
    }


def test_a_pod_is_read_once_and_one_that_nobody_asked_for_not_at_all() -> None:
    stand = StandIn(Pods("7 p7 Succeeded  ", *(f"{place} p0 Succeeded  " for place in (0, 0, 1, 2))), image="x")
    kubernetes_nodes.detect("", stand.engine)

    assert [text for text, _ in stand.asked if "logs" in text] == [f"{KUBECTL} logs --limit-bytes=65536 p0"] * 3


def test_the_pods_are_looked_at_each_second_until_all_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    pods = Pods()
    looks = [[f"{place} p0 {phase}  " for place in (0, 1, 2)] for phase in ("Pending", "Running", "Succeeded")]

    def answer(words: Sequence[str]) -> ChildResult:
        pods.pods = tuple(looks.pop(0)) if "pods" in words else ()
        return pods(words)

    stand = StandIn(answer, image="x", left_s=10.5)
    kubernetes_nodes.detect("", stand.engine)

    assert slept == [1.0, 1.0, 0]
    assert stand.found == dict.fromkeys(("g0", "g1", "g2"), "sm_80")


@pytest.mark.parametrize("left_s", [10.0, 0.0])
def test_without_time_for_the_pods_none_is_looked_at_and_the_jobs_are_still_deleted(left_s: float) -> None:
    stand = StandIn(Pods("0 p0 Succeeded  "), image="x", left_s=left_s)

    kubernetes_nodes.detect("", stand.engine)

    assert [text.split()[2] for text, _ in stand.asked] == ["get", "create", "delete"]
    assert stand.found == dict.fromkeys(("g0", "g1", "g2"), "NOT_STARTED: its pod is not made")


def test_a_cluster_that_may_not_be_written_to_says_so_and_is_left_as_it_was() -> None:
    pods = Pods(created=ended(talk=b"Error from server (Forbidden): no", status=1))
    stand = StandIn(pods, image="x")

    with pytest.raises(ClusterError, match="Forbidden") as caught:
        kubernetes_nodes.detect("", stand.engine)
    assert caught.value.hint == "`kubectl auth can-i create jobs` shows whether you may"
    assert [text.split()[2] for text, _ in stand.asked] == ["get", "create", "delete"]


@pytest.mark.parametrize("listed", [b"no JSON", b'{"kind": "List", "items": [{"kind": "Node"}]}'])
def test_a_list_of_nodes_that_is_none_is_an_error_of_the_cluster(listed: bytes) -> None:
    with pytest.raises(ClusterError, match=r"^kubectl get nodes: .") as caught:
        kubernetes_nodes.detect("", StandIn(lambda _: ended(listed), image="x").engine)
    assert caught.value.hint == "try `kubectl get nodes` yourself"


def test_a_cluster_without_a_gpu_gets_no_job() -> None:
    bare = json.dumps({"kind": "List", "items": [node("c1", {"kubernetes.io/arch": "amd64"})]}).encode()
    stand = StandIn(lambda _: ended(bare), image="x")
    kubernetes_nodes.detect("", stand.engine)

    assert (len(stand.asked), stand.found) == (1, {"c1": "no GPU"})


# Slurm.

SHOWN = """\
NodeName=n1 Arch=x86_64 Gres=gpu:v100:2 State=IDLE Partitions=all,fast
NodeName=n2 Arch=aarch64 Gres=(null) State=MIXED+CLOUD Partitions=fast
NodeName=n3 State=IDLE Partitions=all
NodeName=n4 State=IDLE
JobId=4 Partitions=
"""


def test_a_node_of_several_partitions_is_asked_in_the_one_that_is_meant() -> None:
    nodes = slurm.list_nodes("fast", StandIn(lambda _: ended(SHOWN.encode())).engine)

    assert [(name, partition, cpu) for name, partition, _, _, cpu in nodes] == [
        ("n1", "fast", "x86_64"),
        ("n2", "fast", "aarch64"),
    ]


def test_within_an_allocation_its_own_nodes_are_listed() -> None:
    stand = StandIn(lambda _: ended(SHOWN.encode()), SLURM_JOB_NODELIST="n[1-3]")
    slurm.list_nodes("", stand.engine)

    assert stand.asked == [("scontrol show node --oneliner n[1-3]", None)]


@pytest.mark.parametrize(("partition", "which"), [("", ""), ("slow", " of partition slow")])
def test_a_controller_that_shows_no_node(partition: str, which: str) -> None:
    shown = SHOWN.encode() if partition else b"\n"
    with pytest.raises(ClusterError) as caught:
        slurm.list_nodes(partition, StandIn(lambda _: ended(shown)).engine)
    assert caught.value.message == f"scontrol shows no node{which}"
    assert caught.value.hint == "`sinfo -N` shows the nodes and their partitions"


@pytest.mark.parametrize(
    ("state", "alone", "within"),
    [
        *((state, "asked", "asked") for state in (
            "IDLE", "MIXED", "PLANNED", "COMPLETING", "RESERVED", "CLOUD", "DYNAMIC_NORM", "IDLE+CLOUD+PLANNED",
        )),
        ("ALLOCATED", "BUSY: other jobs have all of its processors", "asked"),
        ("ALLOCATED+CLOUD", "BUSY: other jobs have all of its processors", "asked"),
        ("DOWN", "NODE_DOWN: its state is down", "NODE_DOWN: its state is down"),
        ("IDLE+DRAIN", "NODE_DOWN: its state is idle+drain", "NODE_DOWN: its state is idle+drain"),
        ("ALLOCATED+DRAIN", "NODE_DOWN: its state is allocated+drain", "NODE_DOWN: its state is allocated+drain"),
    ],
)  # fmt: skip
def test_a_nodes_state_says_whether_it_is_asked(state: str, alone: str, within: str) -> None:
    for result, stand in (
        (alone, StandIn(lambda _: ended())),
        (within, StandIn(lambda _: ended(), SLURM_JOB_NODELIST="n1")),
    ):
        able = ["n1"] if slurm.is_able(("n1", "all", state, "", "x86_64"), stand.engine) else []
        assert {**dict.fromkeys(able, "asked"), **stand.found} == {"n1": result}


def srun(names: str, count: int, *options: str, place: str = "--partition=all") -> str:
    head = f"srun --label --job-name=JOB --distribution=arbitrary --nodelist={names} --nodes={count} --ntasks={count}"
    words = [head, "--kill-on-bad-exit=0 --time=2 --immediate=10", place, *options, COMMAND_TEXT]
    return " ".join(words)


class Slurm:
    """What the controller shows, and what srun answers on these nodes."""

    def __init__(self, nodes: str, **answers: ChildResult) -> None:
        self.nodes, self.answers = nodes, answers

    def __call__(self, words: Sequence[str]) -> ChildResult:
        if words[0] != "srun":
            return ended(self.nodes.encode() if words[0] == "scontrol" else b"")
        [names] = [word.partition("=")[2] for word in words if word.startswith("--nodelist=")]
        return self.answers[names.replace(",", "_")]


def shown(*names: str, state: str = "IDLE", gres: str = "(null)") -> str:
    return "".join(f"NodeName={name} Gres={gres} State={state} Partitions=all\n" for name in names)


def ask_slurm(stand: StandIn) -> list[tuple[str, float | None]]:
    """What was asked, with its job's name written as JOB."""
    slurm.detect("", stand.engine)
    name = stand.asked[-1][0].removeprefix("scancel --name=")
    assert re.fullmatch(r"torchpick-[0-9a-f]{12}", name)
    return [(text.replace(name, "JOB"), limit) for text, limit in stand.asked]


def ranked(answers: dict[int, bytes]) -> bytes:
    return b"".join(b"%2d: %s" % (rank, answer) for rank, answer in answers.items())


def test_nodes_that_are_alike_are_asked_by_one_srun_and_each_answers_by_its_rank() -> None:
    nodes = shown("n1", "n2") + shown("n3", state="MIXED") + shown("n4", "n5", state="DOWN")
    both = ended(b"srun: talk\n" + ranked({1: said(A100, A100._replace(index=1)), 0: said()}), status=1)
    stand = StandIn(Slurm(nodes, n1_n2=both, n3=ended(ranked({0: said(A100)}))), "--account=x")

    assert ask_slurm(stand) == [
        ("scontrol show node --oneliner", None), (srun("n1,n2", 2, "--account=x"), 95),
        (srun("n3", 1, "--account=x"), 95), ("scancel --name=JOB", 5),
    ]  # fmt: skip
    down = "NODE_DOWN: its state is down"
    assert stand.found == {"n1": "no GPU", "n2": "sm_80 sm_80", "n3": "sm_80", "n4": down, "n5": down}


def test_srun_is_given_little_time_where_little_is_left_and_overlaps_its_own_allocation() -> None:
    answers = Slurm(shown("n1"), n1=ended(ranked({0: said()})))
    stand = StandIn(answers, left_s=5.0, SLURM_JOB_NODELIST="n1")
    words = srun("n1", 1, place="--overlap").replace("--time=2 --immediate=10", "--time=1 --immediate=2")

    assert ask_slurm(stand)[1] == (words, 1)


def test_a_refused_crowd_is_asked_again_one_by_one() -> None:
    refused = ended(talk=b"srun: error: Requested node configuration is not available\n", status=1)
    answers = Slurm(shown("n1", "n2"), n1_n2=refused, n1=ended(ranked({0: said(A100)})), n2=refused)
    stand = StandIn(answers)

    asked = ask_slurm(stand)
    assert [text for text, _ in asked[1:-1]] == [srun("n1,n2", 2), srun("n1", 1), srun("n2", 1)]
    text = "srun: error: Requested node configuration is not available"
    assert stand.found == {"n1": "sm_80", "n2": f"NO_ANSWER: {text}"}


def silent(code: str) -> bytes:
    """What `detect` prints where a GPU does not answer."""
    return said().replace(
        b'"trouble": null', json.dumps({"trouble": {"code": code, "text": "no", "hint": "x"}})[1:-1].encode()
    )


@pytest.mark.parametrize(("gres", "options", "driver", "answer", "found"), [
        # What srun says of a node that others hold, by the controller's word of its GPUs where that is enough.
        ("gpu:v100:1", (), None, ended(talk=b"srun: error: nodes are busy", status=1),
         "BUSY: srun: error: nodes are busy"),
        ("gpu:v100:1", (), "580.95.05", ended(talk=b"srun: error: nodes are busy", status=1), "sm_70"),
        ("ib:1,gpu:a100:2(S:0-1)", (), "580.95.05", ended(talk=b"nodes are busy", status=1), "sm_80 sm_80"),
        ("gpu:unheard-of:2", (), "580.95.05", ended(talk=b"nodes are busy", status=1), "BUSY: nodes are busy"),
        ("gpu:2", (), "580.95.05", ended(talk=b"0: first\n0: nodes are busy", status=1), "BUSY: nodes are busy"),
        # Its own last line counts, and not srun's.
        ("(null)", (), None, ended(talk=b"0: first\n0: last\nsrun: talk", status=1), "NO_ANSWER: last"),
        ("(null)", (), None, ended(talk=b"0: bash: line 1: /opt/tp: No such file or directory", status=127),
         "NO_TORCHPICK: bash: line 1: /opt/tp: No such file or directory"),
        ("(null)", (), None, ended(status=3), "NO_ANSWER: it ended with status 3"),
        # Of one that was stopped only that its program never began.
        ("(null)", (), None, ended(talk=b"0: killed", status=None), "NO_ANSWER: it did not answer in time"),
        ("(null)", (), None, ended(talk=b"0: execve(): /opt/tp: No such file or directory\n0: killed", status=None),
         "NO_TORCHPICK: execve(): /opt/tp: No such file or directory"),
        # A job sees none of the node's GPUs where it asked for none.
        ("gpu:v100:1", (), None, ended(ranked({0: said()})), "NO_GPU_GIVEN: its job was given none of its gpu:v100:1"),
        ("gpu:v100:1", (), None, ended(ranked({0: silent("DRIVER_SILENT")})),
         "NO_GPU_GIVEN: its job was given none of its gpu:v100:1; it says: no"),
        ("gpu:v100:1", (), None, ended(ranked({0: silent("NO_PERMISSION")})),
         "NO_GPU_GIVEN: its job was given none of its gpu:v100:1; it says: no"),
        ("gpu:v100:1", (), None, ended(ranked({0: silent("DRIVER_MISMATCH")})), "DRIVER_MISMATCH: no"),
        ("gpu:a100:2", (), None, ended(ranked({0: said(A100)})), "sm_80"),
        # it speaks for itself alone
        ("(null)", (), None, ended(ranked({0: json.dumps(node("other", LABELS)).encode()})),
         "UNREAD: n1's answer, line 1: "),
        ("gpu:v100:1", ("--gres=gpu:1",), None, ended(ranked({0: said()})), "no GPU"),
        ("gpu:v100:1", ("-G1",), None, ended(ranked({0: said()})), "no GPU"),
        ("(null)", (), None, ended(ranked({0: said()})), "no GPU"),
])  # fmt: skip
def test_what_is_made_of_a_nodes_answer(
    gres: str, options: tuple[str, ...], driver: str | None, answer: ChildResult, found: str
) -> None:
    stand = StandIn(Slurm(shown("n1", gres=gres), n1=answer), *options, driver=driver)
    ask_slurm(stand)

    assert {name: text[: len(found)] if "line 1" in found else text for name, text in stand.found.items()} == {
        "n1": found
    }


def test_a_node_without_an_answer_beside_one_that_has_is_not_called_busy_and_not_by_anothers_words() -> None:
    talk = b"1: nodes are busy\nsrun: error: n1: task 0 failed"
    answer = ended(ranked({0: said(A100)}), talk, status=1)
    stand = StandIn(Slurm(shown("n1", "n2", "n3"), n1_n2_n3=answer))
    ask_slurm(stand)

    assert stand.found == {"n1": "sm_80", "n2": "NO_ANSWER: nodes are busy", "n3": "NO_ANSWER: it ended with status 1"}


def test_a_crowd_that_was_stopped_is_not_asked_again() -> None:
    stand = StandIn(Slurm(shown("n1", "n2"), n1_n2=ended(status=None)))

    assert [text for text, _ in ask_slurm(stand)[1:-1]] == [srun("n1,n2", 2)]
    assert stand.found == dict.fromkeys(("n1", "n2"), "NO_ANSWER: it did not answer in time")


# Hosts over ssh.


def test_a_file_may_be_called_as_an_engine_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert [sources.split_source(word) for word in ("slurm", "x")] == [("slurm", ""), ("", "x")]
    (tmp_path / "slurm").touch()
    (tmp_path / "slurm:gpu").touch()
    assert [sources.split_source(word) for word in ("slurm", "slurm:gpu")] == [("", "slurm"), ("slurm", "gpu")]


def test_each_host_is_asked_by_ssh_in_these_words(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("# all\nn[1-2] # two\n\nme@n3\nn1\nn4,n5\n", "utf-8")
    mark = b"motd\ntorchpick-begins\n"
    answers = {
        "n1": ended(mark + said(A100)), "n2": ended(talk=b"Permission denied", status=255),
        "me@n3": ended(mark, b"sh: /opt/tp: not found", 127), "n4": ended(status=None),
        "n5": ended(b"motd", status=None),
    }  # fmt: skip
    stand = StandIn(lambda words: answers[words[-2]], "-F", "x")

    sources.detect_over_ssh(str(file), stand.engine)

    begin = "ssh -oBatchMode=yes -oConnectTimeout=10 -F x --"
    assert stand.asked == [
        (f"{begin} {host} echo torchpick-begins && {COMMAND_TEXT}", 99) for host in ("n1", "n2", "me@n3", "n4", "n5")
    ]
    assert stand.found == {
        "n1": "sm_80", "n2": "NO_ANSWER: Permission denied", "n3": "NO_TORCHPICK: sh: /opt/tp: not found",
        "n4": "LOGIN_HANGS: it was reached, and its login did not end in time",
        "n5": "UNREAD: n5's answer, line 1: not JSON: motd",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("count", "left_s", "limit", "connect"),
    [(32, 21.0, 20.0, 10), (33, 21.0, 10.0, 9), (64, 13.0, 6.0, 5), (65, 4.0, 5.0, 4), (1, 12.0, 11.0, 10)],
)
def test_hosts_that_hang_leave_time_for_those_behind_them(
    count: int, left_s: float, limit: float, connect: int, tmp_path: Path
) -> None:
    (tmp_path / "hosts").write_text(f"n[1-{count}]", "utf-8")
    stand = StandIn(lambda _: ended(status=None), left_s=left_s)

    sources.detect_over_ssh(str(tmp_path / "hosts"), stand.engine)

    assert {(text.split()[2], limit_s) for text, limit_s in stand.asked} == {(f"-oConnectTimeout={connect}", limit)}
    assert len(stand.asked) == count


@pytest.mark.parametrize(("lines", "what"), [
        ("", "it contains no host"), ("# none\n", "it contains no host"),
        ("ok\n-oProxyCommand=x\n", "`-oProxyCommand=x` is not a valid host"), ("a b", "`a b` is not a valid host"),
        ("n[1-100001]", "more than 100000 hosts"),
])  # fmt: skip
def test_a_file_of_hosts_that_is_none_says_why(lines: str, what: str, tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text(lines, "utf-8")

    with pytest.raises(UsageError) as caught:
        sources.hosts_of(str(file))
    assert (caught.value.message, caught.value.hint) == (f"{file}: {what}", "write one host per line")


def test_a_file_of_hosts_that_cannot_be_read_is_named_as_the_source(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        sources.hosts_of(f"{tmp_path}/none")
    assert caught.value.hint == f"check the path behind `ssh:{tmp_path}/none`"


# Ray.


@pytest.fixture
def _with_ray(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "ray.py").write_text("", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("_with_ray")
@pytest.mark.parametrize(("left_s", "limit"), [(100.0, 95), (5.0, 1)])
def test_ray_is_asked_by_a_program_of_our_own(left_s: float, limit: float) -> None:
    rows = [
        ["n1", said(A100).decode(), ""], ["n2", "", "Traceback\nsh: /opt/tp: not found\n"], ["n3", "", ""],
        ["n4", None, "dead"],
    ]  # fmt: skip
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    questions: list[object] = []

    def answer(words: Sequence[str]) -> ChildResult:
        questions.append(json.loads(words[-1]))
        return ended(lines)

    stand = StandIn(answer, left_s=left_s)
    ray.detect("", stand.engine)

    [question] = questions
    assert isinstance(question, dict)
    assert question["module"] == "torchpick.cluster.ray"
    assert question["arguments"] == {"address": "auto", "command": list(COMMAND), "limit_s": limit}
    assert stand.asked[0][1] is None
    assert stand.found == {
        "n1": "sm_80", "n2": "NO_TORCHPICK: sh: /opt/tp: not found", "n3": "NO_ANSWER: it did not answer",
        "n4": "NODE_DOWN: dead",
    }  # fmt: skip


@pytest.mark.usefixtures("_with_ray")
def test_the_address_of_a_ray() -> None:
    assert [ray.address_of(word) for word in ("ray", "ray:host:6379")] == ["auto", "host:6379"]
    for word in ("ray:", "ray:-x", "slurm", "rays:x"):
        with pytest.raises(UsageError, match="is not a valid cluster"):
            ray.address_of(word)


@pytest.mark.usefixtures("_with_ray")
def test_a_ray_that_says_nothing_of_any_node_is_an_error_in_its_own_words() -> None:
    with pytest.raises(ClusterError) as caught:
        ray.detect("x:1", StandIn(lambda _: ended(talk=b"x\nConnectionError: no cluster", status=1)).engine)
    assert caught.value.message == "ray: ConnectionError: no cluster"
    assert caught.value.hint == "`ray status` shows whether the cluster can be reached"
