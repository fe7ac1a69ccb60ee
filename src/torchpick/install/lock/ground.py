"""Where a lock is for: an environment with nothing in it, on this computer or elsewhere, and who resolves there."""

from __future__ import annotations

import os
import re
import sys
from functools import cached_property

from torchpick.environment import requirements, targets
from torchpick.environment.inherited import Inherited
from torchpick.environment.requirements import Requirements
from torchpick.environment.targets import Target
from torchpick.errors import InstallerError, UsageError
from torchpick.index.pages import fetcher
from torchpick.install.plan import Installation, Order
from torchpick.installers import tools
from torchpick.installers.command import Command
from torchpick.installers.installer import Installer
from torchpick.installers.jobs import Job
from torchpick.installers.pip import PipInstaller
from torchpick.model.build import Build
from torchpick.model.machine import Machine, Note
from torchpick.model.noun import Noun
from torchpick.model.pythons import marker_applies, marker_facts
from torchpick.model.versions import numbers
from torchpick.session import Session

# The first pip whose dry run takes the metadata alone (`prepare_linked_requirements_more` stands behind
# the dry run's end since 25.3; read in 22.2 to 26.3).
OLDEST_PIP = (25, 3)
# uv 0.13.8 knows these versions of glibc by name; the tags of torch's own wheels ask for 2.17 or 2.28.
_GLIBCS = ((2, 17), (2, 28), *((2, minor) for minor in range(31, 41)))
_UV_PLATFORMS = {
    "windows-x86_64": "x86_64-pc-windows-msvc",
    "windows-arm64": "aarch64-pc-windows-msvc",
    "macos-arm64": "aarch64-apple-darwin",
    "macos-x86_64": "x86_64-apple-darwin",
}


class LockInstaller(Noun):
    """An installer that resolves for the machine of a lock; where that is elsewhere, which only uv can, it is said."""

    chosen: Installer
    name: str
    notes: tuple[Note, ...]
    inherited: Inherited
    machine: Machine
    here: bool

    def alone(self, job: Job) -> bool:  # noqa: ARG002 # a lock names every file of the family, with its hash
        return False

    def shared(self, job: Job) -> bool:  # noqa: ARG002 # triton's too
        return True

    def command(self, job: Job) -> Command:
        return self.chosen.command(job)

    def resolver(self, job: Job) -> Command:
        return self._turned(self.chosen.resolver(job), job.pick.build)

    def reporter(self, job: Job) -> Command:
        return self._turned(self.chosen.reporter(job), job.pick.build)

    def _turned(self, command: Command, build: Build) -> Command:
        argv = command.argv
        if self.name == "pip":
            place = argv.index("install") + 1
            # Where an index has no metadata file beside a wheel, pip would fetch the whole wheel to learn its needs.
            return command._replace(
                argv=(*argv[:place], "--ignore-installed", "--use-feature=fast-deps", *argv[place:])
            )
        if self.here:
            return command
        place = argv.index("--python")
        words = ("--python-version", self.machine.python.version, "--python-platform", uv_platform(self.machine))
        # uv takes an Apple machine for one of macOS 13 where nothing is said.
        macos = macos_of(build)
        more = {"MACOSX_DEPLOYMENT_TARGET": macos} if macos is not None else {}
        return command._replace(argv=(*argv[:place], *words, *argv[place + 2 :]), set={**command.set, **more})


def uv_platform(machine: Machine) -> str:
    """The platform as uv calls it, with the newest glibc it knows that is not newer than the machine's."""
    platform = machine.platform
    if platform.name in _UV_PLATFORMS:
        return _UV_PLATFORMS[platform.name]
    has = numbers(platform.glibc)[:2] if platform.glibc is not None else (2, 28)
    newest = max((each for each in _GLIBCS if each <= has), default=_GLIBCS[0])
    return f"{platform.name.partition('-')[2]}-manylinux_{newest[0]}_{newest[1]}"


def macos_of(build: Build) -> str | None:
    """The oldest macOS that the build runs on, by its tag: `macosx_14_0_arm64` → `14.0`."""
    found = [re.match(r"macosx_(\d+)_(\d+)_", tag) for tag in build.tags]
    return next((f"{match[1]}.{match[2]}" for match in found if match), None)


class LockInstallation(Installation):
    """The order in an environment in which nothing is installed."""

    @property
    def machine(self) -> Machine:
        return self.session.machines[0]

    @cached_property
    def installer(self) -> Installer:
        chosen, here = self._chosen, _program(self.session, self.machine) is not None
        return LockInstaller(chosen, chosen.name, chosen.notes, chosen.inherited, self.machine, here)

    @property
    def _chosen(self) -> Installer:
        """Who resolves: elsewhere only uv, as pip judges markers by its own Python; of pips only a new one."""
        if _program(self.session, self.machine) is None:
            self._check_elsewhere()
            return self.installer_of("uv")
        installer = self.installer_of(self.order.installer)
        if not isinstance(installer, PipInstaller):
            return installer
        is_old = tools.version_of(installer.version) < OLDEST_PIP
        if (is_old or self.asked.opaque) and self.order.installer == "auto" and self.session.uv is not None:
            return self.installer_of("uv")
        if is_old:
            oldest = ".".join(map(str, OLDEST_PIP))
            raise InstallerError(
                f"pip {installer.version} downloads every wheel to name it; {oldest} and newer do not",
                hint=f"`{self.target.python} -m pip install -U pip`, or `--installer uv`",
                code="OLD_INSTALLER",
            )
        return installer

    def _check_elsewhere(self) -> None:
        if self.order.installer == "pip":
            hint = "leave out `--installer pip`, or run it there with `--python PATH`"
            raise UsageError(f"pip resolves for its own machine only, and not for {label(self.machine)}", hint=hint)
        if self.session.uv is None:
            hint = "install uv (`python -m pip install uv`) or name it in $UV"
            raise InstallerError(f"only uv resolves for {label(self.machine)} from here, and there is none", hint=hint)


def look(session: Session, order: Order) -> LockInstallation:
    """Read what there is; raises where a lock could only fail."""
    # What is asked for stands in the order: a session's requirements are of torch's family alone.
    session = session.asking(session.request._replace(requirements=()))
    fetch = fetcher(session.environ, offline=session.offline)
    asked = requirements.read(order.given, session.environ, fetch)
    if not asked.wanted and not asked.opaque:
        order = order._replace(given=order.given._replace(words=("torch",)))
        asked = requirements.read(order.given, session.environ, fetch)
    for each in asked.wanted:
        if each.editable or os.path.isdir(each.place):
            raise folder_refused(f"`{each.text}`")
    machine, *others = session.machines
    if others:
        hint = "lock for one of them at a time, each in a file of its own: `-o pylock.NAME.toml`"
        raise UsageError(f"a lock is for one machine, and {len(others) + 1} were given", hint=hint)
    target = _target(session, machine)
    # What is installed binds no lock.
    return LockInstallation(session, order._replace(upgrade=True), asked, target, _applies(asked, machine, target))


def _target(session: Session, machine: Machine) -> Target:
    """The environment of the interpreter, with nothing in it but its pip, or ours for one that lies elsewhere."""
    python, program = machine.python, _program(session, machine)
    if program is not None:
        target = targets.read(program, python.version, free_threaded=python.free_threaded, environ=session.environ)
        return target._replace(installed={"pip": target.pip} if target.pip is not None else {})
    if python.free_threaded:
        text = f"{label(machine)}: packages for a free-threaded Python are only found with one at hand"
        raise UsageError(text, hint="name one with `--python PATH`, on a machine of that platform")
    return Target(sys.executable, python.version, sys.prefix, ())


def _program(session: Session, machine: Machine) -> str | None:
    """The interpreter to resolve with, where the machine is this computer."""
    request = session.request
    elsewhere = request.machine or request.platform or request.glibc or request.macos
    elsewhere = elsewhere or session.environ.get("TORCHPICK_PLATFORM")
    program = machine.python.executable
    return program if not elsewhere and program is not None and os.path.isfile(program) else None


def _applies(asked: Requirements, machine: Machine, target: Target) -> dict[str, bool]:
    """Which markers hold in the environment; without markers the packaging library is not loaded."""
    texts = requirements.markers(asked)
    facts = marker_facts(machine.python.version, target.full_version, machine.platform)
    return {text: marker_applies(text, facts) for text in texts}


def label(machine: Machine) -> str:
    """The environment in words."""
    python = machine.python
    return f"Python {python.version}{'t' if python.free_threaded else ''} on {machine.platform.name}"


def folder_refused(name: str) -> UsageError:
    hint = "build a wheel of it and name that, or lock what it needs: `-r pyproject.toml`"
    return UsageError(f"{name} is a folder, which has no hash that a lock could hold", hint=hint)
