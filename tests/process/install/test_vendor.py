"""Real pip and real uv where torch comes from a vendor's own index, with all that it requires."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from tests.fakes.indexes import VENDOR_HOSTS, SimpleIndex
from tests.fakes.loopback import Answer
from tests.fakes.tinywheel import TinyWheel
from tests.process.install.conftest import TAG, World
from tests.process.install.test_install import kind
from torchpick.environment import toml

AMD, NVIDIA = VENDOR_HOSTS
GFX1010 = ("--gpu", "gfx1010")
VERSION = "2.14.0+rocm10.1.0"


class VendorIndex:
    """An index below a folder of a vendor's host."""

    def __init__(self, folder: str, *wheels: TinyWheel) -> None:
        self.folder, self.inner = folder, SimpleIndex(*wheels)

    def __call__(self, path: str) -> Answer:
        if path.startswith(self.folder):
            return self.inner(f"/simple/{path.removeprefix(self.folder)}")
        return self.inner(path[path.index("/files/") :] if "/files/" in path else path)


def amd_index() -> VendorIndex:
    """The family, what it requires, and what the rest of the world has as well."""
    requires = ("filelock", "rocm-sdk-core==10.1.0", 'amd-torch-device-gfx1010; extra == "device-gfx1010"')
    return VendorIndex(
        "/rocm/whl-next/",
        TinyWheel("torch", VERSION, TAG, requires, extras=("device-gfx1010",)),
        TinyWheel("rocm-sdk-core", "10.1.0"),
        TinyWheel("amd-torch-device-gfx1010", "10.1.0"),
        TinyWheel("filelock", "3.0"),
        TinyWheel("numpy", "9999.0"),
    )


def serve(world: World) -> None:
    """A `rocm-sdk-core` of a stranger lies on the user's own index."""
    world.server.sites[AMD] = amd_index()
    world.wheels("127.0.0.1")["rocm-sdk-core"] = [TinyWheel("rocm-sdk-core", "99.0")]


def test_the_family_comes_from_the_vendor_first_and_the_rest_from_the_user(world: World, newest: str) -> None:
    serve(world)
    python = world.environment(newest)

    world.install("torch", "accelerate", "--installer", kind(newest), python=python, gpu=GFX1010)

    found = world.installed(python)
    assert (found["torch"], found["rocm-sdk-core"], found["accelerate"]) == (VERSION, "10.1.0", "1.0")
    assert found["amd-torch-device-gfx1010"] == "10.1.0", "its code for the GPU"
    assert found["numpy"] == "2.0.0", "all else is the user's"


def test_the_family_alone_is_one_command(world: World, newest: str) -> None:
    serve(world)
    python = world.environment(newest)

    done = world.install("torch", "--dry-run", "--json", "--installer", kind(newest), python=python, gpu=GFX1010)

    answer = json.loads(done.stdout)["install"]
    assert f"torch[device-gfx1010]=={VERSION}" in answer["argv"]
    assert f"https://{AMD}/rocm/whl-next" in answer["argv"]
    assert "before" not in answer
    world.install("torch", "--installer", kind(newest), python=python, gpu=GFX1010)
    assert world.installed(python)["rocm-sdk-core"] == "10.1.0"


def test_what_no_setting_can_say_is_refused(world: World, newest: str) -> None:
    serve(world)
    python = world.environment(newest)

    for words in (("env",), ("pin",), ("lock", "torch")):
        done = world.torchpick(*words, *GFX1010, python=python, status=1)
        assert f"takes what it requires from https://{AMD}/rocm/whl-next alone" in done.stderr, words
        assert "torchpick install torch" in done.stderr


def test_no_mirror_is_advised_where_a_vendor_s_index_does_not_answer(world: World, tmp_path: Path) -> None:
    world.server.sites[NVIDIA] = lambda _: Answer(status=503)
    machine = ("--gpu", "N1X", "--driver", "616.92", "--platform", "windows-arm64", "--python", "3.13")

    done = world.torchpick("lock", "torch", *machine, "-o", str(tmp_path / "pylock.toml"), status=1)

    assert f"https://{NVIDIA}/nvtorch_oot/torch/" in done.stderr
    assert "--index-base" not in done.stderr


def test_a_lock_has_the_vendor_s_files_and_else_the_user_s(world: World, tmp_path: Path) -> None:
    torch = TinyWheel("torch", "2.14.0+cu134", "cp313-cp313-win_arm64", ("filelock",))
    world.server.sites[NVIDIA] = VendorIndex("/nvtorch_oot/", torch, TinyWheel("filelock", "9999.0"))
    machine = ("--gpu", "N1X", "--driver", "616.92", "--platform", "windows-arm64", "--python", "3.13")
    file = tmp_path / "pylock.toml"

    world.torchpick("lock", "torch", *machine, "-o", str(file))

    packages = {each["name"]: each for each in toml.read(file.read_text("utf-8"))["packages"]}
    (wheel,) = packages["torch"]["wheels"]
    assert wheel["url"].startswith(f"https://{NVIDIA}/files/torch-2.14.0")
    assert wheel["hashes"]["sha256"] == sha256(torch.content).hexdigest()
    assert packages["torch"]["index"] == f"https://{NVIDIA}/nvtorch_oot"
    assert packages["filelock"]["version"] == "3.20.0", "the user's own"
