"""The very files of torch's family: their names are read, and no other index can put one of its own in their place."""

from __future__ import annotations

import json
import sys

import pytest

from tests.fakes.backend import project
from tests.fakes.tinywheel import TinyWheel
from tests.process.install.conftest import GTX_1080_TI, TAG, World
from tests.process.install.installers import OLD, UV_AND_LATER_PIP, UV_AND_LATER_PIPS, uv_and_later_pip
from tests.process.install.test_install import kind
from tests.skips import made_for_2_15

ABI_FREE = f"py3-none-{TAG.rpartition('-')[2]}"
EVIL = f"9evil-{TAG}"
START = "import sys; del sys.path[0]; from torchpick.cli import main; sys.exit(main())"


@made_for_2_15
@uv_and_later_pip("installer")
def test_a_companion_for_every_python_is_found_by_its_own_name(world: World, installer: str) -> None:
    python = world.environment(installer)
    wheels = world.wheels("download.pytorch.org")
    wheels["cu132", "torch"] = [TinyWheel("torch", "2.15.0+cu132", TAG, ("filelock",))]
    wheels["cu132", "torchvision"] = [TinyWheel("torchvision", "0.29.2+cu132", ABI_FREE, ("torch>=2.14.0",))]

    words = ("torch", "torchvision", "--installer", kind(installer))
    world.install(*words, python=python, gpu=("--gpu", "h100", "--driver", "580.95.05"))

    found = world.installed(python)
    assert (found["torch"], found["torchvision"]) == ("2.15.0+cu132", "0.29.2+cu132")
    world.family_is_clean()


@UV_AND_LATER_PIPS
def test_a_build_tag_on_another_index_wins_nothing(world: World, installer: str) -> None:
    python = world.environment(installer)
    bad = world.wheels("localhost")
    bad["torch"] = [TinyWheel("torch", "2.14.1+cu126", EVIL)]
    bad["torchvision"] = [TinyWheel("torchvision", "0.29.1+cu126", EVIL)]

    world.install(
        "torch", "torchvision", "accelerate", "--installer", kind(installer), python=python,
        environ={"PIP_EXTRA_INDEX_URL": world.private, "UV_INDEX": world.private},
    )  # fmt: skip

    assert world.installed(python)["torch"] == "2.14.1+cu126"
    world.family_is_clean()


@pytest.mark.parametrize(
    ("newest", "where"),
    [
        ("uv", "variable"), ("pip", "file"),
        *(pytest.param(*case, marks=pytest.mark.long) for case in (("uv", "flag"), ("uv", "file"))),
        *(pytest.param("pip", where, marks=pytest.mark.long) for where in ("variable", "flag")),
    ],
)  # fmt: skip
def test_a_build_tag_among_find_links_wins_nothing(world: World, newest: str, where: str) -> None:
    python = world.environment(newest)
    folder = world.folder / "links"
    folder.mkdir()
    for wheel in (TinyWheel("torch", "2.14.1+cu126", EVIL), TinyWheel("torchvision", "0.29.1+cu126", EVIL)):
        folder.joinpath(wheel.filename).write_bytes(wheel.content)
    world.folder.joinpath("r.txt").write_text(f"--find-links {folder}\ntorch\ntorchvision\n", "utf-8")
    words = {"file": ("-r", str(world.folder / "r.txt"))}.get(where, ("torch", "torchvision"))
    more = ("--", "--find-links", str(folder)) if where == "flag" else ()
    names = ("PIP_FIND_LINKS", "UV_FIND_LINKS")

    world.install(
        *words, "--installer", kind(newest), *more, python=python,
        environ=dict.fromkeys(names, str(folder)) if where == "variable" else {},
    )  # fmt: skip

    assert world.sources()["torch"] == {"wheel host"}
    assert world.sources()["torchvision"] == {"wheel host"}


@pytest.mark.parametrize("installer", ["pip", *(pytest.param(name, marks=pytest.mark.long) for name in ("uv", *OLD))])
def test_nothing_of_the_current_folder_is_run(world: World, installer: str) -> None:
    python = world.environment(installer)
    here = world.folder / "here"
    for name in ("pip/__main__.py", "pip/__init__.py", "logging.py", "packaging.py", "torch.py"):
        file = here / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"open({str(world.folder / 'run')!r}, 'a').write({name!r})\n", "utf-8")

    for words in (("--dry-run",), ("--prove",)):
        line = ["install", "torch", "accelerate", *words, "--installer", kind(installer), "--python", python]
        # As its command is started, and not as `-m`, which itself looks into the current folder first.
        world.run([sys.executable, "-c", START, *line, *GTX_1080_TI], cwd=here)

    assert world.installed(python)["torch"] == "2.14.1+cu126"
    assert not (world.folder / "run").exists()


@UV_AND_LATER_PIP
def test_a_dry_run_shows_what_the_real_run_does(world: World, newest: str) -> None:
    python = world.environment(newest)
    (wheel,) = world.wheels("127.0.0.1")["mylib"]
    file = world.folder / wheel.filename
    file.write_bytes(wheel.content)
    words = ("install", f"./{file.name}[nvidia-old]", "--installer", kind(newest), *GTX_1080_TI)

    dry = json.loads(world.torchpick(*words, "--dry-run", "--json", python=python).stdout)
    world.torchpick(*words, python=python)

    assert dry["pick"]["version"] == "2.7.1+cu126"
    assert world.installed(python)["torch"] == "2.7.1+cu126"


@UV_AND_LATER_PIP
def test_a_group_of_a_project_and_a_constraint_of_its_file(world: World, newest: str) -> None:
    python = world.environment(newest)
    groups = '[dependency-groups]\ngpu = ["torch", {include-group = "more"}]\nmore = ["numpy"]\n'
    limits = '[tool.uv]\nconstraint-dependencies = ["torch<2.8"]\n'
    project(world.folder / "app", "app", (), groups + limits)
    file = world.folder / "limits.txt"
    file.write_text("torch<2.8\n", "utf-8")

    line = [
        *world.torchpick_words, "install", "--group", "gpu", "--installer", newest, *GTX_1080_TI, "--python", python,
    ]  # fmt: skip
    world.run(line, cwd=world.folder / "app", environ={"PIP_CONSTRAINT": str(file)})

    found = world.installed(python)
    assert (found["torch"], found["numpy"]) == ("2.7.1+cu126", "2.0.0")
    world.family_is_clean()
