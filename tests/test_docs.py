"""The pages for people are held to what is there: their links lead somewhere, their codes and commands exist."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import torchpick
from tests import documents
from torchpick import cli
from torchpick.cli import COMMANDS
from torchpick.cli.arguments import Parser
from torchpick.cli.completion import completions
from torchpick.model import INSTALL_LINE
from torchpick.model.build import Reason

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "torchpick"
PAGES = documents.pages(ROOT)
REFERENCE = [page for page in PAGES if page.name != "README.md"]


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[documents.Block]:
    return documents.blocks(page.read_text("utf-8"))


# What is run where the page is (`console`, `notebook`) or read as a command line here (`powershell`, `bat`).
RUN = ("console", "notebook", "powershell", "bat")
KINDS = (*RUN, "python", "javascript", "toml", "json", "dockerfile", "yaml", "html", "text")

# --- commands -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_block_is_run_read_or_of_a_known_kind(page: Path) -> None:
    """A command in a block of another kind would never be tried."""
    for block in blocks(page):
        assert block.language in KINDS, block
        assert "$ torchpick" not in block.text or block.language == "console", block
        assert block.language in RUN or not re.search(r"^torchpick ", block.text, re.MULTILINE), block


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_command_and_flag_that_is_named_exists(page: Path) -> None:
    flags = {word for command in ("", *COMMANDS) for word, _ in completions([command])}
    flags |= {"--version", "-h", "-c", "-e", "-o", "-r", "-U"}
    commands = [command.text for block in blocks(page) if block.language == "console"
                for command in documents.commands(block)]  # fmt: skip

    for text in [*documents.inline_code(page.read_text("utf-8")), *commands]:
        for said in re.findall(r"(?:^|[\s(])torchpick ([^|)`\n]*)", text):
            words = said.partition(" -- ")[0].split()
            if words and words[0].isidentifier() and not words[0].startswith("torch"):
                assert words[0] in {*COMMANDS, "survey"}, f"{named(page)}: `{text}`"
            given = {word.partition("=")[0].rstrip('"') for word in words if re.match(r"--?[a-z]", word)}
            assert given <= flags, f"{named(page)}: `{text}`"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_what_is_for_windows_is_a_command_line_that_torchpick_takes(page: Path) -> None:
    """No PowerShell and no cmd is here; what they hand to torchpick is parsed as it would be."""
    for block in blocks(page):
        if block.language not in ("powershell", "bat"):
            continue
        for line in block.lines:
            for words in documents.of_torchpick(line):
                command, rest = (words[0], words[1:]) if words[:1] and words[0] in COMMANDS else ("pick", words)
                Parser(command).read(rest)  # raises where a word is not one


def compared(page: Path) -> dict[str, str]:
    """Our own column of the comparison with other tools, by what is compared."""
    table = page.read_text("utf-8").partition("## Beside other tools")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|", table, re.MULTILINE))


def test_the_comparison_says_what_torchpick_answers_today() -> None:
    """The others' columns were measured on the day that the page names."""
    rows = compared(ROOT / "docs" / "tested.md")
    asked: dict[str, dict[str, Any]] = {
        "GTX 1080 Ti, driver 580": {"gpus": ["GTX 1080 Ti"], "driver": "580"},
        "GTX 1080 Ti beside RTX 4090": {"gpus": ["GTX 1080 Ti", "RTX 4090"], "driver": "580"},
        "RTX 4090, driver 535": {"gpus": ["RTX 4090"], "driver": "535"},
        "RTX 5090, driver 570": {"gpus": ["RTX 5090"], "driver": "570.124.06"},
    }
    for row, facts in asked.items():
        pick = torchpick.pick(**facts, platform="linux-x86_64", python="3.12")
        assert f"`{pick.version}`" in rows[row], row
    refused = "`torch==2.6.0` on an RTX 5090"
    with pytest.raises(torchpick.NoBuildError) as error:
        torchpick.pick(gpus=["RTX 5090"], torch="==2.6.0", platform="linux-x86_64", python="3.12").require()
    assert f"exit status {error.value.exit_status}," in rows[refused]
    assert f"exit status {torchpick.DetectionError.exit_status}," in rows["GPU there, driver silent"]
    assert len(rows) >= 10
    some = compared(ROOT / "README.md")
    same = some.keys() & rows.keys()
    assert {row: some[row] for row in same} == {row: rows[row] for row in same}
    assert {"GTX 1080 Ti, driver 580", "GPU there, driver silent"} <= same


# --- links ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "compat" / "README.md"], ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    for target in documents.links(page.read_text("utf-8")):
        if "://" in target:
            assert "com/example/torchpick" not in target, f"{named(page)}: a path works in every checkout: {target}"
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{named(page)}: {target}"
        assert there.is_relative_to(ROOT), f"{named(page)}: {target}"
        assert not anchor or anchor in documents.anchors(there.read_text("utf-8")), f"{named(page)}: {target}"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_pictures_are_there(page: Path) -> None:
    for target in documents.pictures(page.read_text("utf-8")):
        assert (page.parent / target).is_file(), f"{named(page)}: {target}"


def test_readme_names_no_gpu_or_text_that_torchpick_does_not_know() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    (example,) = re.findall(r'`torchpick explain "([^"]+)"`', text)

    assert cli.main(["explain", example]) == 0


def test_pages_that_the_program_names_are_there() -> None:
    for file in sorted(SOURCE.rglob("*.py")):
        for named_page in re.findall(r"\b(?:docs|compat)/[\w./-]+\.(?:md|yml)", file.read_text("utf-8")):
            assert (ROOT / named_page).exists(), f"{named(file)}: {named_page}"


def test_every_page_is_reached_from_another() -> None:
    reached = {
        (page.parent / target.partition("#")[0]).resolve()
        for page in PAGES
        for target in documents.links(page.read_text("utf-8"))
        if "://" not in target and not target.startswith("#")
    }

    assert set(REFERENCE) <= reached | {ROOT / "docs" / "users.md"}


# --- codes ----------------------------------------------------------------------------------------------------------

# What is made with a code as its first argument.
MADE_WITH_A_CODE = {"Note", "Trouble", "Change", "Finding", "Candidates"}


def codes(file: Path) -> Iterator[str]:
    """The codes that a module can hand out: first arguments, `code=…`, `"code": …`, and members of code enums."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            yield from _of_call(node)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "code":
                    yield from _constant(value)
        elif isinstance(node, ast.ClassDef):
            yield from _of_class(node)
        elif isinstance(node, ast.Yield) and isinstance(node.value, ast.Tuple):
            yield from _constant(node.value.elts[0])


def _of_call(node: ast.Call) -> Iterator[str]:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name in MADE_WITH_A_CODE and node.args:
        yield from _constant(node.args[0])
    if name == "failed_reading" and isinstance(kind := node.args[1], ast.Constant) and kind.value != "absent":
        yield f"NVML_{str(kind.value).upper()}"  # likewise CUDA_…
    for keyword in node.keywords:
        if keyword.arg in ("code", "error"):
            yield from _constant(keyword.value)


def _constant(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"[A-Z][A-Z_]+", node.value):
        yield node.value


def _of_class(node: ast.ClassDef) -> Iterator[str]:
    is_enum = node.name in ("Reason", "Ailment")
    for statement in node.body:
        if isinstance(statement, ast.Assign) and isinstance(target := statement.targets[0], ast.Name):
            if target.id == "code":
                yield from _constant(statement.value)
            elif is_enum and target.id.isupper():
                yield target.id


def test_every_code_is_explained() -> None:
    explained = {code for page in REFERENCE for code in documents.catalogued(page.read_text("utf-8"))}
    found = {code: named(file) for file in sorted(SOURCE.rglob("*.py")) for code in codes(file)}

    assert {
        "NO_KERNELS", "JIT_ONLY", "GPU_LOST", "DRIVER_MISMATCH", "NO_CACHE", "USAGE", "NVML_HANGS",
    } <= set(found)  # fmt: skip
    assert {code: file for code, file in found.items() if code not in explained} == {}


def test_no_page_explains_a_code_that_is_gone() -> None:
    words = {word for file in SOURCE.rglob("*.py") for word in re.findall(r"\w+", file.read_text("utf-8"))}
    tables = {"codes.md", "detection.md", "doctor.md"}
    texts = [page.read_text("utf-8") for page in REFERENCE if page.name in tables]
    explained = {code for text in texts for code in documents.catalogued(text)}
    codes = {code for code in explained if re.fullmatch(r"[A-Z]{3,}[A-Z_]*", code)}
    # One of a source is made of the source's name and a word: NVML_HANGS.
    made = {code for code in codes if code.startswith(("NVML_", "CUDA_"))}

    assert {code for code in codes - made if code not in words} == set()
    assert {code for code in made if code not in words and code.partition("_")[2].lower() not in words} == set()
    assert len(codes) > 100


def test_every_objection_is_in_the_page_of_codes_and_no_other() -> None:
    text = (ROOT / "docs" / "codes.md").read_text("utf-8")
    section = text.partition("## Objections\n")[2].partition("\n## Notes of a pick")[0]

    assert documents.catalogued(section) == {reason.name for reason in Reason}


def test_every_public_name_is_in_the_page_of_the_library() -> None:
    text = (ROOT / "docs" / "library.md").read_text("utf-8")
    section = text.partition("## Every name")[2].partition("\n## ")[0]

    assert documents.catalogued(section) == set(torchpick.__all__)


# --- one way to install torchpick -----------------------------------------------------------------------------------

# An installer that is told the name; `pip install $(torchpick url)` and `torchpick install …` are another thing.
BY_NAME = re.compile(
    r"\b(?:pip3?|pipx|uv|uvx|conda|mamba|pixi|poetry|pdm|brew)\b(?: (?:tool|pip|-[-\w]+))*"
    r" (?:install|add|run|inject|upgrade)(?: -[-\w]+)* [\"']?(?:git\+\S*)?torchpick(?:-cli)?"
)
# On the day of the first release scripts/say-published turns every text.
PUBLISHED, SWITCH = INSTALL_LINE.endswith(" torchpick-cli"), "published.py"
OF_A_CHECKOUT = re.compile(
    r"(?:[^\s`'\"(]+ -m )?(?:uv )?[^\s`'\"(]*\b(?:pip3?|pipx|tool) install (?:-[-\w]+ )*\.(?=[\s`'\",;:&|)]|$)",
    re.MULTILINE,
)


def texts() -> list[Path]:
    """What git tracks and a person or a program may read; the tests and the developers' own set-up say it their way."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("no git, or no checkout")
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.is_file() and "tests" not in path.relative_to(ROOT).parts]


def test_no_text_tells_to_install_torchpick_by_its_name() -> None:
    """Not before it is published, and never by the short name, which belongs to somebody else."""
    said = {
        named(path): BY_NAME.findall(path.read_text(errors="replace", encoding="utf-8"))
        for path in texts()
        if path.name != SWITCH
    }
    wrong = [(name, line) for name, lines in said.items() for line in lines if not (PUBLISHED and line[-4:] == "-cli")]

    assert wrong == []
    assert any(said.values()) == PUBLISHED
    assert BY_NAME.search("run `pip install torchpick`")
    assert BY_NAME.search("uv tool install torchpick-cli")
    assert not BY_NAME.search("pip install $(torchpick url)")


def test_one_line_installs_torchpick() -> None:
    """README and the pages may put an environment's folder in front, and say nothing else."""
    for path in texts():
        if path.relative_to(ROOT).parts[0] in (".github", "scripts", "conda"):
            continue
        lines = [
            line for line in path.read_text(errors="replace", encoding="utf-8").splitlines() if " install " in line
        ]
        for said in OF_A_CHECKOUT.findall("\n".join(lines)):
            plain = re.sub(r"^\.venv/bin/", "", said.strip())
            assert plain in ("python -m pip install .", "pip install ."), f"{named(path)}: {said}"
            assert path.suffix != ".py" or named(path).endswith("model/__init__.py"), f"{named(path)}: use INSTALL_LINE"
    assert INSTALL_LINE in (ROOT / "docs" / "users.md").read_text("utf-8")
    for other in ("pip3 install -e .", "uv pip install .", "uv tool install .", "pipx install ."):
        assert OF_A_CHECKOUT.findall(f"run `{other}`") == [other]
