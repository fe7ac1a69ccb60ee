"""Our reading of specifiers is packaging's."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from torchpick.model.versions import admits, release_key, simple

PHASES = ("", "", "", "rc1", "a0", "b2", ".dev20261101", ".post1", ".post2", "rc1.dev3", ".post1.dev2", "-1", "alpha1")
LABELS = ("", "", "+cu126", "+cpu", "+rocm6.2", "+cpu.cxx11.abi", "+Ubuntu-1")
EPOCHS = ("", "", "", "", "", "1!", "0!")
OPERATORS = ("==", "!=", "<=", ">=", "<", ">", "~=", "===")

numbers = st.lists(st.integers(0, 12), min_size=1, max_size=4).map(lambda digits: ".".join(map(str, digits)))
versions = st.builds(
    lambda epoch, version, phase, label: epoch + version + phase + label, st.sampled_from(EPOCHS), numbers,
    st.sampled_from(PHASES), st.sampled_from(LABELS),
)  # fmt: skip
clauses = st.builds(
    lambda operator, version, wild: f"{operator}{version}{wild if operator in ('==', '!=') else ''}",
    st.sampled_from(OPERATORS), versions, st.sampled_from(("", "", ".*")),
)  # fmt: skip
specifiers = st.lists(clauses, max_size=3).map(",".join)


def is_as_packaging(specifier: str, version: str) -> bool:
    """Whether our answers are packaging's, with and without pre-releases; where it refuses, ours must too."""
    try:
        expected = SpecifierSet(specifier)
    except InvalidSpecifier:
        with pytest.raises(ValueError, match=r"."):
            admits(specifier)
        return True
    named = bool(expected.prereleases)
    return admits(specifier)(version) is expected.contains(version, prereleases=named) and admits(
        specifier, prereleases=True
    )(version) is expected.contains(version, prereleases=True)


@given(specifiers, versions)
def test_a_specifier_admits_what_packaging_admits(specifier: str, version: str) -> None:
    assert is_as_packaging(specifier, version)


@pytest.mark.parametrize("count", [6_000, pytest.param(60_000, marks=pytest.mark.long)])
def test_pairs_drawn_at_random_differ_in_none(count: int) -> None:
    draw = random.Random(count)  # noqa: S311 # a test's own draw

    def number() -> str:
        return ".".join(str(draw.choice((0, 1, 2, 9, 10, 12, 33))) for _ in range(draw.randint(1, 4)))

    def version() -> str:
        return draw.choice(EPOCHS) + number() + draw.choice(PHASES) + draw.choice(LABELS)

    def clause() -> str:
        operator = draw.choice(OPERATORS[:-1])
        # Most specifiers are everyday ones, which are read by our own reader.
        wanted = number() if draw.random() < 0.8 else version()
        return operator + wanted + (".*" if operator in ("==", "!=") and draw.random() < 0.3 else "")

    pairs = ((",".join(clause() for _ in range(draw.randint(0, 3))), version()) for _ in range(count))
    different = [(specifier, text) for specifier, text in pairs if not is_as_packaging(specifier, text)]

    assert different == []


@given(st.text("<>=!~0123456789.*,+abc ", max_size=12))
def test_any_text_is_read_as_packaging_reads_it_or_left_to_packaging(text: str) -> None:
    if simple(text) is None:
        return
    expected = SpecifierSet(text)
    for version in ("2.9.1", "2.10.0+cu126", "0", "3", "2.9.1.post1", "1!2.9.1", "2.9.1+", "no version"):
        assert admits(text)(version) is expected.contains(version)


@given(st.text("0123456789.!+-_postrcdeva", max_size=12))
@example("0a0+")
@example("0a0+cu126")
def test_any_text_as_a_version_is_admitted_where_packaging_admits_it(text: str) -> None:
    for specifier in (">=2", "<9,!=3.*", ""):
        assert admits(specifier)(text) is SpecifierSet(specifier).contains(text, prereleases=False)


def test_the_post_release_of_a_release_is_admitted_and_newer() -> None:
    assert admits(">=0.0.33")("0.0.33.post2")
    assert not admits(">0.0.33")("0.0.33.post2")
    assert admits("<2")("1!0.5") is False
    assert release_key("0.0.33") < release_key("0.0.33.post2") < release_key("0.0.33.post10") < release_key("0.0.34rc1")


@given(versions, versions)
def test_releases_are_ordered_as_packaging_orders_them(one: str, other: str) -> None:
    try:
        ours = release_key(one), release_key(other)
    except ValueError:
        return
    theirs = Version(one.partition("+")[0]), Version(other.partition("+")[0])

    assert (ours[0] < ours[1], ours[0] == ours[1]) == (theirs[0] < theirs[1], theirs[0] == theirs[1])


def test_numbers_of_five_thousand_digits_are_refused_or_not_admitted() -> None:
    huge = "1" * 5000
    for specifier in (f">={huge}", f"=={huge}.*", f"~=1.{huge}", f"<1.post{huge}"):
        with pytest.raises(ValueError, match=r".") as caught:
            admits(specifier)
        assert not isinstance(caught.value, InvalidVersion)
    for specifier in (">=1", "", "!=2.*", ">=1rc1"):
        assert admits(specifier)(huge) is False
        assert admits(specifier, prereleases=True)(f"1.0.post{huge}") is False
    with pytest.raises(ValueError, match=r"."):
        release_key(huge)
