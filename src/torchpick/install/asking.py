"""What is asked, in which target, and what binds it: collected once, for all that installs, plans or locks."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from torchpick.decide.answer import Answer, Question, TorchToKeep
from torchpick.decide.demands import PackageDemand, of_family
from torchpick.decide.search import Needs
from torchpick.environment import distributions, interpreter, requirements
from torchpick.environment.distributions import Environment
from torchpick.environment.requirements import Requested, RequirementArgs, Requirements
from torchpick.environment.world import World
from torchpick.errors import InstallerError, RequirementError, TorchpickError, UsageError
from torchpick.install.choice import Installer, choose_installer, find_uv, leading_numbers
from torchpick.install.installers import UvInstaller
from torchpick.install.question import find_prefix, find_target, read_limits, read_settings, read_wish
from torchpick.install.user_settings import UserSettings, as_limits, check_passed_on
from torchpick.model.build import DEFAULT_INDEX, TRIO
from torchpick.model.machine import Machine
from torchpick.model.package import Catalog
from torchpick.model.pythons import marker_applies, marker_facts
from torchpick.model.request import Limit, Wish
from torchpick.run import Run, one_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.install.places import PlacedProject
    from torchpick.install.policies import Policies


class Order(NamedTuple):
    """What is asked beside the request that decides."""

    given: RequirementArgs
    installer: str = "auto"
    upgrade: bool = False
    no_deps: bool = False
    allow_mixed: bool = False
    passed_on: tuple[str, ...] = ()
    only_planned: bool = False


def file_rules(only_binary: Sequence[str], no_binary: Sequence[str], *, pre: bool) -> tuple[str, ...]:
    """Which files may be taken, in the words that pip and uv share."""
    words = [word for name in only_binary for word in ("--only-binary", name)]
    words += [word for name in no_binary for word in ("--no-binary", name)]
    return (*words, *(("--pre",) if pre else ()))


class TargetQuestion:
    """An order in a target. `elsewhere` is the machine it is for, where that is not this computer."""

    def __init__(
        self, run: Run, order: Order, asked: Requirements, target: Environment, elsewhere: Machine | None = None
    ) -> None:
        self.run, self.order, self.asked, self.target, self.elsewhere = run, order, asked, target, elsewhere
        self.as_stack = False  # whether torch and its companions alone are answered as a whole environment too

    @cached_property
    def machine(self) -> Machine:
        return one_of(self.run.find_machines())

    @cached_property
    def installer(self) -> Installer:
        """Which installer does the work."""
        return self.installer_of(self.order.installer)

    def installer_of(self, wanted: str) -> Installer:
        return choose_installer(wanted, self.target, find_uv(self.run.environ), self.own)

    @property
    def own(self) -> UserSettings:
        """The user's settings, those of the variables alone for another machine."""
        return read_settings(self.run, None if self.elsewhere else self.target.prefix)

    @cached_property
    def policies(self) -> Policies:
        """What binds the choice of files: of the installer that will do the work, or of both where none is chosen."""
        from torchpick.install.policies import read_policies  # torch's family comes by address

        words = (*self.order.passed_on, *(("--no-deps",) if self.order.no_deps else ()))
        return read_policies(self.own, self.binding, self.asked, words)

    @cached_property
    def binding(self) -> str | None:
        """The installer whose settings bind; None where none is chosen."""
        if self.elsewhere is not None:
            return None if self.order.installer == "auto" else self.order.installer
        try:
            return self.installer.name
        except TorchpickError:  # there is none, and nothing is installed
            return None

    @cached_property
    def placed(self) -> tuple[PlacedProject, ...]:
        """What is asked for by its place, torch's family aside."""
        if not any(each.place for each in self.wanted):
            return ()
        from torchpick.install.places import placed_projects

        return placed_projects(self.wanted)

    @cached_property
    def wanted(self) -> tuple[Requested, ...]:
        """The requirements whose marker holds in the target."""
        return tuple(each for each in self.asked.wanted if self.holds(each.marker))

    def holds(self, marker: str) -> bool:
        """Whether a marker holds in the target; without one the packaging library is not loaded."""
        return not marker or marker_applies(marker, self._facts)

    @cached_property
    def _facts(self) -> Mapping[str, str]:
        python = self.machine.python
        return marker_facts(python.version, self.target.full_version, self.machine.platform, python.implementation)

    @cached_property
    def limits(self) -> tuple[Limit, ...]:
        """The constraints of the order, and those that bind unasked."""
        mine = (each for each in self.asked.limits if self.holds(each.marker))
        base = self.wish.index_base
        return tuple(dict.fromkeys((*as_limits(mine, base), *read_limits(self.run, base))))

    @cached_property
    def wish(self) -> Wish:
        """What the flags say."""
        return read_wish(self.run.without_requirements())

    @property
    def is_of_family(self) -> bool:
        """Whether torch and its companions alone are asked for, each as a release: all of it is in the table."""
        names = {each.name for each in self.wanted}
        placed = any(each.place for each in self.wanted)
        more = self.asked.opaque or self.order.given.groups
        return names <= TRIO and not (placed or more or self.as_stack)

    def answer_or_needs(self, catalog: Catalog, more: tuple[PackageDemand, ...] = ()) -> Answer | Needs:
        """The answer by what is known of packages, and with more demands; or what has to be learnt first."""
        question = self.question._replace(wanted=(*self.question.wanted, *more))
        # Of the family alone no more builds are judged than the pick takes, which loads less.
        return self.run.answer_or_needs(
            question, lambda: catalog, self.run.find_machines(), everything=not self.is_of_family
        )

    @cached_property
    def question(self) -> Question:
        """Everything that binds."""
        for each in self.wanted:
            _check(each)
        placed = {each.name for each in self.placed if each.name and not each.why}
        demands = tuple(
            PackageDemand(each.name, "" if each.name in placed else each.specifier, each.extras)
            for each in self.wanted
            if each.name and (each.name in placed or each.specifier or not each.place)
        )
        wish = self.wish._replace(limits=self.limits)
        if {demand.name for demand in demands} <= TRIO and not self.as_stack:
            return Question(of_family(wish, demands), (), self._stays, self.order.allow_mixed)
        return Question(wish, demands, self._stays, self.order.allow_mixed)

    @cached_property
    def _stays(self) -> TorchToKeep | None:
        """The installed torch, unless another is asked for."""
        if self.elsewhere or self.order.upgrade or any(each.name == "torch" for each in self.wanted):
            return None
        return installed_torch(self.wish, self.target)


def _check(each: Requested) -> None:
    """Refuse a torch by its sources, or by the bytes of another build."""
    if each.name in TRIO and each.place and not each.specifier:
        hint = "request a release, such as `torch==2.14.1`, or run pip yourself; `torchpick list` shows what runs"
        message = f"{each.source} is not a wheel, so it is not known which GPUs it will support"
        raise RequirementError(message, hint=hint)
    if each.hashed and each.name == "torch" and "+" not in each.specifier:
        hint = "pin the exact build there, such as `torch==2.14.1+cu126` with its hash, or leave torch out of that file"
        raise RequirementError(f"{each.where} pins the bytes of another torch by their hash", hint=hint)


def installed_torch(wish: Wish, target: Environment) -> TorchToKeep | None:
    """The torch of the target; what somebody built themselves is no build of the table."""
    version = target.installed.get("torch", "")
    plain, plus, label = version.partition("+")
    if not plain.replace(".", "").isdigit() or (plus and not label.replace(".", "").isalnum()):
        return None
    # Without a label it may be the default index's own, where no backend is asked for.
    own = not plus and not wish.backends and wish.channel == "stable"
    wishes = (wish, wish._replace(backends=(DEFAULT_INDEX,))) if own else (wish,)
    return TorchToKeep(version, None if plus else distributions.cuda_of(target.packages), wishes)


def read_question(run: Run, order: Order) -> TargetQuestion:
    """Read what there is to install into the target; raises where an installation could only fail."""
    _check_place(run)
    check_passed_on(order.passed_on)
    asked = read_requirements(run, order)
    if not asked.wanted and not asked.opaque and not order.given.groups:
        raise UsageError("nothing to install is named", hint="such as `torchpick install torch torchvision`")
    target = find_target(run)
    distributions.check_installable(target, order.passed_on)
    return TargetQuestion(run, order, asked, target)


def read_requirements(run: Run, order: Order) -> Requirements:
    """What is asked for; what lies in a folder or a file has the name that it says of itself."""
    read = requirements.read_requirements(order.given, run.environ, run.fetch)
    if all(each.name or not each.place for each in read.wanted):
        return read
    from torchpick.install.places import with_names

    return with_names(read)


def read_plan_question(run: Run, order: Order) -> TargetQuestion:
    """The same for an environment that is only planned, on the machine that the request describes."""
    asked = read_requirements(run, order)
    machine = run.find_machines()[0]
    python = machine.python
    if python.executable is None or find_prefix(run) is None:
        return TargetQuestion(run, order, asked, Environment(sys.executable, sys.prefix, python.version), machine)
    target = distributions.read_target(
        python.executable, python.version, free_threaded=python.free_threaded, environ=run.environ
    )
    return TargetQuestion(run, order, asked, target.emptied)


def _check_place(run: Run) -> None:
    """Packages are installed on this computer, whatever machine is given."""
    given = {
        "--platform": run.request.platform,
        "TORCHPICK_PLATFORM": run.environ.get("TORCHPICK_PLATFORM"),
        "--gpu": run.request.gpus and run.find_machine().platform.name,
        "--machine": None if run.request.machine is None else run.request.machine[0],
    }
    here = interpreter.running().platform.name
    for name, value in given.items():
        if value and value != here:
            hint = "`torchpick url` and `torchpick env --shell dockerfile` answer for machines elsewhere"
            raise UsageError(f"`{name}` is another machine, and packages are installed on this one", hint=hint)


# The first pip whose dry run takes the metadata alone (`prepare_linked_requirements_more` stands behind
# the dry run's end since 25.3; read in 22.2 to 26.3).
OLDEST_PIP_FOR_LOCKS = (25, 3)


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
        is_old = leading_numbers(installer.version) < OLDEST_PIP_FOR_LOCKS
        if (is_old or self.asked.opaque) and self.order.installer == "auto" and find_uv(self.run.environ) is not None:
            return self.installer_of("uv")
        if is_old:
            oldest = ".".join(map(str, OLDEST_PIP_FOR_LOCKS))
            raise InstallerError(
                f"pip {installer.version} downloads every wheel to name it; {oldest} and newer do not",
                hint=f"`{self.target.program} -m pip install -U pip`, or `--installer uv`",
                code="OLD_INSTALLER",
            )
        return installer


def read_lock_question(run: Run, order: Order) -> LockQuestion:
    """Read what there is; raises where a lock could only fail."""
    # What is asked for stands in the order: a session's requirements are of torch's family alone.
    run = run.without_requirements()
    asked = read_requirements(run, order)
    if not asked.wanted and not asked.opaque:
        order = order._replace(given=order.given._replace(words=("torch",)))
        asked = requirements.read_requirements(order.given, run.environ, run.fetch)
    for each in asked.wanted:
        if each.editable or os.path.isdir(each.place):
            raise folder_refused(f"`{each.text}`")
    machine, *others = run.find_machines()
    here = interpreter.find_environment(World.here())
    if here is not None and here.is_others and here.source == machine.python.source:
        interpreter.installable(machine.python, run.request.python)
    if others:
        hint = "lock for one of them at a time, each in a file of its own: `-o pylock.NAME.toml`"
        raise UsageError(f"a lock is for one machine, and {len(others) + 1} were given", hint=hint)
    program = _program_here(run, machine)
    # What is installed binds no lock.
    elsewhere = machine if program is None else None
    return LockQuestion(run, order._replace(upgrade=True), asked, _lock_target(run, machine, program), elsewhere)


def _lock_target(run: Run, machine: Machine, program: str | None) -> Environment:
    """The environment of the interpreter, with nothing in it but its pip, or ours for one that lies elsewhere."""
    python = machine.python
    if program is not None:
        return distributions.read_target(
            program, python.version, free_threaded=python.free_threaded, environ=run.environ
        ).emptied
    if python.free_threaded:
        text = f"{name_environment(machine)}: packages for a free-threaded Python are only found with one at hand"
        raise UsageError(text, hint="name one with `--python PATH`, on a machine of that platform")
    return Environment(sys.executable, sys.prefix, python.version)


def _program_here(run: Run, machine: Machine) -> str | None:
    """The interpreter to resolve with, where the machine is this computer."""
    request = run.request
    elsewhere = request.machine or request.platform or request.glibc or request.macos
    elsewhere = elsewhere or run.environ.get("TORCHPICK_PLATFORM")
    program = machine.python.executable
    return program if not elsewhere and program is not None and os.path.isfile(program) else None


def name_environment(machine: Machine) -> str:
    """The environment in words."""
    python = machine.python
    return f"Python {python.version}{'t' if python.free_threaded else ''} on {machine.platform.name}"


def folder_refused(name: str) -> UsageError:
    hint = "build a wheel of it and name that, or lock what it needs: `-r pyproject.toml`"
    return UsageError(f"{name} is a folder, which has no hash that a lock could hold", hint=hint)
