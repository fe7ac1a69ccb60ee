"""Locks by real uv and real pip against the wheel host on loopback, installed by both with nothing else in reach."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pip
import pytest

from tests import envelope, usersettings
from tests.fakes.indexes import FILE_HOST, WHEEL_HOST, SimpleIndex, WheelHost
from tests.fakes.loopback import Answer, Authority, Loopback, Site
from tests.fakes.tinywheel import TinyWheel
from tests.process.install.installers import Installers, fetched, uv_and_later_pip
from torchpick.model.address import is_wheel_host

pytestmark = [pytest.mark.process, pytest.mark.network]
SOURCE = Path(__file__).parents[2] / "src"
OWN = f"{sys.version_info[0]}.{sys.version_info[1]}"
OTHER = "3.13" if sys.version_info[:2] != (3, 13) else "3.12"
GTX_1080_TI = ("--gpu", "sm_61", "--driver", "580.95.05")
TOOLS = ("uv", "pip")
HOSTS = (WHEEL_HOST, FILE_HOST)


def tag(python: str, platform: str = "manylinux_2_28_x86_64") -> str:
    cpython = f"cp{python.replace('.', '')}"
    return f"{cpython}-{cpython}-{platform}"


def wheel_host(*, hashes: bool = True) -> WheelHost:
    """Builds as the table has them, and other people's packages in absurd versions."""
    host = WheelHost(hashes=hashes)
    for torch, vision in (("2.14.1", "0.29.1"), ("2.7.1", "0.22.1")):
        for python in (OWN, OTHER):
            for platform in ("manylinux_2_28_x86_64", "win_amd64"):
                needs = ("filelock", 'triton==3.8.0; platform_system == "Linux"')
                host.add("cu126", TinyWheel("torch", f"{torch}+cu126", tag(python, platform), needs))
                host.add("cu126", TinyWheel("torchvision", f"{vision}+cu126", tag(python, platform), ("numpy",)))
    for python in (OWN, OTHER):
        host.add("cu126", TinyWheel("triton", "3.8.0", tag(python), files={"triton/here.py": "wheel_host = True\n"}))
        host.add("cu126", TinyWheel("torchcodec", "0.13.0+cu126", tag(python), ("torch",)))
    host.add("cu126", TinyWheel("numpy", "9999.0.0"), TinyWheel("filelock", "9999.0.0"))
    return host


def users_index() -> SimpleIndex:
    """The default index as a user sees it, with torch builds of its own without a label."""
    return SimpleIndex(
        *(TinyWheel("numpy", "2.0.0", tag(python)) for python in (OWN, OTHER)),
        TinyWheel("numpy", "1.9.0", tag(OWN, "win_amd64")),
        TinyWheel("numpy", "1.9.0", tag(OTHER, "win_amd64")),
        TinyWheel("filelock", "3.20.0"),
        *(TinyWheel("triton", "3.8.0", tag(python)) for python in (OWN, OTHER)),
        TinyWheel("torch", "2.15.0", tag(OWN), ("filelock",)),
        TinyWheel("torch", "2.14.1", tag(OWN), ("filelock",)),
        TinyWheel("torchcodec", "0.13.0", tag(OWN), ("torch",)),
        TinyWheel("mylib", "1.0", requires=("torch>=2.5", 'torch<2.8; extra == "nvidia-old"'), extras=("nvidia-old",)),
    )


class Flipping:
    """A site whose wheels of one name come with a byte that is another."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.name = ""

    def __call__(self, path: str) -> Answer:
        answer = self.site(path)
        if self.name and answer.status == 200 and path.endswith(".whl") and f"/{self.name}-" in path:
            place = 10  # the time of the first member: the archive is as good as before, and only its hash is another
            body = answer.body[:place] + bytes([answer.body[place] ^ 1]) + answer.body[place + 1 :]
            return answer._replace(body=body)
        return answer


class World:
    """The servers of one test and an environment whose only way out leads to them."""

    def __init__(self, folder: Path, server: Loopback, authority: Authority, installers: Installers) -> None:
        self.folder, self.server, self.installers = folder, server, installers
        (folder / "home").mkdir()
        self.environ = {
            "PATH": "/usr/bin:/bin",
            **usersettings.nothing(folder),
            "UV": installers.uv,
            "HTTPS_PROXY": server.url,
            "HTTP_PROXY": server.url,
            "NO_PROXY": "127.0.0.1",
            "SSL_CERT_FILE": str(authority.certificate),
            "PIP_CERT": str(authority.certificate),
            "PIP_INDEX_URL": f"{server.url}/simple/",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_CACHE_DIR": "1",
            "UV_DEFAULT_INDEX": f"{server.url}/simple/",
            "UV_CACHE_DIR": str(folder / "uv-cache"),
            "UV_PYTHON_DOWNLOADS": "never",
            "TORCHPICK_CACHE_DIR": str(folder / "cache"),
            "PYTHONPATH": str(SOURCE),
        }

    def run(self, *words: object, status: int | None = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [str(word) for word in words],
            env=self.environ,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert status is None or done.returncode == status, f"{words}\n{done.stdout}\n{done.stderr}"
        return done

    def lock(self, *words: str, status: int | None = 0) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "-m", "torchpick", "lock", *words, status=status)

    def locked(self, *words: str) -> dict[str, dict[str, object]]:
        """The packages of the lock that these words make, by name."""
        answer = json.loads(self.lock(*words, "--json").stdout)
        assert envelope.faults(answer) == []
        return {package["name"]: package for package in answer["lock"]["packages"]}

    def install(
        self, tool: str, lock: str = "pylock.torch.toml", *, status: int | None = 0
    ) -> tuple[str, dict[str, str]]:
        """What the tool says and what it installs from the lock into a fresh environment; no index is named to it."""
        python = self.installers.environment(self.folder / f"venv-{tool}", "uv")
        nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple"}
        self.environ.update(nowhere)
        if tool == "uv":
            cache = ("--cache-dir", self.folder / "fresh-cache")
            done = self.run(self.installers.uv, "pip", "install", "--python", python, *cache, "-r", lock, status=status)
        else:
            self.environ["PYTHONPATH"] = str(
                self.installers.pips["pip"]
            )  # quicker than a copy of it in the environment
            done = self.run(python, "-m", "pip", "install", "-r", lock, status=status)
            self.environ["PYTHONPATH"] = str(SOURCE)
        (site,) = (python.parent.parent / "lib").glob("python*/site-packages")
        found = (path.name.removesuffix(".dist-info").partition("-") for path in site.glob("*.dist-info"))
        return done.stderr, {name: version for name, _, version in found if name not in ("pip", "setuptools")}


@pytest.fixture(scope="session")
def installers(tmp_path_factory: pytest.TempPathFactory) -> Installers:
    """A pip that reads locks: the one that is here where it is new enough, else the newest; so too with uv.

    It is made before any test's environment is cleared, so that the user's own index is asked.
    """
    shared = tmp_path_factory.getbasetemp() / "lock-installers"
    shared.mkdir(exist_ok=True)
    here, uv = Path(pip.__file__).parent, shutil.which("uv") or Path(sys.executable).with_name("uv")
    if int(pip.__version__.partition(".")[0]) * 100 + int(pip.__version__.split(".")[1]) >= 2601 and Path(uv).exists():
        for folder in (here, *here.parent.glob("pip-*.dist-info")):
            shutil.copytree(folder, shared / "pip" / folder.name, dirs_exist_ok=True)
        return Installers(str(uv), {"pip": shared / "pip"})
    return fetched(shared)


@pytest.fixture
def flipping() -> Flipping:
    return Flipping(wheel_host())


@pytest.fixture
def world(tmp_path: Path, authority: Authority, installers: Installers, flipping: Flipping) -> Iterator[World]:
    sites: Mapping[str, Site] = {WHEEL_HOST: flipping, FILE_HOST: flipping, "127.0.0.1": users_index()}
    with Loopback(sites, authority.tls).running() as server:
        yield World(tmp_path, server, authority, installers)


def urls(package: Mapping[str, object]) -> list[str]:
    files = package["files"]
    assert isinstance(files, list)
    assert all(len(file["sha256"]) == 64 for file in files)
    return [file["url"] for file in files]


@pytest.mark.parametrize("resolver", TOOLS)
def test_a_lock_of_either_resolver_installs_with_both_tools(world: World, resolver: str) -> None:
    done = world.lock("torch", "torchvision", *GTX_1080_TI, "--installer", resolver, "-o", "pylock.torch.toml")

    assert done.stdout == "pylock.torch.toml\n"
    expected = {
        "torch": "2.14.1+cu126",
        "torchvision": "0.29.1+cu126",
        "triton": "3.8.0",
        "numpy": "2.0.0",
        "filelock": "3.20.0",
    }
    for tool in TOOLS:
        world.server.log.clear()
        _, found = world.install(tool)
        assert found == expected
        family = {asked.path.rpartition("/")[2].partition("-")[0] for asked in world.server.log if asked.host in HOSTS}
        assert family == {"torch", "torchvision", "triton"}
        assert not [asked for asked in world.server.log if asked.path.endswith("/")], "an index was asked"


@pytest.mark.parametrize("resolver", TOOLS)
def test_the_family_comes_from_the_wheel_host_and_all_else_from_the_users_index(world: World, resolver: str) -> None:
    found = world.locked("torch", "torchcodec", "numpy", *GTX_1080_TI, "--installer", resolver)

    assert found["torchcodec"]["version"] == "0.13.0+cu126"
    for name, package in found.items():
        (url,) = urls(package)
        assert is_wheel_host(url) == (name in ("torch", "torchcodec", "triton")), url


@pytest.mark.parametrize("tool", TOOLS)
def test_a_flipped_byte_in_a_wheel_is_refused(world: World, flipping: Flipping, tool: str) -> None:
    world.lock("torch", *GTX_1080_TI)
    flipping.name = "torch"

    said, found = world.install(tool, status=None)

    assert "torch" not in found
    assert "hash" in said.lower()


@pytest.mark.parametrize("resolver", TOOLS)
def test_a_hash_that_the_page_lacks_is_an_error_that_names_the_file_and_its_address(
    world: World, flipping: Flipping, resolver: str
) -> None:
    flipping.site = wheel_host(hashes=False)

    done = world.lock("torch", *GTX_1080_TI, "--installer", resolver, status=1)

    said = f"no index gives a sha256 for https://download-r2.pytorch.org/whl/cu126/torch-2.14.1%2Bcu126-{tag(OWN)}.whl"
    assert said in done.stderr
    assert not (world.folder / "pylock.torch.toml").exists()
    assert not whole_wheels(world)


def test_a_build_without_a_label_is_the_wheel_hosts_and_not_another_indexs(world: World, flipping: Flipping) -> None:
    host, index = flipping.site, world.server.sites["127.0.0.1"]
    assert isinstance(host, WheelHost)
    assert isinstance(index, SimpleIndex)
    host.add("cu124", TinyWheel("torch", "2.5.1", tag("3.12", "linux_aarch64"), ("filelock",)))
    index.add(TinyWheel("torch", "2.5.1", tag("3.12", "manylinux2014_aarch64"), ("numpy",)))
    gh200 = ("--gpu", "sm_90", "--driver", "560.28.03", "--platform", "linux-aarch64", "--python", "3.12")

    found = world.locked("torch==2.5.1", "--backend", "cu124", *gh200)

    assert set(found) == {"torch", "filelock"}, "the other build's needs"
    assert is_wheel_host(urls(found["torch"])[0])
    assert found["torch"]["version"] == "2.5.1"


@uv_and_later_pip("resolver")
def test_the_default_indexs_own_torch_is_locked_from_the_users_index(world: World, resolver: str) -> None:
    index = world.server.sites["127.0.0.1"]
    assert isinstance(index, SimpleIndex)
    index.add(
        # No file of this name was read for the table, which would tell it from a real one.
        TinyWheel("torch", "2.7.1", tag(OWN, "manylinux_2_27_x86_64"), ("filelock",)),
        TinyWheel("torchvision", "0.22.1", tag(OWN), ("torch==2.7.1",)),
    )
    words = ("torch", "torchvision", "mylib", "--backend", "default", *GTX_1080_TI)

    found = world.locked(*words, "--installer", resolver)

    versions = {name: package["version"] for name, package in found.items()}
    assert versions == {"torch": "2.7.1", "torchvision": "0.22.1", "filelock": "3.20.0", "mylib": "1.0"}
    assert all(url.startswith(world.server.url) for package in found.values() for url in urls(package))
    assert world.install(resolver)[1] == versions
    assert not [asked for asked in world.server.log if asked.host in HOSTS]


def test_a_wheel_named_by_another_of_the_hosts_names_needs_no_download(world: World) -> None:
    url = f"https://{WHEEL_HOST}/whl/cu126/torch-2.14.1%2Bcu126-{tag(OWN)}.whl"

    found = world.locked(f"torch @ {url}", *GTX_1080_TI, "--installer", "pip")

    assert urls(found["torch"]) == [url]
    assert not whole_wheels(world)
    assert world.install("pip")[1]["torch"] == "2.14.1+cu126"


def whole_wheels(world: World) -> list[str]:
    return [
        each.path
        for each in world.server.log
        if (each.method, each.status) == ("GET", 200) and each.path.endswith(".whl")
    ]


def test_nor_where_they_do_not_tell_of_metadata_beside_the_wheel(world: World, flipping: Flipping) -> None:
    host = flipping.site

    def bare(path: str) -> Answer:
        answer = host(path)
        return (
            answer._replace(body=re.sub(rb' data-[a-z-]+="[^"]*"', b"", answer.body)) if path.endswith("/") else answer
        )

    flipping.site = bare
    world.lock("torch", *GTX_1080_TI, "--installer", "pip")

    assert not [path for path in whole_wheels(world) if "torch-" in path]


def test_a_lock_is_refused_in_an_environment_it_is_not_for(world: World) -> None:
    world.lock("torch", "--platform", "windows-x86_64", "--python", OWN, *GTX_1080_TI)

    for tool in TOOLS:
        said, installed = world.install(tool, status=None)
        assert installed == {}
        assert "environments specified" in said or "target environment is not supported" in said


def test_a_folder_of_wheels_is_a_mirror_and_needs_no_network(world: World, flipping: Flipping) -> None:
    shelf = world.folder / "mirror" / "cu126"
    shelf.mkdir(parents=True)
    host = flipping.site
    assert isinstance(host, WheelHost)
    for (_, name), wheels in host.wheels.items():
        for wheel in wheels if name in ("torch", "triton") else ():
            (shelf / wheel.filename).write_bytes(wheel.content)
    (shelf / TinyWheel("filelock", "3.20.0").filename).write_bytes(TinyWheel("filelock", "3.20.0").content)
    base = shelf.parent.as_uri()

    for tool in TOOLS:
        found = world.locked("torch", *GTX_1080_TI, "--index-base", base, "--installer", tool)
        assert urls(found["torch"])[0].startswith(f"{base}/cu126/torch-2.14.1")
        _, installed = world.install(tool)
        assert installed["torch"] == "2.14.1+cu126"
        world.environ.update(
            PIP_INDEX_URL=f"{world.server.url}/simple/", UV_DEFAULT_INDEX=f"{world.server.url}/simple/"
        )


def test_a_second_lock_is_the_same_to_the_byte(world: World) -> None:
    world.lock("torch", *GTX_1080_TI)
    first = (world.folder / "pylock.torch.toml").read_bytes()
    world.lock("torch", *GTX_1080_TI)

    assert (world.folder / "pylock.torch.toml").read_bytes() == first
