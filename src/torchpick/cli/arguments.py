"""The flags that tell the machine."""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser, Namespace

from torchpick.errors import UsageError
from torchpick.model.arch import Arch
from torchpick.model.machine import Gpu, Machine


def add_machine_flags(parser: ArgumentParser) -> None:
    """Add the flags that replace a fact of this computer, or narrow it."""
    told = parser.add_argument_group("the machine, where it is not this one")
    told.add_argument("--gpu", action="append", metavar="SPEC", help="sm_61, 6.1, gfx1100 or none; repeat it")
    told.add_argument("--driver", metavar="VERSION", help="the NVIDIA driver's version, as in 580.95.05")
    told.add_argument("--cuda-driver", metavar="X.Y", help="the CUDA version that the driver speaks")
    told.add_argument("--platform", metavar="OS-CPU", help="as in linux-x86_64")
    told.add_argument("--glibc", metavar="X.Y", help="the C library's version")
    told.add_argument("--python", metavar="X.Y|PATH", help="the Python that torch is for")
    told.add_argument("--gpus", choices=("all", "visible"), default="all", help="all (default), or as the shell shows")
    told.add_argument("--only", metavar="INDEX,…", help="only the GPUs with these numbers in `torchpick detect`")
    told.add_argument(
        "--trust-pci", action="store_true", help="take the capability from the PCI id where the driver is silent"
    )


def detect(args: Namespace) -> Machine:
    """The machine that the flags and this computer give."""
    from torchpick.detect import computer

    return computer.detect(
        gpus=_gpus(args.gpu),
        driver=args.driver,
        cuda_driver=args.cuda_driver,
        platform=args.platform,
        glibc=args.glibc,
        python=args.python,
        gpus_mode=args.gpus,
        only=_only(args.only),
        trust_pci=args.trust_pci,
        timeout=timeout(os.environ.get("TORCHPICK_DETECT_TIMEOUT")),
        waiting=_say_waiting,
    )


def timeout(text: str | None) -> float:
    """TORCHPICK_DETECT_TIMEOUT in seconds, or the default."""
    from torchpick.detect import computer

    if not text:
        return computer.TIMEOUT_S
    seconds = float(text) if re.fullmatch(r"\d{1,4}(\.\d{1,3})?", text) else 0.0
    if not 0.1 <= seconds <= 600:
        raise UsageError(
            f"TORCHPICK_DETECT_TIMEOUT={text[:50]}: not a number of seconds from 0.1 to 600", hint="unset it, or say 30"
        )
    return seconds


def _say_waiting(sources: str) -> None:
    import sys

    if sys.stderr.isatty():
        print(f"waiting for the GPU driver ({sources}) …", file=sys.stderr)


def _gpus(specs: list[str] | None) -> tuple[Gpu, ...] | None:
    if specs is None:
        return None
    if specs == ["none"]:
        return ()
    return tuple(_gpu(index, spec) for index, spec in enumerate(specs))


def _gpu(index: int, spec: str) -> Gpu:
    match = re.fullmatch(r"(?:sm_)?(\d{1,2})\.?(\d)", spec)
    try:
        arch = Arch.of_capability(int(match[1]), int(match[2])) if match else Arch.parse(spec)
    except ValueError as error:
        raise UsageError(f"--gpu {spec}: {error}", hint="say `--gpu sm_61`, `--gpu gfx1100` or `--gpu none`") from error
    return Gpu(index, "amd" if arch.kind == "gfx" else "nvidia", None, arch)


def _only(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    if not re.fullmatch(r"\d{1,4}(,\d{1,4}){0,99}", text):
        raise UsageError(f"--only {text}: not numbers between commas", hint="say `--only 0,2`")
    return tuple(dict.fromkeys(int(part) for part in text.split(",")))
