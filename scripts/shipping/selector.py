"""torchpick-select.py: torchpick's decision as one Python file without dependencies, for other installers to carry.

It holds the modules that decide, as they are, under a private name, and the compact table, so that it cannot drift from
torchpick: the modules are found by following the import statements of the session. Detection and installation stay
out; what only they need is imported inside functions.
"""

from __future__ import annotations

import argparse
import ast
import base64
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from torchpick.model import VERSION

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "torchpick"
PRIVATE = "_torchpick_select"
_MAIN = Path(__file__).with_name("selector_main.py")
# What may come in by an import inside a function: the pure core, the table, and how given facts make a machine.
_ROOMS = ("model", "errors", "decide", "knowledge")
_MORE = (
    "torchpick.machine.computer",
    "torchpick.environment.interpreter",
    "torchpick.environment.settingsfiles",
    "torchpick.environment.world",
)
_TABLE = ("family.json", "index/*.json")
_IMPORT = re.compile(r"^(\s*(?:from|import) )torchpick(?=[.\s])", re.MULTILINE)
_COLUMNS = 110

_TEMPLATE = '''\
#!/usr/bin/env python3
"""Which PyTorch build runs on a given GPU: torchpick {version} as one file. Made by scripts/build-selector.

    python torchpick-select.py --gpu sm_61 --driver 580.95.05 --platform linux-x86_64 --python 3.12
    select(["GTX 1080 Ti"], driver="580.95.05", platform="linux-x86_64", python="3.12").requirements

Python 3.10 or newer and nothing else. MIT licence, https://github.com/example/torchpick
"""
import base64, importlib.util, json, os, sys, zlib

_PACKAGE = "{private}"
_HERE = os.path.abspath(__file__)


class _Carried:
    """Finds and loads what this file carries; the table is read through it as from a zip archive."""

    archive = _HERE

    def __init__(self):
        held = json.loads(zlib.decompress(base64.b85decode(_HELD.replace("\\n", ""))))
        self.modules, self.table = held["modules"], held["table"]

    def find_spec(self, name, path=None, target=None):
        if name not in self.modules:
            return None
        package = self.modules[name][0]
        return importlib.util.spec_from_loader(name, self, origin=self._file(name), is_package=bool(package))

    def _file(self, name):
        path = name.split(".") + (["__init__"] if self.modules[name][0] else [])
        return os.path.join(_HERE, *path) + ".py"

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.__file__ = file = self._file(module.__name__)
        exec(compile(self.modules[module.__name__][1], file, "exec"), module.__dict__)

    def get_data(self, path):
        try:
            return self.table[self._name(path)].encode()
        except KeyError:
            raise FileNotFoundError(2, "No such file or directory", path) from None

    def _name(self, path):
        return os.path.relpath(path, os.path.join(_HERE, _PACKAGE, "compat")).replace(os.sep, "/")


_HELD = """
{held}
"""
if _PACKAGE not in sys.modules:
    sys.meta_path.append(_Carried())
from {private}.selector import line, main, select

__all__ = ["line", "main", "select"]
if __name__ == "__main__":
    sys.exit(main())
'''


def modules() -> dict[str, str]:
    """The selector's own module and all that it imports, by their names in torchpick."""
    found = {"torchpick.selector": _MAIN.read_text(encoding="utf-8")}
    unread = list(_wanted(found["torchpick.selector"]))
    while unread:
        name = unread.pop()
        if name not in found:
            found[name] = file_of(name).read_text(encoding="utf-8")
            unread += _wanted(found[name])
    for name in list(found):
        for parent in _parents(name):
            # The packages' own words are for people; `import torchpick` as a library is another door.
            found.setdefault(parent, "")
    return dict(sorted(found.items()))


def file_of(name: str) -> Path:
    """The file of one of torchpick's modules."""
    path = SOURCE.joinpath(*name.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[:end]) for end in range(1, len(parts)))


def _wanted(source: str) -> Iterator[str]:
    """What a module imports: all at its top, what a decision needs inside functions, nothing for types alone."""
    tree = ast.parse(source)
    for node in tree.body:
        if not _for_types(node):
            yield from _imported(node)
            for inner in ast.walk(node):
                yield from (name for name in _imported(inner) if _may_come(name))


def _for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _may_come(name: str) -> bool:
    return name.split(".")[1] in _ROOMS or name in _MORE


def _imported(node: ast.AST) -> Iterator[str]:
    """The modules of torchpick that this statement names."""
    if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "torchpick":
        for alias in node.names:
            inner = f"{node.module}.{alias.name}"
            yield inner if file_of(inner).exists() else str(node.module)
    elif isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "torchpick")


def table() -> dict[str, str]:
    """The files of the table that a decision reads, by their names in compat."""
    compat = ROOT / "compat"
    files = sorted(file for pattern in _TABLE for file in compat.glob(pattern))
    return {file.relative_to(compat).as_posix(): file.read_text(encoding="utf-8") for file in files}


def build() -> str:
    """The text of the file; the same for the same checkout."""
    ours = modules()
    packages = {parent for name in ours for parent in _parents(name)}
    held = {
        "modules": {_renamed(name): [int(name in packages), _private(source)] for name, source in ours.items()},
        "table": table(),
    }
    packed = zlib.compress(json.dumps(held, separators=(",", ":"), ensure_ascii=False).encode(), 9)
    text = base64.b85encode(packed).decode()
    lines = "\n".join(text[start : start + _COLUMNS] for start in range(0, len(text), _COLUMNS))
    return _TEMPLATE.format(version=VERSION, private=PRIVATE, held=lines)


def _renamed(name: str) -> str:
    return PRIVATE + name.removeprefix("torchpick")


def _private(source: str) -> str:
    return _IMPORT.sub(rf"\g<1>{PRIVATE}", source)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="example: scripts/build-selector -o torchpick-select.py"
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=ROOT / "dist" / "torchpick-select.py", help="the file to write"
    )
    args = parser.parse_args(words)
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(build(), encoding="utf-8")
    args.output.chmod(0o755)
    print(f"{args.output}: {args.output.stat().st_size} bytes")
    return 0
