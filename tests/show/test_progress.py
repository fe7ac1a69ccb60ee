"""What long work reports: its sentences everywhere, the line on a terminal alone, and gone without a trace."""

from __future__ import annotations

import io
import threading

import pytest

from torchpick.cli import main
from torchpick.cli.progress import Progress
from torchpick.errors import Expected


class Screen(io.StringIO):
    """A terminal of one line, as far as a carriage return goes."""

    def isatty(self) -> bool:
        return True

    @property
    def line(self) -> str:
        cells: list[str] = []
        place = 0
        for letter in self.getvalue().rpartition("\n")[2]:
            if letter == "\r":
                place = 0
                continue
            cells[place : place + 1] = [letter]
            place += 1
        return "".join(cells).rstrip()


def made(screen: io.StringIO, now: list[float], *, quiet: bool = False) -> Progress:
    return Progress(screen, 60, quiet=quiet, clock=lambda: now[0])


def test_bytes_are_counted_beside_the_time() -> None:
    screen, now = Screen(), [0.0]
    progress = made(screen, now)

    now[0] = 20.0
    progress(41_000_000)

    assert screen.line == ": 0:20, 41.0 MB"


def test_where_it_is_known_how_much_will_come_the_line_says_so() -> None:
    screen, now = Screen(), [0.0]
    progress = made(screen, now)

    progress(1_000_000)
    progress(Expected(51_000_000))
    now[0] = 7.0
    progress(3_000_000)
    assert screen.line == ": 0:07, 4.0 of 52.0 MB"
    now[0] = 8.0
    progress(60_000_000)  # a server sent more than was asked for
    assert screen.line == ": 0:08, 64.0 MB"


def test_a_message_is_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others write on the same terminal, and into the same log."""
    writes: list[str] = []

    class Writes(Screen):
        def write(self, text: str) -> int:
            writes.append(text)
            return len(text)

    screen = Writes()
    monkeypatch.setattr("sys.stderr", screen)
    progress = Progress(screen, 30, quiet=False, clock=iter(range(9)).__next__)
    progress(1)
    writes.clear()

    progress("a sentence that is longer than a line")
    main(["url", "--gpu", "sm_61", "--driver", "580", "--platform", "linux-x86_64"])
    main(["url", "--gpux"])

    assert [text.count("note: ") + text.count("error:") for text in writes[1:]] == [1] * (len(writes) - 1)
    assert len(writes) > 2
    assert all(text.endswith("\n") for text in writes)


def test_a_sentence_stays_and_the_line_around_it_goes() -> None:
    screen, now = Screen(), [0.0]
    progress = made(screen, now)
    now[0] = 5.0
    progress(10)
    progress("reading a page of https://me:secret@index.example")
    assert screen.getvalue().endswith("\rtorchpick: reading a page of https://me:****@index.example\n")
    now[0] = 6.0
    progress(10)
    progress.clear()

    assert screen.line == ""
    before = screen.getvalue()
    progress.clear()
    assert screen.getvalue() == before


def test_it_draws_seldom() -> None:
    screen, now = Screen(), [0.0]
    progress = made(screen, now)
    for thousandth in range(1000):
        now[0] = thousandth / 1000
        progress(1000)

    assert screen.getvalue().count("\r") <= 10


def test_a_wait_without_news_shows_that_time_passes() -> None:
    """The ticker itself draws; what is waited for here is what it has drawn."""
    drawn = threading.Event()

    class Watched(Screen):
        def write(self, text: str) -> int:
            if "pip resolves" in text:
                drawn.set()
            return super().write(text)

    screen = Watched()
    with Progress(screen, None, quiet=False).during("pip resolves"):
        assert drawn.wait(10)

    assert "\rpip resolves: 0:0" in screen.getvalue()
    assert screen.line == ""
