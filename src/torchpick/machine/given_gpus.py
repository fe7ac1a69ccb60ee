"""`--gpu`, and the platform that a GPU implies: an Orin means Linux on Arm, an `M3 Max` a Mac, and a Mac its GPU."""

from __future__ import annotations

from torchpick.environment import interpreter
from torchpick.environment.world import World
from torchpick.errors import UsageError
from torchpick.knowledge import gpuspec
from torchpick.knowledge.gpuspec import GivenGpu
from torchpick.model.machine import Gpu, Note, Platform
from torchpick.model.noun import Noun
from torchpick.model.versions import is_dotted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.knowledge.compat import Knowledge

_MOST = 1024
# Where an Arm-only GPU may be, if specified: a laptop with GB10's sibling runs Windows.
_ARM = ("linux-aarch64", "windows-arm64")


class GivenGpus(Noun):
    """The GPUs, None where they are to be looked up; the platform, given or implied; what a user should know."""

    gpus: tuple[Gpu, ...] | None
    platform: Platform | None
    notes: tuple[Note, ...] = ()


def read(
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
    if len(specs) > _MOST:
        raise UsageError(
            f"{len(specs)} GPUs are more than one machine has", hint="use `--machine` for several machines"
        )
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
