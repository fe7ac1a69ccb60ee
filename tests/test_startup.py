"""What a start loads, asked of real interpreters: speed is a feature that an import can lose."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.wheels import making

pytestmark = pytest.mark.process

# Each loads a dozen files that a decision has no use for.
SPARED = {"argparse", "json", "re", "typing"}
# Ends as a constraint of uv's does, and is tox's.
OF_OTHERS = {"TOX_OVERRIDE": "testenv.deps=nothing"}
HEAVY = {"httpx", "pynvml", "packaging", "importlib.resources", "pathlib", "dataclasses", "inspect"}
if sys.version_info >= (3, 11):  # before, the library's own `platform` loads it
    HEAVY.add("subprocess")


def loaded(code: str) -> set[str]:
    """The modules that the code loads over a bare interpreter."""
    program = f"import sys; before = set(sys.modules)\n{code}\nprint(*sorted(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60, cwd=os.sep,
        env={**os.environ, **OF_OTHERS},
    )  # fmt: skip
    return set(done.stdout.splitlines()[-1].split())


def ours(names: set[str]) -> list[str]:
    return sorted(name for name in names if name.startswith("torchpick."))


def opened(code: str) -> list[str]:
    """The files that the code opens after the interpreter has started, as the interpreter itself tells."""
    program = f"""
import sys
files, counting = [], True
def hear(event, arguments):
    # One that is opened without waiting for a writer is told twice.
    if counting and event == "open" and files[-1:] != [str(arguments[0])]:
        files.append(str(arguments[0]))
sys.addaudithook(hear)
{code}
counting = False
sys.stdout.flush()
print(*files, sep="\\n")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60, cwd=os.sep,
        env={**os.environ, **OF_OTHERS},
    )  # fmt: skip
    return done.stdout.splitlines()[1:]


@pytest.mark.parametrize("requirements", [[], ["torch<2.12"]])
def test_url_opens_few_files(requirements: list[str]) -> None:
    """A shared file system counts each of them; the sources of an editable install are not opened by a warm start."""
    words = ["url", *requirements, "--gpu", "sm_61", "--driver", "580.95.05"]
    code = f"from torchpick.cli import main; main({words})"
    opened(code)  # the first after a change writes byte code

    files = opened(code)

    assert any(file.endswith("rules.json") for file in files), files
    assert len([file for file in files if not file.endswith(".py")]) <= 60, files


def test_importing_the_library_loads_next_to_nothing() -> None:
    names = loaded("import torchpick")

    assert names <= {"torchpick", "__future__"}


def test_asking_the_library_loads_no_command_line() -> None:
    names = loaded('import torchpick; torchpick.pick(gpus=["sm_61"], driver="580.95.05")')

    assert not names & (HEAVY | {"argparse"})
    assert not any(name.startswith("torchpick.cli") for name in names)


@pytest.mark.parametrize("gpu", ["sm_61", "GTX 1080 Ti", "a100"])
def test_url_loads_nothing_heavy(gpu: str) -> None:
    names = loaded(f'from torchpick.cli import main; main(["url", "--gpu", {gpu!r}, "--driver", "580.95.05"])')

    assert not names & (HEAVY | SPARED | {"shutil", "difflib"})
    assert not names & {"torchpick.decide.several", "torchpick.knowledge.packages"}
    assert len(ours(names)) <= 35, ours(names)


@pytest.mark.parametrize(
    "words",
    [
        ["--gpu", "RX 9070 XT", "--platform", "windows-x86_64", "--python", "3.12"],
        ["--gpu", "RTX Spark N1X", "--platform", "windows-arm64", "--driver", "616.92", "--python", "3.13"],
        ["--gpu", "Jetson Orin NX", "--driver", "540.4.0", "--platform", "linux-aarch64", "--python", "3.10"],
    ],
    ids=lambda words: words[1],
)
def test_a_build_on_a_vendors_index_is_decided_on_without_a_network(words: list[str]) -> None:
    names = loaded(f"from torchpick.cli import main; assert main({['url', *words]}) == 0")

    assert not names & (HEAVY | {"socket", "ssl"})
    assert not any(name.startswith("torchpick.index.") for name in names)


def test_installing_torch_loads_few_modules() -> None:
    words = ["install", "torch", "--gpu", "sm_61", "--driver", "580.95.05", "--dry-run"]
    names = loaded(f"from torchpick.cli import main; main({words})")

    assert "torchpick.install.handover" in names
    assert len(ours(names)) <= 75, ours(names)


def test_listing_a_package_loads_no_reader_of_an_index() -> None:
    words = ["list", "vllm", "--gpu", "a100", "--driver", "580.95.05", "--json"]

    found = loaded(f"from torchpick.cli import main; main({words})")

    assert not {name for name in found if name.startswith(("torchpick.index.", "torchpick.wheels."))}


def test_what_is_inspected_here_loads_no_client(tmp_path: Path) -> None:
    file = tmp_path / "kernels.so"
    file.write_bytes(making.library(making.module("sm_80")))

    names = loaded(f'from torchpick.cli import main; main(["inspect", {str(file)!r}, "--gpu", "none"])')

    assert "torchpick.wheels.inspect_target" in names
    assert not names & {"httpx", "httpcore", "packaging.specifiers"}


def test_an_everyday_specifier_loads_nothing_heavy_either() -> None:
    names = loaded('from torchpick.cli import main; main(["url", "torch<2.12", "--gpu", "sm_61", "--driver", "580"])')

    assert not names & (HEAVY | SPARED)


def test_a_constraint_of_a_variable_loads_no_reader_of_settings_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "limits.txt").write_text("# ours\nnumpy>=2\ntorch >= 2.9, <2.12\n", encoding="utf-8")
    monkeypatch.setenv("PIP_CONSTRAINT", str(tmp_path / "limits.txt"))

    names = loaded('from torchpick.cli import main; main(["url", "--gpu", "sm_61", "--driver", "580.95.05"])')

    assert "torchpick.install.user_settings" in names
    assert not names & (HEAVY | SPARED | {"configparser", "urllib.parse"})


def test_looking_for_gpus_where_there_are_none_loads_no_patterns_and_no_json(tmp_path: Path) -> None:
    look = f"""
import time
from torchpick.environment.world import World
from torchpick.knowledge.compat import Knowledge
from torchpick.machine import computer
from torchpick.machine.kernel import LookOptions
from torchpick.model.machine import Platform
world, platform = World({str(tmp_path)!r}, {{}}, "/", "linux"), Platform("linux", "x86_64")
print(computer.look(LookOptions(world, time.monotonic() + 60, Knowledge({{}})), platform))
"""
    names = loaded(look)

    assert "torchpick.machine.kernel" in names
    assert not names & (HEAVY | SPARED | {"torchpick.machine.nvidia"})


def test_any_other_specifier_loads_packaging_and_nothing_else_heavy() -> None:
    names = loaded('from torchpick.cli import main; main(["url", "torch==2.9.1+cu126", "--gpu", "sm_61"])')

    assert "packaging.specifiers" in names
    assert not names & {"httpx", "pynvml", "importlib.metadata"}
