"""Whole runs against a state, as files: each tests/install/cases/*.json is what is typed, and all that comes of it.

A state is made as for tests/installers/cases: `state`, `files`, `env`, `uv`, `pages`, `pythons`. `steps` are the
command lines, each with what it must do: `exit`; `stdout` and `stderr`, line by line; `json`, parts of the answer, and
`install`, as in tests/installers/cases; `files`, every file that it makes or changes (null: that it removes; a folder:
that nothing is in it now); `ran`, the command that `torchpick run` starts.

`packages` are what the user's index has (name → version → what it requires), for a stand-in for pip's and uv's
resolvers; what a build of the wheel host requires stands under its version with the label. `from` says where a project
comes from instead of where it should.

TORCHPICK_TEST_RENEW=1 writes into the files what came of it, to be read before it is committed; a new case needs no
more than its `argv`s.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.fakes.resolver import Resolver
from tests.installers.test_cases import TAG, VERSION, _made, filled, no_page, page_of, place, plain, words
from torchpick.cli import main
from torchpick.index import listing, pages
from torchpick.index.listing import Link
from torchpick.installers import run
from torchpick.installers.run import Command, Ended
from torchpick.knowledge.compat import Knowledge

pytestmark = pytest.mark.process  # the target's interpreter is asked for its version

CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))
# Of an answer in JSON: what is not the pick's and the machine's, which other cases hold.
PARTS = ("error", "files", "pinned", "environ", "lock", "report")
RENEW = bool(os.environ.get("TORCHPICK_TEST_RENEW"))
WATCHED = ("here", "home", "target", "cache")


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_case(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    case = json.loads(file.read_text("utf-8"))
    if VERSION not in case.get("pythons", [VERSION]):
        pytest.skip("the releases of this case have no wheel for this Python")
    marks = begun(case, tmp_path, monkeypatch)

    steps = [done(step["argv"], marks, tmp_path, capsys, monkeypatch) for step in case["steps"]]

    if RENEW:
        file.write_text(json.dumps({**case, "steps": steps}, indent=1, ensure_ascii=False) + "\n", "utf-8")
    assert steps == case["steps"]


def begun(case: dict[str, object], folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Build the state of a case, and go into it; the placeholders and what they stand for."""
    marks = place(folder, case)
    for name, content in _table(case, "files").items():
        real = Path(filled(name, {**marks, "$TAG": TAG}))
        real.parent.mkdir(parents=True, exist_ok=True)
        real.write_text(filled(content, marks), "utf-8")
    monkeypatch.chdir(marks["$HERE"])
    monkeypatch.setitem(sys.modules, "uv", None)  # no uv package beside torchpick
    usual = {"HOME": "$HOME", "PATH": "/nowhere", "UV": "$UV", "TORCHPICK_CACHE_DIR": "$CACHE"}
    for name, value in {**usual, **_table(case, "env")}.items():
        monkeypatch.setenv(name, filled(value, marks))
    listed = _page if case.get("pages", True) else no_page
    monkeypatch.setattr(pages, "fetch", listed)
    monkeypatch.setattr(Knowledge, "witnessed", lambda *_: {})  # a stand-in has the name of a file, and other bytes
    monkeypatch.setattr(run, "capture", Resolver(_table(case, "packages"), _table(case, "from")))
    return marks


def done(
    argv: list[str],
    marks: dict[str, str],
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> dict[str, object]:
    """What a command line does, in the form of the case files."""
    started: list[dict[str, object]] = []

    def start(command: Command, _environ: object, **_how: object) -> Ended:
        started.append({
            "command": words(command.argv, marks),
            "set": {name: plain(value, marks) for name, value in command.set.items()},
            "unset": sorted(command.unset),
        })  # fmt: skip
        return Ended(0)

    monkeypatch.setattr(run, "run", start)
    monkeypatch.setattr(shutil, "which", lambda name, *_: name)
    before = snapshot(folder)
    status = main([filled(word, {**marks, "$TAG": TAG}) for word in argv])
    out, err = capsys.readouterr()
    after = snapshot(folder)
    made: dict[str, object] = {"argv": argv, "exit": status}
    if "--json" in argv:
        answer = json.loads(out)
        if answer.get("error", {}).get("code") == "NO_BUILD":
            assert not answer.get("pick"), "where nothing runs nothing is picked"
        if "install" in answer:
            made["install"] = _made(answer["install"], marks)
        parts = {name: plain(json.dumps(answer[name]), marks) for name in PARTS if name in answer}
        ours = (f"python_version == '{VERSION}'", "python_version == '$VERSION'")
        made["json"] = {name: json.loads(text.replace(*ours)) for name, text in parts.items()}
        out = ""
    for name, text in (("stdout", out), ("stderr", err)):
        if text:
            made[name] = said(text, marks)
    files: dict[str, list[str] | None] = {}
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    for path in sorted(changed, key=lambda path: (plain(path, marks), after.get(path, []))):
        name = plain(path, marks)
        content = said("\n".join(after[path]), marks) if path in after else None
        files[f"{name} {len(files)}" if name in files else name] = content
    if files:
        made["files"] = files
    return {**made, **({"ran": started[0]} if started else {})}


def said(text: str, marks: dict[str, str]) -> list[str]:
    """The lines with the placeholders in them: a wheel of several Pythons once, and no hash of what holds paths."""
    lines = [re.sub(r"\bcp\d+-cp\d+t?(?=-)", "$TAG-$TAG", plain(line, marks)) for line in text.splitlines()]
    other = f"{sys.version_info[0]}.{sys.version_info[1] + 1}"
    for version, mark in ((VERSION, "$VERSION"), (other, "$NEXT")):
        lines = [re.sub(rf"(?<![\d.]){re.escape(version)}(?![\d.])", mark, line) for line in lines]
    lines = [re.sub(r'(_hash": ")[0-9a-f]{64}', r"\1$HASH", line) for line in lines]
    return [line for place, line in enumerate(lines) if "$TAG-" not in line or line not in lines[:place]]


def snapshot(folder: Path) -> dict[str, list[str]]:
    """The files of a state; what is put before a resolver, or kept for the next run, is no matter."""
    found: dict[str, list[str]] = {}
    for name in WATCHED:
        for parent, folders, files in os.walk(folder / name):
            if not files and not folders:
                found[f"{parent}/"] = []
            for path in (Path(parent, file) for file in files):
                if not re.search(r"/(stubs|limits|needs|record)-", path.as_posix()) and not path.is_symlink():
                    found[str(path)] = path.read_text(errors="replace", encoding="utf-8").splitlines()
    return found


def _page(url: str, *_more: object) -> tuple[Link, ...]:
    return _more_wheels(url)


@cache
def _more_wheels(url: str) -> tuple[Link, ...]:
    """A page as those cases have it, and the same wheels for another Python, on Windows and Macs too."""
    links = page_of(url) or ()
    own = f"{TAG}-{TAG}-manylinux_2_28_x86_64"
    tags = (own, "cp39-cp39-manylinux_2_28_x86_64", "cp39-cp39-win_amd64")
    files = [link.file.replace(own, tag) for tag in tags for link in links]
    if "/cpu/" in url:  # builds for Macs have no label
        mac = "cp39-none-macosx_14_0_arm64"
        files += [link.file.replace("+cpu", "").replace(own, mac) for link in links]
    body = "".join(f'<a href="{file.replace("+", "%2B")}#sha256={"0" * 64}">{file}</a>' for file in files)
    return listing.parse(body.encode(), f"{url}/")


def _table(case: dict[str, object], key: str) -> dict[str, object]:
    found = case.get(key, {})
    assert isinstance(found, dict)
    return found
