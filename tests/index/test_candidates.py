"""Which file of each version a Python would take, and why it would take none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.index import pages
from torchpick.index.pages import ProjectFile
from torchpick.index.projectfiles import FileRules, IndexTarget, LeftOutReason, candidates, of_use
from torchpick.model.machine import Platform

TARGET = IndexTarget("cp312", Platform("linux", "x86_64", "2.35", "glibc"))
ANY, LINUX = "py3-none-any", "cp312-cp312-manylinux_2_28_x86_64"


def file(name: str, index_url: str = "i", **said: Any) -> ProjectFile:
    made = pages.locate(f"https://h/{name}", "", name, **said, index_url=index_url)
    assert made is not None
    return made


def wheel(version: str, tag: str = ANY, **said: Any) -> ProjectFile:
    return file(f"pkg-{version}-{tag}.whl", **said)


def sdist(version: str, **said: Any) -> ProjectFile:
    return file(f"pkg-{version}.tar.gz", **said)


@pytest.mark.parametrize(("files", "taken"), [
    ([wheel("1"), wheel("1", LINUX)], wheel("1", LINUX)),
    ([sdist("1"), wheel("1")], wheel("1")),
    ([sdist("1"), wheel("1", "cp311-cp311-win_amd64")], sdist("1")),
    ([wheel("1"), wheel("1-2"), wheel("1-10")], wheel("1-10")),  # build numbers
    ([wheel("1-2b"), wheel("1-2a")], wheel("1-2b")),
    ([wheel("1", f"{LINUX}.manylinux_2_17_x86_64"), wheel("1", "cp312-cp312-manylinux_2_24_x86_64")],
     wheel("1", f"{LINUX}.manylinux_2_17_x86_64")),
    ([wheel("1-10"), wheel("1", LINUX)], wheel("1", LINUX)),
    ([wheel("1", yanked="bad"), sdist("1")], sdist("1")),
    ([wheel("1", requires_python=">=3.13"), sdist("1", requires_python=">=3")], sdist("1", requires_python=">=3")),
    ([wheel("1", requires_python="what?")], wheel("1", requires_python="what?")),
    ([file("pkg-1.tar.gz", "one"), file("pkg-1.tar.gz", "two")], file("pkg-1.tar.gz", "one")),
])  # fmt: skip
def test_the_best_file_of_a_version(files: list[ProjectFile], taken: ProjectFile) -> None:
    assert candidates(files, TARGET)[0] == (taken,)


@pytest.mark.parametrize(("version", "requires", "suits"), [
    ("3.12.4", ">=3.12.4", True), ("3.12.4", ">=3.12.5", False), ("3.12.4", "<3.12.4", False),
    (None, ">=3.12.5", True), (None, "<3.12.4", False), (None, "<3.13", True), ("3.15.0rc1", ">=3.9", True),
    ("3.15.0rc1", ">=3.15", False), ("3.12.4", None, True),
])  # fmt: skip
def test_the_patch_release_of_a_python_counts_where_it_is_known(
    version: str | None, requires: str | None, suits: bool
) -> None:
    target = TARGET._replace(version=version)
    assert bool(candidates([wheel("1", requires_python=requires)], target)[0]) is suits


NOTHING = FileRules()
RULES_OF = {
    "YANKED": (wheel("1", yanked="bad", uploaded="2023-01-01"), NOTHING),
    "TOO_NEW": (wheel("1", uploaded="2024-02-03"), FileRules(uploaded_before="2024-02-01")),
    "PYTHON": (wheel("1", requires_python="<3"), NOTHING),
    "ONLY_SOURCE": (sdist("1"), FileRules(only_binary=True)),
    "NO_FILE": (wheel("1", "cp311-cp311-win_amd64"), NOTHING),
}


def test_of_several_reasons_the_first_is_said_and_of_several_days_the_earliest() -> None:
    for place, (name, (one, rules)) in enumerate(RULES_OF.items()):
        for other, more in [*RULES_OF.values()][place:]:
            before = rules.uploaded_before or more.uploaded_before
            both = FileRules(rules.only_binary or more.only_binary, uploaded_before=before)
            for pair in ([one, other], [other, one]):
                assert [left.reason.name for left in candidates(pair, TARGET, both)[1]] == [name]
    old = [wheel("1", LINUX, requires_python="<3"), wheel("1", requires_python="<2")]
    assert [left.text for left in candidates(old, TARGET)[1]] == ["requires Python <3"]
    late, early = (sdist("1", uploaded=f"2024-02-0{day}") for day in (5, 3))
    for pair in ([late, early], [early, late], [sdist("1"), early]):
        assert [left.text for left in candidates(pair, TARGET, RULES_OF["TOO_NEW"][1])[1]] == ["uploaded on 2024-02-03"]
    newest = candidates([sdist("1.9"), sdist("1.10"), sdist("2rc1"), sdist("1.10.post1")], TARGET)[0]
    assert [one.version for one in newest] == ["2rc1", "1.10.post1", "1.10", "1.9"]


@pytest.mark.parametrize(("one", "rules", "reason", "says"), [
    (wheel("1", "cp311-cp311-win_amd64"), NOTHING, LeftOutReason.NO_FILE, "no file for Python 3.12 on linux-x86_64"),
    (wheel("1", requires_python="<3.12"), NOTHING, LeftOutReason.PYTHON, "requires Python <3.12"),
    (sdist("1"), FileRules(only_binary=True), LeftOutReason.ONLY_SOURCE,
     "no wheel for Python 3.12 on linux-x86_64, only source"),
    (wheel("1"), FileRules(no_binary=True), LeftOutReason.NO_FILE, "no file for Python 3.12 on linux-x86_64"),
    (sdist("1", yanked="bad"), NOTHING, LeftOutReason.YANKED, "withdrawn: bad"),
    (sdist("1", yanked=""), NOTHING, LeftOutReason.YANKED, "withdrawn: no reason is given"),
    (sdist("1", uploaded="2024-02-01T00:00:00Z"), FileRules(uploaded_before="2024-02-01"), LeftOutReason.TOO_NEW,
     "uploaded on 2024-02-01"),
    (sdist("1"), FileRules(uploaded_before="2024-02-01"), LeftOutReason.TOO_NEW,
     "uploaded on an unknown day"),
])  # fmt: skip
def test_a_version_without_a_file_says_why(
    one: ProjectFile, rules: FileRules, reason: LeftOutReason, says: str
) -> None:
    found = candidates([one], TARGET, rules)

    assert found[0] == ()
    [left] = found[1]
    assert (left.version, left.reason, left.text) == (one.version, reason, says)
    assert left.file == (one if reason is LeftOutReason.YANKED else None)


@pytest.mark.parametrize(("uploaded", "before", "taken"), [
    ("2024-01-31T23:59:59.999Z", "2024-02-01", True),
    ("2024-01-31T10:00:00Z", "2024-01-31T10:00:00.5Z", True),
    ("2024-01-31T10:00:00.5Z", "2024-01-31T10:00:00Z", False),
    ("2024-01-31T10:00:00.5Z", "2024-01-31T10:00:00.5+00:00", False),
])  # fmt: skip
def test_only_what_was_uploaded_before_a_moment(uploaded: str, before: str, taken: bool) -> None:
    found = candidates([sdist("1", uploaded=uploaded)], TARGET, FileRules(uploaded_before=before))

    assert bool(found[0]) is taken


FILES = st.builds(
    lambda version, kind, **said: file(f"pkg-{version}{kind}", **said),
    st.sampled_from(["1", "2"]),
    st.sampled_from([
        ".tar.gz", ".zip", f"-{ANY}.whl", f"-2-{ANY}.whl", f"-{LINUX}.whl", "-cp311-cp311-win_amd64.whl",
    ]),
    index_url=st.sampled_from(["one", "two"]),
    requires_python=st.sampled_from([None, ">=3.8", ">=3.13", "<3"]),
    yanked=st.sampled_from([None, None, "", "bad"]),
    uploaded=st.sampled_from([None, "2024-01-01", "2024-01-02", "2024-01-03T10:00:00Z"]),
)  # fmt: skip
RULES = st.builds(
    FileRules,
    only_binary=st.booleans(),
    no_binary=st.booleans(),
    uploaded_before=st.sampled_from([None, "2024-01-02", "2024-01-03", "2025-01-01"]),
)


@given(pages=st.lists(st.lists(FILES, max_size=8), max_size=2), rules=RULES)
def test_what_is_of_use_decides_whatever_the_rules(pages: list[list[ProjectFile]], rules: FileRules) -> None:
    """Of each page by itself."""
    every = [one for page in pages for one in page]
    few = [one for page in pages for one in of_use(page, TARGET)]

    assert candidates(few, TARGET, rules) == candidates(every, TARGET, rules)
    assert {one.version for one in few} <= {one.version for one in every}
