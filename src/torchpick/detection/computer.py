"""This computer, or what was told of one, as a Machine: each told fact replaces its own and no other."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

from torchpick.detection import interpreter
from torchpick.detection.interpreter import Interpreter
from torchpick.detection.world import World
from torchpick.errors import UsageError
from torchpick.model.arch import Arch
from torchpick.model.machine import TIMEOUT_S, Driver, Gpu, Machine, Note, Platform, Python
from torchpick.model.pythons import version_of


def detect(  # noqa: PLR0913  # every fact of a machine is an argument
    *,
    gpus: Sequence[Gpu] | None = None,
    driver: Driver | None = None,
    platform: Platform | None = None,
    glibc: str | None = None,
    python: str | None = None,
    visible_only: bool = False,
    only: Sequence[int] = (),
    trust_pci: bool = False,
    timeout: float = TIMEOUT_S,
    pci_capability: Callable[[int], Arch | None] | None = None,
    last_branch: Callable[[Arch], int | None] | None = None,
    serves_amd: Callable[[Arch], bool] | None = None,
    waiting: Callable[[str], None] | None = None,
    world: World | None = None,
) -> Machine:
    """The machine; what is told is not probed, and was checked by whoever told it.

    `Machine.trouble` is set where a GPU is there and gives no answer. `waiting` is called once, after two seconds, with
    the names of the sources that are still silent.
    """
    world = world or World.here()
    deadline = time.monotonic() + timeout
    place, notes = _place(platform, glibc, python, world, deadline, told_gpus=gpus is not None)
    if gpus is not None:
        machine = Machine(
            platform=place.platform,
            python=place.python,
            driver=driver,
            gpus=tuple(gpus),
            notes=notes,
        )
    else:
        from torchpick.detection import vendors

        seen = vendors.look(
            world,
            deadline,
            place.platform,
            pci_capability=pci_capability,
            last_branch=last_branch,
            serves_amd=serves_amd,
            trust_pci=trust_pci,
            exact_order=visible_only,
            waiting=waiting,
        )
        machine = Machine(
            platform=place.platform,
            python=place.python,
            driver=_told_driver(seen.driver, driver),
            gpus=seen.gpus,
            notes=(*notes, *seen.notes),
            trouble=seen.trouble,
        )
    if not visible_only and not only:
        return machine
    from torchpick.detection import narrow

    return narrow.narrow(machine, visible_only=visible_only, only=only)


def _place(  # noqa: PLR0913
    told: Platform | None, glibc: str | None, python: str | None, world: World, deadline: float, *, told_gpus: bool
) -> tuple[Interpreter, tuple[Note, ...]]:
    """The interpreter and the platform, as far as they are not told."""
    if told is not None and told.name != interpreter.own(world).platform.name:
        if not told_gpus:
            raise UsageError(
                f"`--platform {told.name}` is not this computer's, so its GPUs must be told",
                hint="add `--gpu sm_86` (or `--gpu none`), or leave out `--platform`",
            )
        return _elsewhere(told, glibc, python, world, deadline)
    place = interpreter.choose(python, world, deadline)
    if told is not None and place.platform.name != told.name:
        place = place._replace(platform=told)
    if glibc is not None:
        place = place._replace(platform=place.platform._replace(glibc=glibc, libc="glibc"))
    return place, ()


def _elsewhere(
    told: Platform, glibc: str | None, python: str | None, world: World, deadline: float
) -> tuple[Interpreter, tuple[Note, ...]]:
    """Another platform: nothing of this computer says anything about it, but the Python's version unless told."""
    platform = told._replace(glibc=glibc)
    notes: tuple[Note, ...] = ()
    if platform.os == "linux" and glibc is None:
        text = "the C library of the told platform is not judged; `--glibc 2.28` tells it"
        notes = (Note("GLIBC_ASSUMED", text),)
    version = version_of(python) if python is not None else None
    if python is not None and version is None:
        # A path names an interpreter here, and its version is what counts there.
        return Interpreter(interpreter.choose(python, world, deadline).python, platform), notes
    number, free_threaded = version or (f"{sys.version_info[0]}.{sys.version_info[1]}", False)
    source = "told" if version else "the version of the Python that runs torchpick"
    return Interpreter(Python(number, "cp", free_threaded, None, source), platform), notes


def _told_driver(found: Driver | None, told: Driver | None) -> Driver | None:
    """A told version also replaces the CUDA that was found, which is a fact of the other driver."""
    if told is None or told.version is not None:
        return told or found
    return (found or Driver(None))._replace(cuda=told.cuda, cuda_source=told.cuda_source)


if __name__ == "__main__":
    from torchpick.detection import alone

    raise SystemExit(alone.show(detect().to_json()))
