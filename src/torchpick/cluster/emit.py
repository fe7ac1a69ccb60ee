"""A fleet's groups as files for what runs the cluster: name and text of each. Pure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence

from torchpick.errors import UsageError
from torchpick.model.fleet import Fleet
from torchpick.model.hosts import Hosts
from torchpick.model.machine import Python
from torchpick.model.noun import Noun

# A gauge a host is for clusters; for more than this a monitoring system wants the groups alone.
_MOST_GAUGES = 10_000
_LABEL = "torchpick.example/build"


class SiteEnvironment(Noun):
    """One environment of a fleet, as its files name it."""

    name: str
    version: str
    backend: str
    python: Python
    arches: tuple[str, ...]
    hosts: Hosts
    install: str


def files(form: str, environments: Sequence[SiteEnvironment], fleet: Fleet) -> dict[str, str]:
    """The files of one form, by their path inside the folder."""
    return _FORMS[form](environments, fleet)


def _slurm(environments: Sequence[SiteEnvironment], _: Fleet) -> dict[str, str]:
    """Features for slurm.conf, and the head of a job that asks for one of them."""
    lines = ["# Append to the nodes of slurm.conf; `scontrol reconfigure` reads it again."]
    found = {}
    for each in environments:
        feature = _word(each.name)
        if each.hosts.text:
            lines.append(f"NodeName={each.hosts.text} Feature={feature}")
        found[f"job-{each.name}.sh"] = (
            f"#!/bin/bash\n#SBATCH --constraint={feature}\n\n"
            f"# Once, into the environment of this group:\n# {each.install}\n"
        )
    return {"features.conf": "\n".join([*lines, ""]), **found}


def _kubernetes(environments: Sequence[SiteEnvironment], _: Fleet) -> dict[str, str]:
    """Labels for the nodes, and the affinity of a pod that needs one of them."""
    lines = ["#!/bin/sh", "set -e"]
    found = {}
    for each in environments:
        value = each.version.replace("+", "-")
        lines += [f"kubectl label node {shlex.quote(host)} {_LABEL}={value} --overwrite" for host in each.hosts.names]
        found[f"affinity-{each.name}.yaml"] = (
            "affinity:\n  nodeAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n"
            "      nodeSelectorTerms:\n"
            f'        - matchExpressions:\n            - key: "{_LABEL}"\n              operator: In\n'
            f"              values: [{json.dumps(value)}]\n"
        )
    return {"label-nodes.sh": "\n".join([*lines, ""]), **found}


def _lmod(environments: Sequence[SiteEnvironment], _: Fleet) -> dict[str, str]:
    """A modulefile a group, over an environment in a folder of its name."""
    return {
        f"torch/{each.version.replace('+', '-')}.lua": (
            f"whatis({json.dumps('PyTorch ' + each.version)})\n"
            f"whatis({json.dumps('for ' + (each.hosts.brief or str(each.hosts)))})\n"
            'family("torch")\n'
            'local root = pathJoin(os.getenv("TORCHPICK_ENVIRONMENTS") or "/opt/torchpick", '
            f"{json.dumps(each.name)})\n"
            'setenv("VIRTUAL_ENV", root)\nprepend_path("PATH", pathJoin(root, "bin"))\n'
            f'setenv("TORCHPICK_BACKEND", {json.dumps(each.backend)})\n'
        )
        for each in environments
    }


def _dockerfile(environments: Sequence[SiteEnvironment], _: Fleet) -> dict[str, str]:
    found = {}
    for each in environments:
        if each.python.image is None:
            raise UsageError(f"there is no image of Python {each.python.tag}", hint="`--python 3.12` names another")
        head = f"# For {each.hosts.brief or each.hosts}\nFROM {each.python.image}-slim\n"
        found[f"Dockerfile.{each.name}"] = f"{head}RUN {each.install}\n"
    return found


def _spack(environments: Sequence[SiteEnvironment], _: Fleet) -> dict[str, str]:
    """`cuda_arch` for what is built from source beside it."""
    found = {}
    for each in environments:
        cuda = [arch.removeprefix("sm_") for arch in each.arches if arch.startswith("sm_")]
        amd = [arch for arch in each.arches if arch.startswith("gfx")]
        variants = f"+rocm amdgpu_target={','.join(amd)}" if amd else "~cuda"
        variants = f"+cuda cuda_arch={','.join(cuda)}" if cuda else variants
        found[f"spack-{each.name}.yaml"] = (
            f"# For {each.hosts.brief or each.hosts}\n"
            f"spack:\n  packages:\n    all:\n      variants: {json.dumps(variants)}\n"
        )
    return found


def _ansible(environments: Sequence[SiteEnvironment], _: Fleet) -> dict[str, str]:
    """An inventory with a group an environment, its variables beside its hosts."""
    groups = {
        _word(each.name): {
            "hosts": dict.fromkeys(each.hosts.names),
            "vars": {
                "torch_version": each.version,
                "torch_backend": each.backend,
                "torch_install": each.install,
                "torch_environment": each.name,
            },
        }
        for each in environments
    }
    # JSON is YAML, and quotes whatever a host may be called.
    return {"inventory.yml": json.dumps({"all": {"children": groups}}, indent=2) + "\n"}


def _prometheus(environments: Sequence[SiteEnvironment], fleet: Fleet) -> dict[str, str]:
    """For the textfile collector of node_exporter: an alert on a change of these is an alert on drift."""
    lines = [
        "# HELP torchpick_fleet_environments The fewest environments that support the fleet.",
        "# TYPE torchpick_fleet_environments gauge",
        f"torchpick_fleet_environments {len(environments)}",
        "# HELP torchpick_fleet_machines Machines by the build that supports them.",
        "# TYPE torchpick_fleet_machines gauge",
        *[f'torchpick_fleet_machines{{build="{_quoted(each.version)}"}} {each.hosts.count}' for each in environments],
        "# HELP torchpick_fleet_left_out Machines or lines that are left out, by cause.",
        "# TYPE torchpick_fleet_left_out gauge",
    ]
    causes: dict[str, int] = {}
    for left in fleet.left_out:
        causes[left.code] = causes.get(left.code, 0) + left.hosts.count
    lines += [f'torchpick_fleet_left_out{{code="{_quoted(code)}"}} {count}' for code, count in causes.items()]
    if fleet.count <= _MOST_GAUGES:
        lines += ["# HELP torchpick_host_build The build of a host.", "# TYPE torchpick_host_build gauge"]
        lines += [
            f'torchpick_host_build{{host="{_quoted(host)}",build="{_quoted(each.version)}"}} 1'
            for each in environments
            for host in each.hosts.names
        ]
    return {"torchpick.prom": "\n".join([*lines, ""])}


def _word(text: str) -> str:
    """Letters, digits and underscores, as features and groups are named."""
    return "".join(char if char.isascii() and char.isalnum() else "_" for char in text)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


_FORMS: dict[str, Callable[[Sequence[SiteEnvironment], Fleet], dict[str, str]]] = {
    "slurm": _slurm,
    "kubernetes": _kubernetes,
    "lmod": _lmod,
    "dockerfile": _dockerfile,
    "spack": _spack,
    "ansible": _ansible,
    "prometheus": _prometheus,
}
FORMS = tuple(_FORMS)
