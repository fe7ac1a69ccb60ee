"""Which of these names is for the machine, of a project's too; a command of uv's with it, and any under the pick."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.decide import remarks
from torchpick.decide.answer import Answer
from torchpick.decide.demands import is_backend
from torchpick.errors import NoBuildError, UsageError
from torchpick.install.command import Command, die_of, run_command
from torchpick.install.question import answer_request, pick_build
from torchpick.model.machine import Machine
from torchpick.model.pick import Pick, Request
from torchpick.projects.backends import BackendNames, commands, parse_uv, read_backends


def run(args: Arguments) -> int:
    project = read_backends(os.getcwd()) if args.among is None else None
    if project is None and args.among is None:
        hint = "such as `--among cpu,cu126,cu130`; a project with extras by `torchpick extras --for app` needs none"
        raise UsageError("label among which names?", hint=hint)
    backends = _named_backends(args.among or "") if project is None else project.names
    if args.backend or args.cpu:
        hint = "remove `--backend` and `--cpu`: `--among` specifies the backends"
        raise UsageError("`label` chooses among the given names", hint=hint)
    name, pick = choose(args, backends, project)
    if not console.tell_as_json(pick, args, label=name):
        print(name)
        console.notes(args, *pick.every_note)
    return 0


def run_command_of_user(args: Arguments) -> int:
    if not args.passed_on:
        raise UsageError("there is no command to run", hint="such as `torchpick run pip install accelerate`")
    if shutil.which(args.passed_on[0]) is None:
        raise UsageError(f"`{args.passed_on[0]}` is not a command on PATH", hint="`torchpick run --help` has examples")
    args.words = []
    uv = parse_uv(args.passed_on, os.environ, os.getcwd())
    if uv is not None and (project := read_backends(uv.folder, uv.package)) is not None:
        name, pick = choose(args, project.names, project)
        if (replaced := commands(uv, project, name)) is not None:
            console.tell(pick, args)
            console.notes(args, *pick.every_note, f"{project.kind} `{name}` of {project.file} is this machine's")
            return _run_each(replaced)
    from torchpick.install.env import command_of  # a project has no use for it

    pick, command = command_of(console.start(args), args.passed_on)
    console.tell(pick, args)
    console.notes(args, *pick.every_note, *(note.text for note in command.notes))
    return die_of(run_command(command, os.environ)[0])


def _run_each(lines: Iterable[Sequence[str]]) -> int:
    """One after the other up to the first that fails, under the variables as they are: a project's lock decides."""
    status = 0
    for argv in lines:
        if status := run_command(Command(argv[0], tuple(argv)), os.environ)[0]:
            break
    return die_of(status)


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
        if project is not None and project.lock:
            from torchpick.doctor import locked  # no choice without a lock needs it

            names = {name: backend for name, backend in project.names.items() if backend in usable}
            if (of_lock := locked.choose(run, project._replace(names=names), run.find_machines())) is not None:
                return of_lock
        pick = pick_build(run.with_request(request._replace(backends=usable, allow_cpu="cpu" in usable)))
    except NoBuildError as error:
        # The general hint names `--backend`, which this command does not take.
        others = [change for change in error.pick.changes if change.code == "BACKEND_NOT_ALLOWED"]
        hint = f"add {others[0].verdict.build.backend} to `--among`" if others and error.stack is None else error.hint
        raise NoBuildError(error.message, pick=error.pick, hint=hint) from error
    return next(name for name, backend in backends.items() if backend == pick.build.backend), pick


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
