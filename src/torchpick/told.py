"""What the user tells of the machine: flags and their variables, checked; nothing is detected here."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from torchpick.errors import UsageError
from torchpick.model.machine import PLATFORMS, TIMEOUT_S, Driver, Gpu, Platform
from torchpick.model.noun import Noun
from torchpick.model.versions import is_dotted, numbers
from torchpick.request import Request


class Told(Noun):
    """The told facts; None is not told. `gpus` empty means that there is none. `python` may be a version or a path."""

    gpus: tuple[Gpu, ...] | None = None
    driver: Driver | None = None
    platform: Platform | None = None
    glibc: str | None = None
    python: str | None = None
    visible_only: bool = False
    only: tuple[int, ...] | None = None
    trust_pci: bool = False
    timeout: float = TIMEOUT_S


def told(request: Request, capabilities: Collection[str], environ: Mapping[str, str]) -> Told:
    """Read flags and variables; a flag beats its variable."""
    specs = request.gpus
    if specs is None and environ.get("TORCHPICK_GPU"):
        specs = tuple(spec.strip() for spec in environ["TORCHPICK_GPU"].split(",") if spec.strip())
    if specs and request.visible_only:
        hint = "leave out `--gpus visible`: a told GPU is always counted"
        raise UsageError("`--gpus visible` asks for this computer's GPUs, and `--gpu` tells others", hint=hint)
    glibc = request.glibc
    if glibc is not None and request.platform is not None and not request.platform.startswith("linux"):
        raise UsageError(
            f"`--glibc` beside `--platform {request.platform}`, which has none", hint="leave one of them out"
        )
    if glibc is not None and not is_dotted(glibc):
        raise UsageError(f"`{glibc}` is no glibc version", hint="such as `--glibc 2.28`; `ldd --version` tells it")
    return Told(
        gpus=None if not specs else _gpus(specs, capabilities, environ),
        driver=_driver(request, environ),
        platform=_platform(_first(request.platform, environ, "TORCHPICK_PLATFORM")),
        glibc=glibc,
        python=request.python,
        visible_only=request.visible_only,
        only=_only(request.only),
        trust_pci=request.trust_pci,
        timeout=_timeout(environ.get("TORCHPICK_DETECT_TIMEOUT")),
    )


def _timeout(text: str | None) -> float:
    """TORCHPICK_DETECT_TIMEOUT in seconds."""
    if not text:
        return TIMEOUT_S
    seconds = float(text) if is_dotted(text) and text.count(".") < 2 else 0.0
    if not 0.1 <= seconds <= 600:
        raise UsageError(
            f"TORCHPICK_DETECT_TIMEOUT=`{text}` is no number of seconds from 0.1 to 600", hint="unset it, or say 30"
        )
    return seconds


def _first(flag: str | None, environ: Mapping[str, str], name: str) -> str | None:
    """The flag, else its variable; an empty variable is unset, an empty flag is a slip that its reader refuses."""
    return flag if flag is not None else environ.get(name) or None


def _gpus(specs: tuple[str, ...], capabilities: Collection[str], environ: Mapping[str, str]) -> tuple[Gpu, ...]:
    if any(spec.lower() == "none" for spec in specs):
        if len(specs) > 1:
            raise UsageError("`--gpu none` beside another GPU", hint="leave one of them out")
        return ()
    if len(specs) > 1024:
        raise UsageError(
            f"{len(specs)} GPUs are more than one machine holds", hint="use `--machine` for several machines"
        )
    return tuple(_gpu(spec, index, capabilities, environ) for index, spec in enumerate(specs))


def _gpu(spec: str, index: int, capabilities: Collection[str], environ: Mapping[str, str]) -> Gpu:
    from torchpick import gpuspec

    name, arch = gpuspec.parse(spec, capabilities, environ)
    vendor = "amd" if arch.kind == "gfx" else "nvidia"
    return Gpu(index=index, vendor=vendor, name=name, arch=arch, integrated=arch.capability in _INTEGRATED)


# Tegra's own GPUs share the processor's memory.
_INTEGRATED = frozenset({(5, 3), (6, 2), (7, 2), (8, 7), (11, 0)})


def _driver(request: Request, environ: Mapping[str, str]) -> Driver | None:
    version = _first(request.driver, environ, "TORCHPICK_DRIVER")
    cuda = _first(request.cuda_driver, environ, "TORCHPICK_CUDA_DRIVER")
    if version is not None and (not is_dotted(version) or not 300 <= numbers(version)[0] < 2000):
        looks = "; `--cuda-driver` takes the CUDA version" if is_dotted(version) else ""
        hint = f"`nvidia-smi` prints it, such as 580.95.05{looks}"
        raise UsageError(f"`{version}` is no NVIDIA driver version", hint=hint)
    if cuda is not None and (not is_dotted(cuda) or cuda.count(".") != 1 or not 7 <= numbers(cuda)[0] < 100):
        hint = "such as `--cuda-driver 12.8`; `--driver` takes the driver's own version"
        raise UsageError(f"`{cuda}` is no CUDA version", hint=hint)
    if version is None and cuda is None:
        return None
    return Driver(version, cuda, "told", None if cuda is None else "told")


def _platform(name: str | None) -> Platform | None:
    if name is None:
        return None
    if name not in PLATFORMS:
        close = _meant(name)
        hint = f"did you mean `{close}`?" if close else f"one of {', '.join(PLATFORMS)}"
        raise UsageError(f"`{name}` is none of the platforms that torchpick answers for", hint=hint)
    return Platform.parse(name)


def _meant(name: str) -> str | None:
    """The platform by other people's words for its parts, or but for a letter; another processor is never meant."""
    from difflib import get_close_matches
    from itertools import takewhile

    words = {"x64": "x86_64", "amd64": "x86_64", "x86-64": "x86_64", "win": "windows", "win32": "windows"}
    words |= {"darwin": "macos", "osx": "macos", "mac": "macos", "manylinux": "linux"}
    os = "".join(takewhile(str.isalnum, name.lower()))
    cpu = name.lower()[len(os) + 1 :]
    os, cpu = words.get(os, os), words.get(cpu, cpu)
    if cpu in ("arm64", "aarch64"):
        cpu = "aarch64" if os == "linux" else "arm64"
    close = get_close_matches(f"{os}-{cpu}", PLATFORMS, n=1, cutoff=0.85)
    return close[0] if close else None


def _only(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 5 for part in parts):
        raise UsageError(
            f"`--only {text}` is no list of GPU numbers", hint="such as `--only 0,2`; `torchpick detect` lists them"
        )
    return tuple(int(part) for part in parts)


def is_version(text: str) -> bool:
    """Whether `--python` names a version (3.12, 3.12.4, 3.14t) and not a path."""
    from torchpick.model.pythons import version_of

    return version_of(text) is not None
