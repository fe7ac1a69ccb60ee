"""This computer, or a specified one, as a Machine: a specified fact replaces the detected one and no other."""

from __future__ import annotations

import sys
import time

from torchpick.environment import interpreter
from torchpick.environment.interpreter import Interpreter
from torchpick.environment.world import World
from torchpick.errors import UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.model.machine import TIMEOUT_S, Driver, Gpu, Machine, Note, Platform, Python
from torchpick.model.pythons import version_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


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
    knowledge: Knowledge | None = None,
    waiting: Callable[[str], None] | None = None,
    world: World | None = None,
) -> Machine:
    """The machine; what is specified is not probed, and was checked by the caller.

    `Machine.trouble` is set where a GPU is present and does not answer. `waiting` is called once, after two seconds,
    with the names of the sources that are still silent.
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
        from torchpick.machine import vendors

        seen = vendors.look(
            world,
            deadline,
            place.platform,
            knowledge=knowledge or Knowledge(world.environ),
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
    from torchpick.machine import narrow

    return narrow.narrow(machine, visible_only=visible_only, only=only)


def _place(  # noqa: PLR0913
    told: Platform | None, glibc: str | None, python: str | None, world: World, deadline: float, *, told_gpus: bool
) -> tuple[Interpreter, tuple[Note, ...]]:
    """The interpreter and the platform, as far as they are not specified."""
    if told is not None and told.name != interpreter.own(world).platform.name:
        if not told_gpus:
            raise UsageError(
                f"`--platform {told.name}` is not this computer's, so its GPUs must be specified",
                hint="add `--gpu sm_86` (or `--gpu none`), or leave out `--platform`",
            )
        return _elsewhere(told, glibc, python, world, deadline)
    place = interpreter.choose(python, world, deadline)
    if told is not None and place.platform.name != told.name:
        place = place._replace(platform=told)
    if place.platform.os == "macos":
        from torchpick.machine import apple

        told_version = None if told is None else told.macos
        place = place._replace(platform=place.platform._replace(macos=told_version or apple.version()))
    if glibc is not None:
        place = place._replace(platform=place.platform._replace(glibc=glibc, libc="glibc"))
    return place, ()


def _elsewhere(
    told: Platform, glibc: str | None, python: str | None, world: World, deadline: float
) -> tuple[Interpreter, tuple[Note, ...]]:
    """Another platform: nothing of this computer says anything about it, but the Python's version unless specified."""
    platform = told._replace(glibc=glibc)
    notes: tuple[Note, ...] = ()
    if platform.os == "linux" and glibc is None:
        text = "the C library of the specified platform is not checked; specify it with `--glibc 2.28`"
        notes = (Note("GLIBC_ASSUMED", text),)
    version = version_of(python) if python is not None else None
    if python is not None and version is None:
        # A path names an interpreter here, and its version is what counts there.
        return Interpreter(interpreter.choose(python, world, deadline).python, platform), notes
    number, free_threaded = version or (f"{sys.version_info[0]}.{sys.version_info[1]}", False)
    source = "told" if version else "the version of the Python that runs torchpick"
    return Interpreter(Python(number, "cp", free_threaded, None, source), platform), notes


def _told_driver(found: Driver | None, told: Driver | None) -> Driver | None:
    """A specified version also replaces the detected CUDA version, which belongs to the other driver."""
    if told is None or told.version is not None:
        return told or found
    return (found or Driver(None))._replace(cuda=told.cuda, cuda_source=told.cuda_source)


if __name__ == "__main__":
    from torchpick.environment import alone

    raise SystemExit(alone.show(detect().to_json()))
