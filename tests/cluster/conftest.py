"""A real Ray cluster on loopback, for the long tests; RAY_PYTHON names a Python that has Ray, else it is fetched."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import usersettings
from tests.fakes import venvs

# Without the second Ray takes 127.0.0.1 for the machine's own address (services.py, resolve_ip_for_localhost), and its
# head would run the tasks of whoever reaches that.
RAY_ENVIRON = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
# What torchpick needs where Ray runs its tasks.
_PACKAGES = ("ray", "httpx", "packaging")


class RayCluster(NamedTuple):
    """The Python that has Ray, and the address of its head node."""

    python: str
    address: str


@pytest.fixture(scope="session")
def ray_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    if named := os.environ.get("RAY_PYTHON"):
        return named
    python = venvs.with_pip(tmp_path_factory.mktemp("ray"))
    words = ["-m", "pip", "install", "--quiet", "--only-binary=:all:", *_PACKAGES]
    done = subprocess.run(
        [str(python), *words], env=usersettings.fetching(), capture_output=True, text=True, timeout=300, check=False
    )
    if "No matching distribution" in done.stderr:
        pytest.skip("ray: no wheel for this Python")
    if done.returncode:
        pytest.skip("the package index does not answer")
    return str(python)


@pytest.fixture(scope="package")  # and ended with it: it takes some of the processor all the time
def ray_cluster(ray_python: str) -> Iterator[RayCluster]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    ray = str(Path(ray_python).parent / "ray")
    env = {**os.environ, **RAY_ENVIRON}
    words = ["--head", "--node-ip-address=127.0.0.1", f"--port={address.partition(':')[2]}", "--num-cpus=2"]
    # It stays in the foreground, so that only this cluster ends here: `ray stop` ends every one of the computer.
    head = subprocess.Popen(
        [ray, "start", *words, "--include-dashboard=false", "--block"], env=env, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        over = time.monotonic() + 120
        status = [ray, "status", f"--address={address}"]
        while subprocess.run(status, env=env, capture_output=True, check=False).returncode:
            assert head.poll() is None, "the cluster ended"
            assert time.monotonic() < over, "the cluster did not start"
        yield RayCluster(ray_python, address)
    finally:
        head.terminate()
        with suppress(subprocess.TimeoutExpired):
            head.wait(30)
        with suppress(ProcessLookupError):
            os.killpg(head.pid, signal.SIGKILL)
