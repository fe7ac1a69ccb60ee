"""A library whose extras are written at build time: built by hatchling and uv with the wheel of torchpick."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

from tests import usersettings
from tests.process import tools

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
BUILD = "import sys; from hatchling import build; print(getattr(build, sys.argv[1])(sys.argv[2]))"
LIBRARY = """\
[build-system]
requires = ["hatchling", "torchpick-cli"]
build-backend = "hatchling.build"

[project]
name = "mylib"
version = "1.0"
requires-python = ">=3.10"
dependencies = ["torch>=2.5"]
dynamic = ["optional-dependencies"]

[tool.hatch.metadata.hooks.torchpick]
{options}
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of torchpick, in a folder of its own."""
    folder = tmp_path_factory.mktemp("dist")
    done = hatchling("build_wheel", ROOT, folder, {})
    assert done.returncode == 0, done.stderr
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables under which the Python here has that wheel installed."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)  # noqa: S202 # a wheel of ours
    return {"PYTHONPATH": str(folder), "HOME": str(folder)}


def hatchling(hook: str, project: Path, out: Path, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BUILD, hook, str(out)]
    env = {"PATH": usersettings.ORIGINAL["PATH"], **environ}
    return subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, timeout=120, check=False)


def library(folder: Path, options: str = "") -> Path:
    project = folder / "mylib-project"
    (project / "src" / "mylib").mkdir(parents=True)
    (project / "src" / "mylib" / "__init__.py").write_text("")
    (project / "pyproject.toml").write_text(LIBRARY.format(options=options))
    return project


def metadata_of(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        return message_from_bytes(archive.read("mylib-1.0.dist-info/METADATA"))


def extras(found: Message) -> dict[str, list[str]]:
    lines = [line.partition(";") for line in found.get_all("Requires-Dist", [])]
    names = found.get_all("Provides-Extra", [])
    return {name: [text.strip() for text, _, marker in lines if f"'{name}'" in marker] for name in names}


RANGES = {"nvidia-old": ["torch<2.8,>=2.5"], "nvidia-cuda12": ["torch<2.11,>=2.5"]}


def test_the_wheel_and_the_sdist_carry_the_extras(tmp_path: Path, installed: dict[str, str]) -> None:
    project = library(tmp_path)

    for hook in ("build_wheel", "build_sdist"):
        done = hatchling(hook, project, tmp_path, installed)
        assert done.returncode == 0, done.stderr

    assert extras(metadata_of(tmp_path / "mylib-1.0-py3-none-any.whl")) == RANGES
    with tarfile.open(tmp_path / "mylib-1.0.tar.gz") as archive:
        info = archive.extractfile("mylib-1.0/PKG-INFO")
        assert info is not None
        assert extras(message_from_bytes(info.read())) == RANGES


def test_names_backends_and_extras_of_ones_own(tmp_path: Path, installed: dict[str, str]) -> None:
    options = (
        'torch = ">=2.6"\nnames = { pascal = ["GTX 1080 Ti"] }\nbackends = ["cu126"]\n'
        'optional-dependencies = { dev = ["pytest>=8"] }\n'
    )
    done = hatchling("build_wheel", library(tmp_path, options), tmp_path, installed)

    assert done.returncode == 0, done.stderr
    assert extras(metadata_of(tmp_path / "mylib-1.0-py3-none-any.whl")) == {
        "cu126": ["torch==2.14.1+cu126"],
        "dev": ["pytest>=8"],
        "pascal": ["torch<2.8,>=2.6"],
    }


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("nonesuch = 1", "`nonesuch` is not an option of tool.hatch.metadata.hooks.torchpick"),
        ('names = { old = ["sm_35"] }', "supports Kepler (sm_35)"),
        ("backends = 3", "must be a list of strings"),
        ('backends = ["cu126"]\noptional-dependencies = { cu126 = [] }', "is yours and torchpick's"),
    ],
)
def test_what_is_wrong_fails_the_build_with_its_reason(
    tmp_path: Path, installed: dict[str, str], options: str, said: str
) -> None:
    project = library(tmp_path, options)

    done = hatchling("build_wheel", project, tmp_path, installed)

    assert done.returncode != 0
    assert said in done.stderr


def test_static_extras_are_not_added_to_in_silence(tmp_path: Path, installed: dict[str, str]) -> None:
    """Who reads the file alone would not see what is added; hatchling asks hooks where any field is dynamic."""
    project = library(tmp_path, '[project.optional-dependencies]\ndev = []\n[tool.hatch.version]\npath = "v.py"')
    (project / "v.py").write_text('__version__ = "1.0"\n')
    text = (project / "pyproject.toml").read_text().replace('version = "1.0"\n', "")
    (project / "pyproject.toml").write_text(text.replace('["optional-dependencies"]', '["version"]'))

    done = hatchling("build_wheel", project, tmp_path, installed)

    assert done.returncode != 0
    assert "is static, so no hook may add to it" in done.stderr


@pytest.mark.network
def test_uv_builds_it_in_an_environment_of_its_own(tmp_path: Path, wheel: Path) -> None:
    project = library(tmp_path)
    command = [tools.tool("uv"), "build", "--wheel", "--find-links", str(wheel.parent), "--out-dir", str(tmp_path)]
    env = {**usersettings.fetching(), "UV_CACHE_DIR": str(tmp_path / "cache")}

    done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, timeout=300, check=False)

    if "Failed to fetch" in done.stderr or "error sending request" in done.stderr:
        pytest.skip("the package index does not answer")
    assert done.returncode == 0, done.stderr
    assert extras(metadata_of(tmp_path / "mylib-1.0-py3-none-any.whl")) == RANGES
