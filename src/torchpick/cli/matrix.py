"""Show which releases and backends run on which GPUs, as a table or as one self-contained page.

Without --gpu it is about every kind of GPU. Each is judged with the driver that is told, else with the newest that
serves it. Nothing is looked up on this machine but its system and Python, unless --gpus, --only or --trust-pci asks
for its own GPUs. The page needs no server and no network; its address keeps what was chosen in it.

examples:
  torchpick matrix                                          this system and Python
  torchpick matrix --gpu "GTX 1080 Ti" --gpu a100 --driver 580
  torchpick matrix "torch>=2.5" --python 3.13 --patches
  torchpick matrix --html matrix.html
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser

from torchpick import matrix, question, shipped
from torchpick.cli import arguments, console
from torchpick.cli.arguments import Asked
from torchpick.emit import matrix as table
from torchpick.emit.text import plain
from torchpick.errors import TorchpickError, UsageError
from torchpick.matrix import Row
from torchpick.model import envelope
from torchpick.model.generations import NVIDIA, kind_of
from torchpick.model.machine import Machine
from torchpick.model.pythons import python_name
from torchpick.model.table import Table
from torchpick.model.wish import WHEEL_HOST, Wish
from torchpick.places import compat_dir
from torchpick.request import Request


class Matrix(Asked):
    html: str | None
    patches: bool


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_requirements(parser)
    parser.add_argument("--html", metavar="FILE", help="write one self-contained page; `-` for stdout")
    parser.add_argument("--patches", action="store_true", help="every patch release, not the newest of each minor one")
    arguments.add_decision_flags(parser)


def run(args: Matrix) -> int:
    request = arguments.request_of(args)
    wish = question.wish_of(request, os.environ)
    if args.html is not None:
        return _page(args, request, wish)
    rules = shipped.rules(os.environ)
    rows = []
    for machine in _machines(args, request, rules):
        known = shipped.with_builds(rules, [machine.platform.name], os.environ, request.channel)
        rows.append((machine, matrix.rows(machine, known, wish)))
    if args.json:
        found = [_json(row, machine) for machine, mine in rows for row in mine]
        print(envelope.dumps(envelope.new("matrix", rows=found)))
        return 0
    bold = console.bold if console.coloured(args.color, sys.stdout) else str
    for place, (machine, mine) in enumerate(rows):
        releases = matrix.releases_of(mine)
        shown = releases if args.patches else matrix.newest_patches(releases)
        print(("\n" if place else "") + bold(_ground(machine)) + "\n")
        print(table.text(mine, shown, console.width(), bold))
    return 0


def _machines(args: Matrix, request: Request, rules: Table) -> tuple[Machine, ...]:
    """The machines whose GPUs are asked about; without any, one that has every kind of GPU of its platform."""
    if request.machine is not None:
        return question.machines_of(request, os.environ, rules)
    if args.gpus is not None or request.only is not None or request.trust_pci:
        found = question.machine_of(request, os.environ, rules)
        if found.trouble is None and found.counted:
            return (found,)
        why = "no GPU was found" if found.trouble is None else found.trouble.text
        print(f"note: {plain(why)}, so this is about every kind", file=sys.stderr)
        return (_open(found._replace(gpus=())),)
    told = request.gpus is not None or bool(os.environ.get("TORCHPICK_GPU"))
    asked = request if told else request._replace(gpus=("none",))
    return (_open(question.machine_of(asked, os.environ, rules)),)


def _open(machine: Machine) -> Machine:
    """Without a driver that was only assumed for all the GPUs together, and with every kind of GPU where none is."""
    driver = machine.driver if machine.driver is not None and machine.driver.source != "assumed" else None
    gpus = machine.gpus or matrix.gpus_of(kind for kind in NVIDIA if kind.found_on(machine.platform.name))
    return machine._replace(driver=driver, gpus=gpus)


def _ground(machine: Machine) -> str:
    facts = [machine.name, machine.platform.name, python_name(machine.python.tag)]
    if machine.platform.glibc:
        facts.append(f"glibc {machine.platform.glibc}")
    return plain(", ".join(fact for fact in facts if fact))


def _json(row: Row, machine: Machine) -> dict[str, object]:
    kind = kind_of(row.gpu.arch)
    return {
        "machine": machine.name,
        "platform": machine.platform.to_json(),
        "python": machine.python.to_json(),
        "driver": None if row.driver is None else row.driver.to_json(),
        "gpu": row.gpu.to_json(),
        "generation": None if kind is None else kind.generation,
        "examples": [] if kind is None else list(kind.examples),
        "newest": None if row.newest is None else row.newest.build.version,
        "releases": [
            {
                "torch": cell.torch,
                "best": None if cell.best is None else cell.best.build.backend,
                "builds": [verdict.to_json() for verdict in cell.verdicts],
            }
            for cell in row.cells
        ],
    }


def _page(args: Matrix, request: Request, wish: Wish) -> int:
    from torchpick import atlas
    from torchpick.emit import webpage

    for flag, value in (("--machine", request.machine), ("--glibc", request.glibc), ("--gpus", args.gpus)):
        if value is not None:
            raise UsageError(f"`{flag}` says nothing to a page for every machine", hint=f"leave out `{flag}`")
    if request.only is not None or request.trust_pci or args.json or args.patches:
        hint = "`--gpu`, `--driver`, `--python` and `--platform` say what it opens with"
        raise UsageError("the page is for every machine", hint=hint)
    folder = os.path.dirname(args.html or "") or "."
    if args.html != "-" and not os.path.isdir(folder):
        raise TorchpickError(f"cannot write {args.html}: there is no folder {folder}", hint="name another file")
    wish = wish._replace(index_base=envelope.redacted(wish.index_base))
    names = _names()
    known = shipped.with_builds(shipped.rules(os.environ), atlas.PLATFORMS, os.environ, request.channel)
    start, rows = _start(request, known, wish)
    facts = webpage.Facts(start, webpage.fallback(rows), _scope(request, wish), _releases(rows))
    page = webpage.html(_parts(), atlas.data(known, wish, names), facts)
    _write(args.html or "-", page)
    return 0


def _start(request: Request, known: Table, wish: Wish) -> tuple[dict[str, str], list[tuple[str, Row]]]:
    """What the page opens with, and the rows that stand in it for a browser without JavaScript."""
    from torchpick import atlas

    (machine,) = question.machines_of(request._replace(gpus=request.gpus or ("none",)), os.environ, known)
    platform = machine.platform.name if machine.platform.name in atlas.PLATFORMS else next(iter(atlas.PLATFORMS))
    gpu = machine.gpus[0] if machine.gpus else None
    kinds = [kind for kind in reversed(NVIDIA) if kind.found_on(platform)]
    bare = _open(machine._replace(gpus=matrix.gpus_of(kinds), platform=machine.platform.parse(platform)))
    rows = [(", ".join(kind.examples), row) for kind, row in zip(kinds, matrix.rows(bare, known, wish), strict=True)]
    driver = bare.driver.version if bare.driver is not None else None
    start = {
        "system": platform,
        "python": python_name(machine.python.tag),
        "driver": atlas.nearest(driver, known.drivers, bare.platform.os),
        "gpu": str(gpu.arch) if gpu is not None and gpu.arch is not None else "",
        "name": (gpu.name or "") if gpu is not None else "",
    }
    return start, rows


def _names() -> tuple[tuple[str, str], ...]:
    from torchpick.model.gpunames import Names

    return shipped.read(os.path.join(compat_dir(os.environ), "index", "gpus.json"), Names.from_json).products


def _releases(rows: list[tuple[str, Row]]) -> tuple[str, ...]:
    return matrix.releases_of(row for _, row in rows)


def _scope(request: Request, wish: Wish) -> str:
    """What narrowed the page, in words."""
    words = list(request.requirements)
    words += [f"backend {backend}" for backend in wish.backends]
    if wish.channel != "stable":
        words.append(f"the {wish.channel} channel")
    if wish.index_base != WHEEL_HOST:
        words.append(f"the mirror {wish.index_base}")
    return plain(", ".join(words))


def _parts() -> dict[str, str]:
    """The template's files, which lie beside the module that fills it."""
    from torchpick.emit import webpage

    folder = os.path.join(os.path.dirname(os.path.abspath(webpage.__file__)), "page")
    found = {}
    for name in webpage.PARTS:
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as stream:
                found[name] = stream.read()
        except OSError as error:
            hint = "install torchpick-cli again"
            raise TorchpickError(f"{name} is missing from this installation", hint=hint) from error
    return found


def _write(file: str, page: str) -> None:
    if file == "-":
        print(page, end="")
        return
    try:
        with open(file, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(page)
    except OSError as error:
        raise TorchpickError(
            f"cannot write {file}: {error.strerror}", hint="name another file with `--html`"
        ) from error
    print(file)
