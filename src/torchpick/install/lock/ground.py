"""Where a lock is for: an environment with nothing in it, on this computer or elsewhere, and who resolves there."""

from __future__ import annotations

import os
import sys
from functools import cached_property

from torchpick.environment import distributions, interpreter, requirements
from torchpick.environment.distributions import Environment
from torchpick.environment.world import World
from torchpick.errors import InstallerError, UsageError
from torchpick.install.asking import Order, TargetQuestion, read_asked
from torchpick.installers import tools
from torchpick.installers.choice import Installer
from torchpick.installers.uv import UvInstaller
from torchpick.model.machine import Machine
from torchpick.session import Session

# The first pip whose dry run takes the metadata alone (`prepare_linked_requirements_more` stands behind
# the dry run's end since 25.3; read in 22.2 to 26.3).
OLDEST_PIP = (25, 3)


class LockQuestion(TargetQuestion):
    """The question of an environment in which nothing is installed."""

    @cached_property
    def installer(self) -> Installer:
        """Who resolves: elsewhere only uv, as pip judges markers by its own Python; of pips only a new one."""
        if self.elsewhere is not None and self.order.installer != "pip":
            return self.installer_of("uv")
        installer = self.installer_of(self.order.installer)
        if isinstance(installer, UvInstaller):
            return installer
        is_old = tools.version_of(installer.version) < OLDEST_PIP
        if (is_old or self.asked.opaque) and self.order.installer == "auto" and self.session.uv is not None:
            return self.installer_of("uv")
        if is_old:
            oldest = ".".join(map(str, OLDEST_PIP))
            raise InstallerError(
                f"pip {installer.version} downloads every wheel to name it; {oldest} and newer do not",
                hint=f"`{self.target.program} -m pip install -U pip`, or `--installer uv`",
                code="OLD_INSTALLER",
            )
        return installer


def look(session: Session, order: Order) -> LockQuestion:
    """Read what there is; raises where a lock could only fail."""
    # What is asked for stands in the order: a session's requirements are of torch's family alone.
    session = session.bare
    asked = read_asked(session, order)
    if not asked.wanted and not asked.opaque:
        order = order._replace(given=order.given._replace(words=("torch",)))
        asked = requirements.read(order.given, session.environ, session.fetch)
    for each in asked.wanted:
        if each.editable or os.path.isdir(each.place):
            raise folder_refused(f"`{each.text}`")
    machine, *others = session.machines
    here = interpreter.environment(World.here())
    if here is not None and here.is_others and here.source == machine.python.source:
        interpreter.installable(machine.python, session.request.python)
    if others:
        hint = "lock for one of them at a time, each in a file of its own: `-o pylock.NAME.toml`"
        raise UsageError(f"a lock is for one machine, and {len(others) + 1} were given", hint=hint)
    program = _program(session, machine)
    # What is installed binds no lock.
    elsewhere = machine if program is None else None
    return LockQuestion(session, order._replace(upgrade=True), asked, _target(session, machine, program), elsewhere)


def _target(session: Session, machine: Machine, program: str | None) -> Environment:
    """The environment of the interpreter, with nothing in it but its pip, or ours for one that lies elsewhere."""
    python = machine.python
    if program is not None:
        return distributions.read_target(
            program, python.version, free_threaded=python.free_threaded, environ=session.environ
        ).emptied
    if python.free_threaded:
        text = f"{label(machine)}: packages for a free-threaded Python are only found with one at hand"
        raise UsageError(text, hint="name one with `--python PATH`, on a machine of that platform")
    return Environment(sys.executable, sys.prefix, python.version)


def _program(session: Session, machine: Machine) -> str | None:
    """The interpreter to resolve with, where the machine is this computer."""
    request = session.request
    elsewhere = request.machine or request.platform or request.glibc or request.macos
    elsewhere = elsewhere or session.environ.get("TORCHPICK_PLATFORM")
    program = machine.python.executable
    return program if not elsewhere and program is not None and os.path.isfile(program) else None


def label(machine: Machine) -> str:
    """The environment in words."""
    python = machine.python
    return f"Python {python.version}{'t' if python.free_threaded else ''} on {machine.platform.name}"


def folder_refused(name: str) -> UsageError:
    hint = "build a wheel of it and name that, or lock what it needs: `-r pyproject.toml`"
    return UsageError(f"{name} is a folder, which has no hash that a lock could hold", hint=hint)
