"""This computer, or what was told of one, as a Machine: each told fact replaces its own and no other."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

from torchpick.detect import interpreter, narrow
from torchpick.detect.interpreter import Interpreter
from torchpick.detect.world import World
from torchpick.errors import UsageError
from torchpick.model.arch import Arch
from torchpick.model.machine import PLATFORMS, Driver, Gpu, Machine, Note, Platform, Python
from torchpick.model.versions import is_dotted

TIMEOUT_S = 10.0


def detect(  # noqa: PLR0913  # every fact of a machine is an argument
    *,
    gpus: Sequence[Gpu] | None = None,
    driver: str | None = None,
    cuda_driver: str | None = None,
    platform: str | None = None,
    glibc: str | None = None,
    python: str | None = None,
    gpus_mode: str = "all",
    only: Sequence[int] = (),
    trust_pci: bool = False,
    timeout: float = TIMEOUT_S,
    pci_capability: Callable[[int], Arch | None] | None = None,
    last_branch: Callable[[Arch], int | None] | None = None,
    serves_amd: Callable[[Arch], bool] | None = None,
    waiting: Callable[[str], None] | None = None,
    world: World | None = None,
) -> Machine:
    """The machine; what is told is not probed. Raises UsageError for facts that cannot be told together.

    `Machine.trouble` is set where a GPU is there and gives no answer. `waiting` is called once, after two seconds, with
    the names of the sources that are still silent.
    """
    world = world or World.here()
    deadline = time.monotonic() + timeout
    for flag, told in (("--driver", driver), ("--cuda-driver", cuda_driver), ("--glibc", glibc)):
        if told is not None and not is_dotted(told):
            raise UsageError(f"{flag} {told}: not a version number", hint=f"write it as in `{flag} 2.28`")
    if gpus is not None and gpus_mode == "visible":
        raise UsageError(
            "--gpus visible needs this computer's own GPUs, and others were told",
            hint="leave out `--gpus visible`, or `--gpu` and TORCHPICK_GPU",
        )
    place, notes = _place(platform, glibc, python, world, deadline, told_gpus=gpus is not None)
    if gpus is not None:
        counted, left_out = narrow.one_vendor([gpu._replace(index=index) for index, gpu in enumerate(gpus)])
        machine = Machine(
            platform=place.platform,
            python=place.python,
            driver=_told_driver(None, driver, cuda_driver),
            gpus=counted,
            notes=(*notes, *left_out),
        )
    else:
        from torchpick.detect import vendors

        seen = vendors.look(
            world,
            deadline,
            place.platform,
            pci_capability=pci_capability,
            last_branch=last_branch,
            serves_amd=serves_amd,
            trust_pci=trust_pci,
            exact_order=gpus_mode == "visible",
            waiting=waiting,
        )
        machine = Machine(
            platform=place.platform,
            python=place.python,
            driver=_told_driver(seen.driver, driver, cuda_driver),
            gpus=seen.gpus,
            notes=(*notes, *seen.notes),
            trouble=seen.trouble,
        )
    return narrow.narrow(machine, mode=gpus_mode, only=only)


def _place(  # noqa: PLR0913
    told: str | None, glibc: str | None, python: str | None, world: World, deadline: float, *, told_gpus: bool
) -> tuple[Interpreter, tuple[Note, ...]]:
    """The interpreter and the platform, as far as they are not told."""
    if told is not None and told not in PLATFORMS:
        raise UsageError(f"there is no platform {told!r}", hint=f"one of {', '.join(PLATFORMS)}")
    if told is not None and told != interpreter.own(world).platform.name:
        if not told_gpus:
            raise UsageError(
                f"--platform {told} is not this computer's, so its GPUs must be told",
                hint="add `--gpu sm_86` (or `--gpu none`), or leave out --platform",
            )
        return _elsewhere(told, glibc, python, world, deadline)
    place = interpreter.choose(python, world, deadline)
    if told is not None and place.platform.name != told:
        place = place._replace(platform=Platform.parse(told))
    if glibc is not None:
        place = place._replace(platform=place.platform._replace(glibc=glibc, libc="glibc"))
    return place, ()


def _elsewhere(
    told: str, glibc: str | None, python: str | None, world: World, deadline: float
) -> tuple[Interpreter, tuple[Note, ...]]:
    """Another platform: nothing of this computer says anything about it, but the Python's version unless told."""
    platform = Platform.parse(told, glibc)
    notes: tuple[Note, ...] = ()
    if platform.os == "linux" and glibc is None:
        text = "the C library of the told platform is not judged; `--glibc 2.28` tells it"
        notes = (Note("GLIBC_ASSUMED", text),)
    version = interpreter.version_of(python) if python is not None else None
    if python is not None and version is None:
        # A path names an interpreter here, and its version is what counts there.
        return Interpreter(interpreter.choose(python, world, deadline).python, platform), notes
    number, free_threaded = version or (f"{sys.version_info[0]}.{sys.version_info[1]}", False)
    source = "told" if version else "the version of the Python that runs torchpick"
    return Interpreter(Python(number, "cp", free_threaded, None, source), platform), notes


def _told_driver(found: Driver | None, version: str | None, cuda: str | None) -> Driver | None:
    """A told driver version also replaces the CUDA that was found, which is a fact of the other driver."""
    if version is not None:
        return Driver(version, cuda, "told", "told" if cuda else None)
    if cuda is not None:
        return (found or Driver(None))._replace(cuda=cuda, cuda_source="told")
    return found


if __name__ == "__main__":
    from torchpick.detect import alone

    raise SystemExit(alone.show(detect().to_json()))
