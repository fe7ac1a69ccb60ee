"""The exact command, as files: each tests/installers/cases/*.json is a command line, a state, and what would be run.

Keys: `argv` (a dry run is added); `env`; `uv` (the flags that it knows; null for none);
`state`: `pip` (its version), `by_uv`, `installed` (project → version), `conda`, `cuda` (that of the installed torch);
`files` (path under $HOME, $HERE or $TARGET → content). What must come of it: `exit`; `command`; `set`, `unset`; `given`
(the kind of each file → its lines); `notes` (each after its code); `says` (of an error).

The wheel host's pages have every version of the companions table, as wheels of this Python (`pages`: false for none);
what other packages need of the family, which takes a resolution, is `needs` (torch), and `versions` what they are at.

$TARGET, $UV, $HERE, $HOME, $CACHE and $TAG (cp312) stand for what differs from run to run; so do the digests in the
names of files. `pythons` are the versions that a case holds for, where its releases have no wheel for some.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests import tables
from torchpick.cli import main
from torchpick.index import listing, pages
from torchpick.index.listing import Link
from torchpick.installers import resolution
from torchpick.installers.job import Job
from torchpick.installers.resolution import Resolution
from torchpick.knowledge.compat import Knowledge

pytestmark = pytest.mark.process  # the target's interpreter is asked for its version

CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
TAG = f"cp{sys.version_info[0]}{sys.version_info[1]}"
RENEW = bool(os.environ.get("TORCHPICK_TEST_RENEW"))
FLAGS = ["torch-backend", "no-sources", "no-sources-package", "exclude-newer-package"]


def place(folder: Path, case: dict[str, object]) -> dict[str, str]:
    """Build the state; the placeholders and what they stand for, the longest paths first."""
    target = folder / "target"
    state = case.get("state", {})
    assert isinstance(state, dict)
    site = target / "lib" / f"python{VERSION}" / "site-packages"
    site.mkdir(parents=True)
    (target / "bin").mkdir()
    (target / "bin" / "python").symlink_to(sys.executable)
    if state.get("conda"):
        (target / "conda-meta").mkdir()
        (target / ("condabin" if state["conda"] == "base" else "share")).mkdir()
    else:
        home = f"home = {Path(sys.base_prefix) / 'bin'}\nversion = {VERSION}.0\n"
        (target / "pyvenv.cfg").write_text(home + ("uv = 0.13.8\n" if state.get("by_uv") else ""), "utf-8")
    installed = {**state.get("installed", {}), **({"pip": state["pip"]} if state.get("pip") else {})}
    for name, version in installed.items():
        (site / f"{name}-{version}.dist-info").mkdir()
    if "cuda" in state:
        (site / "torch").mkdir()
        (site / "torch" / "version.py").write_text(
            f"__version__ = 'x'\ncuda: Optional[str] = {state['cuda']!r}\n", "utf-8"
        )
    known = case.get("uv", {})
    uv = folder / "tools" / "uv"
    if known is not None:
        assert isinstance(known, dict)
        uv.parent.mkdir()
        uv.write_text(" ".join(known.get("flags", FLAGS)), "utf-8")
        uv.chmod(0o755)
    for name in ("here", "home"):
        (folder / name).mkdir()
    paths = {
        "$TARGET": target,
        "$UV": uv,
        "$HERE": folder / "here",
        "$HOME": folder / "home",
        "$CACHE": folder / "cache",
    }
    return {mark: str(path) for mark, path in paths.items()}


def page_of(url: str, *_more: object) -> tuple[Link, ...] | None:
    return _page_of(url)


@cache
def _page_of(url: str) -> tuple[Link, ...] | None:
    """A project's page as the wheel host has it; a page of a flat mirror has torch and its companions for cu126."""
    backend, project = url.rstrip("/").split("/")[-2:]
    flat = "whl" not in url
    pairs = json.loads((tables.FROZEN / "companions.json").read_text("utf-8"))["pairs"]
    lines = []
    names = ["torch", "torchvision", "torchaudio"] if flat else [project]
    for name in names:
        for version in sorted({pair.get(name) for pair in pairs} - {None}) or ["3.6.0", "3.7.0", "3.8.0"]:
            label = "" if name == "triton" else f"%2B{'cu126' if flat else backend}"
            file = f"{name.replace('-', '_')}-{version}{label}-{TAG}-{TAG}-manylinux_2_28_x86_64.whl"
            lines.append(f'<a href="{file}#sha256={"0" * 64}">{file}</a>')
    return listing.parse("".join(lines).encode(), f"{url}/")


def no_page(*_: object) -> None:
    return None


def filled(value: object, marks: dict[str, str]) -> str:
    text = str(value)
    for mark, real in marks.items():
        text = text.replace(mark, real)
    return text


def plain(text: str, marks: dict[str, str]) -> str:
    """What a run said, with the placeholders in it."""
    for mark, real in marks.items():
        text = text.replace(real, mark)
    text = re.sub(r"-[0-9a-f]{16}(?=[.])", "", text)
    text = re.sub(r"(?<=/bin/python) -[PI](?= -m pip )", "", text)  # before Python 3.11 there is no -P
    return re.sub(rf"\b{TAG}(?=-|$)", "$TAG", text)


def words(argv: Sequence[str], marks: dict[str, str]) -> list[str]:
    """The words of a command, with the placeholders in them."""
    return [plain(word, marks) for place, word in enumerate(argv) if not (place == 1 and word in ("-P", "-I"))]


def resolved(case: dict[str, Any], job: Job) -> Resolution:
    """What the resolver found: what of the family is needed, and the versions of the rest."""
    family = {name: job.family[name] for name in case.get("needs", ["torch"]) if name in job.family}
    return Resolution({**family, **case.get("versions", {})})


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_case(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    case = json.loads(file.read_text("utf-8"))
    if VERSION not in case.get("pythons", [VERSION]):
        pytest.skip("the releases of this case have no wheel for this Python")
    marks = place(tmp_path, case)
    for path, content in case.get("files", {}).items():
        real = Path(filled(path, marks))
        real.parent.mkdir(parents=True, exist_ok=True)
        real.write_text(filled(content, marks), "utf-8")
    monkeypatch.chdir(marks["$HERE"])
    monkeypatch.setitem(sys.modules, "uv", None)  # no uv package beside torchpick
    for name, value in {"HOME": "$HOME", "PATH": "/nowhere", "UV": "$UV", "TORCHPICK_CACHE_DIR": "$CACHE"}.items():
        monkeypatch.setenv(name, filled(value, marks))
    for name, value in case.get("env", {}).items():
        monkeypatch.setenv(name, filled(value, marks))
    listed = page_of if case.get("pages", True) else no_page
    monkeypatch.setattr(pages, "fetch", listed)
    monkeypatch.setattr(pages, "folder", listed)
    monkeypatch.setattr(Knowledge, "witnessed", lambda *_: {})  # a stand-in has the name of a file, and other bytes
    monkeypatch.setattr(resolution, "resolve", lambda _resolver, job, *_: resolved(case, job))
    argv = [filled(word, marks) for word in case["argv"]]
    told = [] if "--python" in argv else ["--python", f"{marks['$TARGET']}/bin/python"]
    cut = argv.index("--") if "--" in argv else len(argv)

    status = main([argv[0], *argv[1:cut], *told, "--dry-run", "--json", *argv[cut:]])
    out, err = capsys.readouterr()

    assert status == case["exit"], plain(out + err, marks)[-2000:]
    assert "Traceback" not in err
    answer = json.loads(out)
    if status == 0:
        made = _made(answer["install"], marks)
        if RENEW:
            kept = {key: value for key, value in case.items() if key not in made}
            case = {**kept, **{key: value for key, value in made.items() if value}}
            file.write_text(json.dumps(case, indent=1, ensure_ascii=False) + "\n", "utf-8")
        assert made == {key: case.get(key, []) for key in ("command", "set", "unset", "given", "notes")}
    for text in case.get("says", []):
        assert text in plain(json.dumps(answer.get("error")), marks)


def _made(install: dict[str, object], marks: dict[str, str]) -> dict[str, object]:
    """What would be run, in the form of the case files."""
    environ, files, notes = install["environ"], install["files"], install["notes"]
    argv = install["argv"]
    assert isinstance(environ, dict)
    assert isinstance(files, dict)
    assert isinstance(notes, list)
    assert isinstance(argv, list)
    given: dict[str, list[str]] = {}
    for path, text in files.items():
        name = plain(Path(path).name, marks)
        lines = [plain(line, marks) for line in text.splitlines() if "<" not in line or "href" in line]
        given[f"{name} {len(given)}" if name in given else name] = lines
    return {
        "command": words(argv, marks),
        "set": {name: plain(value, marks) for name, value in environ["set"].items()} or [],
        "unset": sorted(environ["unset"]),
        "given": given,
        "notes": [f"{note['code']}: {_told(note['text'], marks)}" for note in notes],
    }


def _told(text: str, marks: dict[str, str]) -> str:
    """What a note says: of this Python, and without the words of this system for a server that is not there."""
    text = re.sub(rf"(?<=Python ){re.escape(VERSION)}(?![\d.])", "$VERSION", plain(text, marks))
    return re.sub(r"\(\[Errno .*\)", "($WHY)", text)
