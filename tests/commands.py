"""Command lines in a made-up place, and all that comes of them: a room's `commands.json`, by `tests/recorded.py`.

What is asked: `run`, a command line or several in turn (without it the case's name is the command line); `env`, `files`
(each with its lines; an object is a line of JSON) and `stdin`. The answer of each: `exit`, `out`, `err`, the `files`
that it made or changed (null: that it removed; a folder: that nothing is in it now), and `ran`, what `torchpick run`
started. Of an answer in JSON a case may keep parts (`kept`): a path such as `pick.version`, `notes` (their codes), or
`considered VERSION` (what is objected to that build).

With a `target` there is an environment to install into: `pip` (its version), `by_uv`, `installed` (project → version),
`conda`, `cuda` (that of the installed torch). Beside it: `uv` (null for none); `packages`, the
user's index (name → version → what it requires, or a name in tests/install/indexes.json), for a stand-in for pip's and
uv's resolvers, and `from`, where a project comes from instead of where it should; or, where nothing is resolved, what
of the family is needed (`needs`) and the `versions` of the rest. The wheel host's pages have every version of the
companions table (`pages`: false for none).

The Python is a fact of the case: 3.11 on Linux, whatever runs the tests, and it is never started. $TARGET, $UV, $HERE,
$HOME and $CACHE stand for folders, and digests in the names of files are left out; in files $WHL stands for the wheel
host and $HASH for the hash that its pages have.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from tests import printed, recorded, tables
from tests.fakes import pythons
from tests.fakes.indexes import serve
from tests.fakes.projectreader import MadeUpReader
from tests.fakes.resolver import Resolver
from tests.recorded import Answers, Case
from torchpick.cli import install as cli_install
from torchpick.cli import label as cli_label
from torchpick.cli import main
from torchpick.environment import child, interpreter
from torchpick.index import pages
from torchpick.index.pages import ProjectFile
from torchpick.install import learner, reporting
from torchpick.install.command import Command
from torchpick.knowledge.compat import Knowledge

# Of an answer about a target: what is not the pick's and the machine's, which other cases hold.
KEPT = ("error", "install", "files", "pinned", "environ", "lock", "report")
INDEXES: dict[str, Any] = json.loads((Path(__file__).parent / "install" / "indexes.json").read_text("utf-8"))
TAG = f"cp{pythons.MADE_UP.replace('.', '')}"
_USUAL = {
    "HOME": "$HOME", "PATH": "/nowhere", "TORCHPICK_CACHE_DIR": "$CACHE", "TORCHPICK_SHELL": "bash",
}  # fmt: skip
_FOLDERS = ("here", "home", "target", "cache")


def test_of(module: str) -> Callable[..., None]:
    """The test of the `commands.json` beside a module."""

    def test_a_command(
        case: Case,
        answers: Answers,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        run = case.question.get("run", case.name)
        marks = begun(case.question, tmp_path, monkeypatch)
        lines = [run] if isinstance(run, str) else run
        found = [done(line, marks, tmp_path, capsys, monkeypatch, case.question.get("kept", ())) for line in lines]
        answers.same(found[0] if isinstance(run, str) else found)

    test: Callable[..., None] = recorded.cases(Path(module).with_name("commands.json"))(test_a_command)
    return test


def begun(question: Mapping[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Make the place, and go into it; the placeholders and what they stand for."""
    marks = placed(folder)
    packages = question.get("packages", {})
    packages = INDEXES[packages] if isinstance(packages, str) else packages
    if "target" in question:
        if os.name == "nt":
            pytest.skip("the made-up environment is laid out as on Linux")
        make_target(question, marks)
        _stand_in(question, packages, marks, monkeypatch)
    for name, content in question.get("files", {}).items():
        path = Path(marks["$HERE"], filled(name, marks))
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (each if isinstance(each, str) else json.dumps(each) for each in content)
        path.write_text(filled("\n".join(lines), marks), encoding="utf-8", newline="")
    monkeypatch.chdir(marks["$HERE"])
    # Where paths are printed, lines are not broken: paths differ in length.
    width = {} if "target" in question else {"COLUMNS": "120"}
    for name, value in {**_USUAL, **width, **question.get("env", {})}.items():
        monkeypatch.setenv(name, filled(value, marks))
    reader = type("Reader", (MadeUpReader,), {"projects": packages})
    monkeypatch.setattr(learner, "ProjectReader", reader)
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(question.get("stdin", "").encode())))
    monkeypatch.setattr(interpreter, "running", pythons.made_up)
    return marks


def placed(folder: Path) -> dict[str, str]:
    """The placeholders and what they stand for in this folder."""
    for name in ("here", "home"):
        (folder / name).mkdir()
    paths = {"TARGET": "target", "UV": "tools/uv", "HERE": "here", "HOME": "home", "CACHE": "cache"}
    return {f"${mark}": str(folder / path) for mark, path in paths.items()}


def make_target(question: Mapping[str, Any], marks: Mapping[str, str], python: str | None = None) -> None:
    """An environment to install into, with an interpreter that is never started; or with this one."""
    target = Path(marks["$TARGET"])
    state = question["target"]
    version = pythons.MADE_UP if python is None else python
    site = target / "lib" / f"python{version}" / "site-packages"
    site.mkdir(parents=True)
    (target / "bin").mkdir()
    if python is None:
        (target / "bin" / "python").touch(0o755)
    else:
        (target / "bin" / "python").symlink_to(sys.executable)
    if state.get("conda"):
        (target / "conda-meta").mkdir()
        (target / "share").mkdir()
    else:
        home = f"home = {Path(sys.base_prefix) / 'bin'}\nversion = {version}.0\n"
        (target / "pyvenv.cfg").write_text(home + ("uv = 0.13.8\n" if state.get("by_uv") else ""), "utf-8")
    installed = {**state.get("installed", {}), **({"pip": state["pip"]} if state.get("pip") else {})}
    for name, release in installed.items():
        (site / f"{name}-{release}.dist-info").mkdir()
    if "cuda" in state:
        (site / "torch").mkdir()
        (site / "torch" / "version.py").write_text(
            f"__version__ = 'x'\ncuda: Optional[str] = {state['cuda']!r}\n", "utf-8"
        )
    if question.get("uv", "") is not None:
        uv = Path(marks["$UV"])
        uv.parent.mkdir()
        uv.touch()
        uv.chmod(0o755)


def _stand_in(
    question: Mapping[str, Any], packages: Mapping[str, Any], marks: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the wheel host, the resolvers of pip and uv, and the interpreter of the target."""
    monkeypatch.setenv("UV", marks["$UV"])
    monkeypatch.setitem(sys.modules, "uv", None)  # no uv package beside torchpick
    monkeypatch.setattr(child, "run", pythons.answers(Path(marks["$TARGET"]).parent, marks["$HOME"]))
    listed = page_of if question.get("pages", True) else no_page
    serve(monkeypatch, listed)
    monkeypatch.setattr(
        Knowledge, "hashes_in_public_locks", lambda *_: {}
    )  # a stand-in has the name of a file, and other bytes
    monkeypatch.setattr(reporting, "capture_command", Resolver(packages, question.get("from", {})))
    monkeypatch.setattr(shutil, "which", lambda name, *_: name)


def done(
    line: str,
    marks: Mapping[str, str],
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    kept: Sequence[str] = (),
) -> dict[str, Any]:
    """What a command line comes to."""
    started: list[dict[str, object]] = []

    def start(command: Command, _environ: object, **_how: object) -> tuple[int, bool]:
        changed = {name: plain(value, marks) for name, value in command.set.items()}
        started.append({
            "command": [plain(word, marks) for word in command.argv],
            **_some(set=changed, unset=sorted(command.unset)),
        })  # fmt: skip
        return 0, False

    for runs in (cli_install, cli_label):
        monkeypatch.setattr(runs, "run_command", start)
    before = snapshot(folder)
    argv = shlex.split(filled(line, marks))
    status = main(argv)
    out, err = capsys.readouterr()
    after = snapshot(folder)
    assert "Traceback" not in err, err
    printed.check(out + err)
    answer: dict[str, Any] = {"exit": status}
    kept = kept or (KEPT if Path(marks["$TARGET"]).exists() else ())
    if "--json" in argv and kept:
        answer |= _some(json=parts(json.loads(out), kept, marks))
        out = ""
    answer |= _some(out=said(out, marks), err=said(err, marks), files=_changed(before, after, marks))
    return {**answer, **({"ran": started[0]} if started else {})}


def _some(**facts: Any) -> dict[str, Any]:
    """Those that say something."""
    return {name: value for name, value in facts.items() if value}


def parts(answer: Mapping[str, Any], kept: Sequence[str], marks: Mapping[str, str]) -> dict[str, Any]:
    """Of an answer in JSON what is kept of it, and where nothing runs that nothing is picked."""
    assert answer.get("error", {}).get("code") != "NO_BUILD" or not answer.get("pick")
    found = {path: _part(answer, path) for path in kept}
    if install := found.get("install"):
        found["install"] = _install(install, marks)
    texts = {
        path: plain(json.dumps(value), marks) for path, value in found.items() if value is not None or kept != KEPT
    }
    return {path: json.loads(text) for path, text in texts.items()}


def _part(answer: Any, path: str) -> Any:
    if path == "notes":
        return sorted({note["code"] for place in ("pick", "machine") for note in answer[place]["notes"]})
    if path.startswith("considered "):
        builds = {build["version"]: build["objections"] for build in answer["considered"]}
        return sorted({objection["code"] for objection in builds[path.partition(" ")[2]]})
    for part in path.split("."):
        answer = answer[int(part)] if isinstance(answer, list) else (answer or {}).get(part)
    return answer


def _install(install: Mapping[str, Any], marks: Mapping[str, str]) -> dict[str, Any]:
    """What would be run, and what it would be given."""
    files: dict[str, list[str]] = {}
    for path, text in install["files"].items():
        name = plain(Path(path).name, marks)
        lines = [line for line in text.splitlines() if "<" not in line or "href" in line]
        files[f"{name} {len(files)}" if name in files else name] = [_of_file(line) for line in lines]
    environ = install["environ"]
    notes = [f"{note['code']}: {note['text']}" for note in install["notes"]]
    return {
        "command": install["argv"],
        **_some(set=environ["set"], unset=sorted(environ["unset"]), given=files, notes=notes),
    }


def filled(text: str, marks: Mapping[str, str]) -> str:
    for mark, real in marks.items():
        text = text.replace(mark, real)
    return text


def plain(text: str, marks: Mapping[str, str]) -> str:
    """What a run said, with the placeholders in it, and no hash of what holds paths, nor this system's words."""
    for mark, real in marks.items():
        text = text.replace(real, mark)
    text = re.sub(r"-[0-9a-f]{16}(?=[.])", "", text)
    return re.sub(r"\(\[Errno [^)]*\)", "($WHY)", text)


def _of_file(line: str) -> str:
    """A line of a file: the wheel host and the hash on its pages are placeholders, a link's text is its file's name."""
    line = line.replace("https://download.pytorch.org/whl", "$WHL").replace("0" * 64, "$HASH")
    return re.sub(r'^(<a href="[^"]*/([^/"#]+)(?:#[^"]*)?">)(.*)</a><br/>$', _without_name, line)


def _without_name(link: re.Match[str]) -> str:
    return link[1] if unquote(link[2]) == link[3] else link[0]


def said(text: str, marks: Mapping[str, str]) -> list[str]:
    return [re.sub(r'(_hash": ")[0-9a-f]{64}', r"\1$HASH", plain(line, marks)) for line in text.splitlines()]


def snapshot(folder: Path) -> dict[str, list[str]]:
    """The files of a place; what is put before a resolver, or kept for the next run, is no matter."""
    found: dict[str, list[str]] = {}
    for name in _FOLDERS:
        for parent, folders, files in os.walk(folder / name):
            if not files and not folders:
                found[f"{Path(parent).as_posix()}/"] = []
            for path in (Path(parent, file) for file in files):
                if not re.search(r"/(stubs-|limits-|needs-|projects/)", path.as_posix()) and not path.is_symlink():
                    found[str(path)] = path.read_text("utf-8", errors="replace").splitlines()
    return found


def _changed(
    before: Mapping[str, list[str]], after: Mapping[str, list[str]], marks: Mapping[str, str]
) -> dict[str, list[str] | None]:
    found: dict[str, list[str] | None] = {}
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    for path in sorted(changed, key=lambda path: (plain(path, marks), after.get(path, []))):
        name = plain(path, marks)
        lines = [_of_file(line) for line in said("\n".join(after[path]), marks)] if path in after else None
        found[f"{name} {len(found)}" if name in found else name] = lines
    return found


def page_of(url: str) -> tuple[ProjectFile, ...]:
    return wheels_of(url, TAG)


@cache
def wheels_of(url: str, tag: str) -> tuple[ProjectFile, ...]:
    """A project's page as the wheel host has it; a page of a flat mirror has torch and its companions for cu126.

    The wheels are there for another Python too, on Windows and Macs; builds for Macs have no label.
    """
    linux = (f"{each}-{each}-manylinux_2_28_x86_64" for each in (tag, "cp39"))
    names = [*_names_of(url, *linux, "cp39-cp39-win_amd64")]
    if "/cpu/" in url:
        names += [name.replace("+cpu", "") for name in _names_of(url, "cp39-none-macosx_14_0_arm64")]
    body = "".join(f'<a href="{name.replace("+", "%2B")}#sha256={"0" * 64}">{name}</a>' for name in names)
    return pages.files(body.encode(), f"{url}/")


def _names_of(url: str, *tags: str) -> Iterator[str]:
    backend, project = url.rstrip("/").split("/")[-2:]
    flat = "whl" not in url
    pairs = json.loads((tables.FROZEN / "companions.json").read_text("utf-8"))["pairs"]
    for tag in tags:
        for name in ["torch", "torchvision", "torchaudio"] if flat else [project]:
            for version in sorted({pair.get(name) for pair in pairs} - {None}) or ["3.6.0", "3.7.0", "3.8.0"]:
                label = "" if name == "triton" else f"+{'cu126' if flat else backend}"
                yield f"{name.replace('-', '_')}-{version}{label}-{tag}.whl"


def no_page(_url: str) -> None:
    return None
