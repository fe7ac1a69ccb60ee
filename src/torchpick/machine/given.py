"""The machine as the user specifies it: flags and their variables, checked; nothing is detected here.

A GPU may imply a platform: an Orin means Linux on Arm, an `M3 Max` a Mac, and a Mac its GPU.
"""

from __future__ import annotations

from torchpick.environment import interpreter
from torchpick.environment.world import World
from torchpick.errors import UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.model.machine import PLATFORMS, TIMEOUT_S, Driver, Gpu, Note, Platform
from torchpick.model.noun import Noun
from torchpick.model.request import Request
from torchpick.model.versions import is_dotted, numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from torchpick.knowledge.gpuspec import GivenGpu


class GivenFacts(Noun):
    """The specified facts; None is not specified. `gpus` empty means no GPU. `python` may be a version or a path."""

    gpus: tuple[Gpu, ...] | None = None
    driver: Driver | None = None
    platform: Platform | None = None
    glibc: str | None = None
    python: str | None = None
    visible_only: bool = False
    only: tuple[int, ...] | None = None
    trust_pci: bool = False
    timeout: float = TIMEOUT_S
    notes: tuple[Note, ...] = ()


def read(request: Request, knowledge: Knowledge) -> GivenFacts:
    """Read flags and variables; a flag beats its variable."""
    environ = knowledge.environ
    specs = _specs(request, environ)
    if specs and request.visible_only:
        hint = "remove `--gpus visible`: a specified GPU always counts"
        raise UsageError("`--gpus visible` is for this computer's GPUs, and `--gpu` specifies others", hint=hint)
    glibc = request.glibc
    if glibc is not None and request.platform is not None and not request.platform.startswith("linux"):
        raise UsageError(f"`--glibc` does not apply to `--platform {request.platform}`", hint="use only one of them")
    if glibc is not None and not is_dotted(glibc):
        raise UsageError(
            f"`{glibc}` is not a valid glibc version", hint="such as `--glibc 2.28`; `ldd --version` prints it"
        )
    gpus: tuple[Gpu, ...] | None = None
    notes: tuple[Note, ...] = ()
    platform = _platform(_first(request.platform, environ, "TORCHPICK_PLATFORM"))
    if specs or platform is not None or request.macos is not None:
        gpus, platform, notes = _gpus(specs, platform, request.macos, knowledge)
    return GivenFacts(
        gpus=gpus,
        driver=driver(request, environ),
        platform=platform,
        glibc=glibc,
        python=request.python,
        visible_only=request.visible_only,
        only=_only(request.only),
        trust_pci=request.trust_pci,
        timeout=_timeout(environ.get("TORCHPICK_DETECT_TIMEOUT")),
        notes=notes,
    )


def _specs(request: Request, environ: Mapping[str, str]) -> tuple[str, ...] | None:
    """The GPUs as they were given; both the flag and its variable take commas."""
    given = request.gpus
    if given is None and environ.get("TORCHPICK_GPU"):
        given = (environ["TORCHPICK_GPU"],)
    if given is None:
        return None
    parts = [part.strip() for text in given for part in text.split(",")]
    if request.gpus is not None and "" in parts and parts != [""]:
        parts = [part for part in parts if part]
    return tuple(part for part in parts if part or request.gpus is not None)


def _timeout(text: str | None) -> float:
    """TORCHPICK_DETECT_TIMEOUT in seconds."""
    if not text:
        return TIMEOUT_S
    seconds = float(text) if is_dotted(text) and text.count(".") < 2 else 0.0
    if not 0.1 <= seconds <= 600:
        raise UsageError(
            f"TORCHPICK_DETECT_TIMEOUT=`{text}` is not a number of seconds from 0.1 to 600",
            hint="unset it, or set it to 30",
        )
    return seconds


def _first(flag: str | None, environ: Mapping[str, str], name: str) -> str | None:
    """The flag, else its variable; an empty variable is unset, an empty flag is refused by its reader."""
    return flag if flag is not None else environ.get(name) or None


def driver(request: Request, environ: Mapping[str, str]) -> Driver | None:
    version = _first(request.driver, environ, "TORCHPICK_DRIVER")
    version = None if version is None else version.removesuffix(".x")  # `535.x` is a branch, as `535` is
    cuda = _first(request.cuda_driver, environ, "TORCHPICK_CUDA_DRIVER")
    if version is not None and (not is_dotted(version) or not 300 <= numbers(version)[0] < 2000):
        looks = "; `--cuda-driver` takes the CUDA version" if is_dotted(version) else ""
        hint = f"`nvidia-smi` prints it, such as 580.95.05{looks}"
        raise UsageError(f"`{version}` is not a valid NVIDIA driver version", hint=hint)
    if cuda is not None and (not is_dotted(cuda) or cuda.count(".") != 1 or not 7 <= numbers(cuda)[0] < 100):
        hint = "such as `--cuda-driver 12.8`; `--driver` takes the driver's own version"
        raise UsageError(f"`{cuda}` is not a valid CUDA version", hint=hint)
    if version is None and cuda is None:
        return None
    return Driver(version, cuda, "given", None if cuda is None else "given")


def _platform(name: str | None) -> Platform | None:
    if name is None:
        return None
    if name not in PLATFORMS:
        raise UsageError(f"`{name}` is not a supported platform", hint=f"one of {', '.join(PLATFORMS)}")
    return Platform.parse(name)


def _only(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 5 for part in parts):
        raise UsageError(
            f"`--only {text}` is not a list of GPU numbers", hint="such as `--only 0,2`; `torchpick detect` lists them"
        )
    return tuple(int(part) for part in parts)


_MOST_GPUS = 1024
# Where an Arm-only GPU may be, if specified: a laptop with GB10's sibling runs Windows.
_ARM = ("linux-aarch64", "windows-arm64")


class GivenGpus(Noun):
    """The GPUs, None where they are to be looked up; the platform, given or implied; what a user should know."""

    gpus: tuple[Gpu, ...] | None
    platform: Platform | None
    notes: tuple[Note, ...] = ()


def _gpus(
    specs: tuple[str, ...] | None,
    platform: Platform | None,
    macos: str | None,
    knowledge: Knowledge,
) -> GivenGpus:
    """The GPUs that were given and the platform that goes with them."""
    given = _parsed(specs, platform, knowledge) if specs else None
    platform, notes = _implied(given or (), platform, macos)
    if macos is not None:
        platform = _with_macos(platform, macos)
    if given is None:
        return GivenGpus(*_of_a_mac(specs, platform, notes))
    gpus = tuple(_gpu(gpu, index) for index, gpu in enumerate(given))
    return GivenGpus(gpus, platform, (*notes, *_shared_names(given), *_unsupported(gpus)))


def _parsed(specs: tuple[str, ...], platform: Platform | None, knowledge: Knowledge) -> tuple[GivenGpu, ...]:
    if any(spec.lower() == "none" for spec in specs):
        if len(specs) > 1:
            raise UsageError("`--gpu none` together with another GPU", hint="use only one of them")
        return ()
    if len(specs) > _MOST_GPUS:
        raise UsageError(
            f"{len(specs)} GPUs are more than one machine has", hint="use `--machine` for several machines"
        )
    from torchpick.knowledge import gpuspec

    mac = platform is None or platform.os == "macos"
    return tuple(gpuspec.parse(spec, knowledge, mac=mac) for spec in specs)


def _gpu(gpu: GivenGpu, index: int) -> Gpu:
    return Gpu(index, gpu.vendor, gpu.name, gpu.arch, integrated=gpu.integrated, counted=gpu.supported)


def _implied(
    given: tuple[GivenGpu, ...], platform: Platform | None, macos: str | None
) -> tuple[Platform | None, tuple[Note, ...]]:
    """The platform that the GPUs exist on alone; UsageError where it is not the one that was given."""
    bound = {gpu.platform: gpu.name or str(gpu.arch) for gpu in given if gpu.platform is not None}
    if len(bound) > 1:
        raise UsageError(
            f"{' and '.join(bound.values())} cannot be in one machine", hint="give the GPUs of one machine"
        )
    for name, gpu in bound.items():
        if platform is None:
            return _assumed(name, f"{gpu} exists only on {name}, so that is assumed")
        if platform.name != name and not (name in _ARM and platform.name in _ARM):
            raise UsageError(
                f"`--platform {platform.name}`, but {gpu} exists only on {name}", hint="remove `--platform`"
            )
    if platform is None and macos is not None and not _is_here("macos-arm64", "macos-x86_64"):
        return _assumed("macos-arm64", "`--macos` without `--platform` means a Mac with Apple silicon")
    return platform, ()


def _assumed(name: str, text: str) -> tuple[Platform, tuple[Note, ...]]:
    notes = () if _is_here(name) else (Note("PLATFORM_ASSUMED", f"{text}; `--platform` says otherwise"),)
    return Platform.parse(name), notes


def _is_here(*names: str) -> bool:
    return interpreter.own(World.here()).platform.name in names


def _with_macos(platform: Platform | None, macos: str) -> Platform:
    if platform is not None and platform.os != "macos":
        raise UsageError(f"`--macos` does not apply to `--platform {platform.name}`", hint="use only one of them")
    if not is_dotted(macos) or not 10 <= int(macos.split(".")[0]) < 100:  # 10.9 to 26 and beyond
        raise UsageError(f"`{macos}` is not a macOS version", hint="such as `--macos 14.2`; `sw_vers` prints it")
    if platform is None:  # this computer is a Mac
        platform = interpreter.own(World.here()).platform
    return platform._replace(macos=macos)


def _of_a_mac(
    specs: tuple[str, ...] | None, platform: Platform | None, notes: tuple[Note, ...]
) -> tuple[tuple[Gpu, ...] | None, Platform | None, tuple[Note, ...]]:
    """A Mac elsewhere needs no `--gpu`: Apple silicon has its own, and no build uses the GPU of an Intel Mac."""
    if specs or platform is None or platform.os != "macos" or _is_here(platform.name):
        return None, platform, notes
    if platform.cpu != "arm64":
        return (), platform, notes
    gpu = Gpu(0, "apple", "Apple silicon", None, integrated=True)
    text = "a Mac with Apple silicon has one GPU, its own, so that is assumed; `--gpu none` leaves it out"
    return (gpu,), platform, (*notes, Note("PLATFORM_ASSUMED", text))


def _shared_names(given: tuple[GivenGpu, ...]) -> list[Note]:
    """A name that several GPUs share means the one that was sold most."""
    notes = []
    for gpu in given:
        if gpu.others:
            meant = f" ({gpu.arch})" if gpu.arch is not None else ""
            text = f"`{gpu.name}`{meant} is read as the most common GPU of that name; others: "
            notes.append(Note("NAME_AMBIGUOUS", text + ", ".join(gpu.others)))
    return notes


def _unsupported(gpus: tuple[Gpu, ...]) -> list[Note]:
    idle = [gpu.label for gpu in gpus if gpu.vendor == "intel" and not gpu.counted]
    text = "the xpu builds support Arc, Core Ultra and Data Center Max, but not this; left out"
    return [Note("INTEL_NOT_SUPPORTED", f"{', '.join(idle)}: {text}")] if idle else []
