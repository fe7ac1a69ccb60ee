"""A terminal for the pages, before stand-ins for the wheel host and for a user's own index."""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import usersettings
from tests.fakes import venvs
from tests.fakes.indexes import FILE_HOST, WHEEL_HOST, SimpleIndex, WheelHost, of_table
from tests.fakes.loopback import Authority, Loopback
from tests.fakes.tinywheel import TinyWheel
from tests.process.docs.terminal import Terminal

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
TAG = f"cp3{sys.version_info[1]}-cp3{sys.version_info[1]}-manylinux_2_28_x86_64"
UV = shutil.which("uv", path=f"{usersettings.ORIGINAL.get('PATH', '')}:{Path(sys.executable).parent}")

Opened = Callable[..., Terminal]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What a page prints (paths, platform, C library) is that of Linux on x86-64."""
    linux = sys.platform == "linux" and platform.machine() == "x86_64"
    able = linux and shutil.which("bash") and shutil.which("openssl") and not usersettings.binding()
    for item in items:
        if Path(str(item.path)).parent == HERE:
            item.add_marker(pytest.mark.process)
            if not able:
                item.add_marker(
                    pytest.mark.skip("the pages need Linux on x86-64, bash, openssl and an empty /etc/pip.conf")
                )


@pytest.fixture(scope="session")
def server(authority: Authority) -> Iterator[Loopback]:
    """The wheel host under its own names, and the user's own index, which also holds the default index's torch."""
    host = WheelHost()
    for torch, vision, backends in (
        ("2.15.0", "0.29.2", ("cu132", "cpu")),
        ("2.14.1", "0.29.1", ("cu126", "cu130", "cpu")),
        ("2.7.1", "0.22.1", ("cu126", "cpu")),
    ):
        for backend in backends:
            host.add(backend, TinyWheel("torch", f"{torch}+{backend}", TAG, ("filelock",)))
            host.add(backend, TinyWheel("torchvision", f"{vision}+{backend}", TAG, (f"torch=={torch}",)))
    for backend in ("cpu", "cu126"):
        host.add(backend, TinyWheel("filelock", "3.20.0"))  # it also holds what torch needs
    for name, version in (("torch", "2.10.0"), ("torchvision", "0.25.0"), ("torchaudio", "2.10.0")):  # an image's
        host.add("cu128", TinyWheel(name, f"{version}+cu128", "cp312-cp312-manylinux_2_28_x86_64"))
    index = SimpleIndex(
        TinyWheel("filelock", "3.20.0"),
        TinyWheel("numpy", "2.4.0"),
        TinyWheel("torch", "2.15.0", TAG, ("filelock",)),
        TinyWheel("accelerate", "1.12.0", requires=("torch>=2.0", "numpy")),
        TinyWheel(
            "mylib",
            "1.0",
            requires=("torch>=2.5", 'torch<2.8; extra == "nvidia-old"', 'torch>=2.15; extra == "new"'),
            extras=("nvidia-old", "new"),
        ),
        *of_table("vllm", "flashinfer-python", "humming-kernels", "nvidia-cutlass-dsl", "torchcodec"),
    )
    with Loopback({WHEEL_HOST: host, FILE_HOST: host, "127.0.0.1": index}, authority.tls).running() as running:
        yield running


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with pip, made once."""
    made = tmp_path_factory.mktemp("template") / "venv"
    venvs.with_pip(made)
    return made


@pytest.fixture
def opened(tmp_path: Path, server: Loopback, authority: Authority, template: Path) -> Opened:
    """Opens a terminal with more variables; pip, uv and torchpick in it reach the stand-ins and nothing else."""
    index = f"{server.url}/simple/"
    variables = {
        "HTTPS_PROXY": server.url, "SSL_CERT_FILE": str(authority.certificate),
        "PIP_CERT": str(authority.certificate), "PIP_INDEX_URL": index, "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_CACHE_DIR": "1", "UV_NO_CACHE": "1", "UV_PYTHON_DOWNLOADS": "never",
    }  # fmt: skip

    def terminal(**more: str) -> Terminal:
        found = Terminal(tmp_path, ROOT / "src", {**variables, **more}, template)
        if UV:
            found.command("uv", UV)
        return found

    return terminal
