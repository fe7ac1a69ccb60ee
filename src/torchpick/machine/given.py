"""The machine as the user specifies it: flags and their variables, checked; no GPU is looked for here.

A GPU may imply a platform: an Orin means Linux on Arm, an `M3 Max` a Mac, and a Mac its GPU.
"""

from __future__ import annotations

import time

from torchpick.environment import interpreter
from torchpick.environment.world import World
from torchpick.errors import UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.model import NamedTuple
from torchpick.model.machine import (
    MOST_GPUS,
    TABLE_PLATFORMS,
    TIMEOUT_S,
    Driver,
    Gpu,
    GpuProduct,
    Machine,
    Note,
    Platform,
    Python,
)
from torchpick.model.pick import Request
from torchpick.model.versions import is_dotted, numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class MachineOverrides(NamedTuple):
    """The specified facts; None is not specified. `gpus` empty means no GPU. `python` may be a version or a path."""

    gpus: tuple[Gpu, ...] | None = None
    driver: Driver | None = None
    platform: Platform | None = None
    wsl: bool = False
    glibc: str | None = None
    python: str | None = None
    visible_only: bool = False
    only: tuple[int, ...] | None = None
    trust_pci: bool = False
    timeout: float = TIMEOUT_S
    notes: tuple[Note, ...] = ()


def read_overrides(request: Request, knowledge: Knowledge) -> MachineOverrides:
    """Read flags and variables; a flag beats its variable."""
    environ = knowledge.environ
    specs = _specs(request, environ)
    if specs and request.visible_only:
        hint = "remove `--gpus visible`: a specified GPU always counts"
        raise UsageError("`--gpus visible` is for this computer's GPUs, and `--gpu` specifies others", hint=hint)
    name = _first(request.platform, environ, "TORCHPICK_PLATFORM")
    specified = None if name is None else parse_platform(name)
    if request.glibc is not None:
        if request.platform is not None and specified is not None and specified.os != "linux":
            raise UsageError(
                f"`--glibc` does not apply to `--platform {request.platform}`", hint="use only one of them"
            )
        if not is_dotted(request.glibc):
            hint = "such as `--glibc 2.28`; `ldd --version` prints it"
            raise UsageError(f"`{request.glibc}` is not a valid glibc version", hint=hint)
    products = _products(specs, specified, knowledge) if specs else None
    implied, notes = _implied(products or (), specified)
    if request.macos is not None:
        implied = _with_macos(implied, request.macos)
    gpus, of_gpus = _of_a_mac(implied) if products is None else _gpus(products)
    return MachineOverrides(
        gpus=gpus,
        driver=parse_driver(request, environ),
        wsl=(name or "").lower() in _WSL,
        platform=implied,
        glibc=request.glibc,
        python=request.python,
        visible_only=request.visible_only,
        only=_only(request.only),
        trust_pci=request.trust_pci,
        timeout=_timeout(environ.get("TORCHPICK_DETECT_TIMEOUT")),
        notes=(*notes, *of_gpus),
    )


def make_machine(facts: MachineOverrides, gpus: tuple[Gpu, ...], world: World) -> Machine:
    """The machine of these GPUs; this computer's platform, Python and JetPack where they are not specified."""
    bare = without_gpus(facts, world, time.monotonic() + facts.timeout)
    machine = bare._replace(driver=facts.driver, gpus=gpus)
    if facts.driver is not None or not (machine.jetsons or any(gpu.vendor == "amd" for gpu in gpus)):
        return machine
    from torchpick.machine import kernel

    if machine.jetsons and (cuda := kernel.jetson_cuda(world)):
        return machine._replace(driver=Driver(None, cuda, "unknown", kernel.JETSON_LINUX))
    if not machine.jetsons and (facts.wsl or kernel.is_wsl(world)):
        return machine._replace(driver=Driver(None, os="windows"))  # whatever its number: only where it runs counts
    return machine


def without_gpus(facts: MachineOverrides, world: World, deadline: float) -> Machine:
    """The machine by its interpreter and its platform, as far as they are not specified."""
    specified, glibc = facts.platform, facts.glibc
    if specified is not None and not _is_here(specified.name):
        if facts.gpus is None:
            raise UsageError(
                f"`--platform {specified.name}` is not this computer's, so its GPUs must be specified",
                hint="add `--gpu sm_86` (or `--gpu none`), or leave out `--platform`",
            )
        return _elsewhere(specified._replace(glibc=glibc), facts.python, world, deadline)
    machine = interpreter.choose(facts.python, world, deadline)
    platform = machine.platform
    if specified is not None and platform.name != specified.name:
        platform = specified
    if platform.os == "macos":
        from platform import mac_ver

        platform = platform._replace(macos=(specified and specified.macos) or mac_ver()[0] or None)
    if glibc is not None:
        platform = platform._replace(glibc=glibc, libc="glibc")
    return machine._replace(platform=platform)


def _elsewhere(platform: Platform, python: str | None, world: World, deadline: float) -> Machine:
    """Another platform: nothing of this computer says anything about it, but the Python's version unless specified."""
    text = "the C library there is not checked; specify it, such as `--glibc 2.28`"
    notes = (Note("GLIBC_ASSUMED", text),) if platform.os == "linux" and platform.glibc is None else ()
    if python is not None:
        # A path names an interpreter here, and its version is what counts there.
        return Machine(platform, interpreter.choose(python, world, deadline).python, notes=notes)
    source = "the version of the Python that runs torchpick"
    return Machine(platform, Python(interpreter.running().python.version, source=source), notes=notes)


def _specs(request: Request, environ: Mapping[str, str]) -> tuple[str, ...] | None:
    """The GPUs as they are specified; both the flag and its variable take commas."""
    variable = environ.get("TORCHPICK_GPU")
    texts = (variable,) if request.gpus is None and variable else request.gpus
    if texts is None:
        return None
    parts = (part.strip() for text in texts for part in text.split(","))
    specs = tuple(filter(None, parts))
    return specs if specs or request.gpus is None else ("",)


def _timeout(text: str | None) -> float:
    if not text:
        return TIMEOUT_S
    seconds = float(text) if is_dotted(text) and text.count(".") < 2 else 0.0
    if not 0.1 <= seconds <= 600:
        message = f"TORCHPICK_DETECT_TIMEOUT=`{text}` is not a number of seconds from 0.1 to 600"
        raise UsageError(message, hint="unset it, or set it to 30")
    return seconds


def _first(flag: str | None, environ: Mapping[str, str], name: str) -> str | None:
    """The flag, else its variable; an empty variable is unset, an empty flag is refused by its reader."""
    return flag if flag is not None else environ.get(name) or None


def parse_driver(request: Request, environ: Mapping[str, str]) -> Driver | None:
    version = _first(request.driver, environ, "TORCHPICK_DRIVER")
    version = version and version.removesuffix(".x").removeprefix("v")  # `535.x` is a branch, as `535` is
    cuda = _first(request.cuda_driver, environ, "TORCHPICK_CUDA_DRIVER")
    if version is not None and (not is_dotted(version) or not 300 <= numbers(version)[0] < 2000):
        hint = "`nvidia-smi` prints it, such as 580.95.05; `--cuda-driver 12.6` takes the CUDA version"
        raise UsageError(f"`{version}` is not a valid NVIDIA driver version", hint=hint)
    if cuda is not None and (not is_dotted(cuda) or cuda.count(".") != 1 or not 7 <= numbers(cuda)[0] < 100):
        hint = "such as `--cuda-driver 12.8`; `--driver` takes the driver's own version"
        raise UsageError(f"`{cuda}` is not a valid CUDA version", hint=hint)
    if version is None and cuda is None:
        return None
    return Driver(version, cuda, "given", None if cuda is None else "given")


def check_jetson(machine: Machine, facts: MachineOverrides) -> Machine:
    """The machine; of a Jetson up to Orin no driver is assumed, as it takes other wheels with each JetPack."""
    if facts.gpus is not None and machine.jetsons and machine.driver is None:
        raise UsageError(
            f"which wheels run on {machine.jetsons[0].label} depends on its JetPack, and no driver was specified",
            hint="`--driver`: 540.4.0 for JetPack 6, 595.78 for JetPack 7.2 (`cat /proc/driver/nvidia/version`), or "
            "`--cuda-driver`: 11.4 for JetPack 5, 10.2 for JetPack 4; `head -1 /etc/nv_tegra_release` on the board "
            "prints R36, R39, R35 or R32",
        )
    return machine


_WSL = ("wsl", "wsl2")


def parse_platform(name: str) -> Platform:
    """The platform of this name, one that PyTorch has builds for; WSL runs Linux."""
    name = "linux-x86_64" if name.lower() in _WSL else name
    if name not in TABLE_PLATFORMS:
        raise UsageError(f"`{name}` is not a supported platform", hint=f"one of {', '.join(TABLE_PLATFORMS)}")
    return Platform.parse(name)


def _only(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 5 for part in parts):
        hint = "such as `--only 0,2`; `torchpick detect` lists them"
        raise UsageError(f"`--only {text}` is not a list of GPU numbers", hint=hint)
    return tuple(int(part) for part in parts)


# Where an Arm-only GPU may be, if specified: a laptop with GB10's sibling runs Windows.
_ARM = ("linux-aarch64", "windows-arm64")


def _products(specs: tuple[str, ...], platform: Platform | None, knowledge: Knowledge) -> tuple[GpuProduct, ...]:
    if any(spec.lower() == "none" for spec in specs):
        if len(specs) > 1:
            raise UsageError("`--gpu none` together with another GPU", hint="use only one of them")
        return ()
    if len(specs) > MOST_GPUS:
        hint = "use `--machine` for several machines"
        raise UsageError(f"{len(specs)} GPUs are more than one machine has", hint=hint)
    mac = platform is None or platform.os == "macos"
    return tuple(knowledge.gpu(spec, mac=mac) for spec in specs)


def _implied(products: tuple[GpuProduct, ...], platform: Platform | None) -> tuple[Platform | None, tuple[Note, ...]]:
    """The platform that the GPUs exist on alone; UsageError where it is not the one that is specified."""
    bound = {product.platform: product.name or str(product.arch) for product in products if product.platform}
    if len(bound) > 1:
        message = f"{' and '.join(bound.values())} cannot be in one machine"
        raise UsageError(message, hint="give the GPUs of one machine")
    for name, gpu in bound.items():
        if platform is None:
            note = Note("PLATFORM_ASSUMED", f"{name} is assumed for {gpu}")
            return Platform.parse(name), () if _is_here(name) else (note,)
        if platform.name != name and not (name in _ARM and platform.name in _ARM):
            raise UsageError(f"`--platform {platform.name}`, but no such machine has {gpu}", hint="remove `--platform`")
    return platform, ()


def _is_here(name: str) -> bool:
    return interpreter.running().platform.name == name


def _with_macos(platform: Platform | None, macos: str) -> Platform:
    platform = platform or interpreter.running().platform
    if platform.os != "macos":
        hint = "add `--platform macos-arm64`, or leave out `--macos`"
        raise UsageError(f"`--macos` does not apply to `--platform {platform.name}`", hint=hint)
    if not is_dotted(macos) or not 10 <= int(macos.split(".", maxsplit=1)[0]) < 100:  # 10.9 to 26 and beyond
        raise UsageError(f"`{macos}` is not a macOS version", hint="such as `--macos 14.2`; `sw_vers` prints it")
    return platform._replace(macos=macos)


def _of_a_mac(platform: Platform | None) -> tuple[tuple[Gpu, ...] | None, tuple[Note, ...]]:
    """A Mac elsewhere needs no `--gpu`: Apple silicon has its own, and no build uses the GPU of an Intel Mac."""
    if platform is None or platform.os != "macos" or _is_here(platform.name):
        return None, ()
    if platform.cpu != "arm64":
        return (), ()
    text = "a Mac with Apple silicon has one GPU, its own, so that is assumed; `--gpu none` leaves it out"
    return (Gpu(0, "apple", "Apple silicon", None, integrated=True),), (Note("PLATFORM_ASSUMED", text),)


def _gpus(products: tuple[GpuProduct, ...]) -> tuple[tuple[Gpu, ...], tuple[Note, ...]]:
    """The specified GPUs, and what a user should know: of a name that several share the one that was sold most."""
    gpus: list[Gpu] = []
    notes: list[Note] = []
    for index, product in enumerate(products):
        gpu = Gpu(index, product.vendor, product.name, product.arch, integrated=product.integrated)
        gpus.append(gpu._replace(counted=product.supported))
        if product.others:
            arch = f" ({gpu.arch})" if gpu.arch else ""
            text = f"`{gpu.name}`{arch} is read as the most common GPU of that name; others: "
            notes.append(Note("NAME_AMBIGUOUS", text + ", ".join(map(str, product.others))))
    if idle := [gpu.label for gpu in gpus if not gpu.counted]:
        text = "the xpu builds support Arc, Core Ultra and Data Center Max, but not this; left out"
        notes.append(Note("INTEL_NOT_SUPPORTED", f"{', '.join(idle)}: {text}"))
    return tuple(gpus), tuple(notes)
