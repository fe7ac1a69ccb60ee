"""The nodes of a Kubernetes cluster, read by kubectl; with `run`, a Job on each node that has a GPU."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from io import BytesIO
from secrets import token_hex

from torchpick.cluster.emit import job
from torchpick.cluster.engine import MOST_OF_A_HOST, ClusterError, Engine, failure_words
from torchpick.environment import rewrite
from torchpick.machine import machine_lines
from torchpick.model.fields import Fields, loads
from torchpick.model.machine import Python

_HINT = "try `kubectl get nodes` yourself"
# Of each pod: its node's number, its name, its phase, and what keeps its container from running.
_PODS = (
    r'-o=jsonpath={range .items[*]}{"\x1e"}{.metadata.labels.torchpick\.example/node} {.metadata.name} {.status.phase}'
    r" {.status.containerStatuses[*].state.*.reason} {.status.containerStatuses[*].state.*.message}"
    r' {.status.conditions[?(@.status=="False")].message}{end}'
)


def detect(context: str, engine: Engine) -> None:
    """The machines that the labels of the nodes describe; with `run`, what a Job on each GPU node says."""
    kubectl = ["kubectl", *([f"--context={context}"] if context else []), "--request-timeout=30s"]
    kubectl += engine.options
    output = engine.output([*kubectl, "get", "nodes", "-o", "json"], _HINT)
    if engine.image and (names := _gpu_nodes(output)):
        _run(names, engine.image, kubectl, engine)
    else:
        engine.reader.stream(BytesIO(output), "kubectl get nodes")


def _gpu_nodes(output: bytes) -> list[str]:
    try:
        nodes = [Fields(node) for node in machine_lines.list_nodes(loads(output))]
        machines = [machine_lines.machine_of_node(node, Python("3.12"), lambda _: None) for node in nodes]
    except ValueError as error:
        raise ClusterError(f"kubectl get nodes: {error}", hint=_HINT) from error
    return [machine.name for machine in machines if machine.name and (machine.gpus or machine.trouble)]


def _run(names: Sequence[str], image: str, kubectl: Sequence[str], engine: Engine) -> None:
    """A Job on each of these nodes; all of them are deleted afterwards, whatever happened."""
    mark = token_hex(6)
    selector = f"--selector=torchpick.example/run={mark}"
    jobs = ",".join(job(name, image, engine.command, mark, number) for number, name in enumerate(names))
    try:
        with tempfile.TemporaryDirectory(prefix="torchpick-") as folder:
            file = os.path.join(folder, "jobs.json")
            rewrite.put(file, f'{{"apiVersion": "v1", "kind": "List", "items": [{jobs}]}}')
            hint = "`kubectl auth can-i create jobs` shows whether you may"
            engine.output([*kubectl, "create", "--validate=false", "-f", file], hint)
        _collect(names, kubectl, selector, engine)
    finally:
        engine.call([*kubectl, "delete", "jobs", selector, "--wait=false"], limit_s=15)


def _collect(names: Sequence[str], kubectl: Sequence[str], selector: str, engine: Engine) -> None:
    """Read the log of each pod that has ended; what keeps the others from it is said in Kubernetes' own words."""
    left, states = {str(number): node for number, node in enumerate(names)}, dict[str, str]()
    while left and engine.left_s > 10:
        pods = engine.call([*kubectl, "get", "pods", selector, _PODS]).answer.decode("utf-8", "replace")
        for pod in pods.split("\x1e")[1:]:
            number, name, phase, words = pod.split(" ", 3)
            states[number] = f"{phase.lower()}: {' '.join(words.split())}"
            if number in left and phase in ("Succeeded", "Failed"):
                log = engine.call([*kubectl, "logs", f"--limit-bytes={MOST_OF_A_HOST}", name], limit_s=30)
                engine.take(left.pop(number), log.answer, f"its pod {states[number]} {failure_words(log)}")
        time.sleep(1.0 if left else 0)
    for number, node in left.items():
        state = states.get(number, "not made")
        engine.reader.unanswered(node, "NO_IMAGE" if "Image" in state else "NOT_STARTED", f"its pod is {state}")
