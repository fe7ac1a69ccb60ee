"""Real pip and real uv where torch comes from a vendor's own index, with all that it requires."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pytest

from tests.fakes.indexes import VENDOR_HOSTS, SimpleIndex
from tests.fakes.loopback import Answer
from tests.fakes.tinywheel import TinyWheel
from tests.process.install.conftest import TAG, World
from tests.process.install.test_install import kind
from torchpick.environment import toml

AMD, NVIDIA, JETSON, REDIST = VENDOR_HOSTS
GFX1010 = ("--gpu", "gfx1010")
VERSION = "2.14.0+rocm10.1.0"


class VendorIndex:
    """An index below a folder of a vendor's host; `for_agents`: who is answered."""

    for_agents: re.Pattern[str] | None = None

    def __init__(self, folder: str, *wheels: TinyWheel) -> None:
        self.folder, self.inner = folder, SimpleIndex(*wheels)

    def __call__(self, path: str) -> Answer:
        if path.startswith(self.folder):
            return self.inner(f"/simple/{path.removeprefix(self.folder)}")
        return self.inner(path[path.index("/files/") :] if "/files/" in path else path)


class Devpi(VendorIndex):
    """As devpi-server 6.20 answers below an index's own address: INSTALLER_USER_AGENT of its views.py."""

    for_agents = re.compile(r"([^ ]* )*(distribute|setuptools|pip|pex|uv)/.*")


class Folder(VendorIndex):
    """A folder that a web server lists."""

    def __call__(self, path: str) -> Answer:
        if path == self.folder:
            return Answer(301, b"", {"Location": f"{path}/"})
        if path == f"{self.folder}/":
            (wheel,) = self.inner.wheels["torch"]
            return Answer(200, f'<a href="{quote(wheel.filename)}">x</a>'.encode(), {"Content-Type": "text/html"})
        return self.inner(f"/files/{path.rpartition('/')[2]}")


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


class Row(NamedTuple):
    """A row of compat/vendors.json: where it lies, on which kind of server, and for whom."""

    host: str
    kind: type[VendorIndex]
    folder: str
    option: str
    wheel: TinyWheel
    machine: tuple[str, ...]
    target: tuple[str, str, str]  # the Python, and the platform as pip and uv call it

    @property
    def url(self) -> str:
        return f"https://{self.host}{self.folder.rstrip('/')}"


ORIN = ("--gpu", "Orin", "--driver", "540.4.0", "--platform", "linux-aarch64", "--python", "3.10", "--glibc", "2.35")
JETPACK_6 = Row(
    JETSON, Devpi, "/jp6/cu126/", "--index-url", TinyWheel("torch", "2.11.0", "cp310-cp310-linux_aarch64"),
    ORIN, ("3.10", "linux_aarch64", "aarch64-unknown-linux-gnu"),
)  # fmt: skip
ROWS = (
    JETPACK_6,
    Row(
        REDIST, Folder, "/compute/redist/jp/v511/pytorch", "--find-links",
        TinyWheel("torch", "2.0.0+nv23.05", "cp38-cp38-linux_aarch64"),
        ("--gpu", "Xavier", "--cuda-driver", "11.4", "--platform", "linux-aarch64", "--python", "3.8"),
        ("3.8", "linux_aarch64", "aarch64-unknown-linux-gnu"),
    ),
    Row(
        NVIDIA, VendorIndex, "/nvtorch_oot/", "--extra-index-url",
        TinyWheel("torch", "2.14.0+cu134", "cp313-cp313-win_arm64"),
        ("--gpu", "N1X", "--driver", "616.92", "--platform", "windows-arm64", "--python", "3.13"),
        ("3.13", "win_arm64", "aarch64-pc-windows-msvc"),
    ),
    Row(
        AMD, VendorIndex, "/rocm/whl-next/", "--index-url", TinyWheel("torch", VERSION, "cp312-cp312-linux_x86_64"),
        ("--gpu", "gfx1010", "--platform", "linux-x86_64", "--python", "3.12", "--glibc", "2.35"),
        ("3.12", "linux_x86_64", "x86_64-unknown-linux-gnu"),
    ),
)  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[row.host for row in ROWS])
def test_each_row_is_met_by_torchpick_by_pip_and_by_uv(row: Row, world: World, newest: str, tmp_path: Path) -> None:
    if kind(newest) != "pip":
        pytest.skip("one environment has both")
    world.server.sites[row.host] = row.kind(row.folder, row.wheel)
    python, wheel = world.environment(newest), row.wheel
    version, pip_platform, uv_platform = row.target
    digest = sha256(wheel.content).hexdigest()

    line = world.torchpick("url", *row.machine).stdout.split()
    assert line == [row.option, row.url, f"torch{'[device-gfx1010]' * (row.host == AMD)}=={wheel.version}"]
    if row.host != AMD:  # which no settings can say
        (pin,) = json.loads(world.torchpick("plan", "torch", *row.machine, "--json").stdout)["stack"]["packages"]
        assert pin["index"].endswith(quote(wheel.filename) + (f"#sha256={digest}" if row.kind is not Folder else ""))
        assert pin["index"] in world.torchpick("plan", "torch", *row.machine).stdout
        variables = world.torchpick("env", *row.machine).stdout
        assert wheel.filename.encode() in _page_of(variables).replace(b"%2B", b"+")
    with_pip = ("download", "--no-deps", "--only-binary=:all:", "--python-version", version, "--platform", pip_platform)
    torch = (row.option, row.url, f"torch=={wheel.version}")
    world.run([python, "-m", "pip", *with_pip, *torch, "-d", tmp_path / "pip"], status=0)
    assert [file.name for file in (tmp_path / "pip").iterdir()] == [wheel.filename]
    asked, pins = tmp_path / "torch.in", tmp_path / "torch.txt"
    asked.write_text(torch[2], "utf-8")
    with_uv = ("--no-deps", "--python-version", version, "--python-platform", uv_platform, "--generate-hashes")
    settings = {"UV_DEFAULT_INDEX": row.url} if row.option == "--index-url" else {}
    options = () if settings else torch[:2]
    command = [world.installers.uv, "pip", "compile", *with_uv, *options, asked, "-o", pins]
    world.run(command, status=0, environ=settings)
    assert (digest if row.kind is not Folder else "torch==2.0.0+nv23.5") in pins.read_text("utf-8")


def _page_of(variables: str) -> bytes:
    """The page of links that PIP_FIND_LINKS names."""
    match = re.search(r"PIP_FIND_LINKS='?file://(\S+?\.html)", variables)
    assert match is not None, variables
    return Path(match[1]).read_bytes()


@pytest.mark.parametrize("there", [False, True], ids=["no page", "an empty page"])
def test_a_chosen_index_without_the_file_is_an_error_and_looked_at_again(
    there: bool, world: World, tmp_path: Path
) -> None:
    index = Devpi("/jp6/cu126/")
    world.server.sites[JETSON] = index
    if there:
        index.inner.wheels["torch"] = []
    file = tmp_path / "pylock.toml"

    for words in (("env",), ("plan", "torch"), ("lock", "torch", "-o", str(file))):
        done = world.torchpick(*words, *ORIN, status=1)
        assert "jp6/cu126 has no torch==2.11.0 that fits: no file of it is listed there" in done.stderr, words
        assert "PIP_CONSTRAINT" not in done.stdout
    index.inner.wheels["torch"] = [JETPACK_6.wheel]
    assert "PIP_CONSTRAINT" in world.torchpick("env", *ORIN).stdout
    world.torchpick("lock", "torch", *ORIN, "-o", str(file))
    (wheel,) = next(pin for pin in toml.read(file.read_text("utf-8"))["packages"] if pin["name"] == "torch")["wheels"]
    assert wheel["hashes"]["sha256"] == sha256(JETPACK_6.wheel.content).hexdigest()
