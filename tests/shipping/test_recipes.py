"""What CONTRIBUTING tells people to run, as it is printed there, in a checkout with what they would have written."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import documents
from tests.index.server import serving
from tests.shipping import steps
from tests.wheels import making

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
UPDATES = (ROOT / ".github" / "workflows" / "update-compat.yml").read_text("utf-8")


def recipe(heading: str) -> str:
    """The commands under a heading."""
    (section,) = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", CONTRIBUTING, re.MULTILINE | re.DOTALL)
    (block,) = [each for each in documents.blocks(section) if each.language == "sh"]
    return block.text.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The scripts and what they read; they run in the environment of the tests."""
    folder = tmp_path / "torchpick"
    for name in ("scripts", "compat", "evidence", "src", "tests/doctor", "tests/index", "tests/fakes", "docs/pictures"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    with (folder / "scripts" / "environment").open("a", encoding="utf-8") as environment:
        environment.write(f"development() {{ python={sys.executable}; }}\nlocked() {{ python={sys.executable}; }}\n")
    return folder


def run(checkout: Path, heading: str, package: str = "", index: str = "") -> subprocess.CompletedProcess[str]:
    environ = {"TORCHPICK_COMPAT_DIR": f"{checkout}/compat", "PIP_INDEX_URL": index}
    return steps.bash(
        recipe(heading).replace("NAME==VERSION", package), checkout, [Path(sys.executable).parent], environ
    )


def changed(file: Path, change: Any) -> None:
    value = json.loads(file.read_text(encoding="utf-8"))
    change(value)
    file.write_text(json.dumps(value), encoding="utf-8")


@pytest.mark.process
def test_a_gpu(checkout: Path) -> None:
    row = {"name": "GeForce RTX 9090", "cc": "12.0", "chip": "GB202", "source": "the vendor's page"}
    changed(checkout / "evidence" / "gpus" / "nvidia.json", lambda facts: facts["products"].append(row))

    run(checkout, "A GPU")

    assert "RTX 9090" in (checkout / "compat" / "gpus.json").read_text("utf-8")


@pytest.mark.process
def test_a_known_error(checkout: Path) -> None:
    row = {"id": "MADE_UP", "title": "made up", "patterns": ["all is lost"], "meaning": "nothing", "causes": ["none"]}
    file = checkout / "compat" / "errors.json"
    first = json.loads(file.read_text("utf-8"))["signatures"][0]
    changed(file, lambda table: table["signatures"].append({**first, **row}))

    done = run(checkout, "A new known error")

    assert done.stdout.startswith("error      made up (NO_KERNELS)\n")


@pytest.mark.process
def test_a_package(checkout: Path) -> None:
    rules = checkout / "scripts" / "table" / "package_rules.py"
    first = '= {\n    "vllm"'
    rules.write_text(
        rules.read_text("utf-8").replace(first, first.replace('"vllm"', '"swift-ops": Rule(),\n    "vllm"'), 1), "utf-8"
    )
    name, metadata = "swift_ops-1.5-cp312-cp312-manylinux_2_28_x86_64.whl", b"Name: swift-ops\nVersion: 1.5\n"
    members = {
        "swift_ops/_C.so": making.library(making.module("sm_80")),
        "swift_ops-1.5.dist-info/METADATA": b"Metadata-Version: 2.4\n" + metadata + b"Requires-Dist: torch>=2.4\n",
    }
    with serving() as host:
        host.files[f"/files/{name}"] = data = making.wheel(members)
        digest = hashlib.sha256(data).hexdigest()
        host.files["/simple/swift-ops/"] = f'<a href="/files/{name}#sha256={digest}">{name}</a>'.encode()
        host.types["/simple/swift-ops/"] = "text/html"

        run(checkout, "A package of the table", "swift-ops==1.5", f"{host.url}/simple")

    [row] = json.loads((checkout / "compat" / "packages" / "swift-ops.json").read_text("utf-8"))["versions"]
    assert (row["version"], row["sha256"]) == ("1.5", digest)
    assert row["requires"] == ["torch>=2.4"]
    assert "sm_80" in json.dumps(row["code"])


def test_a_release_is_what_the_workflow_does() -> None:
    """Whose steps tests/shipping/test_workflows.py runs."""
    words = [line.split()[0] for line in recipe("A new torch release").splitlines()]
    runs = re.findall(r"^\s+say (scripts/[\w-]+)", UPDATES, re.MULTILINE)

    assert words[-1] == "scripts/check"
    assert words[:-1] == list(dict.fromkeys(run for run in runs if run != "scripts/measure-packages"))


def test_every_file_that_a_recipe_names_is_there() -> None:
    names = re.findall(r"`((?:src|tests|scripts|compat|evidence|docs)/[\w./-]+)`", CONTRIBUTING)
    names += [
        f"src/torchpick/{name}" for name in re.findall(r"`((?:model|doctor|decide|cluster)/\w+\.py)`", CONTRIBUTING)
    ]

    assert names
    assert [name for name in names if "X.Y.Z" not in name and not (ROOT / name).exists()] == []
