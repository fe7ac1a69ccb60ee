"""Host names: which there can be, and lists of them."""

from __future__ import annotations

from collections import Counter

import pytest

from torchpick.model.fleet import Hosts, expanded, folded


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n[1-3],login", ["n1", "n2", "n3", "login"]),
        ("n[08-10,12].x", ["n08.x", "n09.x", "n10.x", "n12.x"]),
        ("n[-3]", ["n[-3]"]),
        ("n[1-]", ["n[1-]"]),
        ("n[3-1]", []),
    ],
)
def test_lists_of_hosts(text: str, names: list[str]) -> None:
    assert list(expanded(text)) == names


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["n3", "n1", "n2", "login"], "login,n[1-3]"),
        (["n09", "n10", "n08", "n12", "n1"], "n[1,08-10,12]"),
        (["n99.x", "n100.x", "n9.y", "n"], "n,n[99-100].x,n9.y"),
        (["node", "10.0.0.1", "n1a2"], "10.0.0.1,n1a2,node"),
        ([], ""),
    ],
)
def test_names_in_ranges_are_read_back(names: list[str], text: str) -> None:
    assert folded(names) == text
    assert sorted(expanded(text)) == sorted(names)


def test_a_host_that_is_named_twice_is_one_machine() -> None:
    hosts = Hosts.of(Counter(["n1", "n2", "n1", None, None]))

    assert (hosts.count, hosts.text) == (4, "n[1-2]")
