"""A table that was damaged: whatever stands in it, the answer or an error that names the file, never a traceback."""

from __future__ import annotations

import copy
import json
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchpick.cli import main
from torchpick.cli.list import _builds as builds
from torchpick.cli.show import table
from torchpick.doctor import signatures
from torchpick.errors import CompatError, TorchpickError, UsageError
from torchpick.knowledge import compat, gpuspec
from torchpick.knowledge.compat import Knowledge
from torchpick.knowledge.gpunames import Names
from torchpick.knowledge.locations import compat_dir
from torchpick.knowledge.othernames import PciIds
from torchpick.knowledge.rules import triton_floors
from torchpick.model.generations import Toolkits
from torchpick.model.request import Request
from torchpick.session import Session, decided

COMPAT = Path(compat_dir({}))
INDEX = "index/linux-x86_64.json"
RELEASES = ("2.15.0", "2.14.1")
OLD_CARD = Request(gpus=("sm_61",), driver="580.95.05", platform="linux-x86_64", python="3.12", glibc="2.35")
URL = ["url", "--gpu", "sm_61", "--driver", "580.95.05", "--platform", "linux-x86_64", "--python", "3.12"]
WRONG: list[object] = [
    None, True, 0, -1, 1.5, 1 << 70, "", "x", "+", "1..2", "9" * 5000, "٣.١", "\ud800", [], [[]], {}, {"x": {}}, ["x"],
]  # fmt: skip


def _decision(environ: Mapping[str, str]) -> None:
    for request in (
        OLD_CARD,
        OLD_CARD._replace(gpus=("sm_120", "sm_61")),
        OLD_CARD._replace(requirements=("torch<2.15", "torchvision")),
    ):
        pick = Session(request, environ).weighed()
        assert table.lines(builds(pick.considered), 100)
        with suppress(TorchpickError):
            decided(pick)


def _unknown_backend(environ: Mapping[str, str]) -> None:
    Session(OLD_CARD._replace(backends=("cu134",)), environ).weighed()


def _names(environ: Mapping[str, str]) -> None:
    file = os.path.join(environ["TORCHPICK_COMPAT_DIR"], "index", "gpus.json")
    compat.read(file, Names.from_json)
    compat.read(file, PciIds.from_json)
    for spec in ("GTX 1080 Ti", "rtx 9090", "6.1", "12", "rtx"):
        with suppress(UsageError):
            gpuspec.parse(spec, Knowledge(environ))


def _readable(environ: Mapping[str, str]) -> None:
    folder = environ["TORCHPICK_COMPAT_DIR"]
    compat.readable(folder)
    assert compat.Knowledge(environ).family
    compat.read(os.path.join(folder, "drivers.json"), Toolkits.from_json)
    compat.read(os.path.join(folder, "libraries.json"), triton_floors)
    compat.read(os.path.join(folder, "errors.json"), signatures.read)
    os.rename(f"{folder}/index/rules.json", f"{folder}/index/gone")
    try:
        compat.rules(environ)
    finally:
        os.rename(f"{folder}/index/gone", f"{folder}/index/rules.json")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table with few releases, so that a question takes a millisecond."""
    compat = tmp_path_factory.mktemp("damaged") / "compat"
    old = [name for name in os.listdir(COMPAT) if name.startswith("torch-") and name != "torch-2.14.1.json"]
    shutil.copytree(COMPAT, compat, ignore=lambda _, names: [name for name in names if name in old])
    index = json.loads((compat / INDEX).read_text())
    index["builds"] = [row for row in index["builds"] if row[0] in RELEASES]
    (compat / INDEX).write_text(json.dumps(index))
    return compat


def _damaged(value: Any, draw: Callable[[st.SearchStrategy[Any]], Any]) -> Any:
    """The value with one thing in it replaced, taken away or doubled."""
    top = copy.deepcopy(value)
    here = top
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(min(len(here), 12)))
        key = draw(st.sampled_from(keys))
        child = here[key]
        if isinstance(child, dict | list) and child and draw(st.integers(0, 9)):
            here = child
            continue
        how = draw(st.sampled_from(("wrong", "wrong", "wrong", "gone", "inside")))
        if how == "gone":
            del here[key]
        elif how == "inside" and isinstance(child, dict):
            child["torchvision"] = draw(st.sampled_from(WRONG))
        else:
            here[key] = draw(st.sampled_from(WRONG))
        return top


@pytest.mark.parametrize(
    ("name", "ask"),
    [
        (INDEX, _decision),
        ("index/rules.json", _decision),
        ("index/rules.json", _unknown_backend),
        ("index/gpus.json", _names),
        ("never.json", _unknown_backend),
        ("companions.json", _readable),
        ("drivers.json", _readable),
        ("libraries.json", _readable),
        ("family.json", _readable),
        ("errors.json", _readable),
        ("torch-2.14.1.json", _readable),
    ],
)
@settings(max_examples=40)
@given(data=st.data())
def test_damage_is_told_and_never_a_traceback(
    small: Path, name: str, ask: Callable[[Mapping[str, str]], None], data: st.DataObject
) -> None:
    file = small / name
    whole = file.read_bytes()
    environ = {"TORCHPICK_COMPAT_DIR": str(small), "TORCHPICK_CACHE_DIR": str(small / "no-cache")}
    file.write_text(json.dumps(_damaged(json.loads(whole), data.draw)))
    try:
        with suppress(CompatError, UsageError):
            ask(environ)
    finally:
        file.write_bytes(whole)


@pytest.mark.parametrize(("column", "word"), [(8, "libraries"), (12, "companions")])
def test_a_list_in_the_place_of_a_version_is_told_by_its_path(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], column: int, word: str
) -> None:
    whole = (small / INDEX).read_text()
    index = json.loads(whole)
    index["builds"][0][column] = {"torchvision": []}
    monkeypatch.setenv("TORCHPICK_COMPAT_DIR", str(small))
    (small / INDEX).write_text(json.dumps(index))
    try:
        assert main(URL) == 1
    finally:
        (small / INDEX).write_text(whole)

    assert f"builds[0].{word}.torchvision: must be a string, not a list" in capsys.readouterr().err


def test_a_wrong_type_among_what_was_never_published_is_told(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = (small / "never.json").read_text()
    never = json.loads(whole)
    never["rows"][0]["torch"] = 5
    monkeypatch.setenv("TORCHPICK_COMPAT_DIR", str(small))
    (small / "never.json").write_text(json.dumps(never))
    try:
        assert main([*URL, "--backend", "cu134"]) == 1
    finally:
        (small / "never.json").write_text(whole)

    assert "rows[0].torch: must be a string, not a number" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["780M", "Radeon 780M"])
def test_a_number_in_the_place_of_a_target_is_told_by_its_path(small: Path, name: str) -> None:
    file = small / "index" / "others.json"
    whole = file.read_text()
    damaged = json.loads(whole)
    damaged["amd_names"].update({"780m": 7, "radeon780m": 7})
    file.write_text(json.dumps(damaged))
    try:
        with pytest.raises(CompatError, match=r"others\.json.*amd_names"):
            gpuspec.parse(name, Knowledge({"TORCHPICK_COMPAT_DIR": str(small)}))
    finally:
        file.write_text(whole)
