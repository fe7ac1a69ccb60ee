"""A compat file that is not of its format is refused with the file and the place of the fault."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripts.table import checking
from torchpick.errors import CompatError

COMPAT = Path(__file__).parents[2] / "compat"


def fault_of(tmp_path: Path, name: str, content: bytes) -> CompatError:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(CompatError) as caught:
        checking.check_file(path, name)
    assert caught.value.file == name
    assert caught.value.hint
    return caught.value


def set_at(*steps: str | int, to: object) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        for step in steps[:-1]:
            value = value[step]
        value[steps[-1]] = to

    return change


def drop(*steps: str | int) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        for step in steps[:-1]:
            value = value[step]
        del value[steps[-1]]

    return change


@pytest.mark.parametrize(
    ("name", "change", "path"),
    [
        ("torch-2.14.1.json", set_at("schema", to=2), "schema"),
        ("torch-2.14.1.json", set_at("schema", to=True), "schema"),
        ("torch-2.14.1.json", drop("schema"), ""),
        ("torch-2.14.1.json", set_at("torch", to="2.14.0"), "torch"),
        ("torch-2.14.1.json", set_at("builds", 0, "version", to="2.14.0+cpu"), "builds[0].version"),
        ("torch-2.14.1.json", set_at("builds", to={}), "builds"),
        ("torch-2.14.1.json", set_at("builds", 3, to=[]), "builds[3]"),
        ("torch-2.14.1.json", set_at("builds", 8, "arches", to=[75]), "builds[8].arches[0]"),
        ("torch-2.14.1.json", set_at("builds", 8, "arches", to=["sm_80", "sm80"]), "builds[8].arches[1]"),
        ("torch-2.14.1.json", set_at("builds", 8, "arches", to="sm_80"), "builds[8].arches"),
        ("torch-2.14.1.json", set_at("builds", 0, "arches", to=["sm_80"]), "builds[0].arches"),
        ("torch-2.14.1.json", set_at("builds", 0, "arches", to=None), "builds[0].arches"),
        ("torch-2.14.1.json", set_at("builds", 0, "pythons", 1, to="3.12"), "builds[0].pythons[1]"),
        ("torch-2.14.1.json", set_at("builds", 0, "published", to="yes"), "builds[0].published"),
        ("torch-2.14.1.json", drop("builds", 0, "published"), "builds[0]"),
        ("torch-2.14.1.json", set_at("builds", 0, "glibc", to=2.28), "builds[0].glibc"),
        ("torch-2.14.1.json", set_at("builds", 0, "platform", to="linux"), "builds[0].platform"),
        ("torch-2.14.1.json", set_at("builds", 0, "backend", to="gpu"), "builds[0].backend"),
        ("torch-2.14.1.json", set_at("builds", 0, "extra", to=1), "builds[0]"),
        ("torch-2.14.1.json", set_at("builds", 1, "platform", to="linux-x86_64"), "builds[1].backend"),
        ("torch-2.14.1.json", set_at("builds", 0, "libraries", to={"cudnn": "~=9"}), "builds[0].libraries.cudnn"),
        ("torch-2.14.1.json", set_at("builds", 0, "lacks", to={"x.so": ["7.5"]}), "builds[0].lacks.x.so[0]"),
        ("torch-2.14.1.json", set_at("builds", 0, "evidence", "kind", to="heard"), "builds[0].evidence.kind"),
        (
            "torch-2.14.1.json",
            set_at("builds", 0, "evidence", "twin", to={"file": "a.whl", "sha256": "0"}),
            "builds[0].evidence.twin.sha256",
        ),
        ("drivers.json", set_at("toolkits", 3, "linux", to=580), "toolkits[3].linux"),
        ("drivers.json", set_at("branches", 0, "branch", to="580"), "branches[0].branch"),
        ("drivers.json", set_at("branches", 0, "branch", to=9999), "branches"),
        ("drivers.json", set_at("last_branch", 0, "capabilities", 0, to="3"), "last_branch[0].capabilities[0]"),
        ("libraries.json", set_at("cudnn", 0, "floor", to="sm_35"), "cudnn[0].floor"),
        ("libraries.json", drop("nccl", 0, "cuda_major"), "nccl[0]"),
        ("family.json", set_at("names", 0, to="Torch Vision"), "names[0]"),
        ("family.json", set_at("pinned", 0, to="numpy"), "pinned[0]"),
        ("companions.json", set_at("pairs", 0, "basis", to="guessed"), "pairs[0].basis"),
        ("companions.json", set_at("pairs", 0, "torchvision", to=0.29), "pairs[0].torchvision"),
        ("never.json", set_at("rows", 0, "platforms", 0, to="plan9"), "rows[0].platforms[0]"),
        ("gpus.json", set_at("chips", 0, "capability", to="89"), "chips[0].capability"),
        ("gpus.json", set_at("pci", "ranges", 0, "last", to="0x0000"), "pci.ranges[0].last"),
        ("gpus.json", set_at("pci", "devices", 0, "id", to="1b06"), "pci.devices[0].id"),
    ],
)
def test_a_wrong_value_is_refused_where_it_stands(
    tmp_path: Path, name: str, change: Callable[[Any], None], path: str
) -> None:
    value = json.loads((COMPAT / name).read_bytes())
    change(value)

    assert fault_of(tmp_path, name, json.dumps(value).encode()).path == path


@pytest.mark.parametrize("name", [*checking.FILES, "torch-2.14.1.json"])
def test_every_kind_of_file_is_refused_when_cut_short(tmp_path: Path, name: str) -> None:
    whole = (COMPAT / name).read_bytes()

    assert "is not JSON" in fault_of(tmp_path, name, whole[: len(whole) // 2]).message


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is not JSON"),
        (b"\xff\xfe{}", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[]", "is not of type 'object'"),
        (b"null", "is not of type 'object'"),
        (b"{}", "is a required property"),
        (b" " * (checking.MOST_BYTES + 1), "is larger than"),
    ],
)
def test_what_is_no_file_of_ours_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    assert says in fault_of(tmp_path, "torch-2.14.1.json", content).message


def test_a_missing_and_an_unknown_file_are_named(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("{}", "utf-8")

    faults = {fault.file: fault.message for fault in checking.check(tmp_path)}

    assert faults.pop("notes.txt") == "notes.txt: is no file of this table"
    assert faults.keys() == {*checking.FILES}


def test_the_command_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checking.main([str(tmp_path)]) == 1

    assert "drivers.json: is missing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("expression", "bounded"),
    [
        (r"torch\S{0,40} (?:is )?missing", True),
        (r"a \* b", True),
        (r"torch[*+]2", True),
        (r"\A(?![\s\S]*torch)[\s\S]*?cuda", True),
        (r"cuda[\s\S]*torch", False),
        (r"torch\S* is", False),
        (r"torch\w+", False),
        (r"(?:a |b )*c", False),
        (r"x{2,}", False),
        (r"[^]]+", False),
    ],
)
@pytest.mark.parametrize("section", ["mentions", "words"])
def test_an_expression_may_repeat_nothing_without_end(
    tmp_path: Path, section: str, expression: str, *, bounded: bool
) -> None:
    content = json.loads((COMPAT / "words.json").read_bytes())
    name = next(reversed(content[section]))
    content[section][name].append(expression)

    if bounded:
        path = tmp_path / "words.json"
        path.write_text(json.dumps(content), "utf-8")
        checking.check_file(path, "words.json")
    else:
        fault = fault_of(tmp_path, "words.json", json.dumps(content).encode())
        assert fault.path == f"{section}.{name}[{len(content[section][name]) - 1}]"
        assert "is not a 'bounded expression'" in fault.message


@pytest.mark.parametrize("day", ["", "2026-13-01", "2026-1-01", "20261122", "2026-11-2x", "2026-11-00"])
def test_the_date_is_a_day_of_the_calendar(day: str) -> None:
    assert [where for where, _ in checking.schema_faults("date.json", {"schema": 1, "date": day})] == ["date"]
