"""What is nested or repeated without end is refused in a sentence, and never a traceback."""

from __future__ import annotations

import json
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.growth import in_line
from torchpick.cli import main
from torchpick.decide import buildfit
from torchpick.errors import WheelLayoutError
from torchpick.index import pages
from torchpick.index.ranges import Archive, FileSource
from torchpick.model.machine import Machine
from torchpick.model.metadata import parse_metadata
from torchpick.wheels import wheelfiles

DEEP = "(" * 3000
GPU = ("--gpu", "sm_61", "--driver", "580.95.05", "--platform", "linux-x86_64", "--python", "3.12")


@pytest.mark.parametrize("command", [(), ("url",), ("plan",), ("label", "--among", "cpu,cu126")])
def test_a_marker_of_brackets_alone_is_not_a_valid_requirement(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, f"torch ; {DEEP}", *GPU]) == 2
    assert capsys.readouterr().err.startswith("error: ")


# Sizes that double; each page is made of one piece, over and over.
SIZES = tuple((1 << 17) << step for step in range(3))
WHEEL = "torch-2.9.0-cp312-cp312-win_amd64.whl"
PIECES = {
    "attributes of one tag": ("<a ", "a=b ", ">"), "attributes of many tags": ("", f"<a href=x {'a=b ' * 50}>", ""),
    "tags that do not end": ("", "<a <a", ""), "blanks of one tag": ("<a", " ", "href=x>"),
    "blanks of an address": ("<a href='", " ", f"{WHEEL}'>"),
    "escapes of one address": ("<a href='", "%2e", f"/{WHEEL}'>"),
    "escapes of many": ("", f"<a href='{'%2e' * 20}/{WHEEL}'>", ""), "openings": ("", "<", ""),
    "closings": ("", "</", ""), "comments": ("", "<!--", ""), "references": ("<a href='", "&amp", "'>"),
    "references in text": ("<title>", "&amp;<", ""),
    "relative addresses": (f"<base href='{'a/' * 20_000}'>", f"<a href={WHEEL}>", ""),
    "lists in JSON": ('{"files": [', "[],", "0]}"),
    "tables in JSON": ('{"files": [', "{},", "0]}"),
    "nesting in JSON": ("", "[", ""),
}  # fmt: skip


@pytest.mark.parametrize("shape", PIECES)
def test_a_page_costs_time_and_memory_in_line_with_its_size(shape: str) -> None:
    before, piece, after = PIECES[shape]
    kind = "application/json" if "JSON" in shape else "text/html"

    def parse(size: int) -> bool:
        """Whether the page is refused."""
        page = (before + piece * (size // len(piece)) + after).encode()
        try:
            pages.files(page, "https://h.example/", kind)
        except WheelLayoutError:
            return True
        return False

    in_line(parse, SIZES, floor=0.05)
    large = 2 * SIZES[-1]
    if parse(SIZES[0]):  # what is parsed to its end is kept in small parts, and is slow to trace
        tracemalloc.start()
        parse(large)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 24 * large


def test_a_page_has_so_many_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1_000))
    monkeypatch.setattr(time, "thread_time", lambda: float(next(clock)))
    text = f"<a href={WHEEL}>".encode()

    assert len(pages.files(text * 20, "https://h.example/")) == 20
    for page, kind in (
        (text * 40, "text/html"),
        (b" " * (40 << 14), "text/html"),
        (json.dumps({"files": [{"url": WHEEL}] * 40}).encode(), "application/json"),
    ):
        with pytest.raises(WheelLayoutError, match="takes longer to read than 30 s"):
            pages.files(page, "https://h.example/", kind)


def test_a_reference_of_thousands_of_digits_is_no_character() -> None:
    page = f"<a href='&#{'9' * 5000};{WHEEL}'>x</a><a href={WHEEL}>x</a>".encode()

    assert [link.url for link in pages.files(page, "https://h.example/")][-1] == f"https://h.example/{WHEEL}"


@pytest.mark.usefixtures("on_linux")
def test_machines_that_differ_in_what_no_build_depends_on_are_not_judged_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judged: list[object] = []
    real = buildfit.judge

    def judge_and_count(machine: Machine, *others: Any) -> Any:
        judged.append(machine)
        return real(machine, *others)

    monkeypatch.setattr(buildfit, "judge", judge_and_count)
    file = tmp_path / "fleet.jsonl"
    counts = []
    for many in (20, 40, 80, 160):
        lines = [_machines(many, "", apart=True), *(f"bad{line}" for line in range(50 * many))]
        file.write_text("\n".join(lines), "utf-8")
        judged.clear()
        assert main(["fleet", str(file)]) == 0
        said = capsys.readouterr().out
        assert f"n[0-{many - 1}]" in said
        assert all(f"Strange {number} (sm_89)" in said for number in range(many))
        counts.append(len(judged))

    assert main(["fleet", str(file), "--json"]) == 0
    left = json.loads(capsys.readouterr().out)["left_out"]
    assert (len(left), sum(part["count"] for part in left)) == (1001, 50 * 160)
    assert counts == [1] * 4


@pytest.mark.parametrize(("part", "times", "why"), [
        ("a>=1\n", 20_001, "more than 20,000 requirements"), ("a>=1\n", 1_000_001, "1,000,000 lines"),
        ("--hash=sha256:a ", 300_000, "more than 10000 words"),
])  # fmt: skip
def test_a_file_of_more_requirements_than_anybody_has_is_refused_early(
    part: str, times: int, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "r.txt"
    file.write_text(part * times, "utf-8")
    tracemalloc.start()

    assert main(["plan", "-r", str(file), "--offline", *GPU]) == 2
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert why in capsys.readouterr().err
    assert peak < 64 << 20


def _machines(count: int, note: str, *, apart: bool = False) -> str:
    """Machines that are alike, or `apart` in what no build depends on."""

    def of_number(number: int) -> dict[str, object]:
        return {
            "name": f"n{number}", "platform": {"os": "linux", "cpu": "x86_64"}, "python": {"version": "3.12"},
            "driver": {"version": f"580.95.{number * apart}"}, "notes": [{"code": "X", "text": note}],
            "gpus": [{"name": f"Strange {number * apart}", "arch": "sm_89"}],
        }  # fmt: skip

    return "\n".join(map(json.dumps, map(of_number, range(count))))


# What each command reads, made of so many pieces.
READ: dict[str, tuple[tuple[str, ...], Callable[[int], str]]] = {
    "requirements": (("plan", "-r", "FILE", "--offline", *GPU), lambda n: "".join(f"a{i}>=1\n" for i in range(n))),
    "a long requirement": (("plan", "-r", "FILE", "--offline", *GPU), lambda n: f"torch{','.join(['!=1.0'] * n)}\n"),
    "machines": (("fleet", "FILE"), lambda n: _machines(n // 4, "")),
    "notes of a node": (("fleet", "FILE"), lambda n: _machines(1, "a:,@ " * n)),
    "a log": (("explain", "FILE"), lambda n: "torch 2.9.1 on sm_86: no kernel image is available\n" * n),
    "a log of one line": (("explain", "FILE"), lambda n: "CUDA error: https://a:b c@d " * n),
}


@pytest.mark.usefixtures("on_linux")
@pytest.mark.parametrize("kind", READ)
def test_what_is_read_costs_time_in_line_with_its_size(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words, text = READ[kind]
    file = tmp_path / "read.txt"

    def read(size: int) -> None:
        file.write_text(text(size), "utf-8")
        assert main([str(file) if word == "FILE" else word for word in words]) in range(5)
        assert "Traceback" not in capsys.readouterr().err

    in_line(read, (500, 1000, 2000), floor=0.1)


def test_metadata_costs_time_in_line_with_its_size() -> None:
    def parse(size: int) -> None:
        lines = "".join(f'Requires-Dist: a{number}>=1; extra == "x{number}"\n' for number in range(size))
        parse_metadata(f"Metadata-Version: 2.1\nName: a\nVersion: 1\n{lines}")

    in_line(parse, (600, 1200, 2400), floor=0.1)


def test_a_wheel_costs_time_in_line_with_the_number_of_its_libraries(tmp_path: Path) -> None:
    def read(size: int) -> None:
        with zipfile.ZipFile(file := tmp_path / "odd-1-cp312-cp312-linux_x86_64.whl", "w") as archive:
            for number in range(size):
                archive.writestr(f"odd/{number}.so", b"\x7fELF\x02\x01\x01")
        with closing(FileSource(file)) as source:
            wheelfiles.read_wheel(Archive(source), file.name, None)

    in_line(read, (750, 1500, 3000), floor=0.05)


def test_a_library_with_a_terabyte_of_holes_costs_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = next((folder / "venv").glob("lib/*/site-packages")) / "torch" / "lib" / "libtorch_cuda.so"
    library.parent.mkdir(exist_ok=True)
    with library.open("wb") as stream:
        stream.write(b"\x7fELF\x02\x01\x01")
        stream.truncate(1 << 40)
    began = time.thread_time()

    for words in (("doctor", "--python", "venv", *GPU[:4]), ("inspect", str(library))):
        assert main([*words]) in range(5)
        assert "Traceback" not in capsys.readouterr().err

    assert time.thread_time() - began < 20
