"""Real pip and real uv where torch comes from a vendor's own index, with all that it requires."""

from __future__ import annotations

import base64
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import httpx
import pytest

from tests import usersettings
from tests.fakes import pythons
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
        TinyWheel("rocm-sdk-core", "10.1.0"), TinyWheel("amd-torch-device-gfx1010", "10.1.0"),
        TinyWheel("filelock", "3.0"), TinyWheel("numpy", "9999.0"),
    )  # fmt: skip


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
def test_each_row_is_met_by_torchpick_by_pip_and_by_uv(row: Row, world: World, tmp_path: Path) -> None:
    world.server.sites[row.host] = row.kind(row.folder, row.wheel)
    wheel = row.wheel
    digest = sha256(wheel.content).hexdigest()

    line = world.torchpick("url", *row.machine).stdout.split()
    assert line == [row.option, row.url, f"torch{'[device-gfx1010]' * (row.host == AMD)}=={wheel.version}"]
    if row.host != AMD:  # which no settings can say
        (pin,) = json.loads(world.torchpick("plan", "torch", *row.machine, "--json").stdout)["stack"]["packages"]
        assert pin["index"].endswith(quote(wheel.filename) + (f"#sha256={digest}" if row.kind is not Folder else ""))
        assert pin["index"] in world.torchpick("plan", "torch", *row.machine).stdout
        variables = world.torchpick("env", *row.machine).stdout
        assert wheel.filename.encode() in _page_of(variables).replace(b"%2B", b"+")
    met_by_pip_and_uv(row, row.url, world, tmp_path)


def met_by_pip_and_uv(row: Row, index_url: str, world: World, folder: Path) -> None:
    """Both take the row's file from its index, with its hash where the page says that."""
    version, pip_platform, uv_platform = row.target
    with_pip = ("download", "--no-deps", "--only-binary=:all:", "--python-version", version, "--platform", pip_platform)
    torch = (row.option, index_url, f"torch=={row.wheel.version}")
    pip = world.environment("pip")
    world.run([pip, "-m", "pip", *with_pip, *torch, "-d", folder / "pip"], status=0)
    assert [file.name for file in (folder / "pip").iterdir()] == [row.wheel.filename]
    asked, pins = folder / "torch.in", folder / "torch.txt"
    asked.write_text(torch[2], "utf-8")
    with_uv = ("--no-deps", "--python-version", version, "--python-platform", uv_platform, "--generate-hashes")
    settings = {"UV_DEFAULT_INDEX": index_url} if row.option == "--index-url" else {}
    options = () if settings else torch[:2]
    command = [world.installers.uv, "pip", "compile", *with_uv, *options, asked, "-o", pins]
    world.run(command, status=0, environ=settings)
    digest = sha256(row.wheel.content).hexdigest()
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


@pytest.fixture
def devpi(world: World, tmp_path: Path) -> Iterator[httpx.Client]:
    """A real devpi-server with Jetson AI Lab's index, in which nothing is yet; who may upload there."""
    python = world.installers.environment(tmp_path / "devpi", "uv")
    fetch = [world.installers.uv, "pip", "install", "--quiet", "--python", str(python), "devpi-server"]
    fetched = subprocess.run(fetch, env=usersettings.fetching(), capture_output=True, text=True, check=False)
    if fetched.returncode:
        pytest.skip(f"devpi-server cannot be fetched: {fetched.stderr[-300:]}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = ("--serverdir", str(tmp_path / "data"))
    world.run([python.with_name("devpi-init"), *data, "--no-root-pypi"], status=0)
    command = [str(python.with_name("devpi-server")), *data, "--offline-mode", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60) as client:
                yield with_an_index(client, world)
        finally:
            server.kill()


def with_an_index(client: httpx.Client, world: World) -> httpx.Client:
    """The server once it answers, and a table that knows its address as the vendor's."""
    until = time.monotonic() + 120
    client.headers["accept"] = "application/json"
    while True:
        try:
            client.put("/jp6", json={"password": "secret"}).raise_for_status()
            break
        except httpx.ConnectError:
            assert time.monotonic() < until
            time.sleep(0.2)
    login = client.post("/+login", json={"user": "jp6", "password": "secret"}).raise_for_status()
    words = f"jp6:{login.json()['result']['password']}".encode()
    client.headers["X-Devpi-Auth"] = base64.b64encode(words).decode()
    client.put("/jp6/cu126", json={"bases": []}).raise_for_status()
    index = Path(world.environ["TORCHPICK_COMPAT_DIR"]) / "index"
    table = {file.name: file.read_text("ascii") for file in index.iterdir()}
    index.unlink()
    index.mkdir()
    for name, text in table.items():
        (index / name).write_text(text.replace(f"https://{JETSON}", str(client.base_url).rstrip("/")), "ascii")
    return client


AARCH64 = """\
import os, sys
os.uname = lambda known=os.uname(): os.uname_result((*known[:4], "aarch64"))
from torchpick.cli import main
sys.exit(main())
"""


def jetsons_python(folder: Path) -> Path:
    """A stand-in for JetPack 6's Python 3.10: what torchpick asks of one, and no more."""
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    answer = pythons.answers(folder, "/made-up")([str(python), *pythons.QUESTION, "", ""]).answer.decode()
    answer = answer.replace("[3, 11]", "[3, 10]").replace("3.11.7", "3.10.12").replace("python3.11", "python3.10")
    answer = answer.replace("x86_64", "aarch64").replace("cpython-311", "cpython-310").replace("2.36", "2.35")
    python.write_text(f"#!/bin/sh\ncat << 'END'\n{answer}END\n", "utf-8")
    python.chmod(0o755)
    return python


@pytest.mark.long
def test_a_real_devpi_server_is_met(world: World, devpi: httpx.Client, tmp_path: Path) -> None:
    file, python = tmp_path / "pylock.toml", jetsons_python(tmp_path / "jetson")
    questions = [
        [*world.torchpick_words, *words, *ORIN]
        for words in (("env",), ("plan", "torch"), ("plan", "torch", "--json"), ("lock", "torch", "-o", str(file)))
    ]
    words = ["install", "torch", "--dry-run", *ORIN[:4], "--python", str(python)]
    questions.append([sys.executable, "-c", AARCH64, *words])
    for question in questions:
        done = world.run(question, status=1)
        assert "/jp6/cu126 has no torch==2.11.0 that fits" in done.stdout + done.stderr, question

    wheel = JETPACK_6.wheel
    form = {":action": "file_upload", "name": "torch", "version": wheel.version, "filetype": "bdist_wheel"}
    devpi.post("/jp6/cu126/", data=form, files={"content": (wheel.filename, wheel.content)}).raise_for_status()
    digest = sha256(wheel.content).hexdigest()
    index_url = f"{str(devpi.base_url).rstrip('/')}/jp6/cu126"
    url = f"{index_url}/+f/{digest[:3]}/{digest[3:16]}/{wheel.filename}#sha256={digest}"
    env, plan, plan_json, lock, install = (world.run(question, status=0).stdout for question in questions)
    assert url in _page_of(env).decode()
    assert url in plan
    assert url in json.loads(plan_json)["stack"]["packages"][0]["index"]
    assert url in install
    assert str(file) in lock
    (locked,) = toml.read(file.read_text("utf-8"))["packages"][0]["wheels"]
    assert f"{locked['url']}#sha256={locked['hashes']['sha256']}" == url
    met_by_pip_and_uv(JETPACK_6, index_url, world, tmp_path)
