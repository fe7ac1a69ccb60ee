"""The line of progress: on a terminal alone, with total, rate and time left, and gone without a trace."""

from __future__ import annotations

import io
import threading

import pytest

from torchpick.cli.show.progress import Progress


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
    return Progress(screen, "refresh", quiet=quiet, clock=lambda: now[0])


def test_it_says_total_rate_and_time_left() -> None:
    screen, now = Screen(), [0.0]
    progress = made(screen, now)

    now[0] = 20.0
    progress.step(2, 12)
    now[0] = 20.2
    progress.add(41_000_000)

    assert screen.line == "refresh: 2 of 12, 41 MB, 2.0 MB/s, 1:41 left"


def test_a_shorter_line_leaves_nothing_of_a_longer_one() -> None:
    screen, now = Screen(), [0.0]
    progress = made(screen, now)
    now[0] = 5.0
    progress.step(1, 12)
    progress.rename("x")
    now[0] = 10.0
    progress.step(11, 12)

    assert screen.line == "x: 11 of 12, 0:01 left"


def test_it_is_cleared_before_a_sentence_and_at_the_end() -> None:
    screen, now = Screen(), [0.0]
    progress = made(screen, now)
    now[0] = 5.0
    progress.add(10)
    progress.say("reading a page")
    assert screen.getvalue().endswith("\rreading a page\n")
    now[0] = 6.0
    progress.add(10)
    progress.clear()

    assert screen.line == ""
    before = screen.getvalue()
    progress.clear()
    assert screen.getvalue() == before


@pytest.mark.parametrize(("terminal", "quiet"), [(False, False), (True, True), (False, True)])
def test_nothing_in_a_pipe_and_nothing_with_quiet(*, terminal: bool, quiet: bool) -> None:
    stream, now = Screen() if terminal else io.StringIO(), [0.0]
    progress = made(stream, now, quiet=quiet)
    for second in range(1, 20):
        now[0] = float(second)
        progress.add(1 << 20)
        progress.step(second, 20)
    progress.clear()

    assert stream.getvalue() == ""


def test_it_draws_seldom() -> None:
    screen, now = Screen(), [0.0]
    progress = made(screen, now)
    for thousandth in range(1000):
        now[0] = thousandth / 1000
        progress.add(1000)

    assert screen.getvalue().count("\r") <= 10


def test_a_name_cannot_steer_the_terminal() -> None:
    screen, now = Screen(), [0.0]
    progress = Progress(screen, "\x1b[2Jevil\n", quiet=False, clock=lambda: now[0])
    now[0] = 1.0
    progress.add(5)

    assert "\x1b" not in screen.getvalue()


def test_a_wait_without_news_shows_that_time_passes() -> None:
    """The ticker itself draws; what is waited for here is what it has drawn."""
    drawn = threading.Event()

    class Watched(Screen):
        def write(self, text: str) -> int:
            if "pip resolves" in text:
                drawn.set()
            return super().write(text)

    screen = Watched()
    with Progress(screen, "pip resolves", quiet=False).ticking():
        assert drawn.wait(10)

    assert "\rpip resolves: 0:0" in screen.getvalue()
    assert screen.line == ""


def test_nothing_ticks_in_a_pipe() -> None:
    before = threading.active_count()
    with Progress(io.StringIO(), "pip resolves", quiet=False).ticking():
        assert threading.active_count() == before
