"""The floors of the program, as a table that doubles as the diagram, checked against every import statement."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "torchpick"

# The lowest floor first. A room imports rooms on lower floors, and none on its own floor or above. A room is a folder,
# or a module that lies beside the folders.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("model",),
    ("errors",),
    ("decide",),
    ("environment",),
    ("knowledge",),
    ("index",),
    ("machine", "wheels"),
    ("installers",),
    ("session",),
    ("install", "projects", "doctor", "cluster"),
    ("api",),
    ("cli",),
    ("__main__", "__init__"),
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
LOOSE = {"__init__", "__main__", "api", "errors", "session"}

# No file, process, clock, environment or network in the core.
PURE = ("model", "decide")
WORLD = {
    "asyncio", "ctypes", "glob", "httpx", "importlib", "multiprocessing", "os", "pathlib", "platform", "pynvml",
    "random", "shutil", "signal", "socket", "subprocess", "sys", "tempfile", "threading", "time", "urllib",
}  # fmt: skip


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def name_of(file: Path) -> str:
    return ".".join(("torchpick", *file.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")


def room(file: Path) -> str:
    inside = file.relative_to(SOURCE)
    return inside.parts[0] if len(inside.parts) > 1 else inside.stem


def room_named(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imports(file: Path) -> Iterator[str]:
    """The full names of the modules it imports: at the top, inside functions, and for the type checker alone."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: a relative import"
            module = str(node.module)
            for alias in node.names:
                inner = SOURCE.joinpath(*module.split(".")[1:], alias.name)
                ours = module.split(".")[0] == "torchpick" and (inner.with_suffix(".py").exists() or inner.is_dir())
                yield f"{module}.{alias.name}" if ours else module


def ours(file: Path) -> set[str]:
    return {name for name in imports(file) if name.split(".")[0] == "torchpick"}


@pytest.mark.parametrize("file", modules(), ids=lambda file: str(file.relative_to(SOURCE)))
def test_a_module_imports_only_from_lower_floors(file: Path) -> None:
    mine = room(file)
    assert mine in FLOOR, f"{mine} has no place in the table above"

    upwards = {name for name in ours(file) if room_named(name) != mine and not FLOOR[room_named(name)] < FLOOR[mine]}

    assert not upwards


@pytest.mark.parametrize("file", modules(), ids=lambda file: str(file.relative_to(SOURCE)))
def test_the_core_touches_nothing_of_the_world(file: Path) -> None:
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


def test_no_circle_of_imports_of_any_kind() -> None:
    graph = {name_of(file): ours(file) for file in modules()}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " → ".join((*path, name))
        if name not in done:
            for imported in sorted(graph.get(name, ())):
                visit(imported, (*path, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_the_root_holds_the_rooms_and_few_loose_modules() -> None:
    loose = {file.stem for file in SOURCE.glob("*.py")}
    rooms = {folder.name for folder in SOURCE.iterdir() if (folder / "__init__.py").exists()}

    assert loose <= LOOSE
    assert len(rooms) <= 13
    assert rooms <= set(FLOOR)


@pytest.mark.parametrize(
    "file", [file for file in modules() if file.name == "__init__.py"], ids=lambda file: str(file.relative_to(SOURCE))
)
def test_a_room_says_which_question_it_answers(file: Path) -> None:
    docstring = ast.get_docstring(ast.parse(file.read_text()))

    assert docstring
    assert room(file) in ("__init__", "cli") or len(file.relative_to(SOURCE).parts) > 2 or "?" in docstring


def test_a_class_name_is_used_once() -> None:
    names = Counter(
        node.name
        for file in modules()
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef)
    )

    assert not {name for name, count in names.items() if count > 1}


@pytest.mark.parametrize("file", modules(), ids=lambda file: str(file.relative_to(SOURCE)))
def test_a_module_stays_readable(file: Path) -> None:
    assert len(file.read_text().splitlines()) <= 350


def test_the_picture_of_the_floors_is_this_table() -> None:
    """`scripts/draw-floors` draws it anew."""
    from scripts.shipping import floors

    assert floors.PICTURE.read_text(encoding="utf-8") == floors.svg()


# Where a file is opened otherwise than by `world.opened`: to be written, in a foreign Python, as the interpreter's own.
OPENED_OTHERWISE = {
    "cli/__init__.py", "cli/inspect.py", "cluster/slurm.py", "environment/child.py",
    "environment/rewrite.py", "environment/world.py", "index/pages.py", "machine/verify_script.py", "wheels/shelf.py",
}  # fmt: skip


@pytest.mark.parametrize("file", modules(), ids=lambda file: str(file.relative_to(SOURCE)))
def test_one_opener_reads_all_files(file: Path) -> None:
    """It waits for no pipe and reads no device, so neither does whatever reads a file."""
    calls = [node.func for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
    names = [call.id for call in calls if isinstance(call, ast.Name)]
    methods = [call.attr for call in calls if isinstance(call, ast.Attribute)]
    reads = [ast.unparse(call) for call in calls if ast.unparse(call) in ("os.open", "io.open", "path.open")]

    assert not {"read_text", "read_bytes"} & set(methods)
    if str(file.relative_to(SOURCE)) not in OPENED_OTHERWISE:
        assert "open" not in names
        assert not reads


def test_one_client_asks_servers_and_only_to_read() -> None:
    talkers = ("httpcore", "httpx", "http.client", "socket", "urllib3", "requests", "smtplib", "ftplib", "asyncio")
    asking = {file.name for file in modules() if {each.partition(".")[0] for each in imports(file)} & {*talkers}}
    client = (SOURCE / "index" / "client.py").read_text()

    assert asking == {"client.py", "connection.py"}
    assert client.count("httpcore.Request(") == client.count('httpcore.Request("GET", raw, headers=') == 1
