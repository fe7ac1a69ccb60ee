"""The conda recipe and the image say what pyproject.toml says."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from scripts.shipping import building, locks
from torchpick.environment import toml
from torchpick.model import VERSION

ROOT = Path(__file__).parents[2]
PROJECT = toml.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RECIPE = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
NAME = PROJECT["project"]["name"]


def entries(key: str) -> list[str]:
    """The items of one list of the recipe."""
    match = re.search(rf"^( *){key}:\n((?:\1  .*\n)+)", RECIPE, re.MULTILINE)
    assert match, key
    return re.findall(r"^ *- (.*)$", match[2], re.MULTILINE)


def context(key: str) -> str:
    match = re.search(rf'^  {key}: "(.*)"$', RECIPE, re.MULTILINE)
    assert match, key
    return match[1]


def test_the_recipe_is_of_this_version_for_the_same_pythons() -> None:
    assert context("version") == VERSION
    assert f">={context('python_min')}" == PROJECT["project"]["requires-python"]
    assert f"  name: {NAME}\n" in RECIPE
    assert f"  summary: {PROJECT['project']['description']}\n" in RECIPE


def test_the_recipe_needs_what_the_project_needs() -> None:
    needs = [Requirement(text) for text in PROJECT["project"]["dependencies"]]

    assert sorted(entries("run")) == sorted(
        ["python >=${{ python_min }}", *(f"{need.name} {need.specifier}" for need in needs)]
    )


def test_one_build_backend_is_named_everywhere() -> None:
    """From 1.27 on it writes the licence as the bills of materials read it; 1.25 cannot build the project."""
    (needed,) = PROJECT["build-system"]["requires"]
    backend = Requirement(needed)

    assert list(backend.specifier.filter(["1.25.0", "1.26.3", "1.27.0"])) == ["1.27.0"]
    for group in ("test", "release"):
        assert needed in PROJECT["dependency-groups"][group]
    assert f"{backend.name} {backend.specifier}" in entries("host")


@pytest.mark.parametrize("name", ["run", "build", "test"])
def test_a_release_is_made_and_tested_with_named_files_that_fit_what_the_project_asks_for(name: str) -> None:
    """Anew: scripts/lock-tools."""
    named: dict[str, list[Version]] = {}
    lines = (locks.FOLDER / f"{name}.txt").read_text("utf-8").replace("\\\n", "").splitlines()
    for line in filter(lambda each: not each.startswith("#"), lines):
        requirement, *hashes = line.split(" --hash=")
        pin = Requirement(requirement)
        (one,) = pin.specifier
        assert one.operator == "=="
        assert hashes
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64} *", each) for each in hashes)
        named.setdefault(pin.name, []).append(Version(one.version))

    for need in map(Requirement, locks.asked()[name]):
        assert all(need.specifier.contains(each) for each in named[need.name]), need


def test_the_group_of_the_tests_brings_the_pip_that_they_copy() -> None:
    """A release runs them in an environment that has the wheel and this group, and no pip of its own."""
    assert "import pip\n" in (ROOT / "tests" / "fakes" / "venvs.py").read_text("utf-8")
    assert "pip" in {Requirement(text).name for text in PROJECT["dependency-groups"]["test"]}


def test_the_recipe_makes_the_same_commands() -> None:
    scripts = [f"{name} = {place}" for name, place in PROJECT["project"]["scripts"].items()]

    assert entries("entry_points") == scripts


def test_the_image_runs_a_python_and_a_command_that_there_are() -> None:
    pythons = re.findall(r"^FROM python:([\d.]+)-slim", DOCKERFILE, re.MULTILINE)

    assert len(pythons) == 2
    assert len(set(pythons)) == 1
    assert pythons[0] in SpecifierSet(PROJECT["project"]["requires-python"])
    entry = re.search(r'^ENTRYPOINT \["(.*)"\]$', DOCKERFILE, re.MULTILINE)
    assert entry
    assert entry[1] in PROJECT["project"]["scripts"]
    assert f" {NAME} " in DOCKERFILE


@pytest.mark.process
def test_what_the_image_copies_is_enough_to_build_it(tmp_path: Path) -> None:
    for sources, target in re.findall(r"^COPY (.*) (/\S+)$", DOCKERFILE, re.MULTILINE):
        for source in sources.split():
            place = tmp_path / target.strip("/")
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, place)

    _, wheel = building.distributions(tmp_path / "source", tmp_path / "wheels")

    names = set(ZipFile(wheel).namelist())
    assert {"torchpick/cli/__init__.py", "torchpick/compat/companions.json"} <= names
    assert any(name.endswith("/licenses/LICENSE") for name in names)
