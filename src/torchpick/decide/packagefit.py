"""Whether one package runs on a machine, and whether it goes with a torch build. Pure.

The rules, with their sources, stand in docs/judgement.md: every wheel that links torch has torch's CUDA major; one that
brings CUDA without linking torch may differ where the driver carries it; its main libraries must have code for the GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from torchpick.decide.demands import PackageDemand, brings_cuda
from torchpick.model.arch import Arch, Fit, best, listed
from torchpick.model.build import (
    COMPILES,
    FAMILIES,
    JIT,
    NO_CODE,
    PARTLY,
    RUNS,
    UNJUDGED,
    Build,
    Objection,
    Reason,
    python_name,
    python_span,
)
from torchpick.model.machine import Gpu, Machine, Python
from torchpick.model.package import NOT_READ, LibraryCode, Package
from torchpick.model.table import Table
from torchpick.model.versions import admits, major_minor, numbers, pattern, release_key

# How far two CUDA majors may live together, the strictest first: one major; another one that a package brings and loads
# by itself; another one by a wheel that is added with a loader path; whatever the user accepts.
ONE_MAJOR, OWN_WHEELS, ADDED_WHEEL, MIXED = range(4)
# The driver's own, and what a wheel does without where it is not there (onnxruntime's TensorRT provider).
BY_DRIVER = frozenset({"libcuda.so.1", "libnvidia-ml.so.1"})


# How a package's code supports the GPUs: the word for the pin, and the libraries that lack a GPU, wholly or in part.
Coverage = tuple[str, tuple[Objection, ...], tuple[str, ...]]


class PackageFit:
    """One machine and the CUDA its driver supports, prepared once for many packages."""

    def __init__(self, machine: Machine, table: Table, shared_files: Callable[[str, str], int] | None = None) -> None:
        self.machine, self.shared_files, self.drivers = machine, shared_files, table.drivers
        self.gpus, self.os, self.brought = machine.nvidia, machine.driver_os, table.brought
        self.driver_cuda = machine.driver and table.drivers.speaks(machine.driver)
        self._coverage: dict[tuple[int, str | None], Coverage] = {}
        self._packages: list[Package] = []  # the number of one that is gone would become another's

    def objection(self, package: Package, build: Build | None) -> Objection | None:
        """Why a version does not run beside a torch that was chosen already, whatever file of it was installed."""
        package = package._replace(requires_python="", pythons=("any",), platforms=("any",), glibc=None, yanked=False)
        return self.mismatch(package, build, (), ADDED_WHEEL) or self.refusal(package)

    def refusal(self, package: Package) -> Objection | None:
        """Why this version is not for this machine, whatever torch there is; the most telling reason."""
        return self._software(package) or self._driver(package) or self.kernels(package)

    def is_of_python(self, package: Package) -> bool:
        python = self.machine.python
        is_admitted = admits(package.requires_python, prereleases=True)  # a Python may be one itself
        exact = python.exact or f"{python.version}.0"
        return is_admitted(exact) and any(_is_tag_of(python, tag) for tag in package.pythons)

    def is_unread(self, package: Package) -> bool:
        """Whether nobody knows which of these GPUs it was built for."""
        return bool(self.gpus) and not package.per_cuda and self.word(package) == NOT_READ

    def mismatch(
        self, package: Package, build: Build | None, own: tuple[PackageDemand, ...], level: int
    ) -> Objection | None:
        """Why this version does not go with this torch build (None: an environment without torch)."""
        if build and (objection := self.linked(package, build, level) or self._brought(own, build, level)):
            return objection
        missing = () if package.optional else self.missing(package, build, own, level)
        if not missing or level >= ADDED_WHEEL or package.major is None:
            return None
        return _mixed(f"needs {', '.join(missing)} of", str(package.major), build)

    def missing(
        self, package: Package, build: Build | None, own: tuple[PackageDemand, ...], level: int
    ) -> tuple[str, ...]:
        """The libraries it needs that nothing provides, of what this level counts."""
        if not self.gpus:
            return ()  # without a GPU nothing is loaded that would need them
        provided = BY_DRIVER if build is None else BY_DRIVER | self.by_torch(build)
        if build is None or (level >= OWN_WHEELS and package.preloads):
            names = {demand.name for demand in own}
            provided |= {library for _, wheel, library in self.brought if wheel in names}
            if package.major is not None and not names.isdisjoint({"cuda-toolkit", "cuda-pathfinder"}):
                provided |= self._of_toolkit(package.major)
        return tuple(library for library in package.needs if library not in provided)

    def by_torch(self, build: Build) -> frozenset[str]:
        """What a torch build provides, itself or through the nvidia wheels that it pins."""
        if build.cuda_major is None:
            return frozenset()
        cudnn = build.libraries.get("cudnn", "").partition(".")[0]
        return self._of_toolkit(build.cuda_major) | ({f"libcudnn.so.{cudnn}"} if cudnn else set())

    def _of_toolkit(self, major: int) -> frozenset[str]:
        """The libraries of CUDA itself, to which cuDNN does not belong."""
        return frozenset(library for of, wheel, library in self.brought if of == major and "cudnn" not in wheel)

    def wheel_for(self, library: str, major: int) -> str | None:
        """The nvidia wheel that provides a library of this CUDA major; None if there is none."""
        return next((wheel for of, wheel, brought in self.brought if (of, brought) == (major, library)), None)

    def coverage(self, package: Package, torch_cuda: str | None) -> Coverage:
        """How its code supports the GPUs, with a torch of this CUDA."""
        loaded = _loaded(package, torch_cuda)
        key = id(package), loaded
        if key not in self._coverage:
            self._coverage[key] = self._covered(package, loaded)
            self._packages.append(package)
        return self._coverage[key]

    def word(self, package: Package, torch_cuda: str | None = None) -> str:
        word, _, _ = self.coverage(package, torch_cuda)
        return word

    def lack(self, package: Package, torch_cuda: str | None = None) -> Objection | None:
        """What its code lacks of the first GPU that it does not support at all."""
        _, lacking, _ = self.coverage(package, torch_cuda)
        return next(iter(lacking), None)

    def _software(self, package: Package) -> Objection | None:
        machine = self.machine
        if not {"any", machine.platform.name} & set(package.platforms):
            return Objection(Reason.NO_WHEEL_FOR_PLATFORM, {"platform": machine.platform.name})
        if not self.is_of_python(package):
            facts = {"python": python_name(machine.python.tag), "pythons": _pythons(package)}
            return Objection(Reason.NO_WHEEL_FOR_PYTHON, facts)
        glibc = machine.platform.glibc
        if glibc and package.glibc and numbers(glibc) < numbers(package.glibc):
            return Objection(Reason.GLIBC_TOO_OLD, {"needs": package.glibc, "has": glibc})
        return None

    def _driver(self, package: Package) -> Objection | None:
        driver = self.machine.driver
        if package.major is None or package.per_cuda or package.optional or driver is None or not self.gpus:
            return None
        lacked = self.drivers.too_old(driver, f"{package.major}.0", self.os)
        if not lacked:
            return None
        of_major = [library for library in package.needs if library.endswith(f".{package.major}")]
        cudart = (library for library in of_major if "cudart" in library)
        library = next(cudart, next(iter(of_major), f"CUDA {package.major}"))
        return Objection(Reason.PACKAGE_DRIVER_TOO_OLD, {"library": library, "cuda": str(package.major), **lacked})

    def kernels(self, package: Package) -> Objection | None:
        """The GPU that its main libraries have no code for."""
        if package.per_cuda:
            return None
        return self._below_floor(package) or self.lack(package)

    def _below_floor(self, package: Package) -> Objection | None:
        """The GPU that is older than what its kernels, which are compiled at run time, are for."""
        if not package.jit:
            return None
        floor = Arch.parse(package.jit)
        for gpu in self.gpus:
            if gpu.arch is not None and gpu.arch.capability < floor.capability:
                facts = {"gpu": gpu.label, "library": package.name, "arches": f"{package.jit} and newer"}
                return Objection(Reason.PACKAGE_NO_KERNELS, facts, gpu.index)
        return None

    def linked(self, package: Package, build: Build, level: int) -> Objection | None:
        """The CUDA that it links or was built for, where that is not the build's."""
        if package.optional:
            return None
        if build.family == "cuda" and package.per_cuda:
            return self._variant(package, build)
        if package.links_torch and package.major not in (None, build.cuda_major) and level < MIXED:
            return _mixed("links", str(package.major), build)
        if package.file is None and package.code and not package.place and build.family not in FAMILIES:
            return _mixed("is compiled for", "or ROCm", build)
        if package.place and "." in (package.cuda or "") and package.cuda != build.cuda:
            return _mixed("was built for", str(package.cuda), build)
        return None

    def _brought(self, own: Iterable[PackageDemand], build: Build, level: int) -> Objection | None:
        """NVIDIA's wheels of another CUDA that it brings: a second CUDA, at best one that writes no file of torch's."""
        if build.cuda_major is None or level >= MIXED:
            return None
        for demand in own:
            match = pattern(r"(nvidia-.+-cu)(\d\d)").fullmatch(demand.name)
            if match is None or not brings_cuda(demand.name):
                continue
            major, name = int(match[2]), f"{match[1]}{build.cuda_major}"
            if major != build.cuda_major and level < OWN_WHEELS:
                return _mixed(f"brings {demand.name} of", str(major), build)
            if major != build.cuda_major and (files := self.shared_files and self.shared_files(demand.name, name)):
                facts = {"wheel": demand.name, "files": str(files), "other": name}
                return Objection(Reason.CUDA_FILES_SHARED, facts)
        return None

    def _variant(self, package: Package, build: Build) -> Objection | None:
        """A wheel with one library for each CUDA must have one for torch's, with code for the GPU."""
        if _loaded(package, build.cuda) is None:
            held = [library.cuda for library in package.code or () if library.cuda is not None]
            return _mixed("has libraries for", ", ".join(sorted(held, key=numbers)), build)
        return self.lack(package, build.cuda)

    def _covered(self, package: Package, torch_cuda: str | None) -> Coverage:
        # Only code for NVIDIA's GPUs is read out of a wheel.
        if package.code is None or (package.code and self.machine.used and not self.gpus):
            return NOT_READ, (), ()
        code = [library for library in package.code if library.cuda in (None, torch_cuda)]
        if not code and package.jit is not None:
            return COMPILES, (), ()
        if not code or not self.gpus:
            return UNJUDGED if package.code else NO_CODE, (), ()
        main = [library for library in code if library.main and not package.optional]
        fits, failing, unread = [Fit.EXACT], [], False
        for gpu in self.gpus:
            for library in main:
                fit = self._fit(library, gpu, package)
                if fit is Fit.NONE and not library.whole:
                    unread = True  # it may be in the part that was not read
                    continue
                fits.append(fit)
                if fit is Fit.NONE:
                    facts = {"gpu": gpu.label, "library": _name(library), "arches": listed(library.arches)}
                    failing.append(Objection(Reason.PACKAGE_NO_KERNELS, facts, gpu.index))
        lacking = self._partial(code, main, package) if main else self._bare(code, package)
        partial, worst = tuple(dict.fromkeys(lacking)), min(fits)
        # What is only named, or is to be built, nobody saw run: it is never said to.
        word = NOT_READ if unread or package.file is None else JIT if worst is Fit.JIT else PARTLY if partial else RUNS
        return word, tuple(failing), partial

    def _partial(self, code: list[LibraryCode], main: list[LibraryCode], package: Package) -> Iterator[str]:
        """The libraries beside the main ones that lack a GPU, though they support all generations but one.

        A library for some generations on purpose (FlashAttention 3, for sm_90a) is no loss to the others.
        """
        generations = {arch.major for library in main for arch in library.arches if arch.kind == "sm"}
        for gpu in self.gpus:
            for library in code:
                supported = {
                    major
                    for major in generations
                    for arch in library.arches
                    if arch.major == major or (arch.kind == "compute" and arch.major <= major)
                }
                general = library in main or 1 < len(generations) <= len(supported) + 1
                if general and library.whole and self._fit(library, gpu, package) is Fit.NONE:
                    yield f"{_name(library)} holds no code for {gpu.label}"

    def _bare(self, code: list[LibraryCode], package: Package) -> Iterator[str]:
        """The GPUs that none of its libraries supports, where it goes on in Python without them."""
        for gpu in self.gpus:
            if all(library.whole and self._fit(library, gpu, package) is Fit.NONE for library in code):
                yield f"none of its libraries holds code for {gpu.label}, so it falls back to Python"

    def _fit(self, library: LibraryCode, gpu: Gpu, package: Package) -> Fit:
        if gpu.arch is None:
            return Fit.NONE
        binary = best(tuple(arch for arch in library.arches if arch.kind == "sm"), gpu.arch)[0]
        if binary is not Fit.NONE or not self._speaks_ptx(package):
            return binary
        return best(tuple(arch for arch in library.arches if arch.kind == "compute"), gpu.arch)[0]

    def _speaks_ptx(self, package: Package) -> bool:
        """PTX needs a driver of the toolkit's CUDA or newer; where only the major is known, of its last minor."""
        if self.driver_cuda is None or package.cuda is None or package.major is None:
            return True
        known = (numbers(toolkit) for toolkit in self.drivers.toolkits)
        last = max((toolkit for toolkit in known if toolkit[0] == package.major), default=(package.major, 9))
        return numbers(self.driver_cuda) >= (numbers(package.cuda) if "." in package.cuda else last)


def _loaded(package: Package, torch_cuda: str | None) -> str | None:
    """For which CUDA a wheel with a library for each loads one, beside a torch for this CUDA; None where it has none.

    Where it falls back by itself, that is the newest of torch's major that is not newer, else the oldest that is.
    """
    held = sorted({library.cuda for library in package.code or () if library.cuda is not None}, key=numbers)
    if torch_cuda is None or torch_cuda in held or not package.minor_fallback:
        return torch_cuda if torch_cuda in held else None
    near = [cuda for cuda in held if numbers(cuda)[0] == numbers(torch_cuda)[0]]
    older = [cuda for cuda in near if numbers(cuda) <= numbers(torch_cuda)]
    return older[-1] if older else next(iter(near), None)


def _name(library: LibraryCode) -> str:
    """`vllm/vllm_flash_attn/_vllm_fa2_C.abi3.so` → `vllm_flash_attn/_vllm_fa2_C`: the package's own folder aside."""
    folder, slash, file = library.path.rpartition("/")
    return f"{folder.partition('/')[2]}{slash}".lstrip("/") + file.partition(".")[0]


def _is_tag_of(python: Python, tag: str) -> bool:
    if not tag.endswith("+") or python.free_threaded or python.implementation != "cp":
        return tag in ("any", python.tag)
    first = tag.removeprefix("cp").removesuffix("+")
    return numbers(python.version) >= (int(first[0]), int(first[1:]))


def _pythons(package: Package) -> str:
    """`3.9 to 3.12, >=3.9`: for which Pythons there are wheels, and what its metadata asks."""
    tags = tuple(tag for tag in package.pythons if tag != "any" and not tag.endswith("+"))
    later = [f"{python_name(tag.rstrip('+'))} and later" for tag in package.pythons if tag.endswith("+")]
    return (
        ", ".join([*([python_span(tags)] if tags else []), *later, *filter(None, [package.requires_python])]) or "none"
    )


def _mixed(what: str, cuda: str, build: Build | None) -> Objection:
    """That a package is for another CUDA than torch; without torch nothing provides any."""
    other = "nothing in this environment provides it"
    if build is not None:
        other = f"torch {build.version} {f'is for CUDA {build.cuda}' if build.cuda else 'has no CUDA'}"
    return Objection(Reason.CUDA_MAJOR_MIXED, {"what": what, "cuda": cuda, "other": other})


def filled(text: str, package: Package, torch: Build | None, python: str) -> str:
    """A place's URL, or what lies there, filled in as far as the package, torch and the Python say."""
    values = {"version": package.version, "python": python}
    if torch is not None:
        release = release_key(torch.torch)
        # Which C++ ABI a wheel for Linux has, as prebuilt wheels name it: the new one from 2.6.0+cu126 on.
        new = release >= release_key("2.7") or (release >= release_key("2.6") and torch.backend == "cu126")
        values |= {
            "torch": major_minor(torch.torch),
            "release": torch.torch,
            "cu": torch.backend,
            "major": str(torch.cuda_major or ""),
            "abi": str(new).upper(),
        }
    for key, value in values.items():
        text = text.replace(f"{{{key}}}", value)
    return text
