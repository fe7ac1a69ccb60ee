"""What a project's file says for its extras: the lines, and for an app uv's settings beside them."""

from __future__ import annotations

import pytest

from torchpick.environment.projectfile import ProjectSetting
from torchpick.projects.extras import Extra, Plan, settings_of

CU126 = Extra("cu126", ("torch==2.14.1",), ("short", " ".join(letter * 45 for letter in "xyz")), "cu126")
CPU = Extra("cpu", ("torch>=2.5",), ())
PAGES = {"pytorch-cu126": "https://host.example/cu126"}


def plain(plan: Plan) -> dict[str, object]:
    return {".".join(each.path): each.value for each in settings_of(plan).settings}


@pytest.mark.parametrize(("groups", "kind"), [(False, "extra"), (True, "group")])
def test_an_app_s_extras_have_their_sources_and_exclude_each_other(groups: bool, kind: str) -> None:
    entries = ({"index": "pytorch-cu126", kind: "cu126"},)
    plan = Plan((CU126, CPU), groups, PAGES, {"torch": entries}, ("flash-attn",), ("mine", "cu126", "cpu"))
    found = settings_of(plan)

    assert plain(plan) == plain(Plan((CU126, CPU), groups)) | {
        "tool.uv.sources.torch": [{"index": "pytorch-cu126", kind: "cu126"}],
        "tool.uv.extra-build-dependencies.flash-attn": [{"requirement": "torch", "match-runtime": True}],
        "tool.uv.conflicts": [[{kind: "mine"}, {kind: "cu126"}, {kind: "cpu"}]],
    }
    entry = {"name": "pytorch-cu126", "url": "https://host.example/cu126", "explicit": True}
    assert found.entries == (ProjectSetting(("tool", "uv", "index"), entry),)
    assert found.binding == {"torch"}
    assert "tool.uv.conflicts" not in plain(plan._replace(conflicts=("cu126",)))
