"""Show which releases and backends run on which GPUs, as a table or as one self-contained page."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from html import escape
from typing import Any, TypeVar

from torchpick.cli import console, text
from torchpick.cli.arguments import Arguments
from torchpick.cli.text import fit as fit_words
from torchpick.decide import matrix, remarks
from torchpick.decide.answer import decided
from torchpick.decide.matrix import Row
from torchpick.environment import rewrite
from torchpick.errors import UsageError
from torchpick.install.question import answer_request, read_wish
from torchpick.knowledge import locations
from torchpick.model import VERSION
from torchpick.model.address import redacted
from torchpick.model.arch import Fit
from torchpick.model.build import Build, Objection, Reason, Verdict
from torchpick.model.fields import envelope, written
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python, labels
from torchpick.model.pick import Wish, pip_line
from torchpick.model.pythons import python_name, python_order, python_span
from torchpick.model.table import BuildsByRelease, Kind, Table
from torchpick.model.versions import release_key
from torchpick.run import Run


def run(args: Arguments) -> int:
    run = console.start(args)
    if args.html is not None:
        return _page(args, args.html, run)
    machine = _machine(run)
    known = run.read_table((machine,))
    rows = matrix.rows(machine, known, read_wish(run))
    if args.json:
        print(console.dated(envelope("matrix", rows=[_json(machine, row, known) for row in rows]), known.date))
        return 0
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
    print(text.headed(releases, None, bold), "", *text.lines(_legend(rows, known), console.width()), sep="\n")
    console.notes(args, *(note for note in machine.notes if note.code.endswith("LEFT_OUT")))
    return 0


def _machine(run: Run) -> Machine:
    """The machine whose GPUs are asked about, or one with every kind of GPU."""
    if run.request.machine is None:
        asked = run if run.has_given_gpus else run.with_request(run.request._replace(gpus=("none",)))
        if asked.find_machine().platform.os == "macos":  # whose GPU is its own
            return run.find_machine()
        return _open(asked.find_machine(), run.knowledge.rules)
    machine, *others = run.find_machines()
    if others:
        raise UsageError("`matrix` is about one machine", hint="`torchpick fleet FILE` answers for many")
    return machine


def _open(machine: Machine, known: Table) -> Machine:
    """Without a driver that was only assumed for all the GPUs together, and with every kind of GPU where none is."""
    driver = None if machine.driver is None or machine.driver.source == "assumed" else machine.driver
    gpus = machine.gpus or matrix.gpus_of(kind for kind in known.nvidia if kind.found_on(machine.platform.name))
    return machine._replace(driver=driver, gpus=gpus)


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
    return row.gpu.name or row.gpu.label


def _legend(rows: Sequence[Row], known: Table) -> list[tuple[str, str, str, str]]:
    """A line for each GPU: what it is, and the driver it was judged with."""
    lines = []
    for row in rows:
        kind, driver = known.kind_of(row.gpu.arch), row.driver
        used = "" if driver is None else f"{'newest ' if driver.source == 'assumed' else ''}driver {driver.label}"
        generation, examples = ("", "") if kind is None else (kind.generation, ", ".join(kind.examples))
        lines.append((_name(row), generation, used, str(row.gpu.arch or "") if row.gpu.name else examples))
    return lines


def _json(machine: Machine, row: Row, known: Table) -> dict[str, object]:
    kind = known.kind_of(row.gpu.arch)
    return {
        **written(machine, "platform", "python"),
        **written(row, "driver", "gpu"),
        "generation": kind and kind.generation,
        "examples": () if kind is None else kind.examples,
        "newest": row.newest and row.newest.build.version,
        "releases": [
            {"torch": cell.torch, "best": cell.best and cell.best.build.backend, "builds": cell.verdicts}
            for cell in row.cells
        ],
    }


def _page(args: Arguments, file: str, run: Run) -> int:
    about = "gpu driver cuda_driver machine glibc macos gpus only trust_pci json"
    for flag in about.split():
        if getattr(args, flag):
            raise UsageError("the page is for every machine", hint=f"leave out `--{flag.replace('_', '-')}`")
    wish = read_wish(run)._replace(index_base=redacted(read_wish(run).index_base))
    known = run.knowledge.table(PLATFORMS, run.request.channel)
    machine = run.with_request(run.request._replace(gpus=("none",))).find_machine()
    system = machine.platform.name if machine.platform.name in PLATFORMS else "linux-x86_64"
    names = (*run.knowledge.gpu_names.products, *run.knowledge.other_names.amd_named)
    page = html_page(known, wish, names, {"system": system, "python": python_name(machine.python.tag)})
    if file == "-":
        print(page, end="")
    else:
        rewrite.put(file, page)
        print(text.plain(file))
    return 0


Json = dict[str, Any]
T = TypeVar("T", bound=Hashable)

# The platforms with builds for GPUs, and what people call them.
PLATFORMS = {
    "linux-x86_64": "Linux, x86-64",
    "linux-aarch64": "Linux, Arm (aarch64)",
    "windows-x86_64": "Windows, x86-64",
    "windows-arm64": "Windows, Arm",
}
# Any Python does for judging drivers and GPUs, since what it objects to is taken out again.
_ANY_PYTHON = Python("3.12")
# What an AMD target that compat/ does not name yet has builds for.
_AMD = ("linux-x86_64", "windows-x86_64")
_HOME, _ABROAD = Driver(None, "999.0"), Driver(None, "0.1")


def html_page(known: Table, wish: Wish, names: Iterable[tuple[str, str]], start: Mapping[str, str]) -> str:
    """The page of a table; `start` is the system and the Python that it opens with."""
    found = data(known, wish, names)
    listed = sorted({torch for sheet in found["platforms"] for torch in sheet["releases"]}, key=release_key)
    if not listed:
        raise UsageError("no release is within what was asked for", hint="leave it out: the page has all releases")
    values = {
        "style": _part("page.css").strip(),
        "script": _part("page.js").strip(),
        "data": embedded({**found, "start": start}),
        "version": escape(VERSION),
        "oldest": escape(listed[0]),
        "newest": escape(listed[-1]),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], _part("page.html"))


def _part(name: str) -> str:
    return locations.text_of_ours("cli", "page", name)


def embedded(value: Mapping[str, object]) -> str:
    """JSON that can stand inside a script element: nothing in it can end the element or open another."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


class _Numbered(dict[T, int]):
    """Values by number, each kept once."""

    def __missing__(self, value: T) -> int:
        self[value] = len(self)
        return self[value]


# The texts and the verdicts of all platforms.
_Known = tuple[_Numbered[str], _Numbered[tuple[object, ...]]]


class _Sheet:
    """One platform; `texts` and `verdicts` are shared by all.

    What GPU, driver and Python object to is judged beforehand. The three are independent (resolve's objections are a
    sum), but for one thing: what a GPU says of a build differs where the driver does not support the build's CUDA
    itself. So each GPU is judged twice: `home` by a driver that supports every CUDA, `abroad` by one that supports
    none.
    """

    def __init__(self, name: str, table: Table, wish: Wish, kinds: Sequence[Kind], known: _Known) -> None:
        self.name, self.table, self.wish = name, table, wish
        self.texts, self.verdicts = known
        self.platform = Platform.parse(name)
        here = [gpu for gpu, kind in zip(matrix.gpus_of(kinds), kinds, strict=True) if kind.found_on(name)]
        self.nvidia = tuple(gpu for gpu in here if gpu.vendor == "nvidia")
        self.amd = tuple(gpu for gpu in here if gpu.vendor == "amd")
        self.home = self._rows(_HOME, self.nvidia) + self._rows(None, self.amd)
        found = {verdict.build.key: verdict for row in self.home for cell in row.cells for verdict in cell.verdicts}
        # The newest release first, and in it the best build first where GPU and driver support them alike; each as it
        # is for any Python and GPU.
        best = sorted(found.values(), key=_preference, reverse=True)
        whole = {build.key: build for build in table.of(name)}
        self.builds = [whole[each.build.key] for each in best if each.build.family in ("cuda", "rocm")]

    def to_dict(self) -> Json:
        releases = list(dict.fromkeys(build.torch for build in self.builds))
        # A branch stands for its newest driver.
        drivers = [str(branch.number) for branch in reversed(self.table.drivers.branches)]
        assumed = {gpu.index: self.table.drivers.assumed_for((gpu.arch,)) for gpu in self.nvidia if gpu.arch}
        abroad = {row.gpu.index: row for row in self._rows(_ABROAD, self.nvidia)}
        gpus = {}
        for row in self.home:
            ways = {"home": row, "abroad": abroad.get(row.gpu.index, row)}
            found = {way: self._own(each) for way, each in ways.items()}
            gpus[str(row.gpu.index)] = {"driver": assumed.get(row.gpu.index, ""), **found}
        tags = sorted({tag for build in self.builds for tag in build.pythons}, key=python_order, reverse=True)
        return {
            "name": self.name,
            "label": PLATFORMS[self.name],
            "releases": releases,
            "newest": [releases.index(each) for each in matrix.newest_patches(releases)],
            "builds": [self._build(build) for build in self.builds],
            "gpus": gpus,
            "drivers": drivers,
            "says": {version: self._says(version) for version in dict.fromkeys((*drivers, *assumed.values()))},
            "pythons": [self._python(tag) for tag in tags],
        }

    def _rows(self, driver: Driver | None, gpus: tuple[Gpu, ...], table: Table | None = None) -> tuple[matrix.Row, ...]:
        machine = Machine(self.platform, _ANY_PYTHON, driver, gpus)
        return matrix.rows(machine, table or self.table, self.wish) if gpus else ()

    def _build(self, build: Build) -> list[object]:
        kind, ref = build.evidence.kind, build.evidence.ref
        return [
            build.torch,
            build.backend,
            build.cuda,
            # page.js knows the GPU.
            self.texts[f"pip install {pip_line(build._replace(extras=('device-ARCH',)), self.wish)}"],
            self.texts[build.glibc or ""],
            self.texts[f"measured, read out of {ref}" if kind == "measured" else "declared by build scripts and lists"],
            build.vendor is not None,
        ]

    def _own(self, row: matrix.Row) -> list[int | None]:
        """Of each build what this GPU says of it: texts against it, how it runs, and what to know; None for no word."""
        machine = Machine(self.platform, _ANY_PYTHON, row.driver, (row.gpu,))
        found = {verdict.build.key: verdict for cell in row.cells for verdict in cell.verdicts}
        places: list[int | None] = []
        for build in self.builds:
            if (verdict := found.get(build.key)) is None:
                places.append(None)
                continue
            why = tuple(self.texts[words_of(each)] for each in verdict.objections if _is_own(each))
            found_notes = () if why else remarks.notes(verdict, machine, self.table, self.wish, ())
            notes = tuple(note for note in found_notes if note != remarks.MISCOMPILED)
            worst = min(verdict.fits, key=lambda each: each.fit)
            how = self.texts["" if why else fit_words(worst.fit, worst.via)]
            fit = int(verdict.rank.worst_fit)
            places.append(self.verdicts[why, fit, how, tuple(self.texts[note.text] for note in notes)])
        return places

    def _says(self, version: str) -> Json:
        """A driver of each CUDA and each GPU: which builds are too new for it, or rely on it, which GPUs it refuses."""
        by_cuda = {build.cuda: build for build in reversed(self.builds) if build.cuda}
        few = self.table._replace(builds={self.name: BuildsByRelease.of(by_cuda.values())})
        objects, refuses, relies = {}, {}, set()
        driver = Driver(version, self.table.drivers.speaks(Driver(version)))
        for row in self._rows(driver, self.nvidia, few):
            for verdict in (each for cell in row.cells for each in cell.verdicts):
                cuda = str(verdict.build.cuda)
                relies |= set() if verdict.rank.native else {cuda}
                for each in verdict.objections:
                    if each.reason is Reason.GPU_NOT_SERVED_BY_DRIVER:
                        refuses[str(row.gpu.index)] = self.texts[each.text]
                    elif each.reason is Reason.DRIVER_TOO_OLD and each.gpu is None:
                        objects[cuda] = self.texts[each.text]
        return {"objects": objects, "relies": sorted(relies), "refuses": refuses}

    def _python(self, tag: str) -> Json:
        """By build's place why this Python cannot have it, and the companions that it has of each."""
        python = python_name(tag)
        objects, companions = {}, []
        for place, build in enumerate(self.builds):
            pairs = build.for_machine(tag, ()).companions.items()
            companions.append(self.texts[", ".join(f"{name} {version}" for name, version in pairs if version)])
            if tag not in build.pythons:
                facts = {"python": python, "pythons": python_span(build.pythons)}
                objects[str(place)] = self.texts[Objection(Reason.NO_WHEEL_FOR_PYTHON, facts).text]
        return {"name": python, "objects": objects, "companions": companions}


def _preference(verdict: Verdict) -> tuple[object, ...]:
    rank = verdict.rank
    return rank.release, verdict.build.vendor is None, rank.native, rank.toolkit, rank.backend


def _is_own(objection: Objection) -> bool:
    """Whether it is the GPU's, or the build's own; what the driver or the Python says is judged apart."""
    if objection.reason is Reason.DRIVER_TOO_OLD:
        return objection.gpu is not None
    return objection.reason not in (Reason.GPU_NOT_SERVED_BY_DRIVER, Reason.NO_WHEEL_FOR_PYTHON)


def words_of(objection: Objection) -> str:
    """Its text, for any driver that is too old and not for the one that stands for all of them."""
    if "has" in objection.facts:
        objection = objection._replace(facts={**objection.facts, "has": "an older one"})
    return objection.text


def data(table: Table, wish: Wish, names: Iterable[tuple[str, str]]) -> Json:
    """All that the page looks up. `names` are products with their capabilities, or AMD's targets, between blanks."""
    targets = {arch for shelf in table.builds.values() for build in shelf for arch in build.arches or ()}
    amd = sorted((arch for arch in targets if arch.kind == "gfx"), key=lambda arch: (len(arch.suffix), arch.suffix))
    kinds = [*reversed(table.nvidia), *(table.kind_of(arch) or Kind(arch, "AMD", (), _AMD) for arch in reversed(amd))]
    known: _Known = _Numbered(), _Numbered()
    platforms = [_Sheet(name, table, wish, kinds, known).to_dict() for name in PLATFORMS]
    texts, verdicts = known
    return {
        "gpus": [_kind(kind) for kind in kinds],
        "products": list(dict.fromkeys(names)),
        "platforms": platforms,
        "verdicts": list(verdicts),
        "texts": list(texts),
    }


def _kind(kind: Kind) -> Json:
    arch = kind.arch
    capability = "" if kind.vendor == "amd" else f"{arch.major}.{arch.minor}"
    examples = ", ".join(kind.examples)
    return {"arch": str(arch), "capability": capability, "generation": kind.generation, "examples": examples}
