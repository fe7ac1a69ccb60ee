"""`torchpick detect` as a process of its own, with stand-in libraries on LD_LIBRARY_PATH."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import torchpick
from tests.fakes.nvidia import Fakes, gpu
from torchpick.environment.world import World
from torchpick.machine import kernel

_FACTS = kernel.read_kernel(World.here())
pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(bool(_FACTS.nvidia or _FACTS.nodes), reason="this computer has an NVIDIA GPU of its own"),
]

SOURCE = str(Path(torchpick.__file__).parents[1])
KEPT = ("PATH", "HOME", "LANG", "TMPDIR")


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler to make the stand-in libraries with")
    fakes = Fakes(tmp_path_factory.mktemp("compiled"))
    folder = tmp_path_factory.mktemp("libraries")
    for name in ("libnvidia-ml", "libcuda"):
        shutil.copy(fakes.get(name), folder / f"{name}.so.1")
    return folder


def environ(libraries: Path | None, said: str = "", **more: str) -> dict[str, str]:
    told = {name: value for name, value in os.environ.items() if name in KEPT}
    told["PYTHONPATH"] = SOURCE
    if libraries is not None:
        config = libraries / "fake.conf"
        config.write_text(said + "\n", "utf-8")
        told |= {"LD_LIBRARY_PATH": str(libraries), "FAKE_NVIDIA": str(config)}
    return {**told, **more}


def run(*words: str, env: dict[str, str], **more: object) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-W", "error", "-m", *words]
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=False, **more)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize(
    ("act", "source", "note"),
    [
        ("none", "nvml", None), ("print", "nvml", None), ("segv", "cuda", "NVML_CRASHED"),
        ("exit", "cuda", "NVML_SILENT"), ("hang", "cuda", "NVML_HANGS"),
    ],
)  # fmt: skip
def test_however_nvml_behaves_the_output_is_clean(libraries: Path, act: str, source: str, note: str | None) -> None:
    env = environ(libraries, f"nvml.act {act}\n{gpu(1, '6.1')}", TORCHPICK_DETECT_TIMEOUT="3")
    began = time.monotonic()
    done = run("torchpick", "detect", "--json", env=env)
    assert time.monotonic() - began < 30  # a library that hangs does so for ever
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    assert [(each["arch"], each["source"]) for each in told["machine"]["gpus"]] == [("sm_61", source)]
    codes = [each["code"] for each in told["machine"]["notes"]]
    assert codes == ([note] if note else [])


def test_no_answer_is_exit_4_with_the_reason(libraries: Path) -> None:
    env = environ(libraries, "nvml.init 18\ncuda.init 803")
    done = run("torchpick", "detect", "--json", env=env)
    told = json.loads(done.stdout)
    assert (done.returncode, done.stderr, told["status"], told["exit"]) == (4, "", "no_answer", 4)
    assert told["error"]["code"] == "DRIVER_MISMATCH"
    assert "reboot" in told["error"]["hint"]
    assert told["machine"]["trouble"]["code"] == "DRIVER_MISMATCH"
    url = run("torchpick", "url", env=env)
    assert (url.returncode, url.stdout) == (4, "--no-index torch==0+no.build.runs.here\n")
    spoken = run("torchpick", "detect", env=env)
    assert spoken.returncode == 4
    assert spoken.stderr.startswith("error: ")
    assert "platform" in spoken.stdout


PROBE = """
import sys
from torchpick.cli import main
status = main({words})
heavy = ["ctypes", "pynvml", "pathlib", "httpx", "packaging", "tempfile", "logging", "socket"]
heavy += ["subprocess"] * (sys.version_info >= (3, 11))  # before, the library's own `platform` loads it
print(sorted(set(heavy) & set(sys.modules)), file=sys.stderr)
raise SystemExit(status)
"""


@pytest.mark.parametrize("words", [["detect"], ["detect", "--gpu", "sm_61"]])
@pytest.mark.parametrize("with_driver", [True, False])
def test_what_the_parent_imports(libraries: Path, with_driver: bool, words: list[str]) -> None:
    """Whatever loads a driver library, or is dear to import, stays in the child."""
    code = PROBE.format(words=[*words, "--json"])
    env = environ(libraries if with_driver else None, gpu(1, "8.9"))
    # -S: what the environment's .pth files import is not ours.
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == "[]\n"


def test_a_missing_stdin_and_stdout_harm_nothing(libraries: Path) -> None:
    """Started with its standard streams closed, as some service managers do."""
    env = environ(libraries, gpu(1, "8.9"))
    out = libraries / "out.json"
    shell = f"exec <&- 2>&-; exec {sys.executable} -m torchpick detect --json > {out}"
    assert subprocess.run(["/bin/sh", "-c", shell], env=env, timeout=60, check=False).returncode == 0
    assert [each["arch"] for each in json.loads(out.read_text("utf-8"))["machine"]["gpus"]] == ["sm_89"]


def below(pid: int) -> Iterator[int]:
    """What a process has started, and what that has."""
    for child in map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split()):
        yield child
        yield from below(child)


def descendants_with(library: str, pid: int) -> list[int]:
    """The process's descendants, once one of them has loaded the library."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with suppress(OSError):  # one of them has just ended
            descendants = [*below(pid)]
            if any(library in Path(f"/proc/{each}/maps").read_text("utf-8") for each in descendants):
                return descendants
        time.sleep(0.01)
    raise AssertionError(f"no descendant has loaded {library}")


def test_an_interrupt_leaves_no_child(libraries: Path) -> None:
    env = environ(libraries, "nvml.act hang\ncuda.act hang")
    argv = [sys.executable, "-m", "torchpick", "detect"]
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        descendants = descendants_with("libnvidia-ml.so.1", process.pid)
        process.send_signal(2)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    until = time.monotonic() + 30
    while any(Path(f"/proc/{each}").exists() for each in descendants):
        assert time.monotonic() < until
        time.sleep(0.01)
