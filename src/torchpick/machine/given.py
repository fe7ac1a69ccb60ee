"""The machine as the user specifies it: flags and their variables, checked; nothing is detected here."""

from __future__ import annotations

from torchpick.errors import UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.model.machine import PLATFORMS, TIMEOUT_S, Driver, Gpu, Note, Platform
from torchpick.model.noun import Noun
from torchpick.model.request import Request
from torchpick.model.versions import is_dotted, numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


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
        from torchpick.machine import given_gpus

        gpus, platform, notes = given_gpus.read(specs, platform, request.macos, knowledge)
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
