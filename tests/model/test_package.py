"""Which row is of an index, which extra is for torch's CUDA, and who installs one module."""

from __future__ import annotations

import pytest

from tests.decide.test_buildfit import build
from torchpick.model.arch import Arch
from torchpick.model.package import (
    LibraryCode,
    Package,
    PackageFacts,
    WheelRule,
    cuda_of_extra,
)


@pytest.mark.parametrize(("index", "place"), [
    ("https://h.example/whl/cu128", "https://h.example/whl/cu128/x"), ("https://h.example/whl/cu128/",
     "https://h.example/whl/cu128/x"), ("https://other.example/simple", ""), ("", ""),
    ("https://h.example/whl/cu12", ""), ("https://m.example/cu126", "https://h.example/whl/cu126/x"),
])  # fmt: skip
def test_the_row_of_an_index_is_that_of_its_folder_else_the_one_without_a_place(index: str, place: str) -> None:
    places = ("https://h.example/whl/cu126/x", "", "https://h.example/whl/cu128/x")
    facts = PackageFacts("x", tuple(Package("x", "1", place=one) for one in places))

    row = facts.row("1", index)

    assert row is not None
    assert row.place == place
    assert facts.row("2", index) is None
    assert PackageFacts("x", facts.versions[:1]).row("1", "https://other.example") is None


EXTRAS = ("a; extra == 'cuda12'", 'b; extra == "cu13"', "c; extra == 'all'", "d; extra == 'more'")
RULE = WheelRule(cuda_extras={"all": "11", "more": "13"})
PER_CUDA = (LibraryCode("a.so", (Arch.parse("sm_80"),), cuda="12.8"),)


@pytest.mark.parametrize(("facts", "cuda", "asked", "extra"), [
    ({}, "12.8", (), "cuda12"), ({}, "13.0", (), "cu13"), ({}, "11.8", (), "all"), ({}, None, (), None),
    ({"requires": EXTRAS[3:]}, "13.0", (), "more"), ({"requires": ()}, "12.8", (), None),
    ({"requires": ("a; extra == 'cuda12x'", *EXTRAS[3:])}, "12.8", (), None),
    ({"cuda": "12"}, "12.8", (), None), ({"cuda": "12.4"}, "13.0", (), "cu13"), ({"code": PER_CUDA}, "12.8", (), None),
    ({}, "12.8", ("cu13",), None), ({}, "12.8", ("all",), None), ({}, "12.8", ("docs",), "cuda12"),
])  # fmt: skip
def test_an_extra_is_taken_for_torch_s_cuda_where_nobody_has_chosen_one(
    facts: dict[str, object], cuda: str | None, asked: tuple[str, ...], extra: str | None
) -> None:
    one = Package("x", "1", EXTRAS)._replace(**facts)  # type: ignore[arg-type]
    of_table = PackageFacts("x", (one,), rule=RULE)

    assert of_table.cuda_extra(one, build()._replace(cuda=cuda), asked) == extra
    assert of_table._replace(in_table=False).cuda_extra(one, build()._replace(cuda=cuda), asked) is None


@pytest.mark.parametrize(("extra", "major"), [
    ("cu12", 12), ("cuda13", 13), ("cu126-torch280", 12), ("torch-cu118", 11), ("cuda12x", 12), ("cuda", None),
    ("ocu12", None), ("cu9", None), ("cu1262", None), ("more", 13), ("docs", None),
])  # fmt: skip
def test_the_cuda_of_an_extra_stands_in_its_name_or_in_the_table(extra: str, major: int | None) -> None:
    assert cuda_of_extra(extra, PackageFacts("x", (), rule=RULE)) == major
    assert cuda_of_extra(extra) == (None if extra == "more" else major)
