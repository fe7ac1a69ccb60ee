"""One source after another, each in a child, all under one deadline; a complete answer or a named failure."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence

from torchpick.detection import child, reading
from torchpick.detection.child import Running
from torchpick.detection.reading import Reading, failed
from torchpick.detection.world import World
from torchpick.model.machine import TIMEOUT_S
from torchpick.model.noun import Noun

# Where a source's `read` lies, and what it is called.
_READERS = {
    "nvml": ("torchpick.detection.nvml", "read"),
    "cuda": ("torchpick.detection.cuda", "read"),
    "proc": ("torchpick.detection.kernel", "read_gpus"),
}
# A child that cannot fork is a fresh interpreter, which gets our sys.path and nothing of the current folder.
_CODE = """\
import json, sys
told = json.loads(sys.argv[1])
sys.path[:] = told["path"]
from torchpick.detection import probe
probe.serve(told["source"], told["arguments"], float(sys.argv[2]))
"""


class Step(Noun):
    """A source to ask: how its child is started, and how its answer is read (or what to ask it next)."""

    source: str
    start: Callable[[float], Running]
    finish: Callable[[Running], Reading | Step]


def ask(
    steps: Sequence[Step],
    deadline: float,
    enough: Callable[[Sequence[Reading]], bool],
    waiting: Callable[[str], None] | None = None,
) -> list[Reading]:
    """The readings of the sources that were asked, best first; asks the next one while `enough` says no.

    A source that is silent gets half of what is left before the next is asked beside it, and keeps running: a cold
    machine with many GPUs may need it. `waiting` is told after two seconds, once, which source is waited for.
    """
    began = time.monotonic()
    running: dict[int, tuple[Step, Running]] = {}
    answers: dict[int, Reading] = {}
    told = waiting is None

    def listed() -> list[Reading]:
        return [answers[place] for place in sorted(answers)]

    try:
        for place, step in enumerate(steps):
            if enough(listed()) or (place and time.monotonic() >= deadline):
                break
            _begin(place, step, deadline, running, answers)
            last = place == len(steps) - 1
            now = time.monotonic()
            patience = deadline if last else now + (deadline - now) / 2
            # A source that failed hands over at once, even while an elder one is still silent.
            while running and (last or place in running) and time.monotonic() < patience and not enough(listed()):
                until = patience if told else min(patience, began + 2.0)
                child.wait([each for _, each in running.values()], until)
                _collect(deadline, running, answers)
                if not told and running and time.monotonic() >= began + 2.0 and waiting is not None:
                    told = True
                    waiting(", ".join(step.source for step, _ in running.values()))
        for place, (step, _) in running.items():
            spent = time.monotonic() - began
            answers[place] = failed(step.source, "hangs", f"{step.source} did not answer within {spent:.0f} s")
        return listed()
    finally:
        for _, each in running.values():
            each.stop()


def _begin(
    place: int,
    step: Step,
    deadline: float,
    running: dict[int, tuple[Step, Running]],
    answers: dict[int, Reading],
) -> None:
    try:
        running[place] = (step, step.start(max(deadline - time.monotonic(), 0.1)))
    except OSError as error:
        answers[place] = failed(step.source, "absent", f"{step.source} cannot be asked: {error.strerror or error}")


def _collect(deadline: float, running: dict[int, tuple[Step, Running]], answers: dict[int, Reading]) -> None:
    """Take the answers that are complete."""
    done = [place for place, (_, each) in running.items() if each.finished]
    for place in done:
        step, each = running.pop(place)
        each.stop()
        result = step.finish(each)
        if isinstance(result, Step):
            _begin(place, result, deadline, running, answers)
        else:
            answers[place] = result


def library_step(source: str, arguments: Mapping[str, object]) -> Step:
    """A source that calls into a driver library: a fork where that is safe, else a fresh interpreter."""

    def start(limit_s: float) -> Running:
        if child.can_fork():
            return child.fork(lambda: _answer(source, arguments), limit_s)
        import json
        import sys

        if not sys.executable:
            raise OSError("this program embeds Python and has no interpreter to start")
        import torchpick

        folders = [folder for folder in sys.path if folder not in ("", os.curdir)]
        # An editable install may be found by a hook instead of a path, and a fresh interpreter has no hooks.
        folders.append(os.path.dirname(os.path.dirname(os.path.abspath(torchpick.__file__))))
        told = {"path": folders, "source": source, "arguments": dict(arguments)}
        return child.spawn_python(_CODE, json.dumps(told), limit_s)

    return Step(source, start, lambda each: _finish(source, each))


def smi_step(world: World) -> Step:
    """nvidia-smi by absolute path, with the shell's variables; asked again without the field an old one lacks."""
    from torchpick.detection import libraries, smi

    def step(program: str, *, capability: bool) -> Step:
        def start(_limit_s: float) -> Running:
            # Its own words are matched, so they must be English; nothing else of the shell is touched.
            environ = {**world.environ, "LC_ALL": "C"}
            return child.start(smi.question(program, capability=capability), environ)

        def finish(each: Running) -> Reading | Step:
            out = each.answer.decode("utf-8", "replace")
            if capability and smi.lacks_capability(each.status, out):
                return step(program, capability=False)
            found = smi.parse(each.status, out, capability=capability)
            if found.failure is not None and not out.strip() and each.talk:
                said = each.talk.decode("utf-8", "replace").strip()[:200]
                return found._replace(failure=found.failure._replace(text=f"nvidia-smi says: {said}"))
            return found

        return Step("smi", start, finish)

    programs = libraries.tools(world)
    if not programs:
        return Step("smi", _absent, lambda _: failed("smi", "absent", "no nvidia-smi"))
    return step(programs[0], capability=True)


def _absent(_limit_s: float) -> Running:
    raise FileNotFoundError("no nvidia-smi")


def _answer(source: str, arguments: Mapping[str, object]) -> bytes:
    from importlib import import_module

    module, function = _READERS[source]
    found: Reading = getattr(import_module(module), function)(**arguments)
    return (reading.dumps(found) + "\n").encode()


def serve(source: str, arguments: Mapping[str, object], limit_s: float) -> None:
    """The other end of `library_step`, in a fresh interpreter."""
    channel = child.answer_apart()
    child.guard(limit_s)
    child.write_all(channel, _answer(source, arguments))
    os._exit(0)


def _finish(source: str, each: Running) -> Reading:
    """Success is a complete answer, not a status: libraries call exit(0) in their init."""
    said = each.talk.decode("utf-8", "replace").strip()
    if each.answer.endswith(b"\n"):
        found = reading.load(each.answer, source)
        if found.failure is not None and "stub" in said.lower():
            return found._replace(failure=found.failure._replace(kind="stub"))
        return found
    if each.overflow:
        return failed(source, "silent", f"{source} gave an answer without end")
    if each.status is not None and each.status < 0:
        return failed(source, "crashed", f"{source} crashed ({_signal(each.status)})")
    words = f": {said.splitlines()[-1][:200]}" if said else ""
    return failed(source, "silent", f"{source} ended without an answer (status {each.status}){words}")


def _signal(status: int) -> str:
    import signal

    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


if __name__ == "__main__":
    from torchpick.detection import alone, libraries

    here = World.here()
    raise SystemExit(
        alone.show(
            ask(
                [
                    library_step("nvml", {"libraries": libraries.candidates(libraries.NVML, here)}),
                    library_step("cuda", {"libraries": libraries.candidates(libraries.CUDA, here)}),
                    smi_step(here),
                    library_step("proc", {"root": "/"}),
                ],
                time.monotonic() + TIMEOUT_S,
                lambda _: False,
            )
        )
    )
