"""Where a lock is made: what was given, the environment it is for, the installer that resolves."""

from __future__ import annotations

import os
import sys

from torchpick.environment import requirements, targets
from torchpick.environment.requirements import Given, Requirements
from torchpick.errors import InstallerError, UsageError
from torchpick.install.lock.resolution import Aim
from torchpick.install.plan import Installation, Order
from torchpick.installers import tools
from torchpick.installers.installer import Installer
from torchpick.installers.pip import PipInstaller
from torchpick.model.lock import LockEnvironment
from torchpick.model.machine import Machine, Platform
from torchpick.model.noun import Noun
from torchpick.model.pythons import marker_applies, marker_facts
from torchpick.session import Session

# The first pip whose dry run takes the metadata alone (`prepare_linked_requirements_more` stands behind
# the dry run's end since 25.3; read in 22.2 to 26.3).
OLDEST_PIP = (25, 3)
# A project's own files, of which uv reads what the project needs.
_PROJECTS = ("pyproject.toml", "setup.py", "setup.cfg")


class LockOrder(Noun):
    """What `torchpick lock` is asked; `most` is how many bytes of a file may be downloaded for its hash."""

    given: Given
    installer: str
    no_deps: bool
    most: int


class Ground(Noun):
    """What a lock is made of."""

    session: Session
    order: LockOrder
    asked: Requirements


def aim_of(machine: Machine, ground: Ground) -> Aim:
    """The environment that the lock is for."""
    python = machine.python
    env = LockEnvironment(machine.platform.name, python.version, python.free_threaded)
    aim = Aim(env, _local(machine, ground), machine.platform.glibc)
    if aim.python is None and python.free_threaded:
        hint = "name one with `--python PATH`, on a machine of that platform"
        raise UsageError(f"{env.label}: packages for a free-threaded Python are only found with one at hand", hint=hint)
    return aim


def _local(machine: Machine, ground: Ground) -> str | None:
    """The interpreter to resolve with, where the machine is this computer."""
    request = ground.session.request
    elsewhere = request.machine or request.platform or request.glibc or request.macos
    elsewhere = elsewhere or ground.session.environ.get("TORCHPICK_PLATFORM")
    program = machine.python.executable
    return program if not elsewhere and program is not None and os.path.isfile(program) else None


def installation_of(ground: Ground, aim: Aim) -> Installation:
    """The installer's view: the interpreter of the environment, or ours where it lies elsewhere."""
    env = aim.environment
    if aim.python is not None:
        target = targets.read(aim.python, env.python, free_threaded=env.free_threaded, environ=ground.session.environ)
    else:
        target = targets.Target(sys.executable, env.python, sys.prefix, ())
    # What is installed binds no lock.
    order = Order(ground.order.given, _wanted(ground, aim), upgrade=True, no_deps=ground.order.no_deps)
    return Installation(ground.session, order, ground.asked, target, _applies(ground.asked, env, target.full_version))


def _applies(asked: Requirements, environment: LockEnvironment, full_version: str | None) -> dict[str, bool]:
    """Which markers hold in the environment; without markers the packaging library is not loaded."""
    texts = requirements.markers(asked)
    facts = marker_facts(environment.python, full_version, Platform.parse(environment.platform))
    return {text: marker_applies(text, facts) for text in texts}


def _wanted(ground: Ground, aim: Aim) -> str:
    """Which installer resolves: for an environment elsewhere only uv, as pip judges markers by its own Python."""
    wanted = ground.order.installer
    if aim.python is not None:
        return wanted
    label = aim.environment.label
    if wanted == "pip":
        hint = "leave out `--installer pip`, or run it there with `--python PATH`"
        raise UsageError(f"pip resolves for its own machine only, and not for {label}", hint=hint)
    if ground.session.uv is None:
        hint = "install uv (`python -m pip install uv`) or name it in $UV"
        raise InstallerError(f"only uv resolves for {label} from here, and there is none", hint=hint)
    return "uv"


def installer_of(ground: Ground, installation: Installation) -> Installer:
    """The installer that resolves for a lock, which asks more of pip than an installation does."""
    installer = installation.installer
    if not isinstance(installer, PipInstaller):
        return installer
    free = ground.order.installer == "auto" and ground.session.uv is not None
    projects = [path for path in ground.asked.opaque if os.path.basename(path) in _PROJECTS]
    if projects:
        if free:
            return installation.installer_of("uv")
        raise UsageError(f"pip does not take {projects[0]} for requirements", hint="install uv, or `--installer uv`")
    if tools.version_of(installer.version) < OLDEST_PIP:
        if free:
            return installation.installer_of("uv")
        oldest = ".".join(map(str, OLDEST_PIP))
        raise InstallerError(
            f"pip {installer.version} downloads every wheel to name it; {oldest} and newer do not",
            hint=f"`{installation.target.python} -m pip install -U pip`, or `--installer uv`",
            code="OLD_INSTALLER",
        )
    if installer.cooldown is not None:
        hint = "unset it for this run, or `--installer uv`"
        raise InstallerError(
            f"{installer.cooldown.source} sets uploaded-prior-to, and the wheel host's pages have no dates",
            hint=hint,
            code="COOLDOWN",
        )
    return installer
