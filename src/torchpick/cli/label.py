"""Print the one of these names that fits, for extras, dependency groups and image tags.

A name is a backend, or NAME=BACKEND for a name of your own. `cpu` is used only where there is no GPU, or with
--allow-cpu. If none fits, nothing is printed and the exit status is 3.

examples:
  uv sync --extra "$(torchpick label --among cpu,cu126,cu130)"
  docker pull "registry.example/app:$(torchpick label --among old=cu126,new=cu132)"
  torchpick label --among cpu,cu126,cu130 --gpu "GTX 1080 Ti" "torch>=2.9"
"""

from __future__ import annotations

from argparse import ArgumentParser

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.decide import remarks
from torchpick.decide.wishes import is_backend
from torchpick.errors import NoBuildError, UsageError
from torchpick.model.pick import Pick
from torchpick.session import Session


class LabelArguments(Arguments):
    among: str


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_requirements(parser)
    parser.add_argument(
        "--among", required=True, metavar="NAME,…", help="the names to choose from, such as cpu,cu126,cu130"
    )
    arguments.add_decision_flags(parser)


def run(args: LabelArguments) -> int:
    names = _names(args.among)
    if args.backend or args.cpu:
        hint = "remove `--backend` and `--cpu`: `--among` specifies the backends"
        raise UsageError("`label` chooses among the given names", hint=hint)
    try:
        request = arguments.request_of(args)._replace(backends=tuple(dict.fromkeys(names.values())))
        pick = _chosen(Session(request, report=console.waiting))
    except NoBuildError as error:
        # The general hint names `--backend`, which this command does not take.
        others = [change for change in error.pick.changes if change.code == "BACKEND_NOT_ALLOWED"]
        told = f"add {others[0].verdict.build.backend} to `--among`" if others else error.hint
        raise NoBuildError(error.message, pick=error.pick, hint=told) from error
    name = next(name for name, backend in names.items() if backend == pick.build.backend)
    if not console.tell_as_json(pick, args, label=name):
        print(name)
    return 0


def _chosen(session: Session) -> Pick:
    request = session.request
    pick = session.pick()
    intel = pick.build.backend == "xpu" and all(map(remarks.counts_for_xpu, pick.machines))
    gpu = intel or any(machine.counted for machine in pick.machines)
    if not gpu and pick.build.backend != "cpu" and "cpu" in request.backends:
        return session.asking(request._replace(backends=("cpu",))).pick()
    if pick.build.backend == "cpu" and gpu and not request.allow_cpu:
        backends = tuple(each for each in request.backends if each != "cpu")
        if backends:
            return session.asking(request._replace(backends=backends)).pick()
        raise NoBuildError(
            "there is a GPU, but cpu is the only name in `--among`",
            pick=pick._replace(verdicts=()),
            hint="`--allow-cpu` allows it",
        )
    if not gpu and pick.build.backend != "cpu":
        raise NoBuildError(
            "no GPU was found, and cpu is not in `--among`",
            pick=pick._replace(verdicts=()),
            hint="add cpu to `--among`, or specify the GPU with `--gpu`",
        )
    return pick


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
