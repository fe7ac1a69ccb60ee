"""Every command of README and the pages is run and must print what the page shows."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import documents, usersettings
from tests.documents import Block, Command
from tests.process.docs.conftest import ROOT, UV, Opened
from tests.process.docs.terminal import Terminal, with_file
from tests.skips import made_for_2_15

PAGES = [
    page
    for page in documents.pages(ROOT)
    if re.search("^```(?:console|notebook)", page.read_text("utf-8"), re.MULTILINE)
]
# What a page may need and this run does not offer; what needs the network has a test of its own.
MISSING = {"network", *(() if UV else ("uv",))}

UVS_INDEX = 'export UV_DEFAULT_INDEX="$PIP_INDEX_URL"'

Steps = list[tuple[str, Command | None]]


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def from_network(page: Path) -> list[Block]:
    return [block for block in documents.blocks(page.read_text("utf-8")) if block.options.get("needs") == "network"]


COMMITTER = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.com"]
# README's installs it too, by way of scripts/start.
FROM_NETWORK = [
    pytest.param(page, marks=pytest.mark.long) if named(page) == "docs/users.md" else page
    for page in PAGES
    if from_network(page)
]


def steps(blocks: list[Block]) -> Steps:
    """The commands of these blocks, and the files they need, in their order."""
    found: Steps = []
    for block in blocks:
        if "file" in block.options:
            found.append((with_file(block.options["file"], block.text), None))
        elif block.language == "console":
            commands: Steps = [(command.text, command) for command in documents.commands(block)]
            if block.options.get("needs") == "uv":
                # Only here: torchpick would else prefer uv for the sake of its settings.
                commands = [(UVS_INDEX, None), *commands, ("unset UV_DEFAULT_INDEX", None)]
            found += commands
        elif block.language == "notebook":
            found.append(("python3 -m venv .kernel && . .kernel/bin/activate", None))
            found += [(command.text, command) for command in documents.cells(block)]
    return found


def complaints(found: Steps, terminal: Terminal, page: Path) -> list[str]:
    said = []
    shown = terminal.run([text for text, _ in found])
    for (_, command), (printed, status) in zip(found, shown, strict=True):
        if command is None:
            continue
        where = f"{named(page)}:{command.line}: $ {command.text}"
        if status != command.status:
            said.append(f"{where}\nexits {status}, not {command.status}:\n{printed}")
        elif not documents.agree(command.printed, printed):
            said.append(f"{where}\nprints\n{printed}")
    return said


def cloned(page: Path, folder: Path) -> dict[str, str]:
    """Settings by which git clones the copy of this checkout from the address that the page names."""
    (*_, address) = re.findall(r"^\$ git clone (\S+)$", page.read_text("utf-8"), re.MULTILINE) or [
        "https://nowhere.example"
    ]
    return {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{folder / 'work'}.insteadOf",
        "GIT_CONFIG_VALUE_0": address,
    }


@made_for_2_15
@pytest.mark.parametrize("page", PAGES, ids=named)
def test_the_commands_of_a_page_print_what_it_shows(page: Path, opened: Opened) -> None:
    blocks = documents.blocks(page.read_text("utf-8"))

    said = complaints(steps([block for block in blocks if block.options.get("needs") not in MISSING]), opened(), page)

    assert not said, "\n\n".join(said)


@pytest.mark.network
@pytest.mark.parametrize("page", FROM_NETWORK, ids=named)
def test_what_needs_the_network_prints_what_the_page_shows(page: Path, tmp_path: Path, template: Path) -> None:
    """In a copy of the checkout, with the index of whoever runs the tests."""
    probe = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(tmp_path / "probe")]
    if subprocess.run(
        [*probe, "hatchling"], env=usersettings.fetching(), capture_output=True, timeout=120, check=False
    ).returncode:
        pytest.skip("no package index answers")
    terminal = Terminal(tmp_path, ROOT / "src", {**usersettings.index_settings(), **cloned(page, tmp_path)}, template)
    for name in ("src", "compat", "scripts"):
        shutil.copytree(ROOT / name, terminal.work / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, terminal.work)
    for words in (["init", "--quiet"], ["add", "."], [*COMMITTER, "commit", "--quiet", "--message", "a checkout"]):
        subprocess.run(["git", *words], cwd=terminal.work, check=True, timeout=60)

    said = complaints(steps(from_network(page)), terminal, page)

    assert not said, "\n\n".join(said)


def test_what_differs_is_named_with_its_line(tmp_path: Path) -> None:
    """The runner itself."""
    page = ROOT / "docs" / "made-up.md"
    lines = ["$ export A=1", "$ echo $A", "2", "$ (echo x; exit 3)", "x", "$ false", "$ exit 5"]

    said = complaints(steps([Block(3, "console", {}, lines)]), Terminal(tmp_path, ROOT / "src", {}), page)

    assert said == [
        "docs/made-up.md:5: $ echo $A\nprints\n1\n", "docs/made-up.md:7: $ (echo x; exit 3)\nexits 3, not 0:\nx\n",
        "docs/made-up.md:9: $ false\nexits 1, not 0:\n", "docs/made-up.md:10: $ exit 5\nexits None, not 0:\n",
    ]  # fmt: skip


def test_what_a_notebook_runs_is_about_the_kernels_own_python(tmp_path: Path) -> None:
    """As `%run -m` does it: by runpy in the kernel, whose Python is on no PATH and in no active environment."""
    line = "import runpy, sys; sys.argv[1:] = {}; runpy.run_module('torchpick', run_name='__main__', alter_sys=True)"
    words = ["detect", "--json"]
    environ = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", line.format(words)], cwd=tmp_path, env=environ, capture_output=True, text=True,
        check=True,
    )  # fmt: skip

    page = (ROOT / "docs" / "notebooks.md").read_text("utf-8")
    assert "%run -m torchpick install" in page
    assert "!torchpick install" not in page
    assert json.loads(done.stdout)["machine"]["python"]["executable"] == sys.executable
