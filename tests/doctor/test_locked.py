"""A lock is judged for any machine: each extra and group, which one is taken, and what would do where none runs.

The texts of uv.lock are uv 0.13's own, with the wheel host's address; the stand-in for it is in tests/process.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests import envelope
from tests.doctor.homes import Home
from torchpick.cli import main
from torchpick.environment import interpreter
from torchpick.model.package import Package, PackageFacts

HOST = "https://download.pytorch.org/whl"
ELSEWHERE = ["--platform", "linux-x86_64", "--python", "3.12"]
PASCAL = ["--gpu", "GTX 1080 Ti", "--driver", "580.95.05", *ELSEWHERE]
BLACKWELL = ["--gpu", "RTX 5090", "--driver", "610.43.02", *ELSEWHERE]
RADEON = ["--gpu", "RX 7900 XTX", *ELSEWHERE]
OLD_DRIVER = ["--gpu", "t4", "--driver", "550.54.15", *ELSEWHERE]
NONE = ["--gpu", "none", *ELSEWHERE]
BUILDS = {"cpu": "2.15.0+cpu", "cu126": "2.14.1+cu126", "cu132": "2.15.0+cu132", "amd": "2.14.1+rocm7.2"}
PROJECT = """[project]
name = "app"
version = "0"
[project.optional-dependencies]
cpu = ["torch"]
cu126 = ["torch"]
cu132 = ["torch"]
amd = ["torch"]
docs = ["sphinx"]
[tool.uv.sources]
torch = [{ index = "pytorch-amd", extra = "amd" }]
[[tool.uv.index]]
name = "pytorch-amd"
url = "https://download.pytorch.org/whl/rocm7.2"
"""


def source(backend: str) -> str:
    return f'source = {{ registry = "{HOST}/{backend}" }}'


def package(name: str, version: str, backend: str = "cpu", more: str = "") -> str:
    return f'\n[[package]]\nname = "{name}"\nversion = "{version}"\n{source(backend)}\n{more}'


def folder_of(version: str) -> str:
    return version.partition("+")[2]


def project_lock(builds: dict[str, str], *, always: str = "", more: str = "", kind: str = "optional") -> str:
    """Of a project with an extra (or group) for each build, through a package in between as real ones have it."""
    edges = "".join(
        f'    {{ name = "torch", version = "{version}", {source(folder_of(version))}, '
        f"marker = \"extra == '{'extra' if kind == 'optional' else 'group'}-3-app-{name}'\" }},\n"
        for name, version in builds.items()
    )
    tables = "".join(f'{name} = [{{ name = "between" }}]\n' for name in builds)
    return (
        'version = 1\nrevision = 3\nrequires-python = ">=3.11"\n'
        f'\n[[package]]\nname = "app"\nversion = "0"\nsource = {{ virtual = "." }}\ndependencies = [{always}]\n'
        f'\n[package.{kind}-dependencies]\n{tables}docs = [{{ name = "sphinx" }}]\n'
        + package("between", "1", more=f"dependencies = [\n{edges}]\n")
        + package("sphinx", "8")
        + "".join(package("torch", version, folder_of(version)) for version in dict.fromkeys(builds.values()))
        + more
    )


VLLM = (
    'version = 1\nrequires-python = "==3.12.*"\n'
    '\n[[package]]\nname = "served"\nversion = "0"\nsource = { editable = "." }\ndependencies = [{ name = "vllm" }]\n'
    + package("vllm", "0.33.0", "simple", 'dependencies = [{ name = "torch" }]\n')
    + package("torch", "2.14.0", "simple", 'dependencies = [{ name = "cuda-toolkit" }]\n')
    + package("cuda-toolkit", "13.0.2", "simple")
)


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "uv.lock").write_text(project_lock(BUILDS), "utf-8")
    (tmp_path / "pyproject.toml").write_text(PROJECT, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def judged(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[dict[str, Any]]]:
    status = main(["doctor", *words, "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert envelope.faults(answer) == []
    return status, answer["locks"][0]["machines"]


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize(
    ("machine", "name"),
    [(PASCAL, "cu126"), (BLACKWELL, "cu132"), (RADEON, "amd"), (NONE, "cpu"), (OLD_DRIVER, "cu126")],
)
def test_of_one_lock_each_machine_takes_its_own_and_label_takes_the_same(
    machine: list[str], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, (here,) = judged(capsys, "uv.lock", *machine)

    assert (status, here["taken"]) == (0, {"project": "app", "kind": "extra", "name": name})
    # The extra without a torch is no choice, and nothing is always installed that has one.
    assert {one["name"]: one["torch"] for one in here["choices"]} == BUILDS
    assert findings(capsys, "uv.lock", *machine) == {}  # of what is taken
    assert main(["label", *machine]) == 0
    assert capsys.readouterr().out == f"{name}\n"


def test_what_the_lock_holds_decides_and_not_the_newest_build(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The newest build for cu126 is newer than that for cu118; the lock has it the other way round."""
    (app / "pyproject.toml").write_text(PROJECT.replace("cu132", "cu118"), "utf-8")
    builds = {"cpu": "2.7.1+cpu", "cu126": "2.6.0+cu126", "cu118": "2.7.1+cu118", "amd": "2.7.1+rocm6.3"}
    (app / "uv.lock").write_text(project_lock(builds), "utf-8")

    assert main(["label", *PASCAL]) == 0
    assert capsys.readouterr().out == "cu118\n"
    # An extra that is not locked yet, and the lock of a project that was called otherwise: as if there were none.
    for lock in (project_lock({"cu118": "2.7.1+cu118"}), project_lock(builds).replace('"app"', '"old"')):
        (app / "uv.lock").write_text(lock, "utf-8")
        assert main(["label", *PASCAL]) == 0
        assert capsys.readouterr().out == "cu126\n"


def test_a_newer_torch_beside_what_does_not_go_with_it_is_not_taken(
    app: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = project_lock(BUILDS, more=package("torchvision", "0.19.0+cu118"))
    with_vision = 'cu132 = [{ name = "between" }, { name = "torchvision" }]'
    (app / "uv.lock").write_text(lock.replace('cu132 = [{ name = "between" }]', with_vision), "utf-8")
    able = ["--gpu", "a100", "--driver", "610.43.02", *ELSEWHERE]

    _, (here,) = judged(capsys, "uv.lock", *able)
    assert here["taken"]["name"] == "cu126"
    assert main(["label", *able]) == 0
    assert capsys.readouterr().out == "cu126\n"


def test_what_is_beside_torch_makes_a_choice_where_something_is_wrong_with_it(
    app: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edge = f'{{ name = "torch", version = "2.14.1+cu126", {source("cu126")} }}'
    more = package("torch", "2.14.1+cu126", "cu126") + package("torchcodec", "0.7.0+cpu")
    lock = project_lock({}, always=edge, more=more).replace("docs =", 'codec = [{ name = "torchcodec" }]\ndocs =')
    (app / "uv.lock").write_text(lock, "utf-8")

    _, (here,) = judged(capsys, "uv.lock", *PASCAL)
    assert {one["name"]: one["ok"] for one in here["choices"]} == {"": True, "codec": False}
    (app / "requirements.txt").write_text("cupy-cuda13x==14.0.0\n", "utf-8")
    assert judged(capsys, "requirements.txt", *OLD_DRIVER)[0] == 3, "where there is no torch as well"


def test_where_the_lock_holds_nothing_that_runs_no_name_is_printed(
    app: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    volta = ["--gpu", "v100", "--driver", "580.95.05", *ELSEWHERE]
    (app / "uv.lock").write_text(project_lock({**BUILDS, "cu126": "2.15.0+cu130"}), "utf-8")

    assert main(["label", *volta]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert f"`torchpick doctor {app}/uv.lock` says of each what is against it" in " ".join(err.split())
    status, (here,) = judged(capsys, "uv.lock", *volta)
    assert (status, here["taken"], here["would_do"]) == (3, None, {"torch": "2.14.1+cu126"})
    assert (main(["label", *volta, "--allow-cpu"]), capsys.readouterr().out) == (0, "cpu\n")
    assert main(["doctor", "uv.lock", *volta]) == 3
    assert "adds it" not in capsys.readouterr().out, "the project has a choice of that name"
    (app / "uv.lock").write_text(project_lock({"cpu": "2.15.0+cpu", "cu132": "2.15.0+cu132"}), "utf-8")
    assert main(["doctor", "uv.lock", *volta]) == 3
    command = "torchpick extras --for app --backend cpu --backend cu132 --backend cu126 --write pyproject.toml"
    assert f"`{command}` adds it" in " ".join(capsys.readouterr().out.split())
    (app / "pyproject.toml").write_text('[project]\nname = "app"\ndependencies = ["torch>=2.15"]\n', "utf-8")
    assert main(["doctor", "uv.lock", *volta]) == 3
    assert "adds it" not in capsys.readouterr().out
    extras = '[project]\nname = "app"\n[project.optional-dependencies]\ncu130 = ["torch"]\n'
    (app / "pyproject.toml").write_text(extras, "utf-8")  # which the lock has not yet
    assert main(["label", *volta]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "runs here: torch 2.15.0+cu130: holds no code for " in " ".join(err.split())


def test_a_backends_name_comes_before_what_is_always_installed(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A project that depends on torch itself: without an extra uv installs the default index's, which runs as well."""
    edge = f'{{ name = "torch", version = "2.15.0", {source("simple")}, marker = "extra != \'extra-3-app-cu126\'" }}'
    for builds, name in (
        ({"cpu": "2.15.0+cpu", "cu126": "2.14.1+cu126"}, "cu126"),
        ({"serving": "2.15.0+cu132"}, "serving"),
    ):
        lock = project_lock(builds, always=edge, more=package("torch", "2.15.0", "simple"))
        (app / "uv.lock").write_text(lock, "utf-8")
        _, (here,) = judged(capsys, "uv.lock", "--gpu", "a100", "--driver", "580.95.05", *ELSEWHERE)
        assert "" in {one["name"] for one in here["choices"]}
        assert here["taken"]["name"] == name


def test_groups_are_choices_too(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (app / "uv.lock").write_text(project_lock(BUILDS, kind="dev"), "utf-8")

    _, (here,) = judged(capsys, "uv.lock", *PASCAL)

    assert here["taken"] == {"project": "app", "kind": "group", "name": "cu126"}


def test_a_package_beside_torch_that_does_not_run_is_no_choice(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Vllm 0.33.0 links CUDA 13: beside a torch for 12.6 it loads nothing, whichever extra it is in."""
    more = package("vllm", "0.33.0", "simple")
    (app / "uv.lock").write_text(project_lock(BUILDS, always='{ name = "vllm" }', more=more), "utf-8")

    status, (here,) = judged(capsys, "uv.lock", *OLD_DRIVER)

    codes = {one["name"]: {finding["code"] for finding in one["findings"]} for one in here["choices"]}
    assert (status, here["taken"]) == (3, None)
    assert codes["cu126"] & {"CUDA_MAJOR_MIXED", "PACKAGE_DRIVER_TOO_OLD"}
    assert main(["label", *OLD_DRIVER]) == 3
    lock = project_lock({**BUILDS, "cu126": "2.2.2+cu121"}, always='{ name = "numpy" }', more=package("numpy", "2.0.0"))
    (app / "uv.lock").write_text(lock, "utf-8")
    capsys.readouterr()
    assert main(["label", *OLD_DRIVER]) == 3
    assert "numpy 2.0.0 is installed beside torch 2.2.2+cu121" in " ".join(capsys.readouterr().err.split())


def test_a_package_is_the_file_of_the_index_that_the_lock_names(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain, placed = Package("x", "1", cuda="12.8"), Package("x", "1", cuda="13", place=f"{HOST}/cu130/x-1.whl")
    facts = PackageFacts("x", (placed, plain))
    assert [facts.row("1", f"{base}/cu130/") for base in (HOST, "http://mirror/torch")] == [placed, placed]
    assert [facts.row("1", index) for index in (f"{HOST}/cu128", "http://mirror/simple", "")] == [plain] * 3
    # What is only built from source elsewhere is not known.
    assert facts._replace(versions=(placed,)).row("1", "http://mirror/simple") is None

    edges = '{ name = "xformers" }, { name = "torch" }'
    lock = package("xformers", "0.0.35", "simple") + package("torch", "2.14.1+cu130", "cu130")
    (app / "uv.lock").write_text(project_lock({}, always=edges, more=lock), "utf-8")
    status, (here,) = judged(capsys, "uv.lock", "--gpu", "a100", "--driver", "580.95.05", *ELSEWHERE)
    assert status == 3
    assert [finding["code"] for finding in here["choices"][0]["findings"]] == ["CUDA_MAJOR_MIXED"]


def test_a_lock_with_vllm_says_which_version_would_do(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (app / "uv.lock").write_text(VLLM, "utf-8")

    assert main(["doctor", "uv.lock", "--gpu", "t4", "--driver", "550.54.15", *ELSEWHERE]) == 3
    out = capsys.readouterr().out

    assert "torch 2.14.0+cu130: CUDA 13.0 needs driver 580 or newer; this one is 550.54.15" in out
    assert "vllm 0.33.0 needs libcudart.so.13" in out
    assert "vllm 0.19.1, torch 2.10.0+cu128 would run: `torchpick plan vllm --gpu t4 --driver 550.54.15" in out

    numpy = VLLM.replace('[{ name = "vllm" }]', '[{ name = "numpy" }, { name = "cuda-toolkit" }, { name = "vllm" }]')
    (app / "uv.lock").write_text(numpy + package("numpy", "2.3.0"), "utf-8")
    assert main(["doctor", "uv.lock", "--gpu", "t4", "--driver", "550.54.15", *ELSEWHERE]) == 3
    assert "vllm 0.19.1, torch 2.10.0+cu128 would run: `torchpick plan vllm --gpu" in capsys.readouterr().out
    # Of two projects, neither of which runs, the one that would have the newest torch.
    other = (
        '[[package]]\nname = "other"\nversion = "0"\nsource = { virtual = "o" }\ndependencies = [{ name = "torch" }]\n'
    )
    for text in (VLLM + other, VLLM.replace("[[package]]", f"{other}[[package]]", 1)):
        (app / "uv.lock").write_text(text, "utf-8")
        assert main(["doctor", "uv.lock", "--gpu", "t4", "--driver", "550.54.15", *ELSEWHERE]) == 3
        assert "torch 2.14.1+cu126 would run: `torchpick plan torch --gpu t4" in capsys.readouterr().out


def test_a_release_that_the_table_lacks_is_judged_by_the_runtime_that_is_locked_with_it(
    app: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "torch==2.99.0\nnvidia-cuda-runtime-cu12==12.8.90\nfilelock==3.20\n"
    (app / "requirements.txt").write_text(text, "utf-8")

    for driver, codes in (("580.95.05", ["UNKNOWN_ARCHES"]), ("470.82.01", ["DRIVER_TOO_OLD", "UNKNOWN_ARCHES"])):
        _, (here,) = judged(capsys, "requirements.txt", "--gpu", "a100", "--driver", driver, *ELSEWHERE)
        assert (here["choices"][0]["torch"], here["choices"][0]["backend"]) == ("2.99.0+cu128", "cu128")
        assert [finding["code"] for finding in here["choices"][0]["findings"]] == codes
    (app / "requirements.txt").write_text("torch==2.10.0\nvllm==0.33.0\n", "utf-8")
    _, (here,) = judged(capsys, "requirements.txt", "--gpu", "a100", "--driver", "610.43.02", *ELSEWHERE)
    codes = [finding["code"] for finding in here["choices"][0]["findings"]]
    assert (here["choices"][0]["torch"], "REQUIREMENT_UNMET" in codes) == ("2.10.0+cu128", True), "the default index's"


def test_a_fleet_is_judged_at_once_those_without_a_gpu_too(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gpus = {"old": ("sm_75", "550.54.15"), "new": ("sm_120", "610.43.02"), "able": ("sm_80", "610.43.02"), "idle": None}
    lines = []
    for name, card in gpus.items():
        assert (
            main(["detect", "--json", *ELSEWHERE, *(["--gpu", card[0], "--driver", card[1]] if card else NONE[:2])])
            == 0
        )
        machine = json.loads(capsys.readouterr().out)["machine"]
        lines.append(json.dumps({**machine, "name": name}))
    (app / "machines.jsonl").write_text("\n".join(lines), "utf-8")

    status, machines = judged(capsys, "uv.lock", "--machine", "machines.jsonl")

    assert status == 0
    taken = {"old": "cu126", "new": "cu132", "able": "cu132", "idle": "cpu"}
    assert {one["hosts"]: one["taken"]["name"] for one in machines} == taken
    for pair in ((lines[2], lines[0]), (lines[0], lines[2])):  # whichever comes first, the name is for both
        (app / "machines.jsonl").write_text("\n".join(pair), "utf-8")
        assert main(["label", "--machine", "machines.jsonl"]) == 0
        assert capsys.readouterr().out == "cu126\n"
    # What is beside the torch of cu126 needs a driver that only one of them has.
    with_cupy = project_lock({"cu126": "2.14.1+cu126", "cpu": "2.15.0+cpu"}, more=package("cupy-cuda13x", "14.0.0"))
    with_cupy = with_cupy.replace("cu126 = [", 'cu126 = [{ name = "cupy-cuda13x" }, ')
    (app / "uv.lock").write_text(with_cupy, "utf-8")
    extras = '[project]\nname = "app"\n[project.optional-dependencies]\ncpu = ["torch"]\ncu126 = ["torch"]\n'
    (app / "pyproject.toml").write_text(extras, "utf-8")
    for some, expected in ((lines[2:3], (0, "cu126\n")), ([lines[2], lines[0]], (3, "")), (lines[:1], (3, ""))):
        (app / "machines.jsonl").write_text("\n".join(some), "utf-8")
        assert (main(["label", "--machine", "machines.jsonl"]), capsys.readouterr().out) == expected
    (app / "uv.lock").write_text(project_lock(BUILDS), "utf-8")

    lost = lines[1].replace("610.43.02", "570.86.10")
    (app / "machines.jsonl").write_text(f"{lines[0]}\n{lost}", "utf-8")
    assert main(["doctor", "uv.lock", "--machine", "machines.jsonl"]) == 3, "one of them has nothing that runs"
    described = "--gpu sm_120 --driver 570.86.10 --platform linux-x86_64 --python 3.12"
    assert f"`torchpick plan torch {described}` shows all of it" in capsys.readouterr().out


PYLOCK = f"""lock-version = "1.0"
created-by = "uv"
requires-python = ">=3.11"
extras = ["cu126", "cu132"]
[[packages]]
name = "torch"
version = "2.14.1+cu126"
index = "{HOST}/cu126"
marker = "'cu126' in extras and sys_platform == 'linux'"
[[packages]]
name = "torch"
version = "2.15.0"
index = "{HOST}/cu132"
marker = "'cu132' in extras and 'cu126' not in extras"
"""
SCRIPT_LOCK = 'version = 1\n[manifest]\nrequirements = [{ name = "torch" }]\n' + package("torch", "2.14.1", "cu126")
REQUIREMENTS = f"--extra-index-url {HOST}/cu126\ntorch==2.14.1 ; sys_platform == 'linux'\nnumpy>=1\n"


@pytest.mark.parametrize(
    ("name", "text", "takes"),
    [
        ("pylock.dev.toml", PYLOCK, ["cu126", "cu132"]),
        ("train.py.lock", SCRIPT_LOCK, ["", None]),
        ("requirements.txt", REQUIREMENTS, ["", None]),
    ],
)
def test_other_locks_have_the_same_judgement(
    name: str, text: str, takes: list[str | None], app: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (app / name).write_text(text, "utf-8")
    for machine, taken in zip((PASCAL, BLACKWELL), takes, strict=True):
        status, (here,) = judged(capsys, name, *machine)
        assert status == (0 if taken is not None else 3)
        assert (here["taken"] and here["taken"]["name"]) == taken


def test_a_marker_that_does_not_hold_leaves_its_torch_out(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (app / "requirements.txt").write_text(REQUIREMENTS, "utf-8")

    assert main(["doctor", "requirements.txt", "--gpu", "none", "--platform", "windows-x86_64"]) == 0
    assert "nothing in it is torch or stands on CUDA" in capsys.readouterr().out


def test_wheels_of_other_systems_are_no_torch(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"{HOST}/cu126/torch-2.14.1%2Bcu126-cp312-cp312-manylinux_2_28_x86_64.whl"
    wheels = f'wheels = [\n    {{ url = "{url}", hash = "sha256:00" }},\n]\n'
    lock = project_lock({"cu126": "2.14.1+cu126"})
    (app / "uv.lock").write_text(f"{lock}{wheels}", "utf-8")

    status, (here,) = judged(capsys, "uv.lock", "--gpu", "none", "--platform", "windows-x86_64")

    assert status == 3
    assert [finding["code"] for finding in here["choices"][0]["findings"]] == ["NO_WHEEL_FOR_PLATFORM"]
    assert judged(capsys, "uv.lock", *PASCAL)[0] == 0
    both = wheels.replace(
        "]", f'    {{ url = "{url.replace("manylinux_2_28_x86_64", "win_amd64")}", hash = "sha256:00" }},\n]'
    )
    (app / "uv.lock").write_text(f"{lock}{both}", "utf-8")
    for machine in (["--gpu", "none", "--platform", "windows-x86_64"], PASCAL):
        assert judged(capsys, "uv.lock", *machine)[0] == 0


def test_a_lock_for_another_python_is_judged_for_its_own(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = project_lock(BUILDS).replace(">=3.11", "==3.11.*")
    (app / "uv.lock").write_text(lock, "utf-8")

    _, (here,) = judged(capsys, "uv.lock", *PASCAL)

    assert here["machine"]["python"]["version"] == "3.11"
    assert [note["code"] for note in here["notes"]] == ["OTHER_PYTHON"]


@pytest.mark.parametrize(("name", "text", "status", "says"), [
        ("uv.lock", project_lock(BUILDS)[:400], 1, "is not TOML"), ("uv.lock", f"a = {'[' * 5000}", 1, "nested deeper"),
        ("uv.lock", "[project]\nname = 'x'\n", 1, "is neither a uv.lock nor a pylock.toml"),
        ("uv.lock", "version = 1\n" + package("a", "1") * 20_001, 1, "more than 20,000 packages"),
        ("uv.lock", "version = 1\npackage = 7\n", 1, "is neither"),
        ("poetry.lock", "", 1, "is neither a uv.lock nor a pylock.toml"),
        ("requirements.txt", "torch>=2.5\n", 1, "leaves open which torch it is"),
        ("requirements.txt", "torch==2.14.1 é\0", 2, "zero bytes"), ("gone.lock", None, 2, "cannot read"),
])  # fmt: skip
def test_what_is_no_lock_is_said(
    name: str, text: str | None, status: int, says: str, app: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        (app / name).write_text(text, "utf-8")

    assert main(["doctor", name, *PASCAL]) == status
    _, err = capsys.readouterr()
    assert says in err
    assert "hint: " in err


def test_hostile_entries_are_judged_and_not_believed(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Circles, other shapes, a marker of half a megabyte, an escape in a version: linear time, and no traceback."""
    circle = package("a", "1", more='dependencies = [{ name = "b", extra = ["x"] }]\n') + package(
        "b", "1", more='dependencies = [{ name = "a" }, 7, { name = 3 }]\n'
    )
    marker = f"python_version > '3' {'and python_version > 3 ' * 20_000}"
    odd = package("torch", "1\\u001b[31m.x+zz", "cu126").replace("registry", "git")
    many = [f'{{ name = "torch", version = "{number}" }}' for number in range(10_000)]
    edges = ", ".join(['{ name = "a" }', f'{{ name = "torch", marker = "{marker}" }}', *many])
    more = "".join(package("torch", str(number)) for number in range(10_000))
    lock = project_lock({}, always=edges, more=circle + odd + more)
    (app / "uv.lock").write_text(lock, "utf-8")

    started = time.monotonic()
    status = main(["doctor", "uv.lock", *PASCAL])
    out, err = capsys.readouterr()

    assert status in (0, 1, 3)
    assert "\x1b" not in out + err
    assert time.monotonic() - started < 20


@pytest.mark.usefixtures("app")
def test_fix_changes_no_lock(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "uv.lock", "--fix"]) == 2
    assert main(["doctor", ".", *PASCAL]) == 2
    assert "`torchpick doctor --python .`" in capsys.readouterr().err


def findings(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, dict[str, Any]]:
    main(["doctor", *words, "--json"])
    return {finding["code"]: finding for finding in json.loads(capsys.readouterr().out)["findings"]}


@pytest.mark.process
@pytest.mark.parametrize(("version", "code"), [("2.15.1", "LOCK_UNDOES"), ("2.15.0", "NO_KERNELS")])
def test_the_command_that_is_shown_is_the_one_that_lasts(
    version: str, code: str, app: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Home(app / ".venv").torch(f"{version}+cu132", "13.2", "sm_75 sm_120", named=f"{version}+cu132")
    pascal = ["--gpu", "GTX 1080 Ti", "--driver", "580.95.05"]
    sync = "torchpick run --gpu 'GTX 1080 Ti' --driver 580.95.05 uv sync"
    brings = f"that is 2.14.1+cu126, which {app}/uv.lock holds"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")

    found = findings(capsys, *pascal)
    assert {code: found[code]["cure"] for code in ("NO_KERNELS", code)} == dict.fromkeys(("NO_KERNELS", code), sync)
    assert brings in found["NO_KERNELS"]["advice"]
    assert found[code]["advice"].endswith(brings)
    assert found["GPUS_HIDDEN"]["cure"] == "unset CUDA_VISIBLE_DEVICES"
    for flags in (["--backend", "cu126"], ["--cpu"], ["--python", f"{app}/.venv"]):
        assert findings(capsys, *pascal, *flags)["NO_KERNELS"]["cure"] == sync
    monkeypatch.chdir(app.parent)
    found = findings(capsys, *pascal, "--python", f"{app}/.venv")
    assert found["NO_KERNELS"]["cure"] == sync.replace("uv", f"uv --project {app}")
    monkeypatch.chdir(app)
    (app / "two").mkdir()
    (app / "two" / "pyproject.toml").write_text('[project]\nname = "two"\nversion = "0"\n', "utf-8")
    (app / "pyproject.toml").write_text(f'{PROJECT}[tool.uv.workspace]\nmembers = ["two"]\n', "utf-8")
    member = '[[package]]\nname = "two"\nversion = "0"\nsource = { virtual = "two" }\n'
    (app / "uv.lock").write_text(project_lock(BUILDS, more=member), "utf-8")
    assert findings(capsys, *pascal)["NO_KERNELS"]["cure"] == f"{sync} --package app"
    # Where nothing of a workspace's lock runs, or what runs has no backend's name, `run` would not take it.
    other = {"cpu": "2.15.0+cpu", "serving": "2.14.1+cu126"}
    for lock in (project_lock({"cu132": "2.15.0+cu132"}, more=member), project_lock(other)):
        (app / "uv.lock").write_text(lock, "utf-8")
        assert findings(capsys, *pascal)["NO_KERNELS"]["cure"].startswith("torchpick install ")

    dependent = PROJECT.replace('"0"\n', '"0"\ndependencies = ["torch>=2.15"]\n', 1)
    (app / "uv.lock").write_text(project_lock({"cu132": "2.15.0+cu132"}), "utf-8")
    (app / "pyproject.toml").write_text(dependent, "utf-8")
    assert findings(capsys, *pascal)["NO_KERNELS"]["cure"].startswith("torchpick install ")
    (app / "pyproject.toml").write_text(PROJECT, "utf-8")
    (app / "uv.lock").write_text(project_lock({"cu132": "2.15.0+cu132"}), "utf-8")
    adding = f"torchpick extras --for app --backend cu132 --backend cu126 --write {app}/pyproject.toml"
    found = findings(capsys, *pascal)
    assert (found["NO_KERNELS"]["cure"], found[code]["cure"]) == (adding, adding)

    (app / "pyproject.toml").write_text('[project]\nname = "app"\ndependencies = ["torch"]\n', "utf-8")
    assert findings(capsys, *pascal)["NO_KERNELS"]["cure"].startswith("torchpick install ")


# A project without an environment, and torchpick in one of its own.


def test_without_an_environment_the_lock_is_named_and_torchpicks_own_not_examined(
    app: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(interpreter, "holds_torchpick_alone", lambda _: True)
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)

    assert main(["doctor", *PASCAL[:4]]) == 2
    err = " ".join(capsys.readouterr().err.split())
    assert f"no environment to examine: {app}/.venv is not there yet" in err
    assert f"hint: `torchpick doctor {app}/uv.lock` judges its lock" in err
