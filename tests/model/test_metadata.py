"""METADATA of every age: what it requires, and what of it is refused."""

from __future__ import annotations

from contextlib import suppress

import pytest

from tests.growth import in_line
from torchpick.model import metadata
from torchpick.model.metadata import Metadata, parse_metadata

HEAD = "Metadata-Version: 2.1\nName: Py.Torch_Lightning\nVersion: 1.0.0RC1\n"


@pytest.mark.parametrize(("text", "requires"), [
    ("", ()),
    ("Requires-Dist: numpy (>=1.0)\nREQUIRES-DIST:x ; extra == 'a'\n", ("numpy (>=1.0)", "x ; extra == 'a'")),
    ("Requires-Dist: numpy\n  >=1.0\n\t,<2\nAuthor: x\n  Requires-Dist: no\n", ("numpy >=1.0 ,<2",)),
    ("Requires-Dist: a\tb\n", ("a b",)),
    ("Requires-Dist: a\n\nRequires-Dist: of the description\n", ("a",)),
    ("Description: x\n        \n        Requires-Dist: no\nRequires-Dist: a\n", ("a",)),
])  # fmt: skip
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_it_requires(text: str, requires: tuple[str, ...], end: str) -> None:
    found = parse_metadata((HEAD + text).replace("\n", end))

    assert found == Metadata("py-torch-lightning", "1.0.0rc1", requires, "", ())


@pytest.mark.parametrize("text", [
    "", "Name: x\n", "Version: 1\n", "Name: x\nVersion: one\n", "Name: \nVersion: 1\n", "Name: x y\nVersion: 1\n",
    "Name: x\x1b\nVersion: 1\n", "Name: -x\nVersion: 1\n", f"Name: {'x' * 200}\nVersion: 1\n",
    "Name: x\nVersion: 1\u0661\n", f"Name: x\nVersion: {'1' * 5000}\n", f"Name: x\nVersion: {'1' * 2000}\n",
    HEAD + "Requires-Dist: a\x1b[2J\n", HEAD + "Requires-Dist: a\x0bb\n", HEAD + "Requires-Dist: a\rb\n",
    HEAD + "Requires-Dist: a\u2028b\n", HEAD + "Requires-Dist: a\u202eb\n", HEAD + "Requires-Python: >3\x7f\n",
    HEAD + f"Requires-Dist: {'a' * 5000}\n", HEAD + "Requires-Dist: a\n" * 5001, HEAD + "Provides-Extra: a\n" * 5001,
    HEAD + f"Requires-Dist: {'a' * 4000}\n" * 300,
])  # fmt: skip
def test_what_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_metadata(text)


def test_the_first_python_counts_and_extras_that_are_names() -> None:
    extras = "".join(f"Provides-Extra: {extra}\n" for extra in ("Dev_X", "docs & tests", "dev-x"))
    found = parse_metadata(
        f"\ufeff{HEAD}Requires-Python: >=3.8\nRequires-Python: <3\n{extras}" + "Requires-Dist: a\n" * 5000
    )

    assert (found.requires_python, found.provides_extra, len(found.requires)) == (">=3.8", ("dev-x",), 5000)
    assert found.text.startswith("Metadata-Version: 2.4\nName: py-torch-lightning\n")
    assert parse_metadata(found.text) == found
    egg = metadata.of_requires_txt(
        "# x\nd[e]\n[f\na>=1\n[Dev:python_version > '3']\nb\n[:os_name == 'nt']\nc\n", "x", "1"
    )
    assert egg.requires == ("d[e]", "[f", "a>=1", 'b; python_version > "3" and extra == "dev"', 'c; os_name == "nt"')
    assert egg.provides_extra == ("dev",)


@pytest.mark.parametrize(("version", "dynamic", "final"), [
    ("2.2", "", True), ("2.4", "Dynamic: License\n", True), ("10.0", "", True), ("2.1", "", False), ("x", "", False),
    ("2.2", "Dynamic: Requires-Dist\n", False), ("2.2", "dynamic: PROVIDES-EXTRA\n", False), ("2", "", False),
])  # fmt: skip
def test_when_the_requirements_of_an_sdist_are_final(version: str, dynamic: str, final: bool) -> None:
    assert metadata.requirements_are_final(f"Metadata-Version: {version}\nName: x\n{dynamic}") is final


@pytest.mark.parametrize("table", [
    {"project": {"dependencies": "numpy"}}, {"project": {"dependencies": [1]}},
    {"project": {"optional-dependencies": []}}, {"project": {"optional-dependencies": {"a": "b"}}},
    {"project": {"optional-dependencies": {"a": ["not a requirement!"]}}},
    {"project": {"optional-dependencies": {"no name!": ["a"]}}}, {"project": {"dependencies": ["a\nb"]}},
])  # fmt: skip
def test_a_project_that_is_not_valid_is_refused(table: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        metadata.of_pyproject(table, "x", "1")


@pytest.mark.parametrize(
    "table", [{}, {"project": 1}, {"project": {"dynamic": 1}}, {"project": {"dynamic": ["dependencies"]}}]
)
def test_a_project_that_leaves_it_to_the_build(table: dict[str, object]) -> None:
    assert metadata.of_pyproject(table, "x", "1") is None


@pytest.mark.parametrize(("line", "marker", "extra", "made"), [
    ("a>=1", "", "", "a>=1"),
    ("a>=1", "", "Dev_X", 'a>=1; extra == "dev-x"'),
    ("a ; os_name == 'nt' or os_name == 'posix'", "python_version > '3'", "d",
     'a; (os_name == "nt" or os_name == "posix") and python_version > "3" and extra == "d"'),
    ("a @ https://h/a.whl ; os_name=='nt'", "", "d", 'a @ https://h/a.whl ; os_name == "nt" and extra == "d"'),
])  # fmt: skip
def test_a_requirement_under_a_marker_and_of_an_extra(line: str, marker: str, extra: str, made: str) -> None:
    assert metadata.with_marker(line, marker, extra) == made


@pytest.mark.parametrize(
    "piece", ["Requires-Dist: a\n", " \n", "\n x", "Name: x\n", ":", "\r", "\t", "Requires-Dist: a\n b\n"]
)
def test_twice_the_text_takes_twice_the_time(piece: str) -> None:
    def parse(size: int) -> None:
        with suppress(ValueError):
            parse_metadata(HEAD + piece * (size // len(piece)))

    in_line(parse, (1 << 16, 1 << 20), floor=0.005)
