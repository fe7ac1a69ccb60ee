"""Print the one of these names that fits, for extras, dependency groups and image tags."""

from __future__ import annotations

import os
from collections.abc import Mapping

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.decide import remarks
from torchpick.decide.demands import is_backend
from torchpick.errors import NoBuildError, UsageError
from torchpick.install.question import answer_request, pick_build
from torchpick.model.pick import Pick
from torchpick.projects.backends import read_backends
from torchpick.run import Run, start_run


def run(args: Arguments) -> int:
    names = _names_of_project() if args.among is None else _names(args.among)
    if args.backend or args.cpu:
        hint = "remove `--backend` and `--cpu`: `--among` specifies the backends"
        raise UsageError("`label` chooses among the given names", hint=hint)
    name, pick = choose(args, names)
    if not console.tell_as_json(pick, args, label=name):
        print(name)
        console.notes(args, *pick.every_note)
    return 0


def _names_of_project() -> Mapping[str, str]:
    project = read_backends(os.getcwd())
    if project is None:
        hint = "such as `--among cpu,cu126,cu130`; in a project whose extras or groups are backends it is left out"
        raise UsageError("label among which names?", hint=hint)
    return project.names


def choose(args: Arguments, names: Mapping[str, str]) -> tuple[str, Pick]:
    """The name whose backend fits, and the pick; NoBuildError where none does."""
    try:
        request = arguments.request_of(args)._replace(backends=tuple(dict.fromkeys(names.values())))
        pick = _chosen(start_run(request, report=console.waiting))
    except NoBuildError as error:
        # The general hint names `--backend`, which this command does not take.
        others = [change for change in error.pick.changes if change.code == "BACKEND_NOT_ALLOWED"]
        told = f"add {others[0].verdict.build.backend} to `--among`" if others and error.stack is None else error.hint
        raise NoBuildError(error.message, pick=error.pick, hint=told) from error
    return next(name for name, backend in names.items() if backend == pick.build.backend), pick


def _chosen(run: Run) -> Pick:
    """The pick among the names: a GPU's where there is one, `cpu` where there is none."""
    request, machines = run.request, run.find_machines()
    intel = "xpu" in request.backends and all(map(remarks.counts_for_xpu, machines))
    gpu = intel or any(machine.counted for machine in machines)
    fit = [each for each in request.backends if (each == "cpu") != gpu or (gpu and request.allow_cpu)]
    if not fit:
        why = "there is no GPU for these names, and cpu is not in `--among`"
        hint = "add cpu (or xpu for Intel's) to `--among`, or specify the GPU with `--gpu`"
        if gpu:
            why, hint = "there is a GPU, but cpu is the only name in `--among`", "`--allow-cpu` allows it"
        raise NoBuildError(why, pick=answer_request(run).pick._replace(verdicts=()), hint=hint)
    return pick_build(run.with_request(request._replace(backends=tuple(fit), allow_cpu="cpu" in fit)))


def _names(text: str) -> dict[str, str]:
    """Name → backend, in the order given."""
    found: dict[str, str] = {}
    for part in text.split(","):
        name, mark, backend = part.strip().partition("=")
        backend = backend if mark else name
        if not name or not is_backend(backend):
            hint = "such as `--among cpu,cu126,cu130` or `--among old=cu126,new=cu132`"
            raise UsageError(f"`{part.strip()}` is not a backend", hint=hint)
        if name in found:
            raise UsageError(f"`{name}` is given twice", hint="remove one of them")
        found[name] = backend
    return found
