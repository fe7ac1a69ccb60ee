"""The user's own settings: their indexes stay, and none changes torch."""

from __future__ import annotations

from tests.fakes.tinywheel import TinyWheel
from tests.process.install.conftest import TAG, World
from tests.process.install.test_install import kind

CU130 = "https://download.pytorch.org/whl/cu130"


def test_variables_that_name_a_wheel_index_do_not_change_torch_and_a_private_index_serves(
    world: World, installer: str
) -> None:
    python = world.environment(installer)
    mixed = f"{CU130} {world.private}"

    done = world.install(
        "torch", "inhouse", "--installer", kind(installer), python=python,
        environ={"PIP_EXTRA_INDEX_URL": mixed, "UV_INDEX": mixed, "UV_TORCH_BACKEND": "cu130"},
    )  # fmt: skip

    found = world.installed(python)
    assert found["torch"] == "2.14.1+cu126"
    assert found["inhouse"] == "3.1"
    assert world.sources()["inhouse"] == {"private"}
    world.family_is_at_home()
    variable = "UV_INDEX" if installer == "uv" else "PIP_EXTRA_INDEX_URL"
    assert f"{CU130} ({variable})" in done.stderr


def test_the_default_indexs_torch_is_not_taken_for_that_of_a_wheel_index(world: World, newest: str) -> None:
    """`==2.7.1` would be content with 2.7.1+cu126."""
    python = world.environment(newest)
    index = world.wheels("127.0.0.1")
    index["torch"].append(TinyWheel("torch", "2.7.1", TAG, ("filelock",)))
    wheels = "https://download.pytorch.org/whl/cu126"

    world.install(
        "torch", "--backend", "default", "--installer", newest, "--no-deps", python=python, status=None,
        environ={"PIP_EXTRA_INDEX_URL": wheels, "UV_INDEX": wheels},
    )  # fmt: skip

    # uv looks no further than the first index that has the name.
    assert world.installed(python) == ({} if newest == "uv" else {"torch": "2.7.1"})


def test_offline_is_obeyed_for_the_files_that_settings_name(world: World, installer: str) -> None:
    python = world.environment(installer)
    limits = f"http://localhost:{world.server.server_port}/limits.txt"
    name = "UV_CONSTRAINT" if kind(installer) == "uv" else "PIP_CONSTRAINT"

    done = world.install(
        "torch", "--no-deps", "--offline", "--installer", kind(installer),
        python=python, environ={name: limits}, status=None,
    )  # fmt: skip

    assert done.returncode
    assert "limits.txt" in done.stderr
    assert world.server.log == []


def test_what_a_clusters_modules_and_the_user_site_hold_counts_for_pip_as_for_plain_pip(world: World) -> None:
    python = world.environment("pip")
    modules, user = world.folder / "modules", world.folder / "user"
    (site,) = python.parent.parent.glob("lib/python*/site-packages")
    own = user / site.relative_to(python.parent.parent)
    for folder, name in ((modules, "filelock"), (own, "numpy")):
        about = folder / f"{name}-1.2.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n", "utf-8")
    config = python.parent.parent / "pyvenv.cfg"
    config.write_text(config.read_text("utf-8").replace("packages = false", "packages = true"), "utf-8")
    environ = {"PYTHONPATH": f"{world.environ['PYTHONPATH']}:{modules}", "PYTHONUSERBASE": str(user)}

    world.install("torch", "torchvision", "--installer", "pip", python=python, environ=environ)

    assert world.sources().keys() == {"torch", "torchvision", "triton"}, "filelock and numpy are there already"
