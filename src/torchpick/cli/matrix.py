"""Show which releases and backends run on which GPUs, as a table or as one self-contained page.

Without --gpu it is about every kind of GPU. Each is judged with the driver that is given, else with the newest that
supports it. Nothing is looked up on this machine but its system and Python. The page needs no server and no network;
its address keeps what was chosen in it.

A cell names the backend that would be picked: with `*` the driver compiles its code at first use, with `-` no build of
that release runs, and `torchpick list --gpu …` says why.

examples:
  torchpick matrix                                          this system and Python
  torchpick matrix --gpu "GTX 1080 Ti" --gpu a100 --driver 580
  torchpick matrix "torch>=2.5" --python 3.13
  torchpick matrix --html matrix.html
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.cli.show import text, webpage
from torchpick.cli.show.text import plain
from torchpick.decide import matrix
from torchpick.decide.matrix import Row
from torchpick.environment import rewrite
from torchpick.errors import TorchpickError, UsageError
from torchpick.model import envelope
from torchpick.model.arch import Fit
from torchpick.model.fleet import Hosts
from torchpick.model.generations import NVIDIA, kind_of
from torchpick.model.machine import Machine
from torchpick.model.noun import Noun
from torchpick.model.pythons import python_name
from torchpick.model.redaction import redacted
from torchpick.model.verdict import Verdict
from torchpick.session import Session


class MatrixArguments(Arguments):
    html: str | None


class MatrixTable(Noun):
    """The rows of one machine, or of several that are alike."""

    machine: Machine
    hosts: Hosts
    rows: tuple[Row, ...]


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_requirements(parser)
    parser.add_argument("--html", metavar="FILE", help="write one self-contained page; `-` for stdout")
    arguments.add_decision_flags(parser)


def run(args: MatrixArguments) -> int:
    arguments.check_file("--html", args.html, "--html matrix.html")
    session = Session(arguments.request_of(args), report=console.waiting)
    if args.html is not None:
        return _page(args, session)
    tables = _tables(session)
    if args.json:
        print(envelope.dumps(envelope.new("matrix", rows=[row for table in tables for row in _json(table)])))
        return 0
    bold, width = console.painter(args), console.width()
    for place, table in enumerate(tables):
        print(("\n" if place else "") + bold(_heading(table)) + "\n")
        if not matrix.releases_of(table.rows):
            print("no release is within what was asked for")
            continue
        print(text.headed(_matrix(table.rows), None, bold), "", *text.lines(_legend(table.rows), width), sep="\n")
    if session.request.machine is not None:
        console.notes(args, *session.fleet.notes)
    return 0


def _tables(session: Session) -> list[MatrixTable]:
    """One for the machine whose GPUs are asked about, or one for each kind of machine in the files."""
    if session.request.machine is None:
        asked = session if session.given_gpus else session.asking(session.request._replace(gpus=("none",)))
        machines = [(_open(asked.machine), Hosts(1))]
    else:
        machines = [(crowd.machine._replace(name=None), crowd.hosts) for crowd in session.fleet.crowds]
    known = session.table_of(tuple(machine for machine, _ in machines))
    return [MatrixTable(machine, hosts, matrix.rows(machine, known, session.wish)) for machine, hosts in machines]


def _open(machine: Machine) -> Machine:
    """Without a driver that was only assumed for all the GPUs together, and with every kind of GPU where none is."""
    driver = machine.driver if machine.driver is not None and machine.driver.source != "assumed" else None
    gpus = machine.gpus or matrix.gpus_of(kind for kind in NVIDIA if kind.found_on(machine.platform.name))
    return machine._replace(driver=driver, gpus=gpus)


def _heading(table: MatrixTable) -> str:
    machine = table.machine
    facts = [machine.platform.name, python_name(machine.python.tag)]
    if machine.platform.glibc:
        facts.append(f"glibc {machine.platform.glibc}")
    if table.hosts.text:
        facts.append(str(table.hosts))
    return plain(", ".join(facts))


def _matrix(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """A line for each minor release, a column for GPUs beside each other that fare alike."""
    releases = matrix.newest_patches(matrix.releases_of(rows))
    columns: list[tuple[list[str], list[str]]] = []
    for row in rows:
        best = {cell.torch: cell.best for cell in row.cells}
        words = [_word(best.get(torch)) for torch in releases]
        if columns and columns[-1][1] == words:
            columns[-1][0].append(_name(row))
        else:
            columns.append(([_name(row)], words))
    heads = (", ".join(names) if len(names) < 3 else f"{names[0]} … {names[-1]}" for names, _ in columns)
    lines = [(torch, *(words[place] for _, words in columns)) for place, torch in enumerate(releases)]
    while lines and set(lines[-1][1:]) == {"-"}:
        lines.pop()
    return [("torch", *heads), *lines]


def _word(best: Verdict | None) -> str:
    if best is None:
        return "-"
    return best.build.backend + ("*" if any(each.fit is Fit.JIT for each in best.fits) else "")


def _name(row: Row) -> str:
    return row.gpu.name or str(row.gpu.arch or row.gpu.label)


def _legend(rows: Sequence[Row]) -> list[tuple[str, str, str, str]]:
    """A line for each GPU: what it is, and the driver it was judged with."""
    lines = []
    for row in rows:
        kind, driver = kind_of(row.gpu.arch), row.driver
        used = "" if driver is None else f"driver {driver.version or f'for CUDA {driver.cuda}'}"
        if driver is not None and driver.source == "assumed":
            used += ", the newest that supports it"
        examples = "" if kind is None else ", ".join(kind.examples)
        about = str(row.gpu.arch) if row.gpu.name else examples
        lines.append((_name(row), "" if kind is None else kind.generation, used, about))
    return lines


def _json(table: MatrixTable) -> Iterable[dict[str, object]]:
    for row in table.rows:
        kind = kind_of(row.gpu.arch)
        yield {
            "platform": table.machine.platform,
            "python": table.machine.python,
            "driver": row.driver,
            "gpu": row.gpu,
            "generation": None if kind is None else kind.generation,
            "examples": () if kind is None else kind.examples,
            "newest": None if row.newest is None else row.newest.build.version,
            "releases": [
                {"torch": cell.torch, "best": cell.best and cell.best.build.backend, "builds": cell.verdicts}
                for cell in row.cells
            ],
            **(table.hosts.to_json() if table.hosts.text else {}),
        }


def _page(args: MatrixArguments, session: Session) -> int:
    file = args.html or "-"
    about = "gpu driver cuda_driver machine glibc macos gpus only trust_pci json"
    for flag in about.split():
        if getattr(args, flag):
            raise UsageError("the page is for every machine", hint=f"leave out `--{flag.replace('_', '-')}`")
    if file != "-" and not os.path.isdir(os.path.dirname(file) or "."):
        raise TorchpickError(f"cannot write {file}: there is no such folder", hint="name another file")
    wish = session.wish._replace(index_base=redacted(session.wish.index_base))
    known = session.knowledge.table(webpage.PLATFORMS, session.request.channel)
    machine = session.asking(session.request._replace(gpus=("none",))).machine
    system = machine.platform.name if machine.platform.name in webpage.PLATFORMS else "linux-x86_64"
    rows = matrix.rows(_open(machine._replace(platform=machine.platform.parse(system))), known, wish)
    if not matrix.releases_of(rows):
        raise UsageError("no release is within what was asked for", hint="leave it out: the page has all releases")
    names = (*session.knowledge.gpu_names.products, *session.knowledge.other_names.amd_named)
    page = webpage.page(known, wish, names, rows, (system, python_name(machine.python.tag)))
    if file == "-":
        print(page, end="")
    else:
        rewrite.put(file, page)
        print(plain(file))
    return 0
