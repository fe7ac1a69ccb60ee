"""Print the pick as one line: for `pip install $(torchpick url)`, or as that one of these names that fits."""

from __future__ import annotations

import os

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.decide import remarks
from torchpick.decide.answer import decided
from torchpick.decide.demands import is_backend
from torchpick.errors import NoBuildError, RequirementError, UsageError
from torchpick.install.question import answer_request, collect_question, pick_build, unknown_packages
from torchpick.model.address import WHEEL_HOST
from torchpick.model.pick import NO_LINE, NOTHING_RUNS, pip_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torchpick.decide.answer import Answer
    from torchpick.model.machine import Machine
    from torchpick.model.pick import Pick, Request
    from torchpick.projects.backends import BackendNames
    from torchpick.run import Run

# The exit statuses that say something of this machine.
_OF_MACHINE = (3, 4)


def guard(words: list[str], status: int) -> str | None:
    """What stdout gets where this command fails: a line that pip and uv refuse."""
    if "--bare" in words:
        return None
    return NOTHING_RUNS if status in _OF_MACHINE else NO_LINE


def run(args: Arguments) -> int:
    if args.bare and "default" in args.backend:
        hint = "remove `--bare`; `torchpick url --backend default` prints only the requirement"
        raise UsageError("the default index is your own, so torchpick has no URL for it", hint=hint)
    run = console.start(args, installer="pip")
    question = collect_question(run)
    for word in unknown_packages(run, question):
        hint = f"`torchpick install {word}` installs it together with torch, `torchpick plan {word}` shows how"
        raise RequirementError(f"`{word}` is not on torch's index, so this line cannot have it", hint=hint)
    pick = pick_build(run, question, everything=args.json or args.verbose)
    if console.tell_as_json(pick, args):
        return 0
    print(pick.index_url if args.bare else pip_line(pick.build, pick.wish))
    # To look for a password costs a start some milliseconds, and the wheel host's own address has none.
    password = "" if pick.wish.index_base == WHEEL_HOST else console.of_password(pick.index_url)
    console.notes(args, *pick.every_note, password)
    return 0


def run_label(args: Arguments) -> int:
    project = _project_backends() if args.among is None else None
    backends = _named_backends(args.among or "") if project is None else project.names
    if args.backend or args.cpu:
        hint = "remove `--backend` and `--cpu`: `--among` specifies the backends"
        raise UsageError("`label` chooses among the given names", hint=hint)
    name, pick = choose(args, backends, project)
    if not console.tell_as_json(pick, args, label=name):
        print(name)
        console.notes(args, *pick.every_note)
    return 0


def _project_backends() -> BackendNames:
    from torchpick.projects.backends import read_backends  # which `url` has no use for

    project = read_backends(os.getcwd())
    if project is None:
        hint = "such as `--among cpu,cu126,cu130`; in a project whose extras or groups are backends it is left out"
        raise UsageError("label among which names?", hint=hint)
    return project


def choose(args: Arguments, backends: Mapping[str, str], project: BackendNames | None = None) -> tuple[str, Pick]:
    """The name whose backend fits, and the pick; NoBuildError where none does.

    Of a project with a lock it is the one of which the lock holds what runs.
    """
    request = arguments.request_of(args)._replace(backends=tuple(dict.fromkeys(backends.values())))
    run = console.start(args, request)
    try:
        usable = _usable(request, run.find_machines())
        if not usable:
            raise _refusal(request, answer_request(run))
        if project is not None and (of_lock := _choose_held(run, project, usable)) is not None:
            return of_lock
        pick = pick_build(run.with_request(request._replace(backends=usable, allow_cpu="cpu" in usable)))
    except NoBuildError as error:
        # The general hint names `--backend`, which this command does not take.
        others = [change for change in error.pick.changes if change.code == "BACKEND_NOT_ALLOWED"]
        hint = f"add {others[0].verdict.build.backend} to `--among`" if others and error.stack is None else error.hint
        raise NoBuildError(error.message, pick=error.pick, hint=hint) from error
    return next(name for name, backend in backends.items() if backend == pick.build.backend), pick


def _choose_held(run: Run, project: BackendNames, usable: Sequence[str]) -> tuple[str, Pick] | None:
    """The name under which the lock has the best of what runs, and that; None where there is no lock of it."""
    from torchpick.projects.backends import find_held, pick_among  # which `url` has no use for

    names = {name: backend for name, backend in project.names.items() if backend in usable}
    held = find_held(run, project._replace(names=names), run.find_machines())
    if held is None:
        return None
    try:
        pick = decided(pick_among(run, run.find_machines(), [*held.values()]), run.knowledge.rules).pick
    except NoBuildError as error:
        hint = f"`torchpick doctor {project.lock}` says of each what is against it, and what would do"
        message = f"nothing that {project.lock} holds runs here: {error.message}"
        raise NoBuildError(message, pick=error.pick._replace(changes=()), hint=hint) from error
    return next(name for name, build in held.items() if build.version == pick.version), pick


def _usable(request: Request, machines: tuple[Machine, ...]) -> tuple[str, ...]:
    """The backends that are for GPUs where there is one, `cpu` where there is none."""
    intel = "xpu" in request.backends and all(map(remarks.counts_for_xpu, machines))
    has_gpu = intel or any(machine.counted for machine in machines)
    return tuple(
        backend for backend in request.backends if (backend == "cpu") != has_gpu or (has_gpu and request.allow_cpu)
    )


def _refusal(request: Request, answer: Answer) -> NoBuildError:
    """No backend is for these machines: all are `cpu`, or none is."""
    why = "there is no GPU for these names, and cpu is not in `--among`"
    hint = "add cpu (or xpu for Intel's) to `--among`, or specify the GPU with `--gpu`"
    if "cpu" in request.backends:
        why, hint = "there is a GPU, but cpu is the only name in `--among`", "`--allow-cpu` allows it"
    return NoBuildError(why, pick=answer.pick._replace(verdicts=()), hint=hint)


def _named_backends(text: str) -> dict[str, str]:
    """Name → backend, in the order given."""
    backends: dict[str, str] = {}
    for part in text.split(","):
        name, mark, backend = part.strip().partition("=")
        backend = backend if mark else name
        if not name or not is_backend(backend):
            hint = "such as `--among cpu,cu126,cu130` or `--among old=cu126,new=cu132`"
            raise UsageError(f"`{part.strip()}` is not a backend", hint=hint)
        if name in backends:
            raise UsageError(f"`{name}` is given twice", hint="remove one of them")
        backends[name] = backend
    return backends
