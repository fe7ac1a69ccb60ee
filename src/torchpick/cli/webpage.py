"""The page of `matrix --html`: every build judged for every GPU, driver and Python, and the names that people use."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any, TypeVar

from torchpick.cli import text
from torchpick.cli.arguments import Arguments
from torchpick.cli.text import fit as fit_words
from torchpick.decide import buildfit, matrix, remarks
from torchpick.decide.matrix import Row
from torchpick.environment import rewrite
from torchpick.errors import UsageError
from torchpick.install.question import read_wish
from torchpick.knowledge import locations
from torchpick.knowledge.compat import Knowledge
from torchpick.knowledge.gpuindex import BRANDS, letters
from torchpick.knowledge.gpunames import PATTERNS
from torchpick.model import VERSION
from torchpick.model.address import redacted
from torchpick.model.build import Build, Objection, Reason, Verdict, python_name, python_order, python_span
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python
from torchpick.model.pick import Wish, pip_line
from torchpick.model.table import BuildsByRelease, Kind, Table
from torchpick.model.versions import grouped, release_key
from torchpick.run import Run

Json = dict[str, Any]
T = TypeVar("T", bound=Hashable)

# The platforms with builds, and what people call them.
PLATFORMS = {
    "linux-x86_64": "Linux, x86-64",
    "windows-x86_64": "Windows, x86-64",
    "macos-arm64": "macOS, Apple silicon",
    "linux-aarch64": "Linux, Arm (aarch64)",
    "windows-arm64": "Windows, Arm",
    "macos-x86_64": "macOS, Intel",
}
# Any Python does for judging drivers and GPUs, since what it objects to is taken out again.
_ANY_PYTHON = Python("3.12")
# What an AMD target that compat/ does not name yet has builds for.
_AMD = ("linux-x86_64", "windows-x86_64")
_HOME, _ABROAD = Driver(None, "999.0"), Driver(None, "0.1")


# What builds are chosen for without an architecture: its generation, examples, vendor and platforms.
OTHERS: Mapping[str, tuple[str, str, str | None, Sequence[str]]] = {
    "xpu": ("Intel Arc", "Arc A770, Arc B580", "intel", ("linux-x86_64", "windows-x86_64")),
    "mps": ("Apple silicon", "M1 to M5", "apple", ("macos-arm64",)),
    "cpu": ("No GPU", "the CPU build", None, tuple(PLATFORMS)),
}


def run(args: Arguments, file: str, run: Run) -> int:
    about = "gpu driver cuda_driver machine glibc macos gpus only trust_pci json"
    for flag in about.split():
        if getattr(args, flag):
            raise UsageError("the page is for every machine", hint=f"leave out `--{flag.replace('_', '-')}`")
    wish = read_wish(run)
    wish = wish._replace(index_base=redacted(wish.index_base))
    table = run.knowledge.table(PLATFORMS, run.request.channel)
    machine = run.with_request(run.request._replace(gpus=("none",))).find_machine()
    system = machine.platform.name if machine.platform.name in PLATFORMS else "linux-x86_64"
    start = {"system": system, "python": python_name(machine.python.tag)}
    page = html_page(table, wish, run.knowledge, start)
    if file == "-":
        print(page, end="")
    else:
        rewrite.put(file, page)
        print(text.plain(file))
    return 0


def html_page(table: Table, wish: Wish, knowledge: Knowledge, start: Mapping[str, str]) -> str:
    """The page of a table; `start` is the system and the Python that it opens with, where the browser is not asked."""
    facts = data(table, wish, knowledge)
    releases = sorted({torch for sheet in facts["platforms"] for torch in sheet["releases"]}, key=release_key)
    if not releases:
        raise UsageError("no release is within what was asked for", hint="leave it out: the page has all releases")
    script = re.sub(r"^\s*(?://.*\n)?\s*", "", f"{part('names.js')}\n{part('page.js')}", flags=re.MULTILINE)
    values = {
        "style": part("page.css").strip(),
        "script": script.strip(),
        "data": embedded({**facts, "start": start}),
        "version": escape(VERSION),
        "oldest": escape(releases[0]),
        "newest": escape(releases[-1]),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], part("page.html"))


def part(name: str) -> str:
    """A part of the page: its style, its script, its frame."""
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

    What GPU, driver and Python object to is judged beforehand. The three are independent (its objections are a
    sum), but for one thing: what a GPU says of a build differs where the driver does not support the build's CUDA
    itself. So each GPU is judged twice: `home` by a driver that supports every CUDA, `abroad` by one that supports
    none.
    """

    def __init__(self, name: str, table: Table, wish: Wish, kinds: Sequence[Kind], known: _Known) -> None:
        self.name, self.table, self.wish = name, table, wish
        self.texts, self.verdicts = known
        self.platform = Platform.parse(name)
        numbered = zip(matrix.gpus_of(kinds), kinds, strict=True)
        gpus = [gpu for gpu, kind in numbered if kind.found_on(name) and self.platform.os != "macos"]
        self.nvidia = tuple(gpu for gpu in gpus if gpu.vendor == "nvidia")
        self.home = self._rows(_HOME, self.nvidia) + self._rows(None, tuple(gpu for gpu in gpus if gpu.vendor == "amd"))
        others = enumerate(OTHERS.values(), len(kinds))
        self.home += tuple(self._other_row(index, vendor) for index, (*_, vendor, there) in others if name in there)
        judged = {verdict.build.key: verdict for row in self.home for verdict in row.verdicts}
        # The newest release first, and in it the best build first where GPU and driver support them alike; each as it
        # is for any Python and GPU.
        best = sorted(judged.values(), key=_preference, reverse=True)
        whole = {build.key: build for build in table.of(name)}
        self.builds = [whole[verdict.build.key] for verdict in best]

    def _other_row(self, index: int, vendor: str | None) -> Row:
        """The newest patches of each release; what is newer fits as well, and nobody's code is missing in them."""
        gpu = Gpu(index, vendor or "none", None, None)
        machine = Machine(self.platform, _ANY_PYTHON, None, (gpu,) if vendor else ())
        verdicts = buildfit.judge(machine, self.table, self.wish)
        wanted = (Reason.BACKEND_NOT_ALLOWED, Reason.NOT_REQUESTED)
        own = grouped((each.build.torch, each) for each in verdicts if not each.reasons & {*wanted})
        newest = matrix.newest_patches(sorted(own, key=release_key, reverse=True))
        return Row(gpu, None, tuple(verdict for torch in newest for verdict in own[torch]))

    def to_dict(self) -> Json:
        releases = list(dict.fromkeys(build.torch for build in self.builds))
        # A branch stands for its newest driver.
        drivers = [str(branch) for branch in reversed(self.table.drivers.branches) if self.nvidia]
        assumed = {gpu.index: self.table.drivers.assumed_for((gpu.arch,)) for gpu in self.nvidia if gpu.arch}
        abroad = {row.gpu.index: row for row in self._rows(_ABROAD, self.nvidia)}
        gpus = {}
        for row in self.home:
            ways = {"home": row, "abroad": abroad.get(row.gpu.index)}
            judged = {way: self._own(judged) for way, judged in ways.items() if judged is not None}
            gpus[str(row.gpu.index)] = {"driver": assumed.get(row.gpu.index, ""), **judged}
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
            "pythons": [
                {"name": python_name(tag), "wheels": [self._wheel(build, tag) for build in self.builds]} for tag in tags
            ],
        }

    def _rows(self, driver: Driver | None, gpus: tuple[Gpu, ...], table: Table | None = None) -> tuple[matrix.Row, ...]:
        machine = Machine(self.platform, _ANY_PYTHON, driver, gpus)
        return matrix.rows(machine, table or self.table, self.wish) if gpus else ()

    def _build(self, build: Build) -> list[object]:
        # page.js knows the GPU, and puts the build's own numbers back in: so there are few different lines.
        line = f"pip install {pip_line(build._replace(extras=('device-ARCH',)), self.wish)}"
        measured = build.evidence.kind == "measured"
        no_wheel = Objection(Reason.NO_WHEEL_FOR_PYTHON, {"python": "{python}", "pythons": python_span(build.pythons)})
        return [
            build.torch,
            build.backend,
            build.cuda,
            self.texts[line.replace(build.torch, "{t}").replace(build.backend, "{b}")],
            self.texts[build.glibc or ""],
            self.texts["measured: read out of the wheel" if measured else "declared by build scripts and lists"],
            build.vendor is not None,
            self.texts[no_wheel.text],
        ]

    def _own(self, row: Row) -> list[int | None]:
        """Of each build what this GPU says of it: texts against it, how it runs, and what to know; None for no word."""
        gpus = () if row.gpu.vendor == "none" else (row.gpu,)
        machine = Machine(self.platform, _ANY_PYTHON, row.driver, gpus)
        judged = {verdict.build.key: verdict for verdict in row.verdicts}
        places: list[int | None] = []
        for build in self.builds:
            if (verdict := judged.get(build.key)) is None:
                places.append(None)
                continue
            why = [words_of(objection) for objection in verdict.objections if _is_own(objection)]
            notes = [] if why else remarks.notes(verdict, machine, self.table, self.wish, ())
            worst = min(verdict.fits, key=lambda fit: fit.fit, default=None)
            how = "" if why or worst is None else fit_words(worst.fit, worst.via)
            shown = (note.text for note in notes if note != remarks.MISCOMPILED)
            fit = int(verdict.rank.worst_fit)
            (way,) = self._of_gpu(row, [how])
            places.append(self.verdicts[self._of_gpu(row, why), fit, way, self._of_gpu(row, shown)])
        return places

    def _of_gpu(self, row: Row, words: Iterable[str]) -> tuple[int, ...]:
        """Texts of a GPU, which are those of others but for its name: page.js puts it back in."""
        name = str(row.gpu.arch or "-")
        return tuple(self.texts[line.replace(name, "{gpu}", 1) if row.gpu.arch else line] for line in words)

    def _says(self, version: str) -> Json:
        """A driver of each CUDA and each GPU: which builds are too new for it, or rely on it, which GPUs it refuses."""
        by_cuda = {build.cuda: build for build in reversed(self.builds) if build.cuda}
        few = self.table._replace(builds={self.name: BuildsByRelease.of(by_cuda.values())})
        objects, refuses, relies = {}, {}, set()
        driver = Driver(version, self.table.drivers.speaks(Driver(version)))
        for row in self._rows(driver, self.nvidia, few):
            for verdict in row.verdicts:
                cuda = str(verdict.build.cuda)
                relies |= set() if verdict.rank.native else {cuda}
                for objection in verdict.objections:
                    if objection.reason is Reason.GPU_NOT_SERVED_BY_DRIVER:
                        (refuses[str(row.gpu.index)],) = self._of_gpu(row, [objection.text])
                    elif objection.reason is Reason.DRIVER_TOO_OLD and objection.gpu is None:
                        objects[cuda] = self.texts[objection.text]
        return {"objects": objects, "relies": sorted(relies), "refuses": refuses}

    def _wheel(self, build: Build, tag: str) -> int | None:
        """The companions that go with its wheel for this Python; None where it has none."""
        pairs = build.for_machine(tag, ()).companions.items()
        shown = ", ".join(f"{name} {version}" for name, version in pairs if version)
        return self.texts[shown] if tag in build.pythons else None


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


def data(table: Table, wish: Wish, knowledge: Knowledge) -> Json:
    targets = {arch for shelf in table.builds.values() for build in shelf for arch in build.arches or ()}
    amd = sorted((arch for arch in targets if arch.kind == "gfx"), key=lambda arch: (len(arch.suffix), arch.suffix))
    kinds = [*reversed(table.nvidia), *(table.kind_of(arch) or Kind(arch, "AMD", (), _AMD) for arch in reversed(amd))]
    known: _Known = _Numbered(), _Numbered()
    platforms = [_Sheet(name, table, wish, kinds, known).to_dict() for name in PLATFORMS]
    texts, verdicts = known
    gpus = [
        {
            "arch": str(kind.arch),
            "capability": "" if kind.vendor == "amd" else f"{kind.arch.major}.{kind.arch.minor}",
            "generation": kind.generation,
            "examples": ", ".join(kind.examples),
        }
        for kind in kinds
    ]
    gpus += [
        {"arch": arch, "capability": "", "generation": generation, "examples": examples}
        for arch, (generation, examples, *_) in OTHERS.items()
    ]
    return {
        "gpus": gpus,
        "names": names(knowledge, [str(gpu["arch"]) for gpu in gpus]),
        "platforms": platforms,
        "verdicts": list(verdicts),
        "texts": list(texts),
    }


# What else may stand before a name, as drivers and shops write it.
_MAKERS = ("nvidia", "amd", "ati", "intel", "apple", "radeon", "instinct")
# Names of what no build of the table is for.
OLD = "old"


def names(knowledge: Knowledge, arches: Sequence[str]) -> Json:
    """What the command makes of every name that it knows, for names.js.

    By GPU's number the names in letters, and products as people read them; the patterns are the command's own.
    """
    brands = (*BRANDS, *_MAKERS)
    meant: dict[str, str] = {}
    # The shorter first, for what follows from a shorter one by its brand needs no line.
    for key in sorted(_keys(knowledge), key=lambda name: (len(name), name)):
        gpu = number_of(knowledge, key, arches)
        if gpu is not None and gpu != _by_brand(key, brands, meant):
            meant[key] = gpu
    products = grouped(
        (number, name)
        for name in _products(knowledge)
        if (number := number_of(knowledge, name, arches)) is not None and number != OLD
    )
    keys = grouped((number, key) for key, number in meant.items())
    return {
        "brands": brands,
        "patterns": PATTERNS,
        "clouds": {family: number_of(knowledge, gpu, arches) for family, gpu in knowledge.gpu_names.clouds.items()},
        "keys": {number: " ".join(sorted(words)) for number, words in keys.items()},
        "products": {number: list(dict.fromkeys(words)) for number, words in products.items()},
    }


def _keys(knowledge: Knowledge) -> Iterator[str]:
    """Every name of the indexes, by its letters."""
    nvidia, others = knowledge.gpu_names, knowledge.other_names
    yield from {*nvidia.full, *nvidia.core, *nvidia.mig, *others.amd_names, *others.intel_names}
    yield from map(letters, others.apple_chips)
    # A number alone may be a capability, and another maker's: its brand says more.
    bare = [key for key in nvidia.core if re.fullmatch(r"[0-9]+m?", key)]
    yield from (brand + key for key in bare for brand in BRANDS)
    yield from (key.removeprefix("radeon").removeprefix("rx") for key in others.amd_names)


def _products(knowledge: Knowledge) -> Iterator[str]:
    others = knowledge.other_names
    yield from (name for name, _ in (*knowledge.gpu_names.products, *others.amd_named))
    yield from (*others.intel_products, *(f"Apple {chip}" for chip in others.apple_chips))


def number_of(knowledge: Knowledge, name: str, arches: Sequence[str]) -> str | None:
    """The number of the GPU that the command takes this name for; None where it takes it for none, or for several."""
    try:
        gpu = knowledge.gpu(name)
    except UsageError:
        return None
    arch = {"intel": "xpu" if gpu.supported else OLD, "apple": "mps"}.get(gpu.vendor, str(gpu.arch))
    return str(arches.index(arch)) if arch in arches else OLD


def _by_brand(key: str, brands: Sequence[str], meant: Mapping[str, str]) -> str | None:
    """What the name means by a shorter one, without the brand in front."""
    while (word := next((word for word in brands if key.startswith(word) and key != word), None)) is not None:
        key = key.removeprefix(word)
        if key in meant:
            return meant[key]
    return None
