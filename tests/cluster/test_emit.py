"""The files that clusters are given, whole: two groups of a fleet, which share a host, and the Job that asks a node."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from torchpick.cluster.emit import FORMS, SiteEnvironment
from torchpick.model.fleet import Hosts

NEW, OLD = "torch-2.15.0-cu132", "torch-2.14.1-cu126"
GROUPS = (
    SiteEnvironment(NEW, "2.15.0+cu132", "cu132", Hosts(("b1", "b2")), "pip install new"),
    SiteEnvironment(OLD, "2.14.1+cu126", "cu126", Hosts(("b2", "v1 x")), "pip install old"),
)


def affinity(name: str) -> str:
    return f"""\
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
        - matchExpressions: [{{key: torchpick.example/{name}, operator: Exists}}]
"""


def head_of_job(feature: str, install: str) -> str:
    return f"""\
#!/bin/bash
#SBATCH --constraint={feature}

# Once, into the environment of this group:
# {install}
"""


def variables(version: str, backend: str, install: str, name: str) -> dict[str, str]:
    return {"torch_version": version, "torch_backend": backend, "torch_install": install, "torch_environment": name}


# The name of the script, what it gives to whom, and the other files.
WRITTEN = {
    "slurm": ("features.sh",
     "give torch_2_15_0_cu132 b1\ngive torch_2_15_0_cu132,torch_2_14_1_cu126 b2\ngive torch_2_14_1_cu126 'v1 x'\n",
     {f"job-{NEW}.sh": head_of_job("torch_2_15_0_cu132", "pip install new"),
     f"job-{OLD}.sh": head_of_job("torch_2_14_1_cu126", "pip install old")}),
    "kubernetes": (
        "label-nodes.sh",
        f"give 'torchpick.example/{NEW}=true' b1\n"
        f"give 'torchpick.example/{NEW}=true torchpick.example/{OLD}=true' b2\n"
        f"give 'torchpick.example/{OLD}=true' 'v1 x'\n",
        {f"affinity-{NEW}.yaml": affinity(NEW), f"affinity-{OLD}.yaml": affinity(OLD)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", WRITTEN)
def test_a_script_gives_each_host_the_marks_of_its_groups(form: str) -> None:
    name, given, others = WRITTEN[form]
    files = FORMS[form](GROUPS)
    script = files.pop(name)

    assert files == others
    assert script.startswith("#!/bin/sh\n")
    assert script.endswith("\n}\n" + given)


@pytest.mark.skipif(os.name == "nt", reason="a script for sh")
def test_a_node_gets_our_features_beside_those_of_others_or_none() -> None:
    node = "NodeName=b1 Arch=x86_64 AvailableFeatures=(null) ActiveFeatures=ib,torch_2_9_0_cu118 State=IDLE"
    scontrol = f'scontrol() {{ [ "$1" = update ] && echo "$@" || echo "{node}"; }}\n'
    script = FORMS["slurm"](GROUPS[:1])["features.sh"]

    done = subprocess.run(["sh", "-c", scontrol + script], capture_output=True, text=True, check=True, timeout=60)
    ours = "torch_2_15_0_cu132"
    assert done.stdout == f"update NodeName=b1 AvailableFeatures={ours} ActiveFeatures={ours},ib\n"


def test_the_inventory_has_a_group_for_each_environment_with_its_variables() -> None:
    [(name, text)] = FORMS["ansible"](GROUPS).items()
    children = {
        "torch_2_15_0_cu132": {
            "hosts": {"b1": None, "b2": None},
            "vars": variables("2.15.0+cu132", "cu132", "pip install new", NEW),
        },
        "torch_2_14_1_cu126": {
            "hosts": {"b2": None, "v1 x": None},
            "vars": variables("2.14.1+cu126", "cu126", "pip install old", OLD),
        },
    }

    assert name == "inventory.yml"
    assert text == json.dumps({"all": {"children": children}}, indent=2) + "\n"
