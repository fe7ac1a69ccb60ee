"""The default index's own torch, by its plain version and from the user's own index, with real pip and real uv."""

from __future__ import annotations

import sys

import pytest

from tests.fakes.tinywheel import TinyWheel
from tests.process.install.conftest import GTX_1080_TI, TAG, World
from tests.process.install.installers import UV_AND_LATER_PIPS
from tests.process.install.test_install import kind

DEFAULT = ("--backend", "default")


@pytest.fixture
def own(world: World) -> World:
    """The user's index with a torchvision for each torch, and what torch itself says of its CUDA."""
    index = world.wheels("127.0.0.1")
    for version, cuda, vision in (("2.15.0", "13.2", "0.29.2"), ("2.7.1", "12.6", "0.22.1")):
        index["torch"] = [each for each in index["torch"] if each.version != version]
        said = {"torch/version.py": f"cuda = '{cuda}'\n"}
        index["torch"].append(TinyWheel("torch", version, TAG, ("filelock",), files=said))
        index["torchvision"] = [each for each in index["torchvision"] if each.version != vision]
        index["torchvision"].append(TinyWheel("torchvision", vision, TAG, (f"torch=={version}", "numpy")))
    return world


@UV_AND_LATER_PIPS
def test_torch_and_its_companion_come_from_the_users_index_and_then_stay(own: World, installer: str) -> None:
    python = own.environment(installer)
    words = ("torch", "torchvision", "accelerate", *DEFAULT, "--installer", kind(installer))

    own.install(*words, python=python)

    found = own.installed(python)
    assert (found["torch"], found["torchvision"], found["accelerate"]) == ("2.7.1", "0.22.1", "1.0")
    assert own.sources()["torch"] == own.sources()["torchvision"] == {"user"}
    assert own.pages() == []
    own.server.log.clear()

    own.install(*words, python=python)

    assert own.installed(python) == found
    assert not {"torch", "torchvision"} & set(own.sources())


def test_a_pinned_environment_and_a_pinned_project_take_it(own: World) -> None:
    folder = own.folder / "app"
    folder.mkdir()
    before = '[project]\nname = "app"\nversion = "0"\nrequires-python = ">=3.10"\ndependencies = []\n'
    (folder / "pyproject.toml").write_text(before, "utf-8")
    python = own.installers.environment(folder / ".venv", "uv")

    own.torchpick("pin", *GTX_1080_TI, *DEFAULT, python=python)
    own.run([own.installers.uv, "add", "accelerate"], cwd=folder)
    own.run([sys.executable, "-m", "pip", "--python", python, "install", "torchvision"])

    found = own.installed(python)
    assert (found["torch"], found["torchvision"]) == ("2.7.1", "0.22.1")
    assert own.pages() == []
    own.torchpick("unpin", python=python)
    assert "torch==" not in (folder / "pyproject.toml").read_text("utf-8")
