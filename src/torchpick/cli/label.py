"""Print the one of these names that fits, for extras, dependency groups and image tags.

A name is a backend, or NAME=BACKEND for a name of your own. `cpu` is used only where there is no GPU, or with
--allow-cpu. Where none fits, nothing is printed and the exit status is 3.

examples:
  uv sync --extra "$(torchpick label --among cpu,cu126,cu130)"
  docker pull "registry.example/app:$(torchpick label --among old=cu126,new=cu132)"
  torchpick label --among cpu,cu126,cu130 --gpu "GTX 1080 Ti" "torch>=2.9"
"""

from __future__ import annotations

from argparse import ArgumentParser

from torchpick import question
from torchpick.cli import arguments, console
from torchpick.cli.arguments import Asked
from torchpick.errors import NoBuildError, UsageError
from torchpick.model import envelope
from torchpick.model.verdict import Pick
from torchpick.request import Request


class Label(Asked):
    among: str


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_requirements(parser)
    parser.add_argument(
        "--among", required=True, metavar="NAME,…", help="the names to choose from, such as cpu,cu126,cu130"
    )
    arguments.add_decision_flags(parser)


def run(args: Label) -> int:
    names = _names(args.among)
    if args.backend or args.cpu:
        hint = "leave out `--backend` and `--cpu`: `--among` says which backends there are"
        raise UsageError("`label` chooses among the names it is given", hint=hint)
    try:
        pick = _chosen(arguments.request_of(args)._replace(backends=tuple(dict.fromkeys(names.values()))))
    except NoBuildError as error:
        # The general hint names `--backend`, which this command does not take.
        others = [change for change in error.pick.changes if change.code == "BACKEND_NOT_ALLOWED"]
        told = f"add {others[0].verdict.build.backend} to `--among`" if others else error.hint
        raise NoBuildError(error.message, pick=error.pick, hint=told) from error
    console.tell(pick, args)
    name = next(name for name, backend in names.items() if backend == pick.build.backend)
    if args.json:
        print(envelope.dumps({**envelope.of_pick(pick, "label"), "label": name}))
    else:
        print(name)
    return 0


def _chosen(request: Request) -> Pick:
    pick = question.chosen(request, tell=console.waiting)
    gpu = any(machine.counted for machine in pick.machines)
    if not gpu and pick.build.backend != "cpu" and "cpu" in request.backends:
        return question.chosen(request._replace(backends=("cpu",)), tell=console.waiting)
    if pick.build.backend == "cpu" and gpu and not request.allow_cpu:
        backends = tuple(each for each in request.backends if each != "cpu")
        if backends:
            return question.chosen(request._replace(backends=backends), tell=console.waiting)
        raise NoBuildError(
            "there is a GPU, and only cpu is among the names",
            pick=pick._replace(verdicts=()),
            hint="`--allow-cpu` takes it",
        )
    if not gpu and pick.build.backend != "cpu":
        raise NoBuildError(
            "no GPU was found, and cpu is not among the names",
            pick=pick._replace(verdicts=()),
            hint="add cpu to `--among`, or tell the GPU with `--gpu`",
        )
    return pick


def _names(text: str) -> dict[str, str]:
    """Name → backend, in the order given."""
    found: dict[str, str] = {}
    for part in text.split(","):
        name, mark, backend = part.strip().partition("=")
        backend = backend if mark else name
        if not name or not question.is_backend(backend):
            hint = "such as `--among cpu,cu126,cu130` or `--among old=cu126,new=cu132`"
            raise UsageError(f"`{part.strip()}` names no backend", hint=hint)
        if name in found:
            raise UsageError(f"`{name}` is named twice", hint="leave one of them out")
        found[name] = backend
    return found
