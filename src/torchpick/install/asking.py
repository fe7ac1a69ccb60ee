"""What is asked, in which target, and what binds it: collected once, for all that installs, plans or locks."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from torchpick.decide.answer import Answer, Question
from torchpick.decide.demands import PackageDemand, of_family
from torchpick.decide.searchfacts import Needs
from torchpick.environment import distributions, interpreter
from torchpick.environment.distributions import Environment
from torchpick.environment.requirements import Requested, RequirementArgs, Requirements, read_requirements
from torchpick.environment.world import World
from torchpick.errors import RequirementError, TorchpickError, UsageError
from torchpick.install.installers import (
    OLDEST_PIP,
    OLDEST_PIP_FOR_LOCKS,
    Installer,
    choose_installer,
    find_target,
    find_uv,
)
from torchpick.install.question import find_prefix, read_wish
from torchpick.install.user_settings import UserSettings, as_limits, check_passed_on, read_settings
from torchpick.model.build import DEFAULT_INDEX, TRIO
from torchpick.model.machine import Machine
from torchpick.model.package import Catalog
from torchpick.model.pick import Wish
from torchpick.model.versions import marker_applies, marker_facts
from torchpick.run import Run, one_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.install.places import PlacedProject
    from torchpick.install.policies import Policies


class Order(NamedTuple):
    """What is asked beside the request that decides."""

    args: RequirementArgs
    installer: str = "auto"
    upgrade: bool = False
    no_deps: bool = False
    allow_mixed: bool = False
    passed_on: tuple[str, ...] = ()
    only_planned: bool = False
    for_lock: bool = False


def file_rules(only_binary: Sequence[str], no_binary: Sequence[str], *, pre: bool) -> tuple[str, ...]:
    """Which files may be taken, in the words that pip and uv share."""
    words = [word for name in only_binary for word in ("--only-binary", name)]
    words += [word for name in no_binary for word in ("--no-binary", name)]
    return (*words, *(("--pre",) if pre else ()))


class TargetQuestion:
    """An order in a target. `elsewhere` is the machine it is for, where that is not this computer."""

    def __init__(
        self, run: Run, order: Order, requirements: Requirements, target: Environment, elsewhere: Machine | None = None
    ) -> None:
        self.run, self.order, self.requirements = run, order, requirements
        self.target, self.elsewhere = target, elsewhere

    @cached_property
    def machine(self) -> Machine:
        return one_of(self.run.find_machines())

    @cached_property
    def installer(self) -> Installer:
        """Which installer does the work: elsewhere only uv, as pip judges markers by its own Python."""
        installer = "uv" if self.elsewhere is not None and self.order.installer == "auto" else self.order.installer
        oldest = OLDEST_PIP_FOR_LOCKS if self.order.for_lock else OLDEST_PIP
        return choose_installer(installer, self.target, find_uv(self.run.environ), self.settings, oldest)

    @cached_property
    def settings(self) -> UserSettings:
        """The user's settings, those of the variables alone for another machine."""
        return read_settings(self.run, None if self.elsewhere else self.target.prefix)

    @cached_property
    def policies(self) -> Policies:
        """What binds the choice of files: of the installer that will do the work, or of both where none is chosen."""
        from torchpick.install.policies import read_policies  # torch's family comes by address

        words = (*self.order.passed_on, *(("--no-deps",) if self.order.no_deps else ()))
        return read_policies(self.settings, self.binding, self.requirements, words)

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
    def wanted(self) -> tuple[Requested, ...]:
        """The requirements whose marker holds in the target."""
        return tuple(requested for requested in self.requirements.wanted if self.holds(requested.marker))

    @cached_property
    def placed(self) -> tuple[PlacedProject, ...]:
        """What is asked for by its place, torch's family aside."""
        wanted = [requested for requested in self.wanted if requested.place and requested.name not in TRIO]
        if not wanted:
            return ()
        from torchpick.install.places import project_at

        return tuple(map(project_at, wanted))

    def holds(self, marker: str) -> bool:
        """Whether a marker holds in the target; without one the packaging library is not loaded."""
        return not marker or marker_applies(marker, self._facts)

    @cached_property
    def _facts(self) -> Mapping[str, str]:
        python = self.machine.python
        return marker_facts(python.version, self.target.python.exact, self.machine.platform.name, python.implementation)

    @property
    def is_of_family(self) -> bool:
        """Whether torch and its companions alone are installed, each as a release: all of it is in the table."""
        names = {requested.name for requested in self.wanted}
        more = self.requirements.opaque or self.order.args.groups or any(requested.place for requested in self.wanted)
        return names <= TRIO and not (more or self.order.only_planned)

    def answer_or_needs(self, catalog: Catalog, more: tuple[PackageDemand, ...] = ()) -> Answer | Needs:
        """The answer by what is known of packages, and with more demands; or what has to be learnt first."""
        question = self.question._replace(wanted=(*self.question.wanted, *more))
        # Of the family alone no more builds are judged than the pick takes, which loads less.
        return self.run.answer_or_needs(
            question, lambda: catalog, self.run.find_machines(), everything=not self.is_of_family
        )

    @cached_property
    def question(self) -> Question:
        for requested in self.wanted:
            _check_torch(requested)
        placed = {project.name for project in self.placed if project.name and not project.why}
        demands = tuple(
            PackageDemand(requested.name, "" if requested.name in placed else requested.specifier, requested.extras)
            for requested in self.wanted
            if requested.name and (requested.name in placed or requested.specifier or not requested.place)
        )
        wish = read_wish(self.run.without_requirements())
        limits = (limit for limit in self.requirements.limits if self.holds(limit.marker))
        bound = wish._replace(limits=tuple(dict.fromkeys((*as_limits(limits, wish.index_base), *wish.limits))))
        stays = None
        if not (self.elsewhere or self.order.upgrade or any(requested.name == "torch" for requested in self.wanted)):
            stays = installed_torch(wish, self.target)
        if {demand.name for demand in demands} <= TRIO and not self.order.only_planned:
            bound, demands = of_family(bound, demands), ()
        return Question(bound, demands, stays, self.order.allow_mixed)


def _check_torch(requested: Requested) -> None:
    """Refuse a torch by its sources, or by the bytes of another build."""
    if requested.name in TRIO and requested.place and not requested.specifier:
        hint = "request a release, such as `torch==2.14.1`, or run pip yourself; `torchpick list` shows what runs"
        message = f"{requested.source} is not a wheel, so it is not known which GPUs it will support"
        raise RequirementError(message, hint=hint)
    if requested.hashed and requested.name == "torch" and "+" not in requested.specifier:
        hint = "pin the exact build there, such as `torch==2.14.1+cu126` with its hash, or leave torch out of that file"
        raise RequirementError(f"{requested.where} pins the bytes of another torch by their hash", hint=hint)


def installed_torch(wish: Wish, target: Environment) -> tuple[str, str | None, tuple[Wish, ...]] | None:
    """The torch of the target; what somebody built themselves is no build of the table."""
    version = target.installed.get("torch", "")
    plain, plus, label = version.partition("+")
    if not plain.replace(".", "").isdigit() or (plus and not label.replace(".", "").isalnum()):
        return None
    # Without a label it may be the default index's own, where no backend is asked for.
    may_be_default = not plus and not wish.backends and wish.channel == "stable"
    wishes = (wish, wish._replace(backends=(DEFAULT_INDEX,))) if may_be_default else (wish,)
    return version, None if plus else distributions.torch_facts(target.packages).cuda, wishes


def read_question(run: Run, order: Order) -> TargetQuestion:
    """Read what there is to install into the target; raises where an installation could only fail."""
    _check_machine(run)
    check_passed_on(order.passed_on)
    requirements = _read_requirements(run, order)
    if not requirements.wanted and not requirements.opaque and not order.args.groups:
        raise UsageError("nothing to install is named", hint="such as `torchpick install torch torchvision`")
    target = find_target(run)
    distributions.check_installable(target, order.passed_on)
    return TargetQuestion(run, order, requirements, target)


def read_plan_question(run: Run, order: Order) -> TargetQuestion:
    """Read what there is to plan, torch where nothing is, in an environment of the machine that is described."""
    requirements = _read_requirements(run, order)
    if not (requirements.wanted or requirements.opaque or order.args.groups):
        order = order._replace(args=order.args._replace(words=("torch",)))
        requirements = _read_requirements(run, order)
    machine = one_of(run.find_machines())
    is_here = find_prefix(run) is not None and not (run.request.glibc or run.request.macos)
    program = machine.python.executable if is_here else None
    elsewhere = machine if program is None else None
    return TargetQuestion(run, order, requirements, _empty_target(run, machine, program), elsewhere)


def _read_requirements(run: Run, order: Order) -> Requirements:
    """What is asked for; what lies in a folder or a file has the name that it says of itself."""
    requirements = read_requirements(order.args, run.environ, run.fetch)
    if all(requested.name or not requested.place for requested in requirements.wanted):
        return requirements
    from torchpick.install.places import with_names

    return with_names(requirements)


def _empty_target(run: Run, machine: Machine, program: str | None) -> Environment:
    """The environment of the interpreter, with nothing in it but its pip, or ours for one that lies elsewhere."""
    python = machine.python
    if program is None:
        return Environment(python._replace(executable=sys.executable, exact=None), sys.prefix)
    return distributions.read_environment(python, run.environ, metadata=False).emptied


def _check_machine(run: Run) -> None:
    """Packages are installed on this computer, whatever machine is given."""
    platforms = {
        "--platform": run.request.platform,
        "TORCHPICK_PLATFORM": run.environ.get("TORCHPICK_PLATFORM"),
        "--gpu": run.request.gpus and run.find_machine().platform.name,
        "--machine": None if run.request.machine is None else run.request.machine[0],
    }
    for name, value in platforms.items():
        if value and value != interpreter.running().platform.name:
            hint = "`torchpick url` and `torchpick env --shell dockerfile` answer for machines elsewhere"
            raise UsageError(f"`{name}` is another machine, and packages are installed on this one", hint=hint)


def read_lock_question(run: Run, order: Order) -> TargetQuestion:
    """Read what there is, in an empty environment; raises where a lock could only fail."""
    # What is asked for stands in the order: a run's requirements are of torch's family alone.
    question = read_plan_question(run.without_requirements(), order._replace(upgrade=True, for_lock=True))
    for requested in question.requirements.wanted:
        if requested.editable or os.path.isdir(requested.place):
            raise folder_refused(f"`{requested.text}`")
    python, active = question.machine.python, interpreter.find_environment(World.here())
    if active is not None and active.is_others and active.source == python.source:
        interpreter.installable(python, run.request.python)
    if question.elsewhere is not None and python.free_threaded:
        text = (
            f"{name_environment(question.machine)}: packages for a free-threaded Python are only found with one at hand"
        )
        raise UsageError(text, hint="name one with `--python PATH`, on a machine of that platform")
    return question


def name_environment(machine: Machine) -> str:
    python = machine.python
    return f"Python {python.version}{'t' if python.free_threaded else ''} on {machine.platform.name}"


def folder_refused(name: str) -> UsageError:
    hint = "build a wheel of it and name that, or lock what it needs: `-r pyproject.toml`"
    return UsageError(f"{name} is a folder or a repository, which has no hash that a lock could hold", hint=hint)
