"""Our reading of everyday specifiers is packaging's."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from torchpick.model.specifiers import admits, simple

numbers = st.lists(st.integers(0, 12), min_size=1, max_size=4).map(lambda digits: ".".join(map(str, digits)))
clauses = st.builds(
    lambda operator, version, wild: f"{operator}{version}{wild if operator in ('==', '!=') else ''}",
    st.sampled_from(("==", "!=", "<=", ">=", "<", ">", "~=")),
    numbers,
    st.sampled_from(("", "", ".*")),
)
specifiers = st.lists(clauses, max_size=3).map(",".join)
labels = st.sampled_from(("", "+cu126", "+cpu", "+rocm6.2"))
phases = st.sampled_from(("", "", "rc1", ".dev20261101"))
versions = st.builds(lambda version, phase, label: version + phase + label, numbers, phases, labels)


@given(specifiers, versions)
def test_an_everyday_specifier_admits_what_packaging_admits(specifier: str, version: str) -> None:
    try:
        expected = SpecifierSet(specifier)
    except InvalidSpecifier:
        assert simple(specifier) is None
        return

    assert admits(specifier)(version) is expected.contains(version, prereleases=False)
    assert admits(specifier, prereleases=True)(version) is expected.contains(version, prereleases=True)


@given(st.text("<>=!~0123456789.*,+abc ", max_size=12))
def test_any_text_is_read_as_packaging_reads_it_or_left_to_packaging(text: str) -> None:
    if simple(text) is None:
        return
    expected = SpecifierSet(text)
    for version in ("2.9.1", "2.10.0+cu126", "0", "3"):
        assert admits(text)(version) is expected.contains(version)
