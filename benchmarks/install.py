"""How long an installation takes beside `uv pip install torch torchvision --torch-backend=auto`, and what it asks for.

    python benchmarks/install.py

Both ask the same stand-in for the wheel host on loopback, with cold caches and fresh environments, in interleaved
rounds. The aims: at most 4 index pages with uv and none with pip; less wall time; and up to the start of the installer
at most 6 bare interpreters over `torchpick url`.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import interleaved
from tests.fakes.indexes import FILE_HOST, WHEEL_HOST, SimpleIndex, WheelHost
from tests.fakes.loopback import Authority, Loopback, Site
from tests.fakes.tinywheel import TinyWheel

TAG = f"cp3{sys.version_info[1]}-cp3{sys.version_info[1]}-manylinux_2_28_x86_64"
GPU = ("--gpu", "sm_61", "--driver", "580.95.05")
# The driver that uv is made to see; it asks for the driver alone.
DRIVER = {"UV_CUDA_DRIVER_VERSION": "580.95.05"}
# A usual way to a content network and back; bare loopback takes none of the time that requests take.
ROUND_TRIP_S = 0.02
PACKAGES = ("torch", "torchvision")


def wheel_host() -> WheelHost:
    host = WheelHost()
    for backend, torch, vision in (
        ("cu132", "2.15.0", "0.29.2"),
        ("cu130", "2.15.0", "0.29.2"),
        ("cu126", "2.14.1", "0.29.1"),
    ):
        host.add(
            backend,
            TinyWheel("torch", f"{torch}+{backend}", TAG, ("filelock", "triton==3.8.0")),
            TinyWheel("torchvision", f"{vision}+{backend}", TAG, (f"torch>={torch}", "numpy")),
            TinyWheel("triton", "3.8.0", TAG),
        )
    return host


class Bench:
    """One environment with torchpick, uv and pip in it, and the servers."""

    def __init__(self, folder: Path, tools: Path, server: Loopback, authority: Authority) -> None:
        self.folder, self.tools, self.server = folder, tools, server
        self.environ = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(folder),
            "HTTPS_PROXY": server.url,
            "SSL_CERT_FILE": str(authority.certificate),
            "PIP_CERT": str(authority.certificate),
            "PIP_INDEX_URL": f"{server.url}/simple/",
            "UV_DEFAULT_INDEX": f"{server.url}/simple/",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "TORCHPICK_CACHE_DIR": str(folder / "cache"),
            **DRIVER,
        }

    def program(self, name: str) -> str:
        return str(self.tools / "bin" / name)

    def install(self, words: Sequence[str]) -> tuple[float, int]:
        """Seconds and index pages of the wheel host for one installation into a fresh environment, caches cold."""
        target, caches = self.folder / "target", self.folder / "caches"
        for each in (target, caches, self.folder / "cache"):
            shutil.rmtree(each, ignore_errors=True)
        subprocess.run([self.program("uv"), "venv", "--quiet", "--python", sys.executable, str(target)], check=True)
        environ = {**self.environ, "UV_CACHE_DIR": str(caches / "uv"), "PIP_CACHE_DIR": str(caches / "pip")}
        self.server.log.clear()
        start = time.perf_counter()
        subprocess.run(
            [*words, "--python", str(target / "bin" / "python")], env=environ, check=True, capture_output=True
        )
        took = time.perf_counter() - start
        pages = [asked for asked in self.server.log if asked.host == WHEEL_HOST and asked.path.endswith("/")]
        return took, len(pages)


def main() -> None:
    tools = interleaved.environment("uv==0.13.8")
    folder = Path(tempfile.mkdtemp(prefix="torchpick-bench-"))
    try:
        authority = Authority.make(folder, (WHEEL_HOST, FILE_HOST))
        host = wheel_host()
        user = SimpleIndex(
            TinyWheel("numpy", "2.0.0"), TinyWheel("filelock", "3.20.0"), TinyWheel("triton", "3.8.0", TAG)
        )
        sites: dict[str, Site] = {WHEEL_HOST: host, FILE_HOST: host, "127.0.0.1": user}
        for delay_s in (0.0, ROUND_TRIP_S):
            print(f"every answer after {delay_s * 1000:.0f} ms")
            with Loopback(sites, authority.tls, delay_s).running() as server:
                installations(Bench(folder, tools, server, authority))
        start_up(tools)
    finally:
        shutil.rmtree(tools)
        shutil.rmtree(folder)


def installations(bench: Bench, rounds: int = 7) -> None:
    torchpick = [bench.program("torchpick"), "install", *PACKAGES, *GPU, "--quiet", "--installer"]
    rival = "uv pip install --torch-backend=auto"
    commands = {
        rival: [bench.program("uv"), "pip", "install", *PACKAGES, "--torch-backend=auto"],
        "torchpick install --installer uv": [*torchpick, "uv"],
        "torchpick install --installer pip": [*torchpick, "pip"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    pages: dict[str, int] = {}
    for turn in range(rounds + 1):
        for name, words in commands.items():
            took, pages[name] = bench.install(words)
            if turn:
                times[name].append(took)
    medians = {name: statistics.median(each) for name, each in times.items()}
    for name, value in medians.items():
        print(
            f"{name:<44}{value / medians[rival]:6.2f} x {value * 1000:6.0f} ms {pages[name]:4} pages of the wheel host"
        )


def start_up(tools: Path) -> None:
    """Up to the start of the installer: a dry run does all of it but the start."""
    torchpick, target = str(tools / "bin" / "torchpick"), str(tools / "bin" / "python")
    os.environ["PIP_CONFIG_FILE"] = os.devnull
    dry = [torchpick, "install", "torch", "--dry-run", "--python", target, *GPU, "--installer"]
    bare = "python -c pass"
    times = interleaved.medians({
        bare: [target, "-c", "pass"],
        "torchpick url": [torchpick, "url", *GPU],
        "torchpick install torch, up to uv's start": [*dry, "uv"],
        "torchpick install torch, up to pip's start": [*dry, "pip"],
    })  # fmt: skip
    print(interleaved.table(times, bare))
    for name in ("uv", "pip"):
        over = (times[f"torchpick install torch, up to {name}'s start"] - times["torchpick url"]) / times[bare]
        print(f"{f'over torchpick url, with {name}':<44}{over:6.2f} x python -c pass")


if __name__ == "__main__":
    main()
