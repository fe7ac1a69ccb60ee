"""What `fleet --emit` writes, tried with what reads it: ansible-inventory and Kubernetes' own schemas."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import usersettings
from tests.cli.test_nodes import A100, BASE, node
from tests.fakes import venvs
from torchpick.cli import main
from torchpick.cluster.emit import job

pytestmark = [pytest.mark.process, pytest.mark.long, pytest.mark.network]
HOSTS = ("gpu-1", "gpu-2.cluster.example", "old-1")
V100 = {**BASE, "nvidia.com/gpu.compute.major": "3", "nvidia.com/gpu.compute.minor": "7"}
# One document a line, by the schemas of Kubernetes 1.30.
VALIDATE = """\
import json, sys, kubernetes_validate, yaml
for line in sys.stdin:
    kubernetes_validate.validate(yaml.safe_load(json.loads(line)), "1.30", strict=True)
    print("valid")
"""


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment that has Ansible and the schemas."""
    python = venvs.with_pip(tmp_path_factory.mktemp("ansible"))
    words = ["-m", "pip", "install", "--quiet", "--only-binary=:all:", "ansible-core", "kubernetes-validate"]
    done = subprocess.run(
        [str(python), *words], env=usersettings.fetching(), capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        pytest.skip("the package index does not answer, or has no wheel for this Python")
    return Path(python).parent


@pytest.fixture
def site(tmp_path: Path) -> Path:
    file = tmp_path / "nodes.json"
    listed = [node(name, V100 if name.startswith("old") else A100) for name in HOSTS]
    file.write_text(json.dumps({"kind": "List", "items": listed}), "utf-8")
    words = ["--driver", "470.256.02", "--emit", "ansible", "--emit", "kubernetes", "--out", str(tmp_path / "site")]
    assert main(["fleet", str(file), "--python", "3.12", *words]) == 0
    return tmp_path / "site"


def test_ansible_reads_each_group_with_its_variables(site: Path, tools: Path) -> None:
    argv = [str(tools / "ansible-inventory"), "-i", str(site / "inventory.yml"), "--list"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=True)
    read: dict[str, Any] = json.loads(done.stdout)

    assert "WARNING" not in done.stderr
    variables = read["_meta"]["hostvars"]
    assert sorted(variables) == sorted(HOSTS)
    for host, told in variables.items():
        [group] = [name for name in read["all"]["children"] if host in read.get(name, {}).get("hosts", ())]
        assert group == told["torch_environment"].replace("-", "_").replace(".", "_")
        assert told["torch_install"].endswith(f"torch=={told['torch_version']}")


def test_kubernetes_schemas_take_the_affinity_and_the_job(site: Path, tools: Path) -> None:
    texts = [job("gpu-1", "registry.example/app:1", ("torchpick", "detect"), "abc", 0)]
    for file in site.glob("affinity-*.yaml"):
        inside = "".join(f"  {line}\n" for line in file.read_text("utf-8").splitlines())
        head = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: x\nspec:\n  containers:\n  - {name: c, image: i}\n"
        texts.append(head + inside)
    argv = [str(tools / "python"), "-c", VALIDATE]
    said = "".join(json.dumps(text) + "\n" for text in texts)
    done = subprocess.run(argv, input=said, capture_output=True, text=True, timeout=120, check=True)

    assert done.stdout.split() == ["valid"] * len(texts)
    assert len(texts) > 1
