"""What is asked for by its place: whose it is, what is known of it, and where else the user's files look."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchpick.environment.requirements import RequirementArgs, parse, read_requirements
from torchpick.errors import RequirementError
from torchpick.index.index_places import IndexPlaces
from torchpick.install.places import (
    facts_of,
    index_order_notes,
    project_at,
    unread_notes,
    with_more_indexes,
    with_names,
)

WHEEL = "https://me:secret@h.example/robots-1.5-py3-none-any.whl"


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("git+https://h.example/x@main#egg=My.Lab", "my-lab"), ("hg+https://h.example/x#subdirectory=a&egg=lab", "lab"),
        ("SVN+https://h.example/x", ""), ("bzr+https://h.example/x#egg=lab[a]", "lab"),
        ("mine @ git+https://h.example/x#egg=lab", "mine"),
    ],
)  # fmt: skip
def test_a_repository_has_the_name_that_is_said_and_is_not_read(word: str, name: str) -> None:
    found = project_at(parse(word))

    assert (found.name, found.why, facts_of(found, None)) == (name, "it is built from a repository", None)


def test_a_file_is_of_the_project_that_its_name_says() -> None:
    found = project_at(parse(f"{WHEEL}#sha256={'0' * 64}"))
    facts = facts_of(found, None)

    assert facts is not None
    assert [(row.name, row.version, row.place) for row in facts.versions] == [
        ("robots", "1.5", "https://me:****@h.example/robots-1.5-py3-none-any.whl")
    ]
    assert project_at(parse(f"Robots @ {WHEEL}")).name == "robots"
    assert project_at(parse("https://h.example/archive/main.zip")).why.startswith("it is an archive whose name")
    with pytest.raises(RequirementError, match="is a file of robots"):
        project_at(parse(f"lamps @ {WHEEL}"))


def test_a_folder_has_the_name_that_is_said_of_it_or_that_it_says_of_itself(tmp_path: Path) -> None:
    folder, empty = tmp_path / "lab", tmp_path / "empty"
    for path in (folder, empty):
        path.mkdir()
    (folder / "pyproject.toml").write_text('[project]\nname = "Our.Lab"\ndependencies = ["torch<2.9"]\n', "utf-8")

    named, unnamed, nothing = (
        project_at(parse(word)) for word in (f"other @ {folder.as_uri()}", str(folder), f"x @ {empty.as_uri()}")
    )

    assert [(each.name, each.why) for each in (named, unnamed)] == [("other", ""), ("our-lab", "")]
    assert (nothing.name, nothing.why) == ("x", "it has no pyproject.toml")
    facts = facts_of(unnamed, None)
    assert facts is not None
    assert [(row.version, row.requires) for row in facts.versions] == [("0", ("torch<2.9",))]
    asked = with_names(read_requirements(RequirementArgs((str(folder), "numpy", WHEEL)), {}))
    assert [each.name for each in asked.wanted] == ["our-lab", "numpy", "robots"]


@pytest.mark.parametrize(
    ("source", "words", "indexes"),
    [
        ("pip", ("-i", "m"), ["m", "b"]), ("pip", ("--extra-index-url=x", "--index", "y"), ["a", "b", "x", "y"]),
        ("uv", ("--default-index", "m"), ["a", "m"]), ("uv", ("--index", "x"), ["x", "a", "b"]),
        ("uv", ("--extra-index-url", "b", "--index-url", "m"), ["b", "a", "m"]), ("pip", ("--pre",), ["a", "b"]),
    ],
)  # fmt: skip
def test_an_index_behind_the_dashes_stands_where_the_installer_has_it(
    source: str, words: tuple[str, ...], indexes: list[str]
) -> None:
    asked = read_requirements(RequirementArgs(("torch",)), {})

    assert with_more_indexes(IndexPlaces(("a", "b"), source=source), asked, words).indexes == tuple(indexes)


def test_a_page_of_links_is_looked_for_beside_the_file_that_names_it_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub" / "beside").mkdir(parents=True)
    wheel_host = "--extra-index-url https://download.pytorch.org/whl/cu126\n"
    Path("sub/r.txt").write_text(f"torch\n-f beside\n-f here\n-f file:///x\n{wheel_host}", "utf-8")
    asked = read_requirements(RequirementArgs(files=("sub/r.txt",)), {})

    found = with_more_indexes(IndexPlaces(("a",), ("z",)), asked, ("-f", "https://h.example"))

    here = tmp_path.as_uri()
    assert found == IndexPlaces(("a",), ("z", "https://h.example", f"{here}/sub/beside", f"{here}/here", "file:///x"))


def test_projects_on_the_same_indexes_are_named_together() -> None:
    indexes = {"one": ("https://me:pw@a", "b"), "two": ("https://me:pw@a", "b"), "three": ("a",), "four": ("b", "c")}

    for installer, rule in (("uv", "uv takes the first that has it"), ("pip", "pip takes the newest of all")):
        assert [note.text for note in index_order_notes(indexes, installer)] == [
            f"one, two are on https://me:****@a and b, and {rule}",
            f"four is on b and c, and {rule}",
        ]


def test_what_only_a_build_says_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, more in (("fixed", 'dependencies = ["numpy"]'), ("built", 'dynamic = ["dependencies"]')):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "pyproject.toml").write_text(f"[project]\n{more}\n", "utf-8")
    files = ("setup.cfg", os.path.join("fixed", "pyproject.toml"), os.path.join("built", "pyproject.toml"))
    asked = read_requirements(RequirementArgs(files=files), {})

    assert [note.text for note in unread_notes(asked, [project_at(parse("git+https://h.example/x"))])] == [
        "what `git+https://h.example/x` requires is not known: it is built from a repository",
        "what setup.cfg requires is not known: only its build says it",
        f"what {files[2]} requires is not known: it leaves that to the build",
    ]
