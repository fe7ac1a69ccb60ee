"""An environment that is only planned: every pin, its costs, what other drivers would take; and the image of it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Container
from shlex import quote

from torchpick.decide import resolve
from torchpick.decide.answer import Answer
from torchpick.decide.environments import DEFAULT_INDEX
from torchpick.environment import shell
from torchpick.errors import NoBuildError, UsageError
from torchpick.install.asking import Order, TargetQuestion, read_plan_question
from torchpick.install.env import variables_for
from torchpick.install.handover import Learnt, find_answer, index_notes
from torchpick.install.question import answer_request
from torchpick.model.build import TRIO
from torchpick.model.machine import Machine, Note
from torchpick.model.package import Download, Stack
from torchpick.run import Run

_OFFLINE = "without `--offline` their wheels are read from your index"
_NOT_READ = "check the names, the versions and the connection to your index"


def plan_environment(run: Run, order: Order) -> tuple[Stack, Callable[[Machine], Answer] | None]:
    """The environment for what is ordered, and the answer for another machine by what was learnt.

    Where none fits its `ok` is false.

    What the table lacks is learnt from the user's own index; InstallerError where that has nothing of what is named.
    """
    question = read_plan_question(
        run.without_requirements(), order._replace(installer=run.installer, only_planned=True)
    )
    try:
        learnt = find_answer(question)
    except NoBuildError as error:
        if error.stack is None:
            raise
        return error.stack, None
    stack = learnt.answer.environment
    stack = stack._replace(notes=tuple(dict.fromkeys((*stack.notes, *learnt.notes))))
    if not stack.packages:
        return stack._replace(hints=(*stack.hints, _OFFLINE if run.offline else _NOT_READ)), None

    def again(machine: Machine) -> Answer:
        return answer_request(
            run, learnt.answer.question, machines=(machine,), everything=False, catalog=learnt.catalog
        )

    notes = (*stack.notes, *index_notes(question, learnt), *_with_a_newer_driver(question, learnt, again))
    folders = {project.name for project in question.placed if project.file is None}
    return stack._replace(notes=notes, download=_download(learnt, stack, folders)), again


def _download(learnt: Learnt, stack: Stack, folders: Container[str]) -> Download | None:
    """The sizes of the files; what torch itself brings besides is not among them."""
    pins = ((pin.name, pin.version) for pin in stack.packages if pin.name not in folders)
    sizes = {name: learnt.sizes.get((name, version)) for name, version in pins}
    unknown = tuple(name for name, size in sizes.items() if size is None)
    total = sum(size for size in sizes.values() if size is not None)
    return Download(total, unknown) if total else None


def _with_a_newer_driver(question: TargetQuestion, learnt: Learnt, again: Callable[[Machine], Answer]) -> list[Note]:
    """What the newest driver would take instead, and the oldest that takes the same."""
    machine = question.machine
    if machine.driver is None or machine.driver.source == "assumed" or not machine.nvidia:
        return []
    drivers = question.run.knowledge.rules.drivers
    now = _shown(learnt.answer)
    own, releases = drivers.branch_number(machine.driver), _releases(learnt.answer)
    numbers = sorted(branch.number for branch in drivers.branches if branch.number > own)

    def taken(number: int) -> str:
        answer = again(resolve.with_driver(machine, str(number), drivers))
        return _shown(answer) if answer.ok and _releases(answer) != releases else now

    newest = taken(numbers[-1]) if numbers else now
    if newest == now:
        return []
    # What runs on a driver runs on every newer one.
    oldest = bisect_left(numbers, True, hi=len(numbers) - 1, key=lambda number: taken(number) == newest)
    return [Note("NEWER_DRIVER", f"with driver {numbers[oldest]} or newer: {newest}")]


def _releases(answer: Answer) -> list[str]:
    """What is pinned, but for the backend, which nobody changes a driver for."""
    return [f"{pin.name} {pin.version.partition('+')[0]}" for pin in answer.environment.packages]


def _shown(answer: Answer) -> str:
    """Torch and what links CUDA; what else moves is of no interest here."""
    pins = (pin for pin in answer.environment.packages if pin.name in TRIO or pin.cuda is not None)
    return ", ".join(f"{pin.name} {pin.version}" for pin in pins)


# The architectures of Linux as images name them.
_ARCHITECTURES = {"linux-x86_64": "linux/amd64", "linux-aarch64": "linux/arm64"}


def dockerfile(run: Run, stack: Stack) -> str:
    """The Dockerfile of a stack that fits. Torch comes from its own index alone, everything else from the user's."""
    machine = stack.machine
    architecture = _ARCHITECTURES.get(machine.platform.name)
    if architecture is None:
        hint = "an image runs on Linux: `--platform linux-x86_64` or `--platform linux-aarch64`"
        raise UsageError(f"no image is made for {machine.platform.name}", hint=hint)
    if machine.jetsons and any(note.code == "VENDOR_INDEX" for note in stack.notes):
        hint = "take an image that has it, such as NVIDIA's l4t-jetpack for this release, and `torchpick url` in it"
        raise UsageError("torch for this JetPack takes CUDA from it, which an image of Python lacks", hint=hint)
    torch = stack.version("torch")
    if torch is None:
        raise UsageError("this environment has no torch", hint="an image for it needs nothing of torchpick")
    if machine.python.image is None:
        raise UsageError(f"there is no image of Python {machine.python.tag}", hint="`--python 3.12` names another")
    _check_origins(stack)
    request = run.request._replace(requirements=(f"torch=={torch}",))
    _, variables = variables_for(run.with_request(request), "dockerfile")
    return "\n".join(
        (
            f"# {' '.join(stack.asked)} for {machine.in_short}.",
            "# The whole image of Python has a C compiler, which triton needs while a program runs.",
            f"FROM --platform={architecture} {machine.python.image}",
            "",
            "# Torch and its companions come from their own index, and nothing else does.",
            shell.variables("dockerfile", variables.set, variables.unset, variables.files),
            "",
            f"RUN python -m pip install --no-cache-dir {' '.join(map(quote, stack.requirements))}",
        )
    )


def _check_origins(stack: Stack) -> None:
    """Wheels of a third index would need its address beside the user's own: nobody could say which one answered."""
    elsewhere = [pin for pin in stack.packages if pin.index not in (DEFAULT_INDEX, stack.index_url)]
    if elsewhere:
        first = elsewhere[0]
        hint = f"`torchpick install {' '.join(stack.asked)}` in an image of your own says what to do about it"
        raise UsageError(f"{first.requirement} comes from {first.index}, which no line here may add", hint=hint)
