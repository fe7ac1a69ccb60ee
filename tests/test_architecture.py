"""The directions of the house, as a table that doubles as the diagram, held against the import statements."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "torchpick"

# room → the rooms it may import from. A room is a package, or a module that lies beside the packages.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "model": {"errors"},
    "remarks": {"model"},
    "resolve": {"model", "remarks"},
    "fleet": {"model", "remarks", "resolve"},
    "matrix": {"model", "resolve"},
    "emit": {"errors", "matrix", "model"},
    "atlas": {"emit", "matrix", "model", "remarks", "resolve"},
    "projects": {"errors", "matrix", "model", "requirements", "resolve"},
    "request": {"model"},
    "requirements": {"errors", "model"},
    # the edges: each touches one part of the world, and none imports another
    "places": {"errors"},
    "rewrite": {"errors", "model"},
    "shipped": {"errors", "model", "places"},
    "detection": {"errors", "model"},
    "wheels": {"errors", "model"},
    "install": {"errors", "model", "requirements"},
    "doctor": {"errors", "model"},
    # where the edges are composed
    "gpuspec": {"errors", "model", "places", "shipped"},
    "told": {"errors", "gpuspec", "model", "request"},
    "nodes": {"errors", "model"},
    "machines": {"errors", "model", "nodes"},
    "question": {
        "detection", "emit", "errors", "fleet", "machines", "model", "places", "request", "requirements", "resolve",
        "shipped", "told",
    },
    "installation": {
        "detection", "errors", "install", "model", "places", "question", "relatives", "request", "requirements",
        "shipped",
    },
    "verification": {"install", "model"},
    "relatives": {"errors", "model", "wheels"},
    "choosing": {"errors", "install", "installation", "model", "projects", "requirements", "shipped"},
    "journal": {"errors", "model", "rewrite"},
    "pinning": {
        "emit", "errors", "install", "installation", "journal", "model", "projects", "question", "request", "rewrite",
        "shipped",
    },
    "handover": {"install", "model", "places", "question", "request", "shipped"},
    "locking": {
        "emit", "errors", "install", "installation", "model", "places", "question", "relatives", "request",
        "requirements", "shipped", "wheels",
    },
    "readings": {"doctor", "errors", "model", "wheels"},
    "loading": {"doctor", "readings"},
    "gathering": {
        "doctor", "loading", "model", "places", "question", "readings", "resolve", "shipped", "wheels",
    },
    "examination": {
        "detection", "doctor", "errors", "gathering", "install", "model", "question", "remarks", "request", "resolve",
        "shipped", "told",
    },
    "explanation": {
        "doctor", "errors", "examination", "model", "places", "question", "request", "shipped",
    },
    "api": {"errors", "examination", "model", "question", "request", "shipped"},
}  # fmt: skip

# No file, process, clock, environment or network in the middle of the program.
PURE = ("model", "resolve", "remarks", "fleet", "matrix", "emit", "atlas", "projects", "request", "requirements")
WORLD = {
    "asyncio", "ctypes", "glob", "httpx", "importlib", "multiprocessing", "os", "pathlib", "platform", "pynvml",
    "random", "shutil", "signal", "socket", "subprocess", "sys", "tempfile", "threading", "time", "urllib",
}  # fmt: skip


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def room(file: Path) -> str:
    inside = file.relative_to(SOURCE)
    return inside.parts[0] if len(inside.parts) > 1 else inside.stem


def imports(file: Path) -> Iterator[str]:
    """The full names of what a module imports when it runs; what only the type checker sees does not count."""
    tree = ast.parse(file.read_text())
    hidden = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: a relative import"
            for alias in node.names:
                yield f"{node.module}.{alias.name}" if node.module == "torchpick" else str(node.module)


@pytest.mark.parametrize("file", modules(), ids=lambda file: str(file.relative_to(SOURCE)))
def test_a_module_imports_only_downwards(file: Path) -> None:
    mine = room(file)
    if mine in ("cli", "__main__", "__init__"):
        return
    assert mine in MAY_IMPORT, f"{mine} has no place in the table above"

    reached = {name.split(".")[1] for name in imports(file) if name.startswith("torchpick.")}

    assert reached - {"__version__", mine} <= MAY_IMPORT[mine]


@pytest.mark.parametrize("file", modules(), ids=lambda file: str(file.relative_to(SOURCE)))
def test_the_middle_touches_nothing_of_the_world(file: Path) -> None:
    if room(file) in PURE:
        assert not {name.split(".")[0] for name in imports(file)} & WORLD


@pytest.mark.parametrize("file", modules(), ids=lambda file: str(file.relative_to(SOURCE)))
def test_only_the_command_line_prints_and_exits(file: Path) -> None:
    """A probe that can be run alone for a bug report prints under its own `__main__` guard."""
    if room(file) in ("cli", "__main__"):
        return
    tree = ast.parse(file.read_text())
    guarded = {id(inner) for node in tree.body if isinstance(node, ast.If) for inner in ast.walk(node)}
    calls = [
        ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call) and id(node) not in guarded
    ]

    assert not {"print", "exit", "sys.exit", "quit"} & set(calls)


def test_no_module_imports_itself_in_a_circle() -> None:
    graph = {
        ".".join(("torchpick", *file.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): set(
            _at_import_time(file)
        )
        for file in modules()
    }
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " → ".join((*path, name))
        if name not in done:
            for each in graph.get(name, ()):
                visit(each, (*path, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def _at_import_time(file: Path) -> Iterator[str]:
    """Imports at the top level of a module, resolved to modules of ours."""
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("torchpick"):
            for alias in node.names:
                inner = SOURCE.joinpath(*node.module.split(".")[1:], alias.name)
                module = inner.with_suffix(".py").exists() or inner.is_dir()
                yield f"{node.module}.{alias.name}" if module else node.module


@pytest.mark.parametrize("file", modules(), ids=lambda file: str(file.relative_to(SOURCE)))
def test_a_module_stays_readable(file: Path) -> None:
    assert len(file.read_text().splitlines()) <= 350
