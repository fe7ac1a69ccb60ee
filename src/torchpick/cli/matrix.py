"""Show which releases and backends run on which GPUs, as a table or as one self-contained page.

Without --gpu it is about every kind of GPU. Each is judged with the driver that is given, else with the newest that
supports it. Nothing is looked up on this machine but its system and Python, unless --gpus, --only or --trust-pci asks
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

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.cli.show import matrix as table
from torchpick.cli.show.text import plain
from torchpick.decide import matrix
from torchpick.decide.matrix import Row
from torchpick.environment import rewrite
from torchpick.errors import TorchpickError, UsageError
from torchpick.knowledge import locations
from torchpick.model import envelope
from torchpick.model.generations import NVIDIA, kind_of
from torchpick.model.machine import Machine
from torchpick.model.pythons import python_name
from torchpick.model.redaction import redacted
from torchpick.model.request import Request, Wish
from torchpick.model.table import Table
from torchpick.model.wheelhost import WHEEL_HOST
from torchpick.session import Session


class MatrixArguments(Arguments):
    html: str | None
    patches: bool


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_requirements(parser)
    parser.add_argument("--html", metavar="FILE", help="write one self-contained page; `-` for stdout")
    parser.add_argument("--patches", action="store_true", help="every patch release, not the newest of each minor one")
    arguments.add_decision_flags(parser)


def run(args: MatrixArguments) -> int:
    arguments.check_file("--html", args.html, "--html matrix.html")
    session = Session(arguments.request_of(args))
    wish = session.wish
    if args.html is not None:
        return _page(args, session)
    if session.request.machine is not None:
        return _groups(args, session)
    rows = [(machine, matrix.rows(machine, session.table_of((machine,)), wish)) for machine in _machines(args, session)]
    if args.json:
        found = [_json(row, machine) for machine, mine in rows for row in mine]
        print(envelope.dumps(envelope.new("matrix", rows=found)))
        return 0
    for place, (machine, mine) in enumerate(rows):
        _print(args, _ground(machine), mine, first=place == 0)
    return 0


def _print(args: MatrixArguments, heading: str, rows: tuple[Row, ...], *, first: bool) -> None:
    bold = console.painter(args)
    releases = matrix.releases_of(rows)
    shown = releases if args.patches else matrix.newest_patches(releases)
    print(("" if first else "\n") + bold(heading) + "\n")
    print(table.text(rows, shown, console.width(), bold))


def _groups(args: MatrixArguments, session: Session) -> int:
    """The machines of files, by group."""
    from torchpick.cli.matrix_groups import grounds

    fleet = session.fleet
    found = grounds(fleet, session.table_of(fleet.machines), session.wish)
    if args.json:
        rows = [
            {**_json(row, ground.machine), **hosts.to_json()}
            for ground in found
            for row, hosts in zip(ground.rows, ground.owners, strict=True)
        ]
        print(envelope.dumps(envelope.new("matrix", rows=rows)))
        return 0
    for place, ground in enumerate(found):
        heading = _ground(ground.machine._replace(name=None))
        if ground.hosts.count > 1 or ground.hosts.text:
            heading += f" ({plain(str(ground.hosts))})"
        _print(args, heading, ground.shown, first=place == 0)
    console.notes(args, *fleet.notes)
    return 0


def _machines(args: MatrixArguments, session: Session) -> tuple[Machine, ...]:
    """The machines whose GPUs are asked about; without any, one that has every kind of GPU of its platform."""
    request = session.request
    if args.gpus is not None or request.only is not None or request.trust_pci:
        found = session.machine
        if found.trouble is None and found.counted:
            return (found,)
        why = "no GPU was found" if found.trouble is None else found.trouble.text
        print(f"note: {plain(why)}, so this is about every kind", file=sys.stderr)
        return (_open(found._replace(gpus=())),)
    asked = session if session.given_gpus else session.asking(request._replace(gpus=("none",)))
    return (_open(asked.machine),)


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
        "platform": machine.platform,
        "python": machine.python,
        "driver": row.driver,
        "gpu": row.gpu,
        "generation": None if kind is None else kind.generation,
        "examples": () if kind is None else kind.examples,
        "newest": None if row.newest is None else row.newest.build.version,
        "releases": [
            {
                "torch": cell.torch,
                "best": None if cell.best is None else cell.best.build.backend,
                "builds": cell.verdicts,
            }
            for cell in row.cells
        ],
    }


def _page(args: MatrixArguments, session: Session) -> int:
    from torchpick.cli.show import page_data, timeline, webpage

    request, wish = session.request, session.wish
    for flag in ("machine", "glibc", "macos", "gpus"):
        if getattr(args, flag) is not None:
            raise UsageError(f"`--{flag}` says nothing to a page for every machine", hint=f"leave out `--{flag}`")
    if request.only is not None or request.trust_pci or args.json or args.patches:
        hint = "`--gpu`, `--driver`, `--python` and `--platform` say what it opens with"
        raise UsageError("the page is for every machine", hint=hint)
    folder = os.path.dirname(args.html or "") or "."
    if args.html != "-" and not os.path.isdir(folder):
        raise TorchpickError(f"cannot write {args.html}: there is no folder {folder}", hint="name another file")
    wish = wish._replace(index_base=redacted(wish.index_base))
    names = (*session.knowledge.gpu_names.products, *session.knowledge.other_names.amd_named)
    known = session.knowledge.table(page_data.PLATFORMS, request.channel)
    start, rows = _start(session, known, wish)
    shown = matrix.releases_of(row for _, row in rows)
    facts = webpage.PageFacts(
        start,
        webpage.fallback(rows),
        _scope(request, wish),
        shown,
        timeline.svg(timeline.of(known)) if not (request.requirements or wish.backends) else "",
        webpage.releases(known, page_data.PLATFORMS, shown),
        _packages(session),
    )
    page = webpage.html(_parts(), page_data.data(known, wish, names), facts)
    _write(args.html or "-", page)
    return 0


def _start(session: Session, known: Table, wish: Wish) -> tuple[dict[str, str], list[tuple[str, Row]]]:
    """What the page opens with, and the rows that stand in it for a browser without JavaScript."""
    from torchpick.cli.show import page_data

    request = session.request
    (machine,) = session.asking(request._replace(gpus=request.gpus or ("none",))).machines
    own = machine.platform.name
    platform = own if own in page_data.PLATFORMS else next(iter(page_data.PLATFORMS))
    gpu = machine.gpus[0] if machine.gpus else None
    kinds = [kind for kind in reversed(NVIDIA) if kind.found_on(platform)]
    bare = _open(machine._replace(gpus=matrix.gpus_of(kinds), platform=machine.platform.parse(platform)))
    rows = [(", ".join(kind.examples), row) for kind, row in zip(kinds, matrix.rows(bare, known, wish), strict=True)]
    driver = bare.driver.version if bare.driver is not None else None
    start = {
        "system": platform,
        "python": python_name(machine.python.tag),
        "driver": page_data.nearest(driver, known.drivers, bare.platform.os),
        "gpu": str(gpu.arch) if gpu is not None and gpu.arch is not None else "",
        "name": (gpu.name or "") if gpu is not None else "",
        # A page that was made for no system opens with the reader's own, as far as the browser says it.
        "guess": "" if request.platform else "1",
    }
    return start, rows


def _packages(session: Session) -> str:
    """The CUDA packages whose code was read, for the GPUs that are found beside them."""
    from torchpick.cli.show import webpage
    from torchpick.decide import packagegpus
    from torchpick.knowledge.packages import READ_PLATFORM, KnownPackages

    gpus = [kind.arch for kind in NVIDIA if kind.found_on(READ_PLATFORM)]
    return webpage.packages(packagegpus.rows(KnownPackages(session.environ, READ_PLATFORM).values(), gpus), gpus)


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
    from torchpick.cli.show import webpage

    folder = os.path.join(os.path.dirname(os.path.abspath(webpage.__file__)), "page")
    found = {}
    for name in webpage.PARTS:
        try:
            found[name] = locations.read(os.path.join(folder, name)).decode()
        except OSError as error:
            hint = "install torchpick-cli again"
            raise TorchpickError(f"{name} is missing from this installation", hint=hint) from error
    return found


def _write(file: str, page: str) -> None:
    if file == "-":
        print(page, end="")
        return
    rewrite.put(file, page)
    print(file)
