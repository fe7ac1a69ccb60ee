from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.installers.test_links import build
from torchpick.errors import InstallerError
from torchpick.installers import needs, reporting, stubs
from torchpick.installers.needs import Need, who_asks

# Words of pip 26.3, 22.3.1 and uv 0.13.8.
PIP = """\
ERROR: Cannot install mylib[new]==1.0 because these package versions have conflicting dependencies.

The conflict is caused by:
    mylib 1.0 depends on torch>=2.5
    mylib[new] 1.0 depends on torch>=2.15; extra == "new"
    The user requested (constraint) torch<=2.14.1

To fix this you could try to:
"""
UV = """\
  × No solution found when resolving dependencies:
  ╰─▶ Because mylib[new]==1.0 depends on torch>=2.15 and mylib==1.0 depends
      on torch<=2.14.1, we can conclude that mylib==1.0 cannot be used.
"""
UV_ALL = (
    "Because all versions of mylib[new] depend on torch>=2.15 and all versions of mylib depend on torch<=2.14.1, we"
)


def test_who_asks_for_what_in_the_words_of_each() -> None:
    assert who_asks(PIP, "torch<=2.14.1") == (Need("mylib 1.0", "torch>=2.5"), Need("mylib[new] 1.0", "torch>=2.15"))
    assert who_asks(UV, "torch<=2.14.1") == (Need("mylib[new]==1.0", "torch>=2.15"),)
    assert who_asks(UV_ALL, "torch<=2.14.1") == (Need("mylib[new]", "torch>=2.15"),)


@given(st.text())
def test_any_words_are_read(text: str) -> None:
    who_asks(text + " depends on torch" + text, "torch<=2")


def test_a_conflict_names_only_what_nothing_can_give() -> None:
    runnable = [build(), build(torch="2.9.1", version="2.9.1+cu126")]

    assert needs._conflict(PIP, runnable) == ("mylib[new] 1.0 asks for torch>=2.15",)


def test_words_that_name_nobody_are_passed_on() -> None:
    assert needs._conflict("one\ntwo\n\nthree", [build()]) == ("one", "two", "three")


def test_uvs_pins() -> None:
    found = needs.of_pins("# a comment\ntorch==2.9.1+cu126\nMy_Lib[x]==1.0 ; sys_platform\n-e ./x\nname @ https://x\n")

    assert found.versions == {"torch": "2.9.1+cu126", "my-lib": "1.0"}


def test_uv_says_who_needs_torch_or_one_of_cudas_own_wheels() -> None:
    text = """My_Lib==1.0
    # via -r needs.txt
numpy==2.0
    # via
    #   my-lib
    #   other
nvidia-nccl-cu12==2.1
    # via Faiss.GPU
faiss-gpu==1.0
other==1.0
torch==2.9.1
    # via
    #   -c limits.txt
    #   my-lib
    #   other
"""

    assert needs.of_pins(text).users == {"my-lib", "other", "faiss-gpu"}


REPORT = """{"install": [
 {"metadata": {"name": "My_Lib", "version": "1",
  "requires_dist": ["torch (>=2.0,<2.12)", "Torch[x]>=2.1 ; extra == 'y'", "torch-scatter>1", "torchvision", "torch @ https://x"]},
  "download_info": {"url": "https://x/y.whl"}},
 {"metadata": {"name": "torchvision", "version": "0.1", "requires_dist": ["torch==9"]}, "download_info": {"url": "u"}}
]}"""


def test_pips_report_tells_who_requires_what_of_the_family() -> None:
    found = needs.of_report(REPORT)

    assert found.versions == {"my-lib": "1", "torchvision": "0.1"}
    assert found.asked == (("torch", ">=2.0,<2.12"), ("torch", ">=2.1"), ("torchvision", ""), ("torch", "@"))
    assert found.users == {"my-lib", "torchvision"}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"install": [{}]}', '{"install": 3}', "{" * 100_000])
def test_a_report_that_is_none_is_said(text: str) -> None:
    with pytest.raises(InstallerError, match="pip's report"):
        reporting.items(text)


def test_content_only_where_every_specifier_is_met() -> None:
    def content(*asked: tuple[str, str]) -> bool:
        return needs._content(needs.Answer({}, asked), {"torch": "2.9.1+cu126"})

    assert content(("torch", ">=2.0"), ("torch", ""))
    assert content(("torch", "==2.9.1+cu126"))
    assert not content(("torch", "==2.9.1+cu130"))
    assert not content(("torch", "<2.9"))
    assert not content(("torchvision", ""))
    assert not content(("torch", "@"))
    assert not content(("torch", "nonsense"))
    assert not needs._content(needs.Answer(), {})


def test_bounds_keep_a_resolver_to_what_is_offered() -> None:
    offered = [build(), build(torch="2.9.1", version="2.9.1+cu126")]
    known = [*offered, build(torch="2.10.0", version="2.10.0+cu128"), build(torch="2.15.0", version="2.15.0+cu132")]

    assert needs._bounds(offered, known) == "torch<=2.14.1,!=2.10.0\n"
    assert needs._bounds((), known) == "torch==0+nothing.runs.here\n"


def test_stand_ins_keep_a_companion_with_its_torch() -> None:
    made = build(companions={"torchvision": "0.29.1+cu126", "torchaudio": None})

    assert stubs.of_builds([made]) == (
        stubs.Stub("torch", "2.14.1+cu126"),
        stubs.Stub("torchvision", "0.29.1+cu126", "torch==2.14.1+cu126"),
    )
