"""The nodes of a Kubernetes cluster, read by kubectl; with `run`, a Job on each node that has a GPU."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Sequence
from io import BytesIO
from secrets import token_hex

from torchpick.cluster.engine import Asking, ClusterError, Engine, why
from torchpick.environment.child import ChildResult
from torchpick.machine import kubernetes
from torchpick.model.fields import Fields
from torchpick.model.machine import Python

_HINT = "try `kubectl get nodes` yourself"
_LABEL = "torchpick.example/run"
_POLL_S = 1.0
# It asks for no GPU of its own, so it also runs where all are taken.
_JOB = """
{"apiVersion": "batch/v1", "kind": "Job",
 "metadata": {"name": "torchpick-%(mark)s-%(number)d", "labels": {"torchpick.example/run": "%(mark)s"}},
 "spec": {"backoffLimit": 0, "activeDeadlineSeconds": 120, "ttlSecondsAfterFinished": 60, "template": {
   "metadata": {"labels": {"torchpick.example/run": "%(mark)s", "torchpick.example/node": "%(number)d"}},
   "spec": {
     "restartPolicy": "Never", "automountServiceAccountToken": false,
     "nodeSelector": {"kubernetes.io/hostname": %(node)s}, "tolerations": [{"operator": "Exists"}],
     "containers": [{"name": "detect", "image": %(image)s, "command": %(command)s, "env": [
       {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
       {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "compute,utility"}]}]}}}}
"""


def detect(context: str, engine: Engine) -> None:
    """The machines that the labels of the nodes describe; with `run`, what a Job on each GPU node says."""
    kubectl = ["kubectl", *([f"--context={context}"] if context else []), "--request-timeout=30s"]
    kubectl += engine.asking.options
    listed = _checked(engine.call([*kubectl, "get", "nodes", "-o", "json"]), "kubectl", _HINT).answer
    names = _gpu_nodes(listed) if engine.asking.run else []
    if names:
        _run(names, kubectl, engine)
    else:
        engine.reader.stream(BytesIO(listed), "kubectl get nodes")


def _checked(ended: ChildResult, what: str, hint: str) -> ChildResult:
    if ended.status != 0:
        raise ClusterError(f"{what}: {why(ended)}", hint=hint)
    return ended


def _gpu_nodes(listed: bytes) -> list[str]:
    try:
        nodes = [Fields(node) for node in kubernetes.nodes(json.loads(listed))]
        machines = [kubernetes.machine(node, Python("3.12"), lambda _: None) for node in nodes]
    except ValueError as error:
        raise ClusterError(f"kubectl get nodes: {error}", hint=_HINT) from error
    return [machine.name for machine in machines if machine.name and (machine.gpus or machine.trouble)]


def _run(names: Sequence[str], kubectl: Sequence[str], engine: Engine) -> None:
    """A Job on each of these nodes; all of them are deleted afterwards, whatever happened."""
    mark = token_hex(6)
    jobs = [job(name, engine.asking, mark, number) for number, name in enumerate(names)]
    try:
        with tempfile.TemporaryDirectory(prefix="torchpick-") as folder:
            file = os.path.join(folder, "jobs.json")
            with open(file, "w", encoding="utf-8") as stream:
                json.dump({"apiVersion": "v1", "kind": "List", "items": jobs}, stream)
            made = engine.call([*kubectl, "create", "--validate=false", "-f", file], limit_s=30)
        _checked(made, "kubectl create", "`kubectl auth can-i create jobs` shows whether you may")
        _collect(names, kubectl, mark, engine)
    finally:
        engine.call([*kubectl, "delete", "jobs", f"--selector={_LABEL}={mark}", "--wait=false"], limit_s=15)


def job(node: str, asking: Asking, mark: str, number: int) -> object:
    """The manifest of one node's Job."""
    facts = {"node": node, "image": asking.image, "command": asking.command}
    return json.loads(_JOB % {"mark": mark, "number": number, **{name: json.dumps(facts[name]) for name in facts}})


def _collect(names: Sequence[str], kubectl: Sequence[str], mark: str, engine: Engine) -> None:
    """Read the log of each pod that has ended."""
    left = {str(number): name for number, name in enumerate(names)}
    phases: dict[str, str] = {}
    while left and engine.left_s > 10:
        ended = engine.call([*kubectl, "get", "pods", f"--selector={_LABEL}={mark}", "-o", "json"])
        for pod in json.loads(ended.answer)["items"] if ended.status == 0 else []:
            number, phase = pod["metadata"]["labels"]["torchpick.example/node"], pod["status"]["phase"]
            phases[number] = phase
            if number in left and phase in ("Succeeded", "Failed"):
                log = engine.call([*kubectl, "logs", pod["metadata"]["name"]], limit_s=30)
                engine.take(left.pop(number), log.answer, f"its pod {phase.lower()}: {why(log)}")
        time.sleep(_POLL_S if left else 0)
    for number, node in left.items():
        engine.reader.unanswered(node, "NO_ANSWER", f"its pod is {phases.get(number, 'never started')}")
