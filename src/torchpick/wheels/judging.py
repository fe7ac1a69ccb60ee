"""Whether the code of a library, or of all libraries of a package, supports a GPU: one verdict for every command. Pure.

Neither the union over a library's modules answers it (libtorch_cuda_linalg.so of torch 2.15.0 names sm_75 and has it
in 1 of 33 modules) nor their intersection (NCCL carries modules that were made for one generation on purpose), so the
modules are counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from torchpick.model.arch import Arch, Fit, best
from torchpick.model.build import COMPILES, FAILS, JIT, NO_CODE, NOT, PARTLY, RUNS, UNKNOWN, WORST_FIRST
from torchpick.model.fields import dumps, plain, written
from torchpick.model.machine import Driver, Trouble
from torchpick.model.table import DriverTable
from torchpick.model.versions import numbers, some_of
from torchpick.wheels.librarycode import Library, Modules
from torchpick.wheels.readings import Reading


class LibraryVerdict(NamedTuple):
    """One library and one GPU; `text` says why, for a person."""

    path: str
    word: str
    text: str

    @property
    def fails(self) -> bool:
        return self.word in FAILS


class ReadingVerdict(NamedTuple):
    """One package or reading and one GPU; `libraries` holds those that count, `fit` is that of a reading's code."""

    gpu: Arch
    word: str
    libraries: tuple[LibraryVerdict, ...]
    notes: tuple[str, ...] = ()
    fit: Fit = Fit.NONE
    via: Arch | None = None

    @property
    def failing(self) -> tuple[LibraryVerdict, ...]:
        return tuple(library for library in self.libraries if library.fails)


class Inspection(NamedTuple):
    """What was read of one wheel, package or library, and a verdict for each kind of GPU and driver.

    `trouble` is why a GPU that is there does not answer, so that there is no verdict.
    """

    reading: Reading
    verdicts: tuple[ReadingVerdict, ...]
    trouble: Trouble | None = None

    @property
    def ok(self) -> bool:
        """Whether it runs on each of them, as far as that is known."""
        return self.trouble is None and not any(verdict.word in FAILS for verdict in self.verdicts)

    @property
    def verdict(self) -> str:
        """The worst of the verdicts; without a GPU only what holds no code is judged."""
        if self.verdicts:
            return min((verdict.word for verdict in self.verdicts), key=WORST_FIRST.index)
        return UNKNOWN if self.reading.holds_code else without_code(self.reading)

    def to_dict(self) -> dict[str, object]:
        """One of the `results` of `torchpick inspect --json`."""
        reading = self.reading
        return {
            **written(reading, "target", "name", "version", "file", "sha256", "depth", "complete"),
            "cuda": reading.torch.cuda if reading.torch else None,
            **written(reading, "sass", "ptx", "size", "bytes_read", "requests"),
            "verdict": None if self.verdict == UNKNOWN else self.verdict,
            "gpus": [_verdict_json(verdict) for verdict in self.verdicts],
            "libraries": [_library_json(library) for library in reading.libraries],
            **written(reading, "compilers", "notes"),
        }

    def to_json(self) -> str:
        return dumps(self.to_dict())


def _verdict_json(verdict: ReadingVerdict) -> dict[str, object]:
    return {
        "gpu": plain(verdict.gpu),
        "verdict": None if verdict.word == UNKNOWN else verdict.word,
        **written(verdict, "fit", "via"),
        "failing": [{"path": path, "verdict": word, "text": text} for path, word, text in verdict.failing],
        "notes": plain(verdict.notes),
    }


def _library_json(library: Library) -> dict[str, object]:
    return {
        **written(library, "path", "size", "sass", "ptx"),
        "modules": library.code.total,
        "empty": library.code.empty,
        **written(library, "complete", "notes"),
    }


class GpuCodeFit(NamedTuple):
    """What a judgement is based on besides the code: the GPU, the CUDA its driver supports, torch's Tegra rule.

    `refusal` says why the driver runs none of it, if so.
    """

    gpu: Arch
    driver_cuda: str | None = None
    unified: bool = False
    refusal: str | None = None

    @classmethod
    def of(cls, gpu: Arch, driver: Driver | None, drivers: DriverTable, *, unified: bool) -> GpuCodeFit:
        """The judge of a GPU behind this driver; discrete code crosses to Tegra by the driver of the unified stack."""
        if driver is None:
            return cls(gpu, unified=unified)
        if unified and driver.version is not None and drivers.unified_tegra is not None:
            unified = numbers(driver.version) >= numbers(drivers.unified_tegra)
        return cls(gpu, drivers.speaks(driver), unified)

    def load(self, module: Modules, ptx_cuda: str | None) -> Fit:
        """How one module loads."""
        fit, _ = best(module.sass, self.gpu, unified=self.unified)
        if fit or not module.ptx or not self.supports_cuda(ptx_cuda):
            return fit
        return best(module.ptx, self.gpu, unified=self.unified)[0]

    def supports_cuda(self, cuda: str | None) -> bool:
        """Whether the driver knows the PTX of this CUDA; true where either is not given."""
        return cuda is None or self.driver_cuda is None or numbers(self.driver_cuda) >= numbers(cuda)

    def tally(self, modules: Iterable[Modules], ptx_cuda: str | None = None) -> tuple[int, int, int]:
        """So many modules load as machine code, by PTX only, not at all."""
        counts = [0, 0, 0]
        for module in modules:
            fit = self.load(module, ptx_cuda)
            counts[0 if fit > Fit.JIT else 1 if fit else 2] += module.count
        return counts[0], counts[1], counts[2]


def judge_library(library: Library, judge: GpuCodeFit) -> LibraryVerdict | None:
    """The verdict on one library; None if it has no kernels that a GPU would run."""
    contents = library.code
    if not contents.total:
        return None
    sass, ptx, none = judge.tally(contents.modules, library.ptx_cuda)
    word = _word(*judge.tally(_general(contents.modules), library.ptx_cuda))
    loads, total = sass + ptx, sass + ptx + none
    text = f"{loads} of {total} modules load" if loads < total else f"all {total} modules load"
    if total == 1:
        text = "its module loads" if loads else "its module does not load"
    if ptx:
        text += f", {ptx} by PTX only"
    if not library.complete:
        text += "; only a part of it was read"
        word = UNKNOWN if word in FAILS else word
    return LibraryVerdict(library.path, word, text)


def _general(modules: tuple[Modules, ...]) -> tuple[Modules, ...]:
    """The modules that were built for most generations that the library names; the others are for some on purpose.

    A generation is a major capability. In cuDNN 8.7 793 of 2148 modules are for Ampere and Hopper alone, and 302 for
    Volta: their absence elsewhere says nothing. Where no module spans most of them, all count.
    """
    named = {arch.major for module in modules for arch in module.sass}
    return tuple(module for module in modules if len(_spanned(module, named)) * 2 > len(named)) or modules


def _spanned(module: Modules, named: set[int]) -> set[int]:
    """The generations that a module supports, by PTX too."""
    oldest = min((arch.major for arch in module.ptx), default=None)
    later = set() if oldest is None else {major for major in named if major >= oldest}
    return {arch.major for arch in module.sass} | later


def _word(sass: int, ptx: int, none: int) -> str:
    """A library chooses among its modules, so not all must load; where next to none do, it is broken here.

    Known to work: cuDNN 9.28 on 7.5 (47 % of one library's general modules load), cuFFT 11.4 on 6.1 (38 %). Known to
    be without: torch.linalg of 2.15.0 on 7.5 (3 %). The threshold is between them.
    """
    if not sass + ptx:
        return NOT
    if (sass + ptx) * 10 < sass + ptx + none:
        return PARTLY
    return JIT if ptx > sass else RUNS


def judge_package(
    libraries: tuple[Library, ...], judge: GpuCodeFit, project: str | None = None, *, complete: bool = True
) -> ReadingVerdict:
    """Whether a package runs on a GPU, by the libraries of it that are loaded; `complete` where all of it was read."""
    counted, left_out = without_vendored(libraries, project)
    pairs = [(library, verdict) for library in counted if (verdict := judge_library(library, judge)) is not None]
    # A library for one generation alone (FlashMLA of vLLM: sm_90a) is not meant for the others.
    narrow = [verdict.path for library, verdict in pairs if verdict.fails and library.generations == 1]
    if complete and all(verdict.word == NOT or verdict.path in narrow for _, verdict in pairs):
        narrow = []  # nothing beside it runs
    verdicts = tuple(verdict for _, verdict in pairs if verdict.path not in narrow)
    notes = tuple(f"{path.rpartition('/')[2]} is for one generation of GPUs only, another one" for path in narrow)
    words = [verdict.word for verdict in verdicts]
    if not complete:
        words.append(UNKNOWN)
    word = _together(words) if pairs else NO_CODE
    return ReadingVerdict(judge.gpu, word, verdicts, (*left_out, *notes))


def judge_torch(libraries: tuple[Library, ...], judge: GpuCodeFit) -> tuple[LibraryVerdict, ...]:
    """The libraries of a torch beside its main one, which was built for its compiled flags."""
    beside = (library for library in libraries if not _MAIN.fullmatch(_name(library)))
    return tuple(verdict for library in beside if (verdict := judge_library(library, judge)) is not None)


def judge_reading(reading: Reading, judge: GpuCodeFit, torch_cuda: str | None = None) -> ReadingVerdict:
    loaded, notes = choose_variants(reading.libraries, torch_cuda, judge)
    counted, left_out = without_vendored(loaded, "torch" if reading.flags else reading.name)
    fit, via = _best(reading, counted, judge)
    if reading.flags:
        libraries = judge_torch(counted, judge)
        word = NOT if not fit else JIT if fit is Fit.JIT else RUNS
        if word != NOT:
            word = _together([word, *(library.word for library in libraries)])
        notes += left_out
    else:
        package = judge_package(loaded, judge, reading.name, complete=reading.complete)
        libraries, notes = package.libraries, notes + package.notes
        word = package.word if package.word != NO_CODE else without_code(reading)
    if judge.refusal is not None and word not in (COMPILES, NO_CODE):
        word, fit, via, notes = NOT, Fit.NONE, None, (*notes, judge.refusal)
    return ReadingVerdict(judge.gpu, word, libraries, notes, fit, via)


def _best(reading: Reading, libraries: tuple[Library, ...], judge: GpuCodeFit) -> tuple[Fit, Arch | None]:
    if reading.torch is None or not reading.flags:
        with_kernels = [library for library in libraries if library.code.total]
        sass = tuple(arch for library in with_kernels for arch in library.sass)
        ptx = tuple(arch for library in with_kernels if judge.supports_cuda(library.ptx_cuda) for arch in library.ptx)
    else:
        sass, ptx = reading.sass, reading.ptx if judge.supports_cuda(reading.torch.cuda) else ()
    return max(best(sass, judge.gpu, unified=judge.unified), best(ptx, judge.gpu), key=lambda fit: fit[0])


def _together(words: list[str]) -> str:
    """The verdict on a package's libraries together: one failure is certain, all running only if all are known."""
    if set(words) in ({NOT}, {UNKNOWN}):
        return words[0]
    if NOT in words or PARTLY in words:
        return PARTLY
    return JIT if JIT in words else RUNS


def without_code(reading: Reading) -> str:
    """The verdict on a reading in which no library counts.

    What registers modules without a kernel alone may load others by itself: cuFFT does so, from its own data.
    """
    if reading.compilers:
        return COMPILES
    return NO_CODE if reading.complete and not any(library.code.empty for library in reading.libraries) else UNKNOWN


# Copies of NVIDIA's libraries inside other packages: their modules are chosen among, so counting them says nothing.
_VENDORED = re.compile(
    r"(?:lib)?(?:cuda|cudart|cublas|cublasLt|cudnn|cufft|curand|cusolver|cusparse|cufile|cupti|nccl|nvrtc|nvJitLink"
    r"|nvjpeg|nvToolsExt|npp|nvshmem|nvonnxparser|nvinfer)[\w.+-]*\.(?:so[\w.]*|dll)"
    # Symmetric memory is for data-centre GPUs; others lose nothing else by it.
    r"|(?:lib)?torch_nvshmem\.(?:so|dll)",
    re.IGNORECASE,
)
# The names of NVIDIA's own projects start so: there such a library is the package itself.
_NVIDIA = "nvidia-"
# What the compiled flags of a torch are the flags of.
_MAIN = re.compile(r"(?:lib)?torch_cuda\.(?:so|dll)")
_VARIANT = re.compile(r"(?P<stem>.*?cuda)(?P<number>\d{3})(?P<rest>[^/]*)")


# The libraries that would be loaded or that count, and notes on why those.
CountedLibraries = tuple[tuple[Library, ...], tuple[str, ...]]


def choose_variants(
    libraries: tuple[Library, ...], torch_cuda: str | None, judge: GpuCodeFit | None = None
) -> CountedLibraries:
    """The libraries that would be loaded, where a wheel has one per CUDA (bitsandbytes), and a note on which.

    Which one that is, is torch's to say. Without a torch it is one that `judge` finds to run here, where there is one:
    torch comes for that CUDA too.
    """
    families: dict[tuple[str, str], dict[tuple[int, ...], Library]] = {}
    for library in libraries:
        if match := _VARIANT.fullmatch(library.path):
            number = match["number"]
            key = (match["stem"], match["rest"])
            families.setdefault(key, {})[int(number[:2]), int(number[2])] = library
    left: set[str] = set()
    notes: list[str] = []
    for members in families.values():
        if len(members) < 2:
            continue
        able = [cuda for cuda, library in members.items() if judge is not None and _runs(library, cuda, judge)]
        wanted = numbers(torch_cuda) if torch_cuda else max(able or members)
        # The loader asks for torch's own CUDA; the nearest older one of its major is what it can be given.
        pick = max((cuda for cuda in members if cuda[0] == wanted[0] and cuda <= wanted), default=None)
        left.update(library.path for cuda, library in members.items() if cuda != pick)
        newest = f"for the newest CUDA{' that runs here' if able else ''}, as no torch was given"
        why = f"that torch for CUDA {torch_cuda} loads" if torch_cuda else newest
        notes.append(f"it has no library {why}" if pick is None else f"judged {_name(members[pick])}, the one {why}")
    return tuple(library for library in libraries if library.path not in left), tuple(notes)


def _runs(library: Library, cuda: tuple[int, ...], judge: GpuCodeFit) -> bool:
    """Whether a library for this CUDA runs; a driver carries every CUDA of its major."""
    verdict = judge_library(library, judge)
    carried = judge.driver_cuda is None or numbers(judge.driver_cuda)[:1] >= cuda[:1]
    return carried and verdict is not None and not verdict.fails


def without_vendored(libraries: tuple[Library, ...], project: str | None) -> CountedLibraries:
    """The libraries that a package's verdict is based on: without copies of NVIDIA's inside it, which say nothing."""
    if project is not None and project.startswith(_NVIDIA):
        return libraries, ()
    counted = tuple(library for library in libraries if is_counted(_name(library)))
    if project is None and not any(library.holds_code for library in counted):
        return libraries, ()  # a file or folder by its path: it may be NVIDIA's own
    left = sorted({_name(library) for library in libraries if library not in counted and library.code.total})
    note = f"not counted: {some_of(left)}, which choose among their modules or are meant for some GPUs only"
    return counted, (note,) if left else ()


def is_counted(name: str) -> bool:
    """Whether a library of this file name says what a package that is not NVIDIA's supports."""
    return not _VENDORED.fullmatch(name)


def _name(library: Library) -> str:
    return library.path.replace("\\", "/").rpartition("/")[2]
