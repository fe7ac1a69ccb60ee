"""Real error texts and logs: each gets its meaning, none a CPU build for a GPU, and no stranger is claimed.

A row of errors.jsonl has a text and its source, the `codes` of which one must be named, `says` (a pattern of the right
advice) and `never` (one that it must not have). `unknown` rows are about something else.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.doctor.homes import Home
from torchpick.doctor import explanation, posts, situation, texts
from torchpick.doctor.explanation import Explanation
from torchpick.model.fields import Fields
from torchpick.model.pick import Request
from torchpick.run import start_run

ROWS = [json.loads(line) for line in (Path(__file__).parent / "errors.jsonl").read_text("utf-8").splitlines()]
COMPAT = Path(__file__).parents[2] / "compat" / "errors.json"
KNOWN = texts.read_signatures(Fields(json.loads(COMPAT.read_text("utf-8"))))
WORDS = situation.read_words(Fields(json.loads((COMPAT.parent / "words.json").read_text("utf-8"))))


def named(text: str) -> list[str]:
    search = texts.Search(KNOWN)
    search.feed(text.encode())
    found = [match.signature.id for match in search.matches()]
    facts = situation.in_words(posts.plain(text.encode(), WORDS["rewritten"]), WORDS["facts"])
    return found or [name for name in facts if name in KNOWN and "other program" not in facts]


def advice(found: Explanation) -> str:
    """Everything that is said, but for what the text itself says and for what is called of no use."""
    lines = [note.text for note in found.notes if note.code != "TORCH_OF_THE_TEXT"]
    for error in found.errors:
        cause = error.cause
        lines += [cause.title, cause.meaning, *cause.causes, *cause.cures]
        for finding in error.findings:
            wrong = re.sub(r"^torch \S+", "torch", finding.text)  # the build of the text is named, not advised
            lines += [wrong, finding.cure or "", finding.remark or ""]
    return "\n".join(lines)


def test_there_are_many_and_each_names_its_source() -> None:
    assert len(ROWS) > 100
    assert all(row["source"] for row in ROWS)


def test_a_missing_package_stands_between_its_quotes() -> None:
    line = "No module named 'xformers'"
    assert situation.in_words(line, WORDS["facts"])["PACKAGE_ABSENT"] == line


def test_nearly_every_text_gets_its_meaning() -> None:
    known = [row for row in ROWS if not row.get("unknown")]
    missed = [row["id"] for row in known if not set(named(row["text"])) & set(row["codes"])]

    assert len(missed) <= len(known) * 0.02, missed


@pytest.mark.parametrize("row", [row for row in ROWS if row.get("unknown")], ids=lambda row: row["id"])
def test_what_is_about_something_else_is_not_claimed(row: dict[str, str]) -> None:
    harmless = {name for name, signature in KNOWN.items() if not signature.install}

    assert set(named(row["text"])) <= harmless


@pytest.fixture(scope="module")
def advised(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is said to each text on a machine without a GPU and without a torch, as a login node is."""
    folder = tmp_path_factory.mktemp("login")
    home = Home(folder / ".venv")
    environ = {"PATH": "/nowhere", "VIRTUAL_ENV": str(home.root), "TORCHPICK_CACHE_DIR": str(folder)}
    run = start_run(Request(), environ)  # looks at the machine once
    return {row["id"]: advice(explanation.explain([row["text"].encode()], run)) for row in ROWS}


@pytest.mark.process
def test_no_text_about_a_gpu_gets_a_cpu_build(advised: dict[str, str]) -> None:
    wrong = []
    for row in ROWS:
        said = advised[row["id"]].replace("`you have …+cpu`", "")
        if re.search(r"--cpu\b|\+cpu\b(?!`)", said.replace("you have …+cpu", "")):
            wrong.append((row["id"], "a CPU build"))
        if row["never"] and re.search(row["never"], said, re.IGNORECASE):
            wrong.append((row["id"], row["never"]))

    assert wrong == []


@pytest.mark.process
def test_nearly_every_text_gets_the_right_advice(advised: dict[str, str]) -> None:
    rows = [row for row in ROWS if row.get("says")]
    missed = [row["id"] for row in rows if not re.search(row["says"], advised[row["id"]], re.IGNORECASE)]

    assert len(missed) <= len(rows) * 0.05, missed


@pytest.mark.process
@pytest.mark.parametrize("name", ["t00-torch1.7.1-sm30", "t05-torch1.13.1-sm30", "k02"])
def test_a_gpu_that_no_build_supports_is_said_to_have_none(name: str, advised: dict[str, str]) -> None:
    assert "no published build" in advised[name]
    assert "from source" in advised[name]


STAMPS = {
    "ISO": "2026-11-22 03:12:11,123 ", "syslog": "Nov 22 03:12:11 node7 ", "dmesg": "[ 1843.308145] ",
    "glog": "W1122 03:12:11.123456  713 torch/cuda/__init__.py:627] ",
    "vLLM": "(EngineCore_0 pid=713) WARNING 11-22 03:12:11 [cuda.py:627] ", "srun": "12: ", "colour": "\x1b[33m",
    "none": "",
}  # fmt: skip
WARNING = """\
Found GPU0 Tesla P100-PCIE-16GB which is of compute capability (CC) 6.0.
The following list shows the CCs this version of PyTorch was built for and the hardware CCs it supports:
"""


@pytest.mark.parametrize("stamp", STAMPS.values(), ids=STAMPS)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["unix", "windows"])
def test_a_warning_of_two_lines_is_understood_behind_any_stamp(stamp: str, end: str) -> None:
    text = "".join(f"{stamp}{line}\x1b[0m{end}" for line in WARNING.splitlines())

    assert named(text) == ["NOT_COMPATIBLE_WARNING"]
