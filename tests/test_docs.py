"""The pages for people are held to what is there: their commands run, their links lead somewhere, their codes exist."""

from __future__ import annotations

import ast
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import documents
from tests.documents import Block, Command
from tests.fakes.indexes import FILE_HOST, WHEEL_HOST, SimpleIndex, WheelHost
from tests.fakes.loopback import Authority, Loopback
from tests.fakes.tinywheel import TinyWheel
from tests.terminal import Terminal, with_file
from torchpick.cli import COMMANDS
from torchpick.cli.completion import _grammar
from torchpick.emit.ourselves import INSTALL_LINE
from torchpick.model.verdict import Reason

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "torchpick"
PAGES = documents.pages(ROOT)
REFERENCE = [page for page in PAGES if page.name != "README.md"]
ORIGINAL = dict(os.environ)
TAG = f"cp3{sys.version_info[1]}-cp3{sys.version_info[1]}-manylinux_2_28_x86_64"

# What a page prints (paths, platform, C library) is that of Linux on x86-64.
CAN_RUN = (
    sys.platform == "linux" and platform.machine() == "x86_64" and shutil.which("bash") and shutil.which("openssl")
)
runs_pages = pytest.mark.skipif(not CAN_RUN, reason="the pages show Linux on x86-64, with bash and openssl")


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[Block]:
    return documents.blocks(page.read_text())


# --- commands -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.make(tmp_path_factory.mktemp("authority"), (WHEEL_HOST, FILE_HOST))


@pytest.fixture(scope="session")
def server(authority: Authority) -> Iterator[Loopback]:
    """The wheel host under its own names, and the user's own index, which also holds the default index's torch."""
    host = WheelHost()
    for torch, vision, backends in (
        ("2.15.0", "0.30.0", ("cu132", "cpu")),
        ("2.14.1", "0.29.1", ("cu126", "cu130", "cpu")),
        ("2.9.1", "0.24.1", ("cu126", "cu128", "cpu")),
    ):
        for backend in backends:
            host.add(backend, TinyWheel("torch", f"{torch}+{backend}", TAG, ("filelock",)))
            host.add(backend, TinyWheel("torchvision", f"{vision}+{backend}", TAG, (f"torch=={torch}",)))
    index = SimpleIndex(
        TinyWheel("filelock", "3.20.0"),
        TinyWheel("numpy", "2.4.0"),
        TinyWheel("torch", "2.15.0", TAG, ("filelock",)),
        TinyWheel("accelerate", "1.12.0", requires=("torch>=2.0", "numpy")),
        TinyWheel("mylib", "1.0", requires=("torch>=2.5", 'torch<2.8; extra == "nvidia-old"'), extras=("nvidia-old",)),
    )
    with Loopback({WHEEL_HOST: host, FILE_HOST: host, "127.0.0.1": index}, authority.tls).running() as running:
        yield running


@pytest.fixture
def world(server: Loopback, authority: Authority) -> dict[str, str]:
    """Variables under which pip and uv reach the stand-ins and nothing else."""
    index = f"{server.url}/simple/"
    return {
        "HTTPS_PROXY": server.url,
        "SSL_CERT_FILE": str(authority.certificate),
        "PIP_CERT": str(authority.certificate),
        "PIP_INDEX_URL": index,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_CACHE_DIR": "1",
    }


UV = shutil.which("uv", path=f"{ORIGINAL.get('PATH', '')}:{Path(sys.executable).parent}")
# What pages need and this run does not offer; the network has a test of its own.
MISSING = {"network", *(() if UV else ("uv",))}


def terminal_for(folder: Path, environ: dict[str, str]) -> Terminal:
    """With uv's settings only where uv itself is called: torchpick would else prefer uv for their sake."""
    terminal = Terminal(folder, ROOT / "src", environ)
    if UV:
        index = f"UV_DEFAULT_INDEX={environ['PIP_INDEX_URL']}"
        terminal.command("uv", "env", index, "UV_NO_CACHE=1", "UV_PYTHON_DOWNLOADS=never", UV)
    return terminal


def steps(page: Path, skipped: set[str]) -> list[tuple[str, Command | None]]:
    found: list[tuple[str, Command | None]] = []
    for block in blocks(page):
        if block.options.get("needs") in skipped:
            continue
        if "file" in block.options:
            found.append((with_file(block.options["file"], block.text), None))
        elif block.language == "console":
            found += [(command.text, command) for command in documents.commands(block)]
    return found


def complaints(found: list[tuple[str, Command | None]], terminal: Terminal, page: Path) -> list[str]:
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


@pytest.mark.parametrize("page", PAGES, ids=named)
@pytest.mark.process
@runs_pages
def test_the_commands_of_a_page_print_what_it_shows(page: Path, tmp_path: Path, world: dict[str, str]) -> None:
    found = steps(page, MISSING)
    if not found:
        pytest.skip("a page without commands")

    said = complaints(found, terminal_for(tmp_path, world), page)

    assert not said, "\n\n".join(said)


def test_a_page_is_held_to_what_it_shows(tmp_path: Path) -> None:
    """The runner itself: what differs is named, with its line."""
    page = ROOT / "docs" / "made-up.md"
    block = Block(3, "console", {"exit": "3"}, ["$ export A=1", "$ echo $A", "2", "$ (echo x; exit 3)", "x"])
    found: list[tuple[str, Command | None]] = [(each.text, each) for each in documents.commands(block)]

    said = complaints(found, Terminal(tmp_path, ROOT / "src", {}), page)

    assert said == ["docs/made-up.md:5: $ echo $A\nprints\n1\n"]


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        (["a", "…", "d"], "a\nb\nc\nd\n", True),
        (["a", "…", "d"], "a\nd\n", True),
        (["a … c"], "a b c\n", True),
        (["a … c"], "a b\nc\n", False),
        (["a"], "a\nb\n", False),
        ([], "a\n", False),
        (["a  ", ""], "a\n", True),
        (["a.c"], "abc\n", False),
    ],
)
def test_what_agrees(expected: list[str], printed: str, same: bool) -> None:
    assert documents.agree(expected, printed) is same


@pytest.mark.parametrize("page", REFERENCE, ids=named)
def test_every_block_is_run_read_or_of_a_known_kind(page: Path) -> None:
    """A command in a block of another kind would never be tried."""
    for block in blocks(page):
        assert block.language in ("console", "python", "toml", "json", "dockerfile", "yaml", "html", "text"), block
        assert "$ torchpick" not in block.text or block.language == "console", block


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_command_and_flag_that_is_named_exists(page: Path) -> None:
    flags = {flag.name for command in _grammar().values() for flag in command.flags}
    flags |= {"--help", "--version", "-h", "-c", "-e", "-r", "-U"}
    commands = [command.text for block in blocks(page) if block.language == "console"
                for command in documents.commands(block)]  # fmt: skip

    for text in [*documents.inline_code(page.read_text()), *commands]:
        for said in re.findall(r"(?:^|[\s(])torchpick ([^|)`\n]*)", text):
            words = said.partition(" -- ")[0].split()
            if words and words[0].isidentifier() and not words[0].startswith("torch"):
                assert words[0] in COMMANDS, f"{named(page)}: `{text}`"
            given = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
            assert given <= flags, f"{named(page)}: `{text}`"


# --- links ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "compat" / "README.md"], ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    for target in documents.links(page.read_text()):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{named(page)}: {target}"
        assert there.is_relative_to(ROOT), f"{named(page)}: {target}"
        assert not anchor or anchor in documents.anchors(there.read_text()), f"{named(page)}: {target}"


def test_every_page_is_reached_from_another() -> None:
    reached = {
        (page.parent / target.partition("#")[0]).resolve()
        for page in PAGES
        for target in documents.links(page.read_text())
        if "://" not in target and not target.startswith("#")
    }

    assert set(REFERENCE) <= reached | {ROOT / "docs" / "users.md"}


# --- codes ----------------------------------------------------------------------------------------------------------

# What is made with a code as its first argument.
MADE_WITH_A_CODE = {"Note", "Cause", "Trouble", "Change", "Finding", "Candidates"}


def codes(file: Path) -> Iterator[str]:
    """The codes that a module can hand out: first arguments, `code=…`, `"code": …`, and members of code enums."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call):
            yield from _of_call(node)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "code":
                    yield from _constant(value)
        elif isinstance(node, ast.ClassDef):
            yield from _of_class(node)


def _of_call(node: ast.Call) -> Iterator[str]:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name in MADE_WITH_A_CODE and node.args:
        yield from _constant(node.args[0])
    if name == "failed" and isinstance(kind := node.args[1], ast.Constant) and kind.value != "absent":
        yield f"NVML_{str(kind.value).upper()}"  # likewise CUDA_… and SMI_…: detection/left_out.py
    for keyword in node.keywords:
        if keyword.arg in ("code", "error"):
            yield from _constant(keyword.value)


def _constant(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"[A-Z][A-Z_]+", node.value):
        yield node.value


def _of_class(node: ast.ClassDef) -> Iterator[str]:
    told = any(isinstance(base, ast.Name) and base.id == "Enum" for base in node.bases)
    for statement in node.body:
        if isinstance(statement, ast.Assign) and isinstance(target := statement.targets[0], ast.Name):
            if target.id == "code":
                yield from _constant(statement.value)
            elif told and target.id.isupper():
                yield target.id


def test_every_code_is_explained() -> None:
    explained = {code for page in REFERENCE for code in documents.catalogued(page.read_text())}
    found = {code: named(file) for file in sorted(SOURCE.rglob("*.py")) for code in codes(file)}

    assert {
        "NO_KERNELS",
        "JIT_ONLY",
        "GPU_LOST",
        "DRIVER_MISMATCH",
        "NO_CACHE",
        "USAGE",
        "ALREADY_THERE",
        "NVML_HANGS",
    } <= set(found)
    assert {code: file for code, file in found.items() if code not in explained} == {}


def test_every_objection_is_in_the_page_of_the_judgement_and_no_other() -> None:
    text = (ROOT / "docs" / "judgement.md").read_text()
    section = text.partition("## Objections")[2].partition("\n## ")[0]

    assert documents.catalogued(section) == {reason.name for reason in Reason}


# --- one way to install torchpick -----------------------------------------------------------------------------------

# An installer that is told the name; `pip install $(torchpick url)` and `torchpick install …` are another thing.
BY_NAME = re.compile(
    r"\b(?:pip3?|pipx|uv|uvx|conda|mamba|pixi|poetry|pdm|brew)\b(?: (?:tool|pip|-[-\w]+))*"
    r" (?:install|add|run|inject|upgrade)(?: -[-\w]+)* [\"']?(?:git\+\S*)?torchpick"
)
OF_A_CHECKOUT = re.compile(r"[^\s`'\"(]*(?: -m)? ?pip install (?:-[-\w]+ )*\.(?=[\s`'\",;:&|)]|$)", re.MULTILINE)


def texts() -> list[Path]:
    """What git tracks and a person or a program may read; the tests and the developers' own set-up say it their way."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("no git, or no checkout")
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.is_file() and "tests" not in path.relative_to(ROOT).parts]


def test_no_text_tells_to_install_torchpick_by_its_name() -> None:
    """It is not published, and the short name belongs to somebody else."""
    found = {named(path): said for path in texts() if (said := BY_NAME.findall(path.read_text(errors="replace")))}

    assert found == {}
    assert BY_NAME.search("run `pip install torchpick`")
    assert BY_NAME.search("uv tool install torchpick-cli")
    assert not BY_NAME.search("pip install $(torchpick url)")


def test_one_line_installs_torchpick() -> None:
    """README and the pages may put an environment's folder in front, and say nothing else."""
    for path in texts():
        if path.relative_to(ROOT).parts[0] in (".github", "scripts"):
            continue
        for said in OF_A_CHECKOUT.findall(path.read_text(errors="replace")):
            plain = re.sub(r"^\.venv/bin/", "", said.strip())
            assert plain in (INSTALL_LINE, "pip install ."), f"{named(path)}: {said}"
            assert path.suffix != ".py" or path.name == "ourselves.py", f"{named(path)}: use INSTALL_LINE"
    assert INSTALL_LINE in (ROOT / "docs" / "users.md").read_text()
