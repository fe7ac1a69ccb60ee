"""Which of a package's recorded files are gone, and which nobody misses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doctor.homes import Home
from torchpick.doctor import presence
from torchpick.environment import distributions
from torchpick.environment.distributions import Distribution

pytestmark = pytest.mark.process


def gone(home: Home, *recorded: str, there: tuple[str, ...] = ()) -> tuple[str, ...]:
    home.add("needy", "1.0")
    home.write("needy-1.0.dist-info/RECORD", "".join(f"{path},,\n" for path in recorded))
    for path in there:
        home.write(path, "x")
    needy = distributions.read_environment(home.python, {}).find("needy")
    assert needy is not None
    return presence.gone(needy)


@pytest.mark.parametrize(
    "name",
    ["a.py", "a.so", "a.so.12", "a.so.12.8.1", "a.dll", "a.pyd", "a.dylib", "A.DLL", "attest/a.py", "mytests/a.py"],
)
def test_code_is_missed(name: str, home: Home) -> None:
    there = ("needy/b.py", "needy/attest/b.py", "needy/mytests/b.py")

    assert gone(home, f"needy/{name}", there=there) == (f"needy/{name}",)


@pytest.mark.parametrize(
    "name",
    ["a.pyi", "a.h", "a.txt", "a.so.txt", "py", "tests/a.py", "test/a.py", "testing/a.py", "include/a.py", "share/a.py",
     "examples/a.py", "example/a.py", "benchmarks/a.py", "benchmark/a.py", "docs/a.py", "doc/a.py"],
)  # fmt: skip
def test_what_is_taken_out_of_images_is_not(name: str, home: Home) -> None:
    assert gone(home, f"needy/{name}", f"{name}" if "/" in name else "x.txt", there=("needy/b.py",)) == ()


def test_what_lies_elsewhere_is_not_looked_for(home: Home) -> None:
    assert gone(home, "/nowhere/a.py", "../../bin/a.py", "a.py", "b.py", there=("b.py",)) == ("a.py",)


def test_of_a_folder_that_is_gone_each_file_is(home: Home) -> None:
    paths = ("needy/one/two/a.py", "needy/onemore/c.py", "needy/d.py")

    assert gone(home, *paths, there=("needy/d.py",)) == ("needy/one/two/a.py", "needy/onemore/c.py")
    assert gone(home, "file/a.py", there=("file",)) == ("file/a.py",)


def test_a_source_that_was_compiled_and_left_out_is_not_gone(home: Home) -> None:
    there = ("needy/a.pyc", "needy/b.soc")

    assert gone(home, "needy/a.py", "needy/b.so", there=there) == ("needy/b.so",)


def test_without_a_record_nothing_is_missed(home: Home) -> None:
    home.add("needy", "1.0", {"needy/a.py": ""}, without=["RECORD"])
    (home.site / "needy" / "a.py").unlink()
    needy = distributions.read_environment(home.python, {}).find("needy")
    assert needy is not None

    assert presence.gone(needy) == ()


def test_a_folder_that_may_not_be_read_is_not_gone(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_folder: str) -> list[str]:
        raise PermissionError

    home.write("needy/b.py", "x")
    monkeypatch.setattr("os.listdir", refused)
    needy = Distribution("needy", "1.0", str(home.site), "needy-1.0.dist-info")
    Path(home.site / "needy-1.0.dist-info").mkdir()
    home.write("needy-1.0.dist-info/RECORD", "needy/a.py,,\n")

    assert presence.gone(needy) == ()


def test_at_most_fifty_are_named(home: Home) -> None:
    files = [f"needy/{number:03}.py" for number in range(51)]
    assert gone(home, *files, there=("needy/x.py",)) == tuple(files[:50])
