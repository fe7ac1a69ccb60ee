"""What `scripts/mutate` changes, and what it makes of tests that notice or do not."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from scripts.mutation import drawing, mapping, mutants, running, survey

pytestmark = pytest.mark.process
needs_groups = pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups on Windows")
SOURCE = '''
"""A docstring is left alone."""
TYPE_CHECKING = False
if TYPE_CHECKING: from x import y
def f(a: int = 3, b: "str" = "x") -> bool:
    if a == 1 and b != "two words":
        return g(a, b, key=True)
    return [each for each in (1, "y") if each]
'''
MORE = """
def f(a):
    a += 1
    send(a)
    if not a:
        raise ValueError(f"no {a} here", hint=f"try {a + 1}")
    return None
"""


def test_each_kind_of_change_is_made_once() -> None:
    assert [(each.line, each.change) for each in mutants.of(SOURCE)] == [
        (5, "3 → 4"),
        (5, "'x' → 'xX'"),
        (6, "condition turned"),
        (6, "And → Or"),
        (6, "without the operand a == 1"),
        (6, "without the operand b != 'two words'"),
        (6, "Eq → NotEq"),
        (6, "1 → 2"),
        (6, "NotEq → Eq"),
        (7, "returns None"),
        (7, "without key=True in the call of g"),
        (7, "without b in the call of g"),
        (7, "True → False"),
        (8, "returns None"),
        (8, "without `if each`"),
        (8, "without element 0: 1"),
        (8, "without element 1: 'y'"),
        (8, "1 → 2"),
        (8, "'y' → 'yX'"),
    ]


def test_statements_and_facts_in_texts_may_be_missing() -> None:
    assert [(each.line, each.change) for each in mutants.of(MORE)] == [
        (3, "without the statement a += 1"),
        (3, "1 → 2"),
        (4, "without the statement send(a)"),
        (5, "condition turned"),
        (6, "without the statement raise ValueError(f'no {a} here', hint…"),
        (6, "without a in the text"),
        (6, "without a + 1 in the text"),
    ]


def test_every_mutant_differs_and_the_source_comes_back() -> None:
    sources = [each.source for each in mutants.of(SOURCE)]

    assert len(set(sources)) == len(sources)
    assert all("docstring is left alone" in each for each in sources)


def test_what_only_checkers_of_types_read_is_left_alone() -> None:
    source = """
Json = dict[str, "Any | None"]
Shape = tuple[int, ...] | None
T = TypeVar("T", bound=int)
class Record:
    __slots__ = ("one", "other")
    @typing.overload
    def f(self, a: int = 1) -> str: return "x"
def g(a):
    return list[int | str]((cast("Json", a),))
FLAGS = re.I | re.M
Names = ("a", "b")
"""

    lines = {each.line: each.change for each in mutants.of(source)}

    assert {line: change for line, change in lines.items() if line < 10} == {}
    assert {each.line for each in mutants.of(source)} == {10, 11, 12}
    assert not any("int" in each.change for each in mutants.of(source))


def package(folder: Path, source: str) -> dict[Path, set[int] | None]:
    """All lines of a package with one module."""
    module = folder / "src" / "torchpick" / "x.py"
    module.parent.mkdir(parents=True, exist_ok=True)
    module.write_text(source, "utf-8")
    return {module: None}


def test_a_sample_is_the_same_wherever_its_lines_move_to(tmp_path: Path) -> None:
    def sample(source: str, count: int | None, seed: int) -> list[str]:
        return [
            each.change for found in drawing.drawn(package(tmp_path, source), count, seed).values() for each in found
        ]

    first, second = sample(SOURCE, 5, 1), sample(SOURCE, 5, 2)

    assert len(first) == len(second) == 5
    assert first != second
    assert sample("import re\n\n" + SOURCE, 5, 1) == first
    assert set(first) < set(sample(SOURCE, 9, 1))
    assert len(sample(SOURCE, 99, 1)) == len(sample(SOURCE, None, 1)) == len(list(mutants.of(SOURCE)))


def test_what_nobody_can_notice_is_not_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = tmp_path / "equivalent.json"
    line = 'if a == 1 and b != "two words":'
    listed.write_text(
        json.dumps([{"file": "x.py", "line": line, "changes": ["1 → 2", "2 → 3"], "reason": "a test"}]), "utf-8"
    )
    monkeypatch.setattr(drawing, "EQUIVALENT", listed)

    (found,) = drawing.drawn(package(tmp_path, SOURCE), None, 0).values()

    assert [(each.line, each.change) for each in found if each.change == "1 → 2"] == [(8, "1 → 2")]
    assert len(found) == len(list(mutants.of(SOURCE))) - 1


def test_each_change_that_is_listed_as_unnoticeable_can_be_made_and_says_why() -> None:
    listed = drawing.equivalent()
    files = {file: Path("src", "torchpick", file) for file in {each.file for each in listed}}

    made = {drawing.named(path, mutant) for path in files.values() for mutant in mutants.of(path.read_text("utf-8"))}

    assert [each for each in listed if each not in made] == []
    assert [each for each, reason in listed.items() if len(reason.split()) < 4] == []


MODULE = Path("src", "mutated_example.py")
STRICT = 'filterwarnings = ["error"]\n'


def judged(
    folder: Path, source: str, test: str, settings: str = "", copies: int = 1, limit: float | None = None
) -> list[running.Verdict]:
    """What becomes of every mutant of a project with this module and this test."""
    root = folder / "project"
    (root / "src").mkdir(parents=True)
    (root / MODULE).write_text(source, "utf-8")
    (root / "pyproject.toml").write_text(f"[tool.pytest.ini_options]\n{settings}", "utf-8")
    (root / "test_example.py").write_text(test, "utf-8")
    workshop = running.Workshop(root, folder, copies, [MODULE])
    verdicts = list(workshop.verdicts(MODULE, list(mutants.of(source)), ["test_example.py"], limit))
    workshop.close()
    return verdicts


@needs_groups
@pytest.mark.long  # each runs tests in a process of its own
def test_what_a_test_notices_is_killed_also_in_a_process_of_its_own(tmp_path: Path) -> None:
    source = "def f(a):\n    return a + 1 if a > 5 else 0\n"
    test = (
        "import subprocess, sys\n\n"
        "def test_f():\n"
        "    code = 'import mutated_example; print(mutated_example.f(6))'\n"
        "    assert subprocess.run([sys.executable, '-c', code], capture_output=True).stdout == b'7\\n'\n"
    )

    verdicts = judged(tmp_path, source, test, copies=2, limit=60.0)

    assert {each.mutant.change for each in verdicts if not each.killed} == {"Gt → GtE", "0 → 1"}
    assert {"Add → Sub", "returns None"} <= {each.mutant.change for each in verdicts if each.killed}
    assert len(verdicts) == len(list(mutants.of(source)))
    assert (tmp_path / "copy-0" / MODULE).read_text("utf-8") == source
    assert (tmp_path / "project" / MODULE).read_text("utf-8") == source


@needs_groups
@pytest.mark.long  # each runs tests in a process of its own
def test_only_tests_that_run_the_line_and_succeed_without_a_change_are_asked(tmp_path: Path) -> None:
    source = "def f(a):\n    return a > 5\n\n\ndef g(a):\n    return a < 5\n"
    test = (
        "from mutated_example import f\n\ndef test_f():\n    assert f(6)\n\ndef test_broken():\n    assert not f(6)\n"
    )

    verdicts = judged(tmp_path, source, test, STRICT)

    assert [(each.mutant.line, each.mutant.change, each.word, each.tried) for each in verdicts] == [
        (2, "returns None", "killed", 1),
        (2, "Gt → GtE", "alive", 1),
        (2, "5 → 6", "killed", 1),
        (6, "returns None", "alive", 0),
        (6, "Lt → LtE", "alive", 0),
        (6, "5 → 6", "alive", 0),
    ]


@needs_groups
@pytest.mark.long  # each runs tests in a process of its own
def test_tests_that_do_not_succeed_without_a_change_are_refused(tmp_path: Path) -> None:
    (tmp_path / "project" / "src").mkdir(parents=True)
    (tmp_path / "project" / "test_example.py").write_text("import nonesuch\n", "utf-8")
    workshop = running.Workshop(tmp_path / "project", tmp_path, 1, [Path("src/x.py")])

    with pytest.raises(RuntimeError, match="do not succeed without any change"):
        list(workshop.verdicts(Path("src/x.py"), [], ["test_example.py"], None))
    workshop.close()


@needs_groups
@pytest.mark.long  # each runs tests in a process of its own
def test_what_is_left_open_when_the_tests_have_ended_is_no_verdict(tmp_path: Path) -> None:
    test = (
        "import gc\nfrom mutated_example import f\n\n"
        "class Left:\n    def __del__(self):\n        raise ValueError\n\n"
        "def test_f():\n    gc.disable()\n    left = Left()\n    left.itself = left\n    assert f(7)\n"
    )

    verdicts = judged(tmp_path, "def f(a):\n    return a > 5\n", test, STRICT)

    assert [each.word for each in verdicts] == ["killed", "alive", "alive"]


@pytest.mark.parametrize(
    ("line", "lines"),
    [(1, None), (3, range(3, 5)), (4, range(3, 5)), (5, range(5, 6)), (6, range(6, 8)), (7, range(6, 8)), (8, None)],
)
def test_the_statement_around_a_line_ends_where_its_body_begins(line: int, lines: range | None) -> None:
    source = "A = 1\ndef f(a):\n    if (a\n            > 5):\n        a = 1\n    return (a,\n            A)\nB = 2\n"

    assert survey.statement(source, line) == lines


def test_the_tests_of_a_module_are_those_of_its_nearest_room() -> None:
    assert "tests/process/test_lock_with_tools.py" in mapping.tests_of(Path("src/torchpick/install/lock.py"))
    assert "tests/install" in mapping.tests_of(Path("src/torchpick/install/lock.py"))
    assert "tests/process/install" in mapping.tests_of(Path("src/torchpick/install/learning.py"))
    assert mapping.tests_of(Path("src/torchpick/index/client.py"))[0] == "tests/index"
    for tests in mapping.tests_of(Path("src/torchpick/machine/kernel.py")):
        assert Path(tests).exists()
    assert mapping.tests_of(Path("src/torchpick/session.py"))[0] == "tests"


def test_changed_lines_are_those_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "src" / "torchpick" / "x.py"
    file.parent.mkdir(parents=True)
    file.write_text("a = 1\nb = 2\nc = 3\n", "utf-8")
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], check=True)
    file.write_text("a = 1\nb = 3\nc = 3\nd = 4\n", "utf-8")

    assert mapping.changed_lines("HEAD") == {Path("src/torchpick/x.py"): {2, 4}}
