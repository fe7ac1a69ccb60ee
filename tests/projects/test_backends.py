"""A project whose extras or groups are backends: `label` and `run` know their names, and take this machine's."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from torchpick.cli import main
from torchpick.environment import toml
from torchpick.projects.backends import (
    BackendNames,
    UvCommand,
    backend_names,
    commands,
    family_of_all,
    lock_folder,
    parse_uv,
    read_backends,
    workspace_files,
)

# As uv's documentation has it, with an extra of another meaning.
PROJECT = """[project]
name = "app"
version = "0"
[project.optional-dependencies]
docs = ["sphinx"]
xpu = ["numpy"]
cpu = ["torch>=2.7", "torchvision"]
cu126 = ["Torch>=2.7"]
cu132 = ["torch>=2.7"]
rocm7-2 = ["torch"]
"""
EXTRAS = BackendNames("f", "extra", {"cpu": "cpu", "cu126": "cu126"}, "app")
OLD = ["--gpu", "sm_61", "--driver", "580.95.05"]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "pyproject.toml"
    file.write_text(PROJECT, "utf-8")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    return file


def test_a_member_of_a_workspace_without_any_has_those_of_its_root(file: Path) -> None:
    """There uv takes them where all members are installed."""
    (file.parent / "uv.lock").touch()
    Path("pyproject.toml").write_text('[project]\nname = "lib"\ndependencies = ["torch"]\n', "utf-8")
    assert (read_backends(os.getcwd()), lock_folder(os.getcwd())) == (None, None), "a project below another's"
    file.write_text(f'{PROJECT}[tool.uv.workspace]\nmembers = ["gone"]\n', "utf-8")
    assert (workspace_files(os.getcwd()), lock_folder(os.getcwd())) == ([], None)
    file.write_text(f'{PROJECT}[tool.uv.workspace]\nmembers = ["below"]\n', "utf-8")

    found = read_backends(os.getcwd())

    assert found is not None
    assert (found.file, found.project, found.above, lock_folder(os.getcwd())) == (
        str(file), "app", True, str(file.parent),
    )  # fmt: skip
    uv = UvCommand(("uv",), "add", ("idna",), "/here")
    assert commands(uv, found, "cpu")[-1] == ("uv", "sync", "--inexact", "--all-packages", "--extra", "cpu")  # type: ignore[index]


@pytest.mark.parametrize(("package", "members"), [("lib", True), ("other", False), ("", False)])
def test_a_member_that_is_named_at_the_root_has_its_own(file: Path, package: str, members: bool) -> None:
    root = file.parent
    file.rename(root / "below" / file.name)
    file.write_text('[project]\nname = "root"\n[tool.uv.workspace]\nmembers = ["below", "gone"]\n', "utf-8")
    text = (root / "below" / file.name).read_text("utf-8")
    (root / "below" / file.name).write_text(text.replace('"app"', '"Lib"'), "utf-8")
    (root / "uv.lock").touch()

    found = read_backends(str(root), package)

    assert (found and (found.project, found.lock)) == (("lib", f"{root}/uv.lock") if members else None)
    if found is not None:
        uv = UvCommand(("uv",), "sync", ("--package", "lib"), str(root), "lib")
        assert commands(uv, found, "cpu") == (("uv", "sync", "--extra", "cpu", "--package", "lib"),)
        uv = uv._replace(command="add", words=("--package", "lib", "idna"))
        sync = ("uv", "sync", "--inexact", "--package", "lib", "--extra", "cpu")
        assert commands(uv, found, "cpu") == (("uv", "add", "--no-sync", *uv.words), sync)


def test_a_pattern_of_members_does_not_lead_in_circles(file: Path) -> None:
    for number in range(16):
        file.with_name(f"folder{number}").mkdir()
    file.with_name("folder7").joinpath("pyproject.toml").touch()
    file.write_text(f'[tool.uv.workspace]\nmembers = ["{"*/../" * 5}gone", "*/../*/"]\n', "utf-8")
    began = time.process_time()

    files = workspace_files(str(file.parent))

    assert time.process_time() - began < 2
    assert files == [str(file), str(file.with_name("folder7") / "pyproject.toml")]
    file.write_text('[tool.uv.workspace]\nmembers = ["*"]\nexclude = ["folder7"]\n', "utf-8")
    assert workspace_files(str(file.parent)) == [str(file)]


def test_a_member_has_its_own_though_its_root_is_a_workspace_without_a_name(file: Path) -> None:
    Path("pyproject.toml").write_text(PROJECT, "utf-8")
    file.write_text('[tool.uv.workspace]\nmembers = ["*"]\n[dependency-groups]\ncpu = ["torch"]\n', "utf-8")
    (file.parent / "uv.lock").touch()

    found = read_backends(os.getcwd())

    assert found is not None
    assert (found.kind, found.project, found.above) == ("extra", "app", False)


def test_the_extras_that_are_backends_and_hold_torch_are_read_else_the_groups(file: Path) -> None:
    found = read_backends(os.getcwd())
    names = {"cpu": "cpu", "cu126": "cu126", "cu132": "cu132", "rocm7-2": "rocm7.2"}
    assert found == (str(file), "extra", names, "app", "", False)

    file.write_text('[dependency-groups]\ncpu = ["torch"]\ncu126 = ["torch"]\ndev = ["pytest"]\n', "utf-8")
    assert read_backends(os.getcwd()) == (str(file), "group", {"cpu": "cpu", "cu126": "cu126"}, "", "", False)
    file.write_text('[project]\ndependencies = ["torch"]\n', "utf-8")
    assert read_backends(os.getcwd()) is None


def test_label_reads_the_names_of_the_project(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["label", *OLD]) == 0
    assert capsys.readouterr().out == "cu126\n"
    assert main(["label", "--gpu", "none"]) == 0
    assert capsys.readouterr().out == "cpu\n"
    new = ["label", "--among", "cpu,cu118", "--gpu", "sm_120", "--driver", "580.95.05"]  # for which cu118 has no code
    assert (main(new), main([*new, "--allow-cpu"]), capsys.readouterr().out) == (3, 0, "cpu\n")
    file.unlink()
    assert main(["label", *OLD]) == 2


@pytest.mark.parametrize(
    ("typed", "run"),
    [
        ("uv sync --frozen", ["uv sync --extra cu126 --frozen"]),
        ("uv run python -c x", ["uv run --extra cu126 python -c x"]),
        ("uv add --dev idna", ["uv add --no-sync --dev idna", "uv sync --inexact --extra cu126"]),
        ("uv remove idna", ["uv remove --no-sync idna", "uv sync --inexact --extra cu126"]),
        ("uv run --package=lib x.py --package a", ["uv run --all-packages --extra cu126 x.py --package a"]),
        ("uv sync --package app", ["uv sync --extra cu126 --package app"]),
        (
            "uv add --package lib idna",
            ["uv add --no-sync --package lib idna", "uv sync --inexact --all-packages --extra cu126"],
        ),
        *((f"uv run --{word}", None) for word in ("all-groups", "only-group=x", "no-sync", "isolated", "script")),
        ("uv sync --extra=docs", ["uv sync --extra cu126 --extra=docs"]),
        ("uv run -- x.py --no-project", ["uv run --extra cu126 -- x.py --no-project"]),
        ("uv sync --extra docs", ["uv sync --extra cu126 --extra docs"]), ("uv sync --extra cpu", None),
        ("uv sync --extra=cpu", None), ("uv sync --all-extras", None), ("uv run --no-project x.py", None),
        (
            "uv run --with idna x.py --extra cpu --script",
            ["uv run --extra cu126 --with idna x.py --extra cpu --script"],
        ),
        ("uv -q --directory there lock --upgrade", ["uv -q --directory there lock --upgrade"]),
        (
            "uv --project=there add idna",
            ["uv --project=there add --no-sync idna", "uv --project=there sync --inexact --extra cu126"],
        ),
    ],
)  # fmt: skip
def test_a_command_of_uvs_gets_the_extra_unless_it_says_itself_what_it_wants(typed: str, run: list[str] | None) -> None:
    uv = parse_uv(typed.split(), {}, "/here")
    assert uv is not None
    found = commands(uv, EXTRAS, "cu126")

    assert (found and [" ".join(words) for words in found]) == run


@pytest.mark.parametrize(
    ("typed", "environ", "folder"),
    [
        ("uv --directory a --project b sync", {}, "/here/a/b"), ("/opt/UV.exe sync --project=b", {}, "/here/b"),
        ("uv run x.py --project b", {"UV_PROJECT": "c"}, "/here/c"), ("uv pip install torch", {}, None),
        ("uv --quiet", {}, None), ("pip sync", {}, None),
        ("uv sync --project= --frozen", {}, "/here"), ("uv -- sync", {}, None),
    ],
)  # fmt: skip
def test_the_project_is_that_of_the_folder_that_uv_is_given(
    typed: str, environ: dict[str, str], folder: str | None
) -> None:
    uv = parse_uv(typed.split(), environ, "/here")

    assert (uv and os.path.normpath(uv.folder)) == folder


# Those of uv 0.13's options that take a word of their own.
VALUED = """--directory --project --config-file --cache-dir --color --python-preference --python-fetch --group
--no-group --allow-insecure-host --preview-features --extra --only-group --no-extra --with
--with-editable --with-requirements --package --python -p --env-file --index --default-index --index-url
-i --extra-index-url --find-links -f --link-mode --upgrade-package -P --refresh-package
--reinstall-package --resolution --prerelease --exclude-newer"""


@pytest.mark.parametrize("option", VALUED.split())
def test_the_word_behind_an_option_is_no_command(option: str) -> None:
    for words, command in ((["x", "sync"], "sync"), (["add", "sync"], "sync"), (["lock"], None)):
        uv = parse_uv(["uv", option, *words], {}, "/here")
        assert (uv and uv.command) == command
    attached = parse_uv(["uv", f"{option}=x", "sync"], {}, "/here")
    assert attached is not None
    assert attached.command == "sync"


def test_an_extra_of_another_name_is_the_backend_that_its_index_is_for_and_what_all_ask_is_asked() -> None:
    tables = """[project.optional-dependencies]
gpu = ["torch>=2.7", "torchvision==0.24"]
rocm6_4 = ["torch>=2.7", "torchvision", "torchaudio"]
[tool.uv.sources]
torch = [{ index = "a", extra = "gpu" }, { index = "a", extra = "rocm6_4" }, { index = "b", extra = "docs" }]
[[tool.uv.index]]
name = "a"
url = "https://h.example/whl/cu126/"
"""
    data = toml.loads(tables)

    assert backend_names(data) == ("extra", {"gpu": "cu126", "rocm6_4": "rocm6.4"})
    assert family_of_all(data) == ("torch>=2.7", "torchvision")
    one = {"project": {"optional-dependencies": {"cpu": ["torch==2.9.1"]}}}
    assert (family_of_all(one), family_of_all({})) == (("torch",), ())


def test_of_groups_the_others_are_left_out_for_one_may_be_a_default() -> None:
    uv = UvCommand(("uv",), "sync", (), "/here")
    found = commands(uv, EXTRAS._replace(kind="group"), "cu126")

    assert found == (("uv", "sync", "--no-group", "cpu", "--group", "cu126"),)


@pytest.mark.skipif(os.name == "nt", reason="a script stands for uv")
@pytest.mark.parametrize(("first", "status", "runs"), [(0, 0, 2), (7, 7, 1)])
def test_run_starts_uv_with_this_machines_extra_and_sets_nothing(
    first: int,
    status: int,
    runs: int,
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    uv = tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text(f'#!/bin/sh\necho "$@ [$UV_CONSTRAINT$UV_FIND_LINKS]"\n[ $1 = sync ] || exit {first}\n', "utf-8")
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{uv.parent}{os.pathsep}{os.environ['PATH']}")

    assert main(["run", *OLD, "uv", "add", "idna"]) == status

    out, err = capfd.readouterr()
    assert out.splitlines() == ["add --no-sync idna []", "sync --inexact --extra cu126 []"][:runs]
    assert f"extra `cu126` of {file} is this machine's" in " ".join(err.split())
