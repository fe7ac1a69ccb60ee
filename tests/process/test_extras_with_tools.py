"""The files of `torchpick extras` in the hands of real pip, uv and PDM, against hosts on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import documents
from tests.fakes.tinysource import TinySource
from tests.fakes.tinywheel import TinyWheel
from tests.process import tools, torches
from tests.skips import made_for_2_15
from torchpick.cli import main
from torchpick.environment import toml

pytestmark = [pytest.mark.process, made_for_2_15]

ROOT = Path(__file__).parents[2]
RELEASES = ("2.5.1", "2.7.1", "2.8.0", "2.10.0", "2.14.1", "2.15.0")


@pytest.fixture(scope="module")
def host() -> Iterator[torches.Host]:
    with torches.hosts(RELEASES) as found:
        yield found


def torchpick(*words: str) -> None:
    assert main(["extras", "--quiet", *words]) == 0


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    env = tools.plain(folder)
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)


# ---- a published library --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[torches.Host]:
    """A library as it would be published: a wheel whose metadata holds the generated extras."""
    file = tmp_path_factory.mktemp("library") / "pyproject.toml"
    file.write_text('[project]\nname = "mylib"\nrequires-python = ">=3.10"\ndependencies = ["torch>=2.5"]\n', "utf-8")
    torchpick("--for", "library", "--write", str(file))
    torchpick_extras = _extras(file)
    requires = ["torch>=2.5"]
    for name, requirements in torchpick_extras.items():
        requires += [f"{requirement} ; extra == '{name}'" for requirement in requirements]
    wheel = TinyWheel("mylib", "1.0", requires=tuple(requires), extras=tuple(torchpick_extras))
    with torches.hosts(RELEASES, wheel) as found:
        yield found


def _extras(file: Path) -> dict[str, list[str]]:
    extras: dict[str, list[str]] = toml.loads(file.read_text("utf-8"))["project"]["optional-dependencies"]
    return extras


def pip_gets(host: torches.Host, folder: Path, what: str, python: str, platform: str) -> str:
    """The torch that pip would install there, or what it says where it would install none."""
    report = folder / "report.json"
    target = ["--python-version", python, "--platform", platform, "--only-binary", ":all:", "--target", "unused"]
    command = ["install", "--dry-run", "--ignore-installed", "--report", str(report), "--index-url", host.own]
    done = run(folder, sys.executable, "-m", "pip", *command, *target, what)
    if done.returncode:
        return done.stdout + done.stderr
    installed = json.loads(report.read_text("utf-8"))["install"]
    return str(next(each["metadata"]["version"] for each in installed if each["metadata"]["name"] == "torch"))


def uv_gets(host: torches.Host, folder: Path, what: str, python: str, platform: str) -> str:
    wanted = {"manylinux_2_28_x86_64": "x86_64-manylinux_2_28", "win_amd64": "x86_64-pc-windows-msvc"}[platform]
    (folder / "wanted.in").write_text(f"{what}\n", "utf-8")
    command = ["pip", "compile", "-q", "--default-index", host.own, "--only-binary", ":all:", "--no-header"]
    target = ["--python-version", python, "--python-platform", wanted]
    done = run(folder, tools.tool("uv"), *command, *target, "wanted.in")
    if done.returncode:
        return done.stderr
    return next(line.partition("==")[2] for line in done.stdout.splitlines() if line.startswith("torch=="))


LINUX, WINDOWS = "manylinux_2_28_x86_64", "win_amd64"


@pytest.mark.parametrize("gets", [pip_gets, uv_gets])
@pytest.mark.parametrize(
    ("what", "python", "platform", "torch"),
    [
        ("mylib", "3.12", LINUX, "2.15.0"),
        ("mylib[nvidia-old]", "3.12", LINUX, "2.7.1"),
        ("mylib[nvidia-old]", "3.12", WINDOWS, "2.7.1"),
    ],
)  # fmt: skip
def test_a_published_library_behaves_as_its_comments_say(
    library: torches.Host, tmp_path: Path, gets: object, what: str, python: str, platform: str, torch: str
) -> None:
    assert callable(gets)
    assert gets(library, tmp_path, what, python, platform) == torch


# ---- an application in a checkout -----------------------------------------------------------------------------------

BUILDS = {"cpu": "2.15.0+cpu", "cu126": "2.14.1+cu126", "cu132": "2.15.0+cu132"}


def project(host: torches.Host, folder: Path, *words: str, own: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "pyproject.toml"
    about = '[project]\nname = "app"\nversion = "0"\nrequires-python = ">=3.11"\n'
    file.write_text(f'{about}dependencies = ["torch>=2.5", "torchvision"]\n\n{own}', "utf-8")
    torchpick("--for", "app", "--write", str(file), "--index-base", host.base, *words)
    return folder


@pytest.fixture(scope="module", params=["--extra", "--group"])
def uv_project(
    request: pytest.FixtureRequest, host: torches.Host, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("uv")
    own = f'[[tool.uv.index]]\nname = "own"\nurl = "{host.own}"\ndefault = true\n\n[tool.uv]\npackage = false\n'
    project(host, folder, *(["--groups"] if request.param == "--group" else []), own=own)
    host.server.log.clear()  # of other tests, which share this host
    done = uv(folder, "lock")
    assert done.returncode == 0, done.stderr
    assert host.asked_of_the_wheel_host() == {"torch", "torchvision"}
    return folder, request.param


def uv(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**tools.plain(folder), "UV_PYTHON": sys.executable}
    del env["UV_NO_CONFIG"]  # [tool.uv] is what is tried
    command = [tools.tool("uv"), *words]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("name", BUILDS)
def test_uv_syncs_the_build_that_the_name_promises(uv_project: tuple[Path, str], name: str) -> None:
    folder, flag = uv_project

    done = uv(folder, "sync", "--dry-run", "--frozen", flag, name)

    assert f"+ torch=={BUILDS[name]}" in done.stderr
    assert f"+ torchvision==0.29.{2 if '2.15' in BUILDS[name] else 1}+{name}" in done.stderr
    assert "+ numpy==2.3.0" in done.stderr


# ---- what packages and uv's own settings say against the extras -----------------------------------------------------

ABOUT = '[project]\nname = "app"\nversion = "0"\nrequires-python = ">=3.11"\n'


def locked(host: torches.Host, folder: Path, needs: list[str], *words: str, more: str = "") -> tuple[Path, str]:
    """A project with its extras, and what `uv lock` says against it."""
    file = folder / "pyproject.toml"
    own = f'[[tool.uv.index]]\nurl = "{host.own}"\ndefault = true\n\n[tool.uv]\npackage = false\n{more}'
    file.write_text(f"{ABOUT}dependencies = {json.dumps(needs)}\n\n{own}", "utf-8")
    torchpick("--for", "app", "--write", str(file), "--index-base", host.base, *words)
    done = uv(folder, "lock")
    return file, done.stderr if done.returncode else ""


def synced(folder: Path, extra: str) -> str:
    return uv(folder, "sync", "--dry-run", "--frozen", "--extra", extra).stderr


def test_what_a_package_pins_that_the_table_lacks_decides(tmp_path: Path) -> None:
    """It is read from the project's own index. Its `torch==2.14.1` and the extra's `torch==2.14.1+cu126` are one."""
    pinning = TinyWheel("pinning", "1.0", requires=("torch==2.14.1", "torchvision==0.29.1"))
    with torches.hosts(("2.14.1", "2.15.0"), pinning) as host:
        file, trouble = locked(host, tmp_path, ["torch>=2.5", "pinning"])

        assert trouble == ""
        assert "override-dependencies" not in file.read_text("utf-8")
        for name in ("cpu", "cu126", "cu132"):
            assert f"+ torch==2.14.1+{name}" in synced(tmp_path, name)
            assert f"+ torchvision==0.29.1+{name}" in synced(tmp_path, name)


# ---- a project that has a lock, sources and backends of its own -----------------------------------------------------

CUDA_SYSTEMS = "sys_platform == 'linux' or sys_platform == 'win32'"


def documented(host: torches.Host) -> str:
    """The project of uv's own page on PyTorch."""
    return f"""{ABOUT}dependencies = ["torch>=2.9.1", "torchvision>=0.24.1"]

[tool.uv]
package = false

[tool.uv.sources]
torch = [
  {{ index = "pytorch-cu130", marker = "{CUDA_SYSTEMS}" }},
]
torchvision = [{{ index = "pytorch-cu130", marker = "{CUDA_SYSTEMS}" }}] # mine

[[tool.uv.index]]
name = "pytorch-cu130"
url = "{host.base}/cu130"
explicit = true

[[tool.uv.index]]
url = "{host.own}"
default = true
"""


@pytest.fixture
def with_lock(host: torches.Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That project with its lock, and a uv on PATH."""
    for name, value in {**tools.plain(tmp_path), "UV_PYTHON": sys.executable}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("UV_NO_CONFIG")
    monkeypatch.setenv("PATH", f"{Path(tools.tool('uv')).parent}{os.pathsep}{os.environ['PATH']}")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text(documented(host), "utf-8")
    assert uv(folder, "lock").returncode == 0
    return folder


def files_of(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in ("pyproject.toml", "uv.lock")]


def test_uvs_own_documented_project_is_taken_over_with_its_lock(host: torches.Host, with_lock: Path) -> None:
    words = ("--for", "app", "--write", str(with_lock / "pyproject.toml"), "--index-base", host.base)
    before = files_of(with_lock)

    torchpick(*words, "--dry-run")
    assert files_of(with_lock) == before
    torchpick(*words)
    after = files_of(with_lock)
    torchpick(*words)
    torchpick("--write", str(with_lock / "pyproject.toml"), "--index-base", host.base)  # as the pre-commit hook does

    assert files_of(with_lock) == after
    assert uv(with_lock, "lock", "--check").returncode == 0
    for name, build in BUILDS.items():
        assert f"+ torch=={build}" in synced(with_lock, name)
    lock = toml.loads(after[1].decode())
    (own,) = (package for package in lock["package"] if package["name"] == "app")
    on_windows = [each for each in own["dependencies"] if each.get("marker") == "sys_platform == 'win32'"]
    assert {(each["name"], each["version"].partition("+")[2]) for each in on_windows} == {
        ("torch", "cu130"), ("torchvision", "cu130"),
    }  # fmt: skip


def test_extras_of_uvs_own_page_stay_and_get_ours_beside_them(host: torches.Host, with_lock: Path) -> None:
    file = with_lock / "pyproject.toml"
    text = f"""{ABOUT}dependencies = []
[project.optional-dependencies]
cpu = ["torch>=2.9.1"] # mine
[tool.uv]
package = false
conflicts = [[{{ extra = "cpu" }}, {{ extra = "mine" }}]]
[tool.uv.sources]
torch = [{{ index = "pytorch-cpu", extra = "cpu" }}]
[[tool.uv.index]]
name = "pytorch-cpu"
url = "{host.base}/cpu"
explicit = true
[[tool.uv.index]]
url = "{host.own}"
default = true
"""
    file.write_text(text.replace('cpu = ["torch>=2.9.1"]', 'mine = []\ncpu = ["torch>=2.9.1"]'), "utf-8")

    torchpick("--write", str(file), "--index-base", host.base, "--backend", "cu126", "--backend", "cpu")

    assert _extras(file) | {"cu126": []} == {"mine": [], "cpu": ["torch>=2.9.1"], "cu126": []}
    assert uv(with_lock, "lock", "--check").returncode == 0
    assert "+ torch==2.15.0+cpu" in synced(with_lock, "cpu")
    assert "+ torch==2.14.1+cu126" in synced(with_lock, "cu126")


def test_a_member_of_a_workspace_is_taken_over_with_what_the_others_require(
    host: torches.Host, with_lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = f'[tool.uv.workspace]\nmembers = ["packages/*"]\n[[tool.uv.index]]\nurl = "{host.own}"\ndefault = true\n'
    (with_lock / "pyproject.toml").write_text(root, "utf-8")
    for name, needs in (("one", '"torch>=2.5"'), ("two", '"torch<2.15"')):
        (with_lock / "packages" / name).mkdir(parents=True)
        text = ABOUT.replace('"app"', f'"{name}"')
        (with_lock / "packages" / name / "pyproject.toml").write_text(f"{text}dependencies = [{needs}]\n", "utf-8")
    assert uv(with_lock, "lock").returncode == 0

    torchpick("--for", "app", "--write", str(with_lock / "packages/one/pyproject.toml"), "--index-base", host.base)

    assert uv(with_lock, "lock", "--check").returncode == 0
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    command = [
        sys.executable, "-m", "torchpick", "run", *MACHINES["cu132"], "uv", "sync", "--dry-run", "--package", "one",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=with_lock, capture_output=True, text=True, timeout=120, check=False)
    assert "+ torch==2.14.1+cu132" in done.stderr


# Ctrl-C in the very moment in which uv is started, and SIGTERM before it.
AT_THE_START = """\
import signal, subprocess
start = subprocess.Popen.__init__
def interrupted(self, argv, **options):
    start(self, argv, **options)
    if [*argv[1:2]] == ["lock"]: signal.raise_signal(signal.SIGINT)
subprocess.Popen.__init__ = interrupted
"""
BEFORE_IT = """\
import os, signal
replace = os.replace
def terminated(old, new):
    replace(old, new)
    os.replace = replace
    signal.raise_signal(signal.SIGTERM)
os.replace = terminated
"""


@pytest.mark.parametrize("end", ["fails", "SIGINT", "SIGTERM", "SIGINT at its start", "SIGTERM before it"])
def test_whatever_ends_it_the_project_is_as_it_was(host: torches.Host, with_lock: Path, end: str) -> None:
    """A stand-in for uv has written half a lock by then."""
    fake = with_lock.parent / "fake" / "uv"
    fake.parent.mkdir()
    then = "exit 1" if end == "fails" else f"touch {fake.parent}/there\nexec sleep 60"
    fake.write_text(f'#!/bin/sh\n[ "$1" = lock ] || exit 0\necho half > uv.lock\n{then}\n', "utf-8")
    fake.chmod(0o755)
    environ = {**os.environ, "PATH": f"{fake.parent}{os.pathsep}{os.environ['PATH']}"}
    before = files_of(with_lock)
    words = ["extras", "--for", "app", "--write", "pyproject.toml", "--index-base", host.base]
    main_ = f"import sys; sys.modules['uv'] = None; from torchpick.cli import main; sys.exit(main({words}))"
    main_ = {"start": AT_THE_START, "it": BEFORE_IT}.get(end.rpartition(" ")[2], "") + main_
    process = subprocess.Popen(
        [sys.executable, "-c", main_], cwd=with_lock, env=environ, stderr=subprocess.PIPE, text=True
    )
    if end in ("SIGINT", "SIGTERM"):
        until((fake.parent / "there").exists)
        assert files_of(with_lock) != before
        process.send_signal(getattr(signal, end))
    _, said = process.communicate(timeout=30)  # no uv that goes on has stderr

    until(lambda: files_of(with_lock) == before)
    assert process.returncode == {"fails": 1, "SIGTERM": 1}.get(end, 130), said


def until(holds: Callable[[], bool]) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen within half a minute")


def test_what_is_built_from_source_is_built_with_the_torch_of_the_extra(tmp_path: Path) -> None:
    """By `extra-build-dependencies`: without them uv builds it in an environment that holds no torch."""
    with torches.hosts(("2.14.1", "2.15.0")) as host:
        host.user.wheels["flash-attn"] = [TinySource("flash-attn", "2.8.3.post2", ("torch",))]  # type: ignore[list-item]  # what an index needs of a file it has too
        file, trouble = locked(host, tmp_path, ["torch>=2.5", "flash-attn"])
        assert trouble == ""
        assert "match-runtime = true" in file.read_text("utf-8")

        for name, build in (("cu126", "2.14.1+cu126"), ("cu132", "2.15.0+cu132")):
            done = uv(tmp_path, "sync", "--frozen", "--extra", name)
            assert done.returncode == 0, done.stderr
            (seen,) = (tmp_path / ".venv").glob("lib/python*/site-packages/flash_attn/built_with.txt")
            assert seen.read_text("utf-8") == build


def test_the_extras_obey_what_uvs_constraints_say_of_torch(host: torches.Host, tmp_path: Path) -> None:
    limits = 'constraint-dependencies = ["torch<2.15"] # mine\n'

    file, trouble = locked(host, tmp_path, ["torch>=2.5"], more=limits)

    assert trouble == ""
    assert limits in file.read_text("utf-8")
    assert "+ torch==2.14.1+cu132" in synced(tmp_path, "cu132")


def test_an_override_of_torch_would_make_every_extra_the_same(host: torches.Host, tmp_path: Path) -> None:
    """So `extras` and `pin` refuse it: uv puts it in the place of the extras' requirements, without a word."""
    override = 'override-dependencies = ["numpy<3", "torch<2.15"] # mine\n'
    file, trouble = locked(host, tmp_path, ["torch>=2.5"], more='override-dependencies = ["numpy<3"] # mine\n')
    assert trouble == ""
    assert "+ torch==2.14.1+cu126" in synced(tmp_path, "cu126")

    file.write_text(file.read_text("utf-8").replace('override-dependencies = ["numpy<3"] # mine\n', override), "utf-8")
    assert uv(tmp_path, "lock").returncode == 0
    assert "+ torch==2.14.1\n" in synced(tmp_path, "cu126")  # the user's own index has it for CUDA 13
    before = file.read_text("utf-8")

    assert main(["extras", "--for", "app", "--write", str(file), "--index-base", host.base]) == 1
    assert file.read_text("utf-8") == before


MACHINES = {
    "cu126": ["--gpu", "GTX 1080 Ti", "--driver", "580.95.05"],
    "cu132": ["--gpu", "RTX 5090", "--driver", "610.43.02"],
    "cpu": ["--gpu", "none"],
}


@pytest.mark.parametrize("name", MACHINES)
def test_of_one_lock_each_machine_gets_its_own(uv_project: tuple[Path, str], name: str) -> None:
    """`run` hands uv the extra or group that `doctor` says runs there."""
    folder, _ = uv_project
    command = [sys.executable, "-m", "torchpick", "run", *MACHINES[name], tools.tool("uv"), "--directory", str(folder)]
    env = {key: value for key, value in tools.plain(folder).items() if key != "UV_NO_CONFIG"}
    env |= {"UV_PYTHON": sys.executable, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [*command, "sync", "--dry-run", "--frozen"], env=env, capture_output=True, text=True, timeout=120, check=False
    )

    assert f"+ torch=={BUILDS[name]}" in done.stderr


@pytest.mark.long
def test_pdm_locks_the_build_of_the_page_and_nothing_else_of_that_host(tmp_path: Path) -> None:
    """The host has a filelock of version 9999.0, as an index may have what nobody meant."""
    page = (ROOT / "docs/tools.md").read_text("utf-8")
    (block,) = (each for each in documents.blocks(page) if each.language == "toml")
    with torches.hosts(RELEASES) as host:
        text = block.text.replace("https://mirror.example/simple", host.own)
        (tmp_path / "pyproject.toml").write_text(text.replace("https://download.pytorch.org/whl", host.base), "utf-8")
        done = run(tmp_path, tools.tool("pdm"), "lock")

    assert done.returncode == 0, done.stdout + done.stderr
    packages = toml.loads((tmp_path / "pdm.lock").read_text("utf-8"))["package"]
    assert {each["name"]: each["version"] for each in packages} == {
        "filelock": "3.20.0", "numpy": "2.3.0", "torch": "2.14.1+cu126", "torchvision": "0.29.1+cu126",
    }  # fmt: skip
