"""The nodes of a Kubernetes cluster, read by kubectl; with `run`, a Job on each node that has a GPU."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from io import BytesIO
from secrets import token_hex

from torchpick.cluster.engine import Asking, ClusterError, Scratch, call, program
from torchpick.machine import kubernetes
from torchpick.machine.files import Reader
from torchpick.model.fields import Fields, ShapeError
from torchpick.model.machine import Python

_HINT = "try `kubectl get nodes` yourself"
_LABEL = "torchpick.example/run"
_POLL_S = 1.0


def detect(context: str | None, reader: Reader, scratch: Scratch) -> None:
    """The machines that the labels of the nodes describe; nothing is written to the cluster."""
    with open(_nodes(context, scratch), "rb") as stream:
        reader.stream(stream, "kubectl get nodes")


def run(context: str | None, asking: Asking, reader: Reader, scratch: Scratch) -> None:
    """A Job on each node that has a GPU by its labels or resources; all of them are deleted afterwards."""
    with open(_nodes(context, scratch), "rb") as stream:
        data = stream.read()
    listed = [node for node in _gpu_nodes(data) if node]
    if not listed:
        reader.stream(BytesIO(data), "kubectl get nodes")
        return
    mark = token_hex(6)
    jobs = [job(node, asking, mark, number) for number, node in enumerate(listed)]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": jobs})
    kubectl = [*_kubectl(context), f"--namespace={asking.namespace}"]
    try:
        made = call([*kubectl, "create", "--validate=false", "-f", "-"], scratch, "create", limit_s=30, text=text)
        if made.status != 0:
            raise ClusterError(
                f"kubectl create: {made.why}", hint="`kubectl auth can-i create jobs` shows whether you may"
            )
        _collect(kubectl, mark, listed, reader, scratch)
    finally:
        # The jobs go whatever happened, on time of their own.
        words = [*kubectl, "delete", "jobs", f"--selector={_LABEL}={mark}", "--wait=false"]
        call(words, scratch._replace(until=time.monotonic() + 15), "delete", limit_s=15)


def job(node: str, asking: Asking, mark: str, number: int) -> dict[str, object]:
    """The manifest of one node's Job: it asks for no GPU of its own, so it also runs where all are taken."""
    container = {
        "name": "detect",
        "image": asking.image,
        "command": list(asking.command),
        "env": [
            {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
            {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "compute,utility"},
        ],
    }
    pod = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "nodeSelector": {"kubernetes.io/hostname": node},
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
    }
    labels = {_LABEL: mark}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"torchpick-{mark}-{number}", "labels": labels},
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": 120,
            "ttlSecondsAfterFinished": 60,
            "template": {"metadata": {"labels": {**labels, "torchpick.example/node": str(number)}}, "spec": pod},
        },
    }


def _kubectl(context: str | None) -> list[str]:
    return [program("kubectl", "kubectl"), *([f"--context={context}"] if context else []), "--request-timeout=30s"]


def _nodes(context: str | None, scratch: Scratch) -> str:
    outcome = call([*_kubectl(context), "get", "nodes", "-o", "json"], scratch, "nodes")
    if outcome.status != 0:
        raise ClusterError(f"kubectl: {outcome.why}", hint=_HINT)
    return outcome.file


def _gpu_nodes(data: bytes) -> list[str]:
    found = []
    try:
        for node in kubernetes.nodes(Fields(json.loads(data))):
            machine = kubernetes.machine(node, Python("3.12"))
            if machine.counted or machine.trouble is not None:
                found.append(machine.name or "")
    except ValueError as error:
        why = error if isinstance(error, ShapeError) else "it is not JSON"
        raise ClusterError(f"kubectl get nodes: {why}", hint=_HINT) from error
    return found


def _collect(kubectl: list[str], mark: str, nodes: Sequence[str], reader: Reader, scratch: Scratch) -> None:
    left = dict(enumerate(nodes))
    phases: Mapping[int, tuple[str, str]] = {}
    while left and scratch.left_s > 10:
        phases = _pods(kubectl, mark, scratch)
        for number, (pod, phase) in phases.items():
            if number in left and phase in ("Succeeded", "Failed"):
                _read(kubectl, pod, left.pop(number), reader, scratch)
        if left:
            time.sleep(_POLL_S)
    for number, node in left.items():
        phase = phases.get(number, ("", "never started"))[1]
        reader.silent(node, "NO_ANSWER", f"its pod is {phase}", f"`kubectl describe node {node}` shows more")


def _pods(kubectl: list[str], mark: str, scratch: Scratch) -> dict[int, tuple[str, str]]:
    """Number of the node → its pod and the phase it is in."""
    outcome = call([*kubectl, "get", "pods", f"--selector={_LABEL}={mark}", "-o", "json"], scratch, "pods")
    found: dict[int, tuple[str, str]] = {}
    if outcome.status != 0:
        return found
    with open(outcome.file, "rb") as stream:
        listed = json.load(stream)
    for pod in listed.get("items", []):
        number = pod["metadata"]["labels"].get("torchpick.example/node", "")
        if number.isdigit():
            found[int(number)] = pod["metadata"]["name"], pod.get("status", {}).get("phase", "Unknown")
    return found


def _read(kubectl: list[str], pod: str, node: str, reader: Reader, scratch: Scratch) -> None:
    outcome = call([*kubectl, "logs", pod], scratch, f"logs-{pod}", limit_s=30)
    with open(outcome.file, "rb") as stream:
        if not reader.answer(stream, node):
            reader.silent(node, "NO_ANSWER", f"its pod printed nothing ({outcome.why})", f"`kubectl logs {pod}`")
