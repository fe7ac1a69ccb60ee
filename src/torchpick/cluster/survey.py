"""A survey of many wheels: handed to readers as they become free, each answer a line at once, none read twice."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from queue import SimpleQueue

from torchpick.cluster.engine import ClusterError
from torchpick.errors import TorchpickError, WheelError
from torchpick.model.fields import Fields, ShapeError
from torchpick.model.noun import Noun
from torchpick.wheels import readings, surveyed
from torchpick.wheels.reading import Reading
from torchpick.wheels.readings import Readings
from torchpick.wheels.surveyed import Line, SurveyWheel

# All wheels of an index come from one host: so many readers at most ask it at the same time.
MOST_JOBS = 16
_GRACE_S = 3.0
_CHILD = (
    "import sys, json; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "from torchpick.cluster.{} import main; main(*sys.argv[1:])"
)


class SurveyWay(Noun):
    """How deep, how many at once, and on which Ray cluster (None: in processes of this machine)."""

    depth: str | None = None
    jobs: int = 1
    ray: str | None = None


class Surveyed(Noun):
    """What became of one wheel: its line, and whether it was read for it now."""

    line: Line
    fresh: bool


def survey(wheels: Sequence[SurveyWheel], way: SurveyWay, cache: Readings) -> Generator[Surveyed, None, None]:
    """A line for each wheel as it is known: those of the cache first, then the others as they are read."""
    todo: list[SurveyWheel] = []
    for wheel in wheels:
        known = cache.find(wheel.link.url, wheel.link.sha256, way.depth)
        if known is None or known.metadata is None:
            todo.append(wheel)
        else:
            yield Surveyed(surveyed.line(wheel, known), fresh=False)
    if todo:
        yield from _read(todo, way, cache)


def _read(wheels: Sequence[SurveyWheel], way: SurveyWay, cache: Readings) -> Iterator[Surveyed]:
    crew = _Crew(wheels, way)
    try:
        for answer in crew.answers():
            wheel, found = wheels[answer.number], answer.found
            if isinstance(found, Reading):
                cache.keep(wheel.link.url, found)
                yield Surveyed(surveyed.line(wheel, found), fresh=True)
            else:
                yield Surveyed(surveyed.failed(wheel, found), fresh=True)
    finally:
        crew.stop()


class _Answer(Noun):
    """Of which wheel, by its place in the list, and what it holds or why it could not be read."""

    number: int
    found: Reading | TorchpickError


class _Crew:
    """Children that read; a thread hands each its next wheel. They end with this process, whatever ends it."""

    def __init__(self, wheels: Sequence[SurveyWheel], way: SurveyWay) -> None:
        self._wheels, self._way = wheels, way
        self._next = iter(range(len(wheels)))
        self._lock = threading.Lock()
        self._said: SimpleQueue[_Answer | ClusterError | None] = SimpleQueue()
        self._children: list[subprocess.Popen[bytes]] = []
        self._stopped = False
        # On a cluster one child hands everything over; here each child reads one wheel at a time.
        self._lanes = 1 if way.ray is not None else min(way.jobs, len(wheels))
        self._load = way.jobs if way.ray is not None else 1
        self._threads = [threading.Thread(target=self._lane, daemon=True) for _ in range(self._lanes)]

    def answers(self) -> Iterator[_Answer]:
        for thread in self._threads:
            thread.start()
        left = self._lanes
        while left:
            said = self._said.get()
            if isinstance(said, ClusterError):
                raise said
            if said is None:
                left -= 1
            else:
                yield said

    def stop(self) -> None:
        """End every child; what it was reading is read again by the next run."""
        with self._lock:
            self._stopped = True
            children = list(self._children)
        for child in children:
            with contextlib.suppress(OSError):
                child.kill()
        for child in children:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_GRACE_S)
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(_GRACE_S)

    def _lane(self) -> None:
        try:
            while self._drive():
                pass
        except ClusterError as error:
            self._said.put(error)
        except OSError as error:
            self._said.put(ClusterError(f"cannot start a reader: {error.strerror}", hint="try fewer `--jobs`"))
        finally:
            self._said.put(None)

    def _take(self) -> int | None:
        with self._lock:
            return None if self._stopped else next(self._next, None)

    def _start(self) -> subprocess.Popen[bytes] | None:
        module, words = ("survey_reader", ()) if self._way.ray is None else ("survey_ray", (self._way.ray,))
        argv = [sys.executable, "-c", _CHILD.format(module), json.dumps(sys.path), *words]
        with self._lock:
            if self._stopped:
                return None
            # A session of its own: Ctrl-C comes to us, and we end it.
            child = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL if self._way.ray is None else subprocess.PIPE,
                start_new_session=True,
            )
            self._children.append(child)
            return child

    def _drive(self) -> bool:
        """Keep one child busy; true where it died and there is more to do."""
        first = self._take()
        child = None if first is None else self._start()
        if first is None or child is None:
            return False
        talk = _Talk(child)
        try:
            return self._served(child, first, talk)
        finally:
            if child.poll() is None and self._stopped:
                child.kill()
            talk.last()
            for pipe in (child.stdin, child.stdout, child.stderr):
                with contextlib.suppress(OSError):
                    if pipe is not None:
                        pipe.close()

    def _served(self, child: subprocess.Popen[bytes], first: int, talk: _Talk) -> bool:
        open_: dict[int, SurveyWheel] = {}
        found: _Answer | None = None
        answered = False
        following: int | None = first
        while True:
            while following is not None:
                open_[following] = self._wheels[following]
                if not _ask(child, _question(following, self._wheels[following], self._way.depth)):
                    break
                following = self._take() if len(open_) < self._load else None
            if found is not None:
                # The reader is at its next wheel before anyone looks at this one: it never waits for us.
                self._said.put(found)
            if not open_:
                _dismiss(child)
                return False
            text = child.stdout.readline() if child.stdout is not None else b""
            if not text:
                break
            found = _answer(text, open_)
            if found is not None:
                answered = True
                open_.pop(found.number)
            following = self._take() if len(open_) < self._load else None
        status = child.wait()
        if self._way.ray is not None and not answered and not self._stopped:
            raise ClusterError(f"ray: {talk.last()}", hint="`ray status` says whether the cluster can be reached")
        for number in open_:
            error = WheelError(f"its reader ended with status {status}", hint="it is read again by the next run")
            self._said.put(_Answer(number, error))
        return not self._stopped


class _Talk:
    """What a child complains of, kept short, so that it is never held up by it."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._text = b""
        self._thread = threading.Thread(target=self._listen, args=(child,), daemon=True)
        self._thread.start()

    def _listen(self, child: subprocess.Popen[bytes]) -> None:
        for line in child.stderr or ():
            if line.strip():
                self._text = line[:300]

    def last(self) -> str:
        self._thread.join(1.0)
        return self._text.decode(errors="replace").strip() or "it did not answer"


def _ask(child: subprocess.Popen[bytes], question: str) -> bool:
    if child.stdin is None:
        return False
    try:
        child.stdin.write(question.encode() + b"\n")
        child.stdin.flush()
    except OSError:
        return False
    return True


def _dismiss(child: subprocess.Popen[bytes]) -> None:
    """It ends with its stdin."""
    if child.stdin is not None:
        child.stdin.close()
    child.wait()


def _question(number: int, wheel: SurveyWheel, depth: str | None) -> str:
    """By the pipe and not on a command line: an address may hold credentials."""
    link = wheel.link
    return json.dumps({"number": number, "file": link.file, "url": link.url, "sha256": link.sha256, "depth": depth})


def _answer(text: bytes, open_: dict[int, SurveyWheel]) -> _Answer | None:
    """What a reader said; None for what is no answer."""
    try:
        row = Fields(json.loads(text))
        number = row.number("number")
        if number not in open_:
            return None
        error = row.maybe_object("error")
        if error is not None:
            said = WheelError(error.text("text"), hint=error.maybe_text("hint"), code=error.text("code"))
            return _Answer(number, said)
        return _Answer(number, readings.of_json(row.object("reading")))
    except (ShapeError, ValueError):
        return None


def lines(file: str) -> list[Line]:
    """The lines of an earlier run. What a killed one left half-written at the end is taken off the file."""
    try:
        with open(file, "r+b") as stream:
            content = stream.read()
            whole = content.rfind(b"\n") + 1
            if whole < len(content):
                stream.truncate(whole)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise TorchpickError(f"cannot read {file}: {error.strerror}", hint="name another folder") from error
    return list(_parsed(content[:whole].splitlines(), file))


def _parsed(texts: Iterable[bytes], file: str) -> Iterator[Line]:
    for number, text in enumerate(texts, 1):
        try:
            row = json.loads(text)
        except (ValueError, RecursionError) as error:
            hint = "take the line out, or name another folder"
            raise TorchpickError(f"{file}, line {number} is not JSON", hint=hint) from error
        if isinstance(row, dict) and isinstance(row.get("file"), str):
            yield row


@contextlib.contextmanager
def writer(file: str) -> Iterator[Callable[[Line], None]]:
    """Appends a line whole and at once, so that it outlives this process."""
    try:
        stream = open(file, "ab", buffering=0)  # noqa: SIM115 # closed below
    except OSError as error:
        raise TorchpickError(f"cannot write {file}: {error.strerror}", hint="name another folder") from error

    def write(row: Line) -> None:
        stream.write(json.dumps(row).encode() + b"\n")

    with stream:
        yield write
