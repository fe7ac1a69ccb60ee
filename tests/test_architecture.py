"""The floors of the program, as a table that doubles as the diagram, checked against every import statement."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "torchpick"

# The lowest floor first. A room imports rooms on lower floors, and none on its own floor or above. A room is a folder,
# or a module that lies beside the folders.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("errors",), ("model",), ("decide",), ("environment",), ("knowledge",), ("index",), ("machine", "wheels"),
    ("run",), ("install",), ("projects",), ("doctor", "cluster"), ("api",), ("cli",), ("__main__", "__init__"),
)  # fmt: skip
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
LOOSE = {"__init__", "__main__", "api", "errors", "run"}

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


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


@cache
def nodes(file: Path) -> list[ast.AST]:
    return list(ast.walk(tree(file)))


@cache
def imports(file: Path) -> list[str]:
    """The full names of the modules it imports: at the top, inside functions, and for the type checker alone."""
    return list(_imports(file))


def _imports(file: Path) -> Iterator[str]:
    for node in nodes(file):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: a relative import"
            module = str(node.module)
            for alias in node.names:
                inner = SOURCE.joinpath(*module.split(".")[1:], alias.name)
                ours = module.partition(".")[0] == "torchpick" and (inner.with_suffix(".py").exists() or inner.is_dir())
                yield f"{module}.{alias.name}" if ours else module


def ours(file: Path) -> set[str]:
    return {name for name in imports(file) if name.split(".")[0] == "torchpick"}


def test_a_module_imports_only_from_lower_floors() -> None:
    assert {*map(room, modules())} <= FLOOR.keys(), "a room has no place in the table above"

    parents = [
        (name_of(file), name)
        for file in modules()
        for name in sorted(ours(file))
        if room_named(name) != room(file) and not FLOOR[room_named(name)] < FLOOR[room(file)]
    ]

    assert parents == []


def test_the_core_touches_nothing_of_the_world() -> None:
    core = [file for file in modules() if room(file) in PURE]

    assert [
        (name_of(file), name)
        for file in core
        for name in imports(file)
        if name.split(".")[0] in WORLD and name != "urllib.parse"
    ] == []


def test_only_the_command_line_prints_and_exits() -> None:
    """A probe that can be run alone for a bug report prints under its own `__main__` guard."""
    others = [file for file in modules() if room(file) not in ("cli", "__main__")]

    assert [name_of(file) for file in others if {"print", "exit", "sys.exit", "quit"} & _calls(file)] == []


def _calls(file: Path) -> set[str]:
    guarded = {id(inner) for node in tree(file).body if isinstance(node, ast.If) for inner in ast.walk(node)}
    calls = [node.func for node in nodes(file) if isinstance(node, ast.Call) and id(node) not in guarded]
    return {ast.unparse(call) for call in calls if isinstance(call, ast.Name | ast.Attribute)}


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


def test_a_room_says_which_question_it_answers() -> None:
    for file in modules():
        if file.name == "__init__.py":
            docstring = ast.get_docstring(tree(file))

            assert docstring, file
            asks = room(file) in ("__init__", "cli") or len(file.relative_to(SOURCE).parts) > 2 or "?" in docstring
            assert asks, file


def test_a_class_name_is_used_once() -> None:
    names = Counter(node.name for file in modules() for node in nodes(file) if isinstance(node, ast.ClassDef))

    assert not {name for name, count in names.items() if count > 1}


def test_a_module_stays_readable() -> None:
    assert [name_of(file) for file in modules() if len(file.read_text("utf-8").splitlines()) > 400] == []


def test_the_picture_of_the_floors_is_this_table() -> None:
    """`scripts/draw-floors` draws it anew."""
    from scripts.shipping import floors

    assert floors.PICTURE.read_text(encoding="utf-8") == floors.svg()


# Where a file is opened otherwise than by `world.opened`: to be written, in a foreign Python, as the interpreter's own.
OPENED_OTHERWISE = {
    "cli/__init__.py", "cli/console.py", "cli/inspect.py", "cluster/slurm.py",
    "environment/guard.py", "environment/rewrite.py", "environment/world.py", "index/pages.py",
    "machine/verify_script.py",
}  # fmt: skip


def test_one_opener_reads_all_files() -> None:
    """It waits for no pipe and reads no device, so neither does whatever reads a file."""
    for file in modules():
        calls = [node.func for node in nodes(file) if isinstance(node, ast.Call)]
        names = {call.id for call in calls if isinstance(call, ast.Name)}
        methods = {call.attr for call in calls if isinstance(call, ast.Attribute)}
        opens = [call for call in calls if isinstance(call, ast.Attribute) and call.attr == "open"]

        assert not {"read_text", "read_bytes"} & methods, file
        if str(file.relative_to(SOURCE)) not in OPENED_OTHERWISE:
            assert "open" not in names, file
            assert not {"os.open", "io.open", "path.open"} & {*map(ast.unparse, opens)}, file


def test_one_client_asks_servers_and_only_to_read() -> None:
    talkers = ("httpcore", "httpx", "http.client", "socket", "urllib3", "requests", "smtplib", "ftplib", "asyncio")
    asking = {file.name for file in modules() if {each.partition(".")[0] for each in imports(file)} & {*talkers}}
    client = (SOURCE / "index" / "client.py").read_text("utf-8")

    assert asking == {"client.py", "transport.py"}
    assert client.count("build_request(") == client.count('build_request("GET", ') == 1


def test_a_test_goes_through_public_names() -> None:
    """What is private may change, and no test with it; where a bound has to be smaller in a test, it has a name."""
    found = []
    for file in sorted(Path(__file__).parent.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        imported = re.findall(r"^from torchpick[\w.]* import \(?([\w\s,]+?)\)?$", text, re.MULTILINE)
        names = {each.split()[-1] for each in ",".join(imported).split(",") if each.strip()}
        used = re.findall(r"\b(\w+)\.(_(?!_|replace|asdict|fields|make|repr_html_)[a-zA-Z]\w*)", text)
        used += re.findall(r"setattr\((\w+), \"(_(?!_)\w+)\"", text)
        private = [name for name in names if name.startswith("_") and not name.startswith("__")]
        found += [(file.name, *each) for each in used if each[0] in names] + [(file.name, each) for each in private]

    assert found == []


def test_a_text_file_is_opened_with_an_encoding() -> None:
    """Without one Windows takes cp1252."""
    root = Path(__file__).parents[1]
    files = [file for folder in ("src", "tests", "scripts", "benchmarks") for file in (root / folder).rglob("*.py")]

    found = [
        f"{file.relative_to(root)}:{node.lineno}: {ast.unparse(node)}"
        for file in files
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Call) and _opens_text(node) and "encoding" not in {word.arg for word in node.keywords}
    ]

    assert found == []


def _opens_text(call: ast.Call) -> bool:
    """Whether it opens a file as text, with no encoding among its positional arguments."""
    match call.func, call.args:
        case ast.Attribute(attr="read_text"), args:
            return not args
        case ast.Attribute(attr="write_text"), args:
            return len(args) < 2
        case ast.Name("open"), [_]:
            return True
        case ast.Name("open"), [_, ast.Constant(str(mode)), *_]:
            return "b" not in mode
        case ast.Attribute(attr="open"), [ast.Constant(str(mode))]:  # a path's; other things that open name no mode
            return set(mode) <= set("rwax+")
    return False
