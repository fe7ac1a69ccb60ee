"""Show which releases and backends run on which GPUs, as a table or as one self-contained page."""

from __future__ import annotations

from collections.abc import Sequence

from torchpick.cli import console, text, webpage
from torchpick.cli.arguments import Arguments
from torchpick.decide import matrix
from torchpick.decide.answer import decided
from torchpick.decide.matrix import Row
from torchpick.errors import UsageError
from torchpick.install.question import answer_request, read_wish
from torchpick.model.arch import Fit
from torchpick.model.build import Verdict, python_name
from torchpick.model.fields import written
from torchpick.model.machine import Machine, labels
from torchpick.model.table import Table
from torchpick.run import Run


def run(args: Arguments) -> int:
    run = console.start(args)
    if args.html is not None:
        return webpage.run(args, args.html, run)
    machine = _machine(run)
    table = run.read_table((machine,))
    rows = matrix.rows(machine, table, read_wish(run))
    if args.json:
        return console.print_json(args, table.date, rows=[_json(machine, row, table) for row in rows])
    platform = machine.platform
    if not rows:
        print(f"no build uses {labels(machine.gpus) or 'a GPU'} on {platform.name}")
        return 0
    releases = _matrix(rows)
    if len(releases) == 1:  # why that is, is said of the newest GPU
        newest = machine._replace(gpus=(rows[-1].gpu,), driver=rows[-1].driver)
        decided(answer_request(run, machines=(newest,)), run.knowledge.rules)
    bold = console.painter()
    glibc = f", glibc {platform.glibc}" if platform.glibc else ""
    print(bold(f"{platform.name}, {python_name(machine.python.tag)}{glibc}\n"))
    print(text.headed(releases, None, bold), "", *text.lines(_legend(rows, table), console.width()), sep="\n")
    console.notes(args, *(note for note in machine.notes if note.code.endswith("LEFT_OUT")))
    return 0


def _machine(run: Run) -> Machine:
    """The machine whose GPUs are asked about, or one with every kind of GPU."""
    if run.request.machine is None:
        described = run if run.has_given_gpus else run.with_request(run.request._replace(gpus=("none",)))
        if described.find_machine().platform.os == "macos":  # whose GPU is its own
            return run.find_machine()
        # Without a driver that was only assumed for all the GPUs together.
        machine = described.find_machine()
        driver = None if machine.driver is None or machine.driver.source == "assumed" else machine.driver
        here = (kind for kind in run.knowledge.rules.nvidia if kind.found_on(machine.platform.name))
        return machine._replace(driver=driver, gpus=machine.gpus or matrix.gpus_of(here))
    machine, *others = run.find_machines()
    if others:
        raise UsageError("`matrix` is about one machine", hint="`torchpick fleet FILE` answers for many")
    return machine


def _matrix(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """A line for each minor release, a column for GPUs beside each other that fare alike."""
    releases = matrix.newest_patches(matrix.releases_of(rows))
    columns: list[tuple[list[str], list[str]]] = []
    for row in rows:
        words = [_word(row.best(torch)) for torch in releases]
        if columns and columns[-1][1] == words:
            columns[-1][0].append(_name(row))
        else:
            columns.append(([_name(row)], words))
    heads = (", ".join(names) if len(names) < 3 else f"{names[0]} … {names[-1]}" for names, _ in columns)
    lines = [(torch, *(words[number] for _, words in columns)) for number, torch in enumerate(releases)]
    while lines and set(lines[-1][1:]) == {"-"}:
        lines.pop()
    return [("torch", *heads), *lines]


def _word(best: Verdict | None) -> str:
    if best is None:
        return "-"
    return best.build.backend + ("*" if any(fit.fit is Fit.JIT for fit in best.fits) else "")


def _name(row: Row) -> str:
    return row.gpu.name or row.gpu.label


def _legend(rows: Sequence[Row], table: Table) -> list[tuple[str, str, str, str]]:
    """A line for each GPU: what it is, and the driver it was judged with."""
    lines = []
    for row in rows:
        kind, driver = table.kind_of(row.gpu.arch), row.driver
        used = "" if driver is None else f"{'newest ' if driver.source == 'assumed' else ''}driver {driver.label}"
        generation, examples = ("", "") if kind is None else (kind.generation, ", ".join(kind.examples))
        lines.append((_name(row), generation, used, str(row.gpu.arch or "") if row.gpu.name else examples))
    return lines


def _json(machine: Machine, row: Row, table: Table) -> dict[str, object]:
    kind, newest = table.kind_of(row.gpu.arch), row.best()
    return {
        **written(machine, "platform", "python"),
        **written(row, "driver", "gpu"),
        "generation": kind and kind.generation,
        "examples": () if kind is None else kind.examples,
        "newest": newest and newest.build.version,
        "releases": [
            {"torch": torch, "best": (best := row.best(torch)) and best.build.backend, "builds": verdicts}
            for torch, verdicts in row.releases.items()
        ],
    }
