"""Whether the code of a library serves a GPU, and what that makes of the whole: pure.

Neither the union over a library's modules answers it (libtorch_cuda_linalg.so of torch 2.15.0 names sm_75 and has it
in 1 of 33 modules) nor their intersection (NCCL carries modules that were made for one generation on purpose), so the
modules are counted.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from torchpick.model.arch import Arch, Fit, best
from torchpick.model.versions import numbers
from torchpick.wheels.library import Held, Library, Modules
from torchpick.wheels.reading import Reading, Torch

RUNS, JIT, PARTLY, NOT, NO_CODE, COMPILES = (
    "runs",
    "runs by JIT",
    "partly",
    "will not run",
    "no GPU code",
    "compiles at run time",
)

# The ISA of PTX and the CUDA that brought it (release notes of the PTX ISA reference). From 9.0 on the numbers run in
# step with CUDA 13's.
_ISA = {
    (6, 3): "10.0",
    (6, 4): "10.1",
    (6, 5): "10.2",
    **{(7, minor): f"11.{minor}" for minor in range(9)},
    **{(8, minor): f"12.{minor}" for minor in range(6)},
    (8, 6): "12.7",
    (8, 7): "12.8",
    (8, 8): "12.9",
    **{(9, minor): f"13.{minor}" for minor in range(10)},
}
_VARIANT = re.compile(r"(?P<stem>.*?cuda)(?P<number>\d{3})(?P<rest>[^/]*)")


class Count(NamedTuple):
    """So many modules load as machine code, by PTX only, not at all."""

    sass: int
    ptx: int
    none: int

    def to_json(self) -> dict[str, object]:
        return {"sass": self.sass, "ptx": self.ptx, "none": self.none}


class LibraryVerdict(NamedTuple):
    path: str
    word: str
    count: Count  # type: ignore[assignment]
    text: str  # why, for a person


class Verdict(NamedTuple):
    """One GPU and one reading; `libraries` holds those that were judged."""

    gpu: Arch
    word: str
    fit: Fit
    via: Arch | None
    libraries: tuple[LibraryVerdict, ...]
    notes: tuple[str, ...] = ()

    @property
    def failing(self) -> tuple[LibraryVerdict, ...]:
        return tuple(each for each in self.libraries if each.word in (PARTLY, NOT))


class Judge(NamedTuple):
    """What a judgement rests on besides the code: the GPU, the CUDA its driver speaks, torch's Tegra rule.

    `refusal` says why the driver carries none of it, where that is so.
    """

    gpu: Arch
    driver_cuda: str | None = None
    unified: bool = False
    refusal: str | None = None

    def load(self, module: Modules, isa: tuple[int, int] | None) -> Fit:
        """How one module loads."""
        fit, _ = best(module.sass, self.gpu, unified=self.unified)
        if fit or not module.ptx or not self.speaks(cuda_of(isa)):
            return fit
        return best(module.ptx, self.gpu, unified=self.unified)[0]

    def speaks(self, cuda: str | None) -> bool:
        """Whether the driver knows the PTX of this CUDA; it does where neither was told."""
        return cuda is None or self.driver_cuda is None or numbers(self.driver_cuda) >= numbers(cuda)

    def tally(self, held: Held, isa: tuple[int, int] | None = None) -> Count:
        counts = [0, 0, 0]
        for module in held.modules:
            fit = self.load(module, isa)
            counts[0 if fit > Fit.JIT else 1 if fit else 2] += module.count
        return Count(*counts)


def cuda_of(isa: tuple[int, int] | None) -> str | None:
    """The CUDA that a driver must speak to compile PTX of this ISA."""
    return None if isa is None else _ISA.get(isa)


def unified(torch: Torch | None) -> bool:
    """Whether discrete code crosses to Tegra: torch 2.14 and later, built with CUDA 13.2 and later."""
    if torch is None or torch.cuda is None or torch.version is None:
        return False
    release = re.match(r"(\d+)\.(\d+)", torch.version)
    if release is None:
        return False
    return (int(release[1]), int(release[2])) >= (2, 14) and numbers(torch.cuda) >= (13, 2)


def library(one: Library, judge: Judge) -> LibraryVerdict | None:
    """The verdict on one library; None where it holds no kernels that a GPU would run."""
    held = _judged(one)
    if held is None:
        return None
    every = judge.tally(held, one.isa)
    word = _word(judge.tally(Held(modules=_general(held)), one.isa))
    loads, total = every.sass + every.ptx, sum(every)
    text = f"{loads} of {total} modules load" if loads < total else f"all {total} modules load"
    if total == 1:
        text = "its module loads" if loads else "its module does not load"
    if every.ptx:
        text += f", {every.ptx} by PTX only"
    if word == NOT and best(one.possible_ptx, judge.gpu)[0]:
        text += "; its pre-link PTX could be linked anew by the driver, which is possible and not proven"
    if held is not one.code:
        text += "; its code lies outside the usual section"
    return LibraryVerdict(one.path, word, every, text)


def _judged(one: Library) -> Held | None:
    """The code that decides: what a loader registers, else what the library loads by itself from its own data.

    cuFFT does so: what it registers is one module without a kernel. A library that registers nothing, as triton's
    profiler does, holds a tool's code, and so do bare cubins.
    """
    if one.code.total or not one.code.empty:
        return one.code if one.code.total else None
    data = [each.held for each in one.elsewhere if each.form == "fatbin" and each.held.total]
    return max(data, key=lambda each: each.total, default=None)


def _general(held: Held) -> tuple[Modules, ...]:
    """The modules that were built for most generations that the library names; the others are for some on purpose.

    A generation is a major capability. In cuDNN 8.7 793 of 2148 modules are for Ampere and Hopper alone, and 302 for
    Volta: their absence elsewhere says nothing. Where no module spans most of them, all count.
    """
    named = {arch.major for each in held.modules for arch in each.sass}
    general = tuple(each for each in held.modules if len(_spanned(each, named)) * 2 > len(named))
    return general or held.modules


def _spanned(module: Modules, named: set[int]) -> set[int]:
    """The generations that a module serves, by PTX too."""
    oldest = min((arch.major for arch in module.ptx), default=None)
    later = set() if oldest is None else {major for major in named if major >= oldest}
    return {arch.major for arch in module.sass} | later


def _word(count: Count) -> str:
    """A library chooses among its modules, so not all must load; where next to none do, it is broken here.

    Known to work: cuDNN 9.28 on 7.5 (47 % of one library's general modules load), cuFFT 11.4 on 6.1 (38 %). Known to
    be without: torch.linalg of 2.15.0 on 7.5 (3 %). The line lies between.
    """
    loads = count.sass + count.ptx
    if not loads:
        return NOT
    if loads * 10 < sum(count):
        return PARTLY
    return JIT if count.ptx > count.sass else RUNS


def chosen(libraries: tuple[Library, ...], torch_cuda: str | None) -> tuple[tuple[Library, ...], tuple[str, ...]]:
    """The libraries that would be loaded, where a wheel has one per CUDA (bitsandbytes), and a note on which."""
    families: dict[tuple[str, str], dict[tuple[int, ...], Library]] = {}
    for one in libraries:
        if match := _VARIANT.fullmatch(one.path):
            number = match["number"]
            key = (match["stem"], match["rest"])
            families.setdefault(key, {})[int(number[:2]), int(number[2])] = one
    left: set[str] = set()
    notes: list[str] = []
    for members in families.values():
        if len(members) < 2:
            continue
        wanted = numbers(torch_cuda) if torch_cuda else max(members)
        pick = wanted if wanted in members else None
        if pick is None:
            # The loader asks for torch's own CUDA; the nearest older one of its major is what a user can be told of.
            pick = max((each for each in members if each[0] == wanted[0] and each < wanted), default=None)
        left.update(one.path for version, one in members.items() if version != pick)
        why = f"that torch for CUDA {torch_cuda} loads" if torch_cuda else "for the newest CUDA, as no torch was told"
        if pick is None:
            notes.append(f"it holds no library {why}")
        else:
            notes.append(f"judged {members[pick].path.rpartition('/')[2]}, the one {why}")
    return tuple(one for one in libraries if one.path not in left), tuple(notes)


def verdict(reading: Reading, judge: Judge, torch_cuda: str | None = None) -> Verdict:
    """Whether a reading runs on a GPU."""
    libraries, notes = chosen(reading.libraries, torch_cuda)
    judged = tuple(each for each in (library(one, judge) for one in libraries) if each is not None)
    fit, via = _best(reading, libraries, judge)
    flags = reading.torch.flags if reading.torch is not None else ()
    if flags:
        word = NOT if not fit else JIT if fit is Fit.JIT else RUNS
        if judged and word != NOT:
            word = _together([word, *(each.word for each in judged)])
    elif judged:
        word = _together([each.word for each in judged])
    else:
        word = COMPILES if reading.compilers else NO_CODE
    if judge.refusal is not None and word not in (COMPILES, NO_CODE):
        word, fit, via, notes = NOT, Fit.NONE, None, (*notes, judge.refusal)
    return Verdict(judge.gpu, word, fit, via, judged, notes)


def _best(reading: Reading, libraries: tuple[Library, ...], judge: Judge) -> tuple[Fit, Arch | None]:
    sass, ptx = reading.sass, reading.ptx
    needs = reading.torch.cuda if reading.torch is not None else None
    if not (reading.torch is not None and reading.torch.flags):
        held = [(one, code) for one in libraries if (code := _judged(one)) is not None]
        sass = tuple(arch for _, code in held for arch in code.sass)
        ptx = tuple(arch for one, code in held if judge.speaks(cuda_of(one.isa)) for arch in code.ptx)
    elif not judge.speaks(needs):
        ptx = ()
    return max(best(sass, judge.gpu, unified=judge.unified), best(ptx, judge.gpu), key=lambda each: each[0])


def _together(words: list[str]) -> str:
    if all(word == NOT for word in words):
        return NOT
    if NOT in words or PARTLY in words:
        return PARTLY
    return JIT if JIT in words else RUNS


def without_gpu(reading: Reading) -> str | None:
    """The verdict that needs no GPU; None where one must be told."""
    if reading.holds_code:
        return None
    return COMPILES if reading.compilers else NO_CODE
