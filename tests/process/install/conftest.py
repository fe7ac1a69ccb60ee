"""A world on loopback: the wheel host under its own names, a user's index and a private one, environments to fill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests import usersettings
from tests.fakes.indexes import FILE_HOST, WHEEL_HOST, SimpleIndex, WheelHost, table_without_hashes
from tests.fakes.loopback import Authority, Loopback, Site
from tests.fakes.tinywheel import TinyWheel
from tests.process.install.installers import NAMES, NEWEST, OLD, Installers, fetched

SOURCE = Path(__file__).parents[3] / "src"
TAG = f"cp3{sys.version_info[1]}-cp3{sys.version_info[1]}-manylinux_2_28_x86_64"
GTX_1080_TI = ("--gpu", "sm_61", "--driver", "580.95.05")
# Releases as the table has them: torch, its torchvision, the backends it is published for.
RELEASES = (
    ("2.14.1", "0.29.1", ("cu126", "cu130", "cpu")),
    ("2.9.1", "0.24.1", ("cu126", "cu128", "cu130", "cpu")),
    ("2.7.1", "0.22.1", ("cu126", "cu128", "cpu")),
)
FAMILY = ("torch", "torchvision", "torchaudio", "torchcodec", "triton")
CUDA = {"cu126": "12.6", "cu128": "12.8", "cu130": "13.0"}
# uv's index settings make it uv; without them an environment with pip is pip's.
VARIABLES: dict[str, Mapping[str, str]] = {"uv": {}, "pip": {"UV_DEFAULT_INDEX": ""}}
# The triton that each of them requires.
TRITON = {"2.14.1": "3.8.0", "2.9.1": "3.5.1", "2.7.1": "3.3.1"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(str(item.path)).parent == Path(__file__).parent:
            item.add_marker(pytest.mark.process)
            item.add_marker(pytest.mark.network)


@pytest.fixture(scope="session")
def installers(tmp_path_factory: pytest.TempPathFactory) -> Installers:
    """From the user's own index."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "installers"
    shared.mkdir(exist_ok=True)
    return fetched(shared)


def wheel_host(**options: bool) -> WheelHost:
    """The wheel host with shadow copies of other people's packages in absurd versions."""
    host = WheelHost(hashes=options.get("hashes", True), dates=options.get("dates", False))
    for torch, vision, backends in RELEASES:
        for backend in backends:
            host.add(
                backend,
                TinyWheel("torch", f"{torch}+{backend}", TAG, ("filelock", f"triton=={TRITON[torch]}")),
                TinyWheel("torchvision", f"{vision}+{backend}", TAG, (f"torch=={torch}", "numpy")),
            )
    for backend in ("cu126", "cu128", "cu130", "cpu"):
        host.add(
            backend, *(TinyWheel("triton", version, TAG) for version in TRITON.values()),
            TinyWheel("torchcodec", f"0.13.0+{backend}", TAG, ("torch",)), TinyWheel("numpy", "9999.0.0"),
            TinyWheel("filelock", "9999.0.0"),
        )  # fmt: skip
    return host


def users_index() -> SimpleIndex:
    """The default index as a user sees it: everybody's packages, and torch builds of its own without a label."""
    return SimpleIndex(
        TinyWheel("numpy", "2.0.0"),
        TinyWheel("filelock", "3.20.0"),
        *(TinyWheel("triton", version, TAG) for version in TRITON.values()),
        TinyWheel("torch", "2.15.0", TAG, ("filelock",)), TinyWheel("torch", "2.14.1", TAG, ("filelock",)),
        # Not by the name of a wheel whose hash the table has.
        TinyWheel("torch", "2.7.1", TAG.replace("2_28", "2_27"), ("filelock",)),
        TinyWheel("torchvision", "0.29.2", TAG, ("torch==2.15.0",)),
        TinyWheel("torchcodec", "0.13.0", TAG, ("torch",)), TinyWheel("torchcodec", "0.17.0", TAG, ("torch",)),
        TinyWheel("accelerate", "1.0", requires=("torch>=2.0", "numpy")),
        TinyWheel(
            "mylib",
            "1.0",
            requires=(
                "torch>=2.5", 'torch<2.8; extra == "nvidia-old"', 'torch==2.9.1+cu126; extra == "cu126"',
                'torch>=2.15; extra == "new"',
            ),
            extras=("nvidia-old", "cu126", "new"),
        ),
    )  # fmt: skip


class World:
    """The servers of one test, an environment's variables that lead to them, and who gave what."""

    def __init__(self, folder: Path, server: Loopback, authority: Authority, installers: Installers) -> None:
        self.folder = folder
        self.server = server
        self.installers = installers
        self.started: list[subprocess.Popen[str]] = []
        self.home = folder / "home"
        self.index = f"{server.url}/simple/"
        self.private = f"http://localhost:{server.server_port}/simple/"
        self.environ = {
            "PATH": "/usr/bin:/bin",
            **usersettings.nothing(folder),
            "UV": installers.uv, "HTTPS_PROXY": server.url, "SSL_CERT_FILE": str(authority.certificate),
            "PIP_CERT": str(authority.certificate), "PIP_INDEX_URL": self.index, "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_CACHE_DIR": str(folder / "pip-cache"), "UV_DEFAULT_INDEX": self.index,
            "UV_CACHE_DIR": str(folder / "uv-cache"), "UV_PYTHON_DOWNLOADS": "never",
            "TORCHPICK_CACHE_DIR": str(folder / "cache"), "TORCHPICK_COMPAT_DIR": str(table_without_hashes(folder)),
            "PYTHONPATH": str(SOURCE),
        }  # fmt: skip

    @property
    def torchpick_words(self) -> list[str]:
        return [sys.executable, "-m", "torchpick"]

    @property
    def torchpick_without_its_uv(self) -> list[str]:
        """Where uv is no package beside torchpick, so that $UV counts."""
        code = "import sys; sys.modules['uv'] = None; from torchpick.cli import main; raise SystemExit(main())"
        return [sys.executable, "-c", code]

    def environment(self, name: str, *installed: str) -> Path:
        """A fresh virtual environment for the named installer, with these requirements in it; its interpreter."""
        python = self.installers.environment(self.folder / f"venv-{name}", name)
        if installed:
            backend = installed[0].rpartition("+")[2]
            self.run(
                [self.installers.uv, "pip", "install", "--python", python, "--torch-backend", backend, *installed],
                status=0,
            )
        self.server.log.clear()
        return python

    def torchpick(
        self, *words: str, python: Path | None = None, status: int | None = 0, environ: Mapping[str, str] = {}
    ) -> subprocess.CompletedProcess[str]:
        told = () if python is None else ("--python", str(python))
        return self.run([*self.torchpick_words, *words, *told], status=status, environ=environ)

    def install(
        self,
        *words: str,
        python: Path,
        status: int | None = 0,
        environ: Mapping[str, str] = {},
        gpu: tuple[str, ...] = GTX_1080_TI,
    ) -> subprocess.CompletedProcess[str]:
        passed_on = words.index("--") if "--" in words else len(words)
        line = ("install", *words[:passed_on], *gpu, "--python", str(python), *words[passed_on:])
        return self.torchpick(*line, status=status, environ=environ)

    def run(
        self,
        command: Sequence[object],
        *,
        status: int | None = 0,
        environ: Mapping[str, str] = {},
        cwd: Path | None = None,
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [str(word) for word in command], env={**self.environ, **environ}, cwd=cwd or self.folder,
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr, done.stderr
        if status is not None:
            assert done.returncode == status, f"{command}\n{done.stdout}\n{done.stderr}"
        return done

    def installed(self, python: Path) -> dict[str, str]:
        """What is in the environment, by the names of its metadata folders."""
        (site,) = (python.parent.parent / "lib").glob("python*/site-packages")
        found = (path.name.removesuffix(".dist-info").partition("-") for path in site.glob("*.dist-info"))
        return {name.replace("_", "-"): version for name, _, version in found if name not in ("pip", "setuptools")}

    def sources(self) -> dict[str, set[str]]:
        """Every project whose file was sent, and by which host."""
        names = {"127.0.0.1": "user", "localhost": "private", WHEEL_HOST: "wheel host", FILE_HOST: "wheel host"}
        found: dict[str, set[str]] = {}
        for asked in self.server.log:
            if asked.path.endswith(".whl") and asked.status in (200, 206):
                project = asked.path.rpartition("/")[2].partition("-")[0].replace("_", "-")
                found.setdefault(project, set()).add(names[asked.host])
        return found

    def wheels(self, host: str) -> Any:
        """What a site holds, to look up or change."""
        return self.server.sites[host].wheels  # type: ignore[attr-defined]  # both kinds of index have it

    def pages(self) -> list[str]:
        """The pages that the wheel host was asked for."""
        return [asked.path for asked in self.server.log if asked.host == WHEEL_HOST and asked.path.endswith("/")]

    def family_is_at_home(self, *, triton: bool = True) -> None:
        """Torch's own come only from the wheel host, and so does `triton` but where it has no address."""
        for project, hosts in self.sources().items():
            if project == "triton" and not triton:  # the same file on both: where no address is known, either
                assert hosts <= {"wheel host", "user"}, hosts
            elif project in FAMILY:
                assert hosts == {"wheel host"}, (project, hosts)

    def family_is_clean(self, *, triton: bool = True) -> None:
        """Nor does anything else come from there, where no setting of the user's names it."""
        self.family_is_at_home(triton=triton)
        for project, hosts in self.sources().items():
            assert project in FAMILY or "wheel host" not in hosts, (project, hosts)


@pytest.fixture
def world(tmp_path: Path, authority: Authority, installers: Installers) -> Iterator[World]:
    host = wheel_host()
    sites: dict[str, Site] = {
        WHEEL_HOST: host, FILE_HOST: host, "127.0.0.1": users_index(),
        "localhost": SimpleIndex(TinyWheel("inhouse", "3.1", requires=("torch>=2.0",)), TinyWheel("numpy", "1.0.0")),
    }  # fmt: skip
    with Loopback(sites, authority.tls).running() as server:
        made = World(tmp_path, server, authority, installers)
        yield made
        for child in made.started:  # of a test that failed
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.communicate()


@pytest.fixture
def host(world: World) -> World:
    """Wheels with the files by which a torch and its companions say what they are."""
    shelves = world.wheels("download.pytorch.org")
    for (backend, name), wheels in shelves.items():
        for place, wheel in enumerate(wheels):
            if name in ("torch", "torchvision"):
                cuda = CUDA.get(backend)
                files = {
                    f"{name}/version.py": f"__version__ = '{wheel.version}'\ncuda = {cuda!r}\n",
                    f"{name}/nn/__init__.py": "",
                }
                wheels[place] = wheel._replace(files=files)
    return world


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.long if name in OLD else ()) for name in NAMES])
def installer(request: pytest.FixtureRequest) -> str:
    """Uv and the newest pip; the oldest too where there is time."""
    return str(request.param)


@pytest.fixture(params=NEWEST)
def newest(request: pytest.FixtureRequest) -> str:
    """Uv and the newest pip, where the oldest does nothing else."""
    return str(request.param)
