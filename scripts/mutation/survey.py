"""Which tests run which lines, and how long each takes: what a mutant is tried with, the quickest first."""

from __future__ import annotations

import ast
import itertools
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from scripts.mutation import tracing

# The name under which it lies beside the package, which pytest takes for a plugin.
PLUGIN = "sitecustomize"
_MOST_S = 60.0


class Survey:
    """What the tests of some modules were seen to run."""

    def __init__(self, text: str) -> None:
        self._lines: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self._kills: Counter[str] = Counter()
        for entry in text.splitlines():
            what, value, test = entry.split("\t", 2)
            if what == "seconds":
                self.seconds[test] = float(value)
            elif what == "failed":
                self.failed.add(test)
            else:
                self._lines[what][int(value)].add(test)

    def tests_of(self, module: Path, source: str, line: int) -> list[str]:
        """The tests that run the statement of this line, the ones that kill most for their time first.

        What runs while a module is imported runs in every test of it. Of more than a minute of tests, the first minute.
        """
        ran = self._lines.get(module.as_posix(), {})
        lines = statement(source, line) or ran
        tests = {test for each in lines for test in ran.get(each, ())} - self.failed
        order = sorted(tests, key=lambda test: (self.seconds.get(test, 0.0) / (1 + self._kills[test]), test))
        until = itertools.accumulate(self.seconds.get(test, 0.0) for test in order)
        return [test for test, second in zip(order, until, strict=True) if second <= _MOST_S] or order[:1]

    def killed_by(self, test: str) -> None:
        self._kills[test] += 1


def statement(source: str, line: int) -> range | None:
    """The lines of the innermost statement of a function that holds this line; without the body that it has."""
    found = None
    for node in _of_functions(ast.parse(source)):
        body = getattr(node, "body", None) or getattr(node, "cases", None)
        last = _first(body[0]) - 1 if body else node.end_lineno or node.lineno
        if _first(node) <= line <= max(last, node.lineno):
            found = range(_first(node), max(last, node.lineno) + 1)
    return found


def _of_functions(tree: ast.AST, *, inside: bool = False) -> Iterator[ast.stmt]:
    """The statements that run while a function does, the outer ones first."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.stmt) and inside:
            yield child
        is_function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
        yield from _of_functions(child, inside=inside or is_function)


def _first(node: ast.AST) -> int:
    decorators = getattr(node, "decorator_list", ())
    pattern = getattr(node, "pattern", node)
    return min(int(getattr(each, "lineno", 0)) for each in (pattern, *decorators))


def prepare(copy: Path, modules: Iterable[Path]) -> None:
    """Let every interpreter that runs the copy's package trace these modules."""
    folder = copy / "survey"
    folder.mkdir()
    (folder / "modules").write_text("\n".join(module.as_posix() for module in modules), encoding="utf-8")
    (folder / "test").touch()
    (folder / "lines").touch()
    shutil.copy(str(tracing.__file__), copy / "src" / f"{PLUGIN}.py")


def finish(copy: Path) -> Survey:
    """What was seen; the copy is as it was before."""
    text = (copy / "survey" / "lines").read_text(encoding="utf-8")
    (copy / "src" / f"{PLUGIN}.py").unlink()
    shutil.rmtree(copy / "survey")
    return Survey(text)
