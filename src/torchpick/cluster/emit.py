"""What clusters are given: a fleet's groups as files, name and text of each, and the Job that asks a node. Pure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from typing import NamedTuple

from torchpick.model.fleet import Hosts, folded
from torchpick.model.versions import grouped

# It asks for no GPU of its own, so it also runs where all are taken.
_JOB = """
{"apiVersion": "batch/v1", "kind": "Job",
 "metadata": {"name": "torchpick-%(mark)s-%(number)d", "labels": {"torchpick.example/run": "%(mark)s"}},
 "spec": {"backoffLimit": 0, "activeDeadlineSeconds": 120, "ttlSecondsAfterFinished": 60, "template": {
   "metadata": {"labels": {"torchpick.example/run": "%(mark)s", "torchpick.example/node": "%(number)d"}},
   "spec": {"restartPolicy": "Never", "automountServiceAccountToken": false,
     "nodeSelector": {"kubernetes.io/hostname": %(node)s}, "tolerations": [{"operator": "Exists"}],
     "containers": [{"name": "detect", "image": %(image)s, "command": %(command)s, "env": [
       {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
       {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "compute,utility"}]}]}}}}
"""


# A node keeps the features that others gave it, and loses ours of an earlier torch.
_FEATURES = r"""#!/bin/sh
# They last until slurmctld restarts; `Feature=` in slurm.conf keeps them.
set -e
give() {
    nodes=$(scontrol show node --oneliner "$2")
    printf '%s\n' "$nodes" | sed -E "
        s/^(NodeName=[^ ]+) .*( AvailableFeatures=[^ ]+ ActiveFeatures=[^ ]+) .*/\1\2/
        s/Features=/&,/g
        s/,(\(null\)|torch_[0-9][^ ,]*)//g
        s/Features=/&$1/g" |
    while read -r node available active; do
        scontrol update "$node" "$available" "$active"
    done
}
"""


# A label is a key of its own, as a node has one value for each key.
_LABELS = r"""#!/bin/sh
# They take the place of ours of an earlier torch.
set -e
old=$(kubectl get nodes -o 'go-template={{range .items}}{{range $key, $value := .metadata.labels}}{{$key}}
{{end}}{{end}}')
old=$(printf '%s\n' "$old" | sed -n 's|^torchpick.example/torch-.*|&-|p' | sort -u)
give() {
    labels=$1
    shift
    [ -z "$old" ] || kubectl label node "$@" $old
    kubectl label node "$@" $labels
}
"""


class SiteEnvironment(NamedTuple):
    """One environment of a fleet, as its files name it."""

    name: str
    version: str
    backend: str
    hosts: Hosts
    install: str


def _slurm(environments: Sequence[SiteEnvironment]) -> dict[str, str]:
    """Features for the running controller, and the head of a job that asks for one of them.

    A second `NodeName=` line of slurm.conf would be a second definition, which stops slurmctld.
    """
    script = _FEATURES
    for features, hosts in _alike(environments, _word).items():
        script += f"give {','.join(features)} {shlex.quote(folded(hosts))}\n"
    jobs = {
        f"job-{environment.name}.sh": f"#!/bin/bash\n#SBATCH --constraint={_word(environment.name)}\n\n"
        f"# Once, into the environment of this group:\n# {environment.install}\n"
        for environment in environments
    }
    return {"features.sh": script, **jobs}


def _kubernetes(environments: Sequence[SiteEnvironment]) -> dict[str, str]:
    """A label for each group of a node, and the affinity of a pod that needs one of them."""
    script = _LABELS
    for labels, hosts in _alike(environments, "torchpick.example/{}=true".format).items():
        script += f"give '{' '.join(labels)}' {shlex.join(hosts)}\n"
    affinities = {
        f"affinity-{environment.name}.yaml": "affinity:\n  nodeAffinity:\n"
        "    requiredDuringSchedulingIgnoredDuringExecution:\n      nodeSelectorTerms:\n"
        f"        - matchExpressions: [{{key: torchpick.example/{environment.name}, operator: Exists}}]\n"
        for environment in environments
    }
    return {"label-nodes.sh": script, **affinities}


def _alike(environments: Sequence[SiteEnvironment], mark: Callable[[str], str]) -> dict[tuple[str, ...], list[str]]:
    """The hosts that are in the same groups, by the marks of these."""
    marks = grouped((host, mark(group.name)) for group in environments for host in group.hosts.names)
    return grouped((tuple(names), host) for host, names in marks.items())


def _ansible(environments: Sequence[SiteEnvironment]) -> dict[str, str]:
    """An inventory with a group an environment, its variables beside its hosts."""
    groups = {
        _word(environment.name): {
            "hosts": dict.fromkeys(environment.hosts.names),
            "vars": {
                "torch_version": environment.version,
                "torch_backend": environment.backend,
                "torch_install": environment.install,
                "torch_environment": environment.name,
            },
        }
        for environment in environments
    }
    # JSON is YAML, and quotes whatever a host may be called.
    return {"inventory.yml": json.dumps({"all": {"children": groups}}, indent=2) + "\n"}


def job(node: str, image: str, command: Sequence[str], mark: str, number: int) -> str:
    texts = {"node": node, "image": image, "command": command}
    return _JOB % {"mark": mark, "number": number, **{name: json.dumps(text) for name, text in texts.items()}}


def _word(text: str) -> str:
    """Letters, digits and underscores, as features and groups are named."""
    return "".join(char if char.isalnum() else "_" for char in text)


# The files of each form, by their path inside the folder.
FORMS: dict[str, Callable[[Sequence[SiteEnvironment]], dict[str, str]]] = {
    "slurm": _slurm,
    "kubernetes": _kubernetes,
    "ansible": _ansible,
}
