"""What a lock has on a machine: which entries an extra or a group brings, and of which build each is."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchpick.model.machine import Machine, Platform, Python
from torchpick.projects.lockfiles import Choice, LockedPackage, LockFile, read_lock

CU126, OWN = "https://download.pytorch.org/whl/cu126", "https://own.example/simple"
LINUX = Machine(Platform("linux", "x86_64", "2.35"), Python("3.12", exact="3.12.4"))


def lock(folder: Path, text: str, name: str = "uv.lock") -> LockFile:
    (folder / name).write_text(text, "utf-8")
    return read_lock(str(folder / name), {"NAME": "torch"})


def versions(file: LockFile, choice: Choice, machine: Machine = LINUX) -> dict[str, str]:
    return {name: package.labelled for name, package in file.installed(choice, machine).items()}


UV = f"""version = 1
requires-python = ">=3.11"
[manifest]
members = ["app", "Other_Lib"]
[[package]]
name = "app"
source = {{ virtual = "." }}
dependencies = [
  {{ name = "torch", version = "2.9.1", source = {{ registry = "{CU126}" }}, marker = "extra == 'extra-3-app-gpu'" }},
  {{ name = "torch", version = "2.9.1+cpu", source = {{ registry = "x" }}, marker = "extra != 'extra-3-app-gpu'" }},
  {{ name = "one", extra = ["more"] }},
  {{ name = "late", marker = "python_full_version >= '3.12.4'" }},
]
[package.optional-dependencies]
gpu = []
[package.dev-dependencies]
dev = [{{ name = "tool" }}]
[[package]]
name = "other-lib"
source = {{ directory = "lib" }}
[[package]]
name = "path"
source = {{ editable = "../path" }}
[[package]]
name = "torch"
version = "2.9.1"
source = {{ registry = "{CU126}" }}
wheels = [
  {{ url = "https://h/torch-2.9.1%2Bcu126-cp312-cp312-linux_x86_64.whl#x" }},
  {{ name = "torch-2.9.1-py3-none-any.whl" }},
]
[[package]]
name = "torch"
version = "2.9.1+cpu"
source = {{ registry = "x" }}
[[package]]
name = "one"
version = "1"
source = {{ registry = "{OWN}" }}
dependencies = [{{ name = "two" }}]
[package.optional-dependencies]
more = [{{ name = "three" }}]
[[package]]
name = "two"
version = "2"
source = {{ registry = "{OWN}" }}
dependencies = [{{ name = "one" }}, {{ name = "gone" }}]
[[package]]
name = "three"
version = "3"
[[package]]
name = "late"
version = "4"
[[package]]
name = "tool"
version = "5"
"""


def test_each_choice_of_a_project_has_its_own_and_what_that_requires(tmp_path: Path) -> None:
    file = lock(tmp_path, UV)
    always = {"torch": "2.9.1+cpu", "one": "1", "two": "2", "three": "3", "late": "4"}

    assert [*file.choices()] == [
        Choice("app"), Choice("app", "extra", "gpu"), Choice("app", "group", "dev"), Choice("other-lib"),
    ]  # fmt: skip
    assert versions(file, Choice("app")) == always
    assert versions(file, Choice("app", "extra", "gpu")) == {**always, "torch": "2.9.1+cu126"}
    assert versions(file, Choice("app", "group", "dev")) == {**always, "tool": "5"}
    assert file.named(Choice("app", "group", "dev")) == ("torch", "one", "late", "tool")
    assert file.packages["torch", "2.9.1", CU126].wheels == (
        "torch-2.9.1+cu126-cp312-cp312-linux_x86_64.whl", "torch-2.9.1-py3-none-any.whl",
    )  # fmt: skip
    assert file.packages["torch", "", ""].version == "2.9.1"
    earlier = LINUX._replace(python=Python("3.12", exact="3.12.3"))
    assert "late" not in versions(file, Choice("app"), earlier)


@pytest.mark.parametrize(
    ("requires", "version", "taken"),
    [
        (">=3.11", "3.12", "3.12"), (">=3.13", "3.12", "3.13"), ("<3.11", "3.12", "3.9"),
        (">=3.10.4,<3.11", "3.9", "3.10"),
        (">=3.15", "3.12", "3.15"), ("==2.7", "3.12", "3.12"), ("", "3.8", "3.8"),
    ],
)  # fmt: skip
def test_where_a_lock_is_not_for_a_python_it_is_judged_for_its_oldest(requires: str, version: str, taken: str) -> None:
    assert LockFile("uv.lock", {}, {}, requires).python_for(version) == taken


def test_a_plain_version_of_the_wheel_host_is_of_the_folder_that_it_comes_from() -> None:
    of = {index: LockedPackage("torch", "2.9.1", index).labelled for index in (CU126, f"{CU126}/", OWN, "")}

    assert [*of.values()] == ["2.9.1+cu126", "2.9.1+cu126", "2.9.1", "2.9.1"]
    assert LockedPackage("torch", "2.9.1+cpu", CU126).labelled == "2.9.1+cpu"


def test_a_pylock_has_its_extras_and_groups_in_its_markers(tmp_path: Path) -> None:
    text = """lock-version = "1.0"
extras = ["GPU"]
dependency-groups = ["dev"]
packages = [
  { name = "torch", version = "2.9.1+cu126", index = "x", marker = "'gpu' in extras" },
  { name = "torch", version = "2.9.1+cpu", index = "y", marker = "'GPU' not in extras" },
  { name = "tool", version = "5", marker = "'dev' in dependency_groups and 'gpu' not in extras" },
]
"""
    file = lock(tmp_path, text, "pylock.toml")

    assert [versions(file, choice) for choice in file.choices()] == [
        {"torch": "2.9.1+cpu"}, {"torch": "2.9.1+cu126"}, {"torch": "2.9.1+cpu", "tool": "5"},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "label"),
    [
        (f"-i {OWN}\n--extra-index-url {CU126}\n", "2.9.1+cu126"), (f"--index-url {CU126}/\n", "2.9.1+cu126"),
        ("", "2.9.1"), (f"-i {OWN}/cpu\n", "2.9.1+cpu"), (f"-i {OWN}/cpu\n--extra-index-url {OWN}\n", "2.9.1"),
    ],
)  # fmt: skip
def test_of_requirements_only_the_exact_ones_are_known(options: str, label: str, tmp_path: Path) -> None:
    lines = "${NAME}==2.9.1\none===1.0\ntwo==2.*\nthree>=3,<4\nfour\nfive==5,!=6\nsix==6; os_name == 'nope'\n"
    file = lock(tmp_path, options + lines, "requirements.txt")

    assert versions(file, Choice("")) == {"one": label.replace("2.9.1", "1.0"), "torch": label}
    assert file.loose == ("two", "three", "four", "five")
