"""One run: the request, where it was made, and every fact it needs, each looked up once and lazily."""

from __future__ import annotations

import os

from torchpick.decide import answer as answers
from torchpick.decide import demands, resolve
from torchpick.decide.answer import Answer, Question
from torchpick.environment.world import World
from torchpick.errors import InstallerError, TorchpickError, UsageError, silent
from torchpick.knowledge.compat import Knowledge
from torchpick.machine import given
from torchpick.model.build import DEFAULT_INDEX
from torchpick.model.machine import Machine
from torchpick.model.pick import Pick
from torchpick.model.request import MACHINE_FIELDS, Request, Wish
from torchpick.model.table import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    from torchpick.decide.search import Needs
    from torchpick.environment.distributions import Environment
    from torchpick.errors import Report
    from torchpick.install.user_settings import UserSettings
    from torchpick.model.fleet import Fleet
    from torchpick.model.package import Catalog
    from torchpick.model.request import Limit

    T = TypeVar("T")


def looked_up_once(look: Callable[[Session], T]) -> T:
    """A property of a session that all sessions of its run share, where they are about the same machine."""
    return property(lambda session: session.once(look.__name__, lambda: look(session)))  # type: ignore[return-value]


class Session:
    """A request, the variables it was made under, and what follows from them.

    Everything is looked up when it is first asked for, and once. `asking` gives the session of another request, which
    shares all that the two have in common: of one run there is one detection and one reading of the table.
    """

    __slots__ = ("_known", "environ", "installer", "knowledge", "report", "request")

    def __init__(
        self,
        request: Request,
        environ: Mapping[str, str] | None = None,
        report: Report = silent,
        *,
        installer: str = "auto",
    ) -> None:
        """`installer` is the one whose settings files bind: `pip`, `uv`, or the one that would be chosen."""
        self.request = request
        self.installer = installer
        self.environ: Mapping[str, str] = os.environ if environ is None else environ
        self.report = report
        self.knowledge = Knowledge(self.environ)
        self._known: dict[object, object] = {}

    def asking(self, request: Request) -> Session:
        """The session of another request in the same run."""
        other = Session(request, self.environ, self.report, installer=self.installer)
        other.knowledge, other._known = self.knowledge, self._known
        return other

    @property
    def bare(self) -> Session:
        """The session of the same request without its requirements."""
        return self.asking(self.request._replace(requirements=()))

    def once(self, what: str, look: Callable[[], T], *of: object) -> T:
        """The fact, looked up once for the machine that the request is about and for what else it depends `of`."""
        key = (what, *(getattr(self.request, name) for name in (*MACHINE_FIELDS, "strict")), *of)
        if key not in self._known:
            self._known[key] = look()
        return self._known[key]  # type: ignore[return-value]  # kept under the name of what looked it up

    @property
    def wish(self) -> Wish:
        """What the request and everything that binds it want of torch and its companions."""
        wish = demands.wish_of(self.request, self.environ)._replace(limits=self.limits)
        if not self.request.requirements:
            return wish
        return demands.narrowed(wish, self.request.requirements, lambda: self.machines[0])

    @property
    def question(self) -> Question:
        """What the request asks, with everything that binds it."""
        if not self.request.requirements:
            return Question(self.wish)
        return Question(self.wish, demands.package_demands(self.request.requirements, lambda: self.machines[0]))

    @property
    def strangers(self) -> list[str]:
        """What is asked for that does not lie on torch's index."""
        return [demand.text for demand in self.question.wanted if demand.name not in self.knowledge.family]

    @property
    def base(self) -> str:
        """The wheel host, or the mirror that stands for it."""
        return demands.wish_of(self.request, self.environ).index_base

    def fetch(self, url: str) -> bytes:
        """A requirements file on another computer."""
        from torchpick.index.pages import fetcher

        return fetcher(self.environ, offline=self.offline)(url)

    @looked_up_once
    def limits(self) -> tuple[Limit, ...]:
        """The constraints that bind unasked: of variables, and of the settings of the environment where it is here."""
        from torchpick.environment import settingsfiles

        here = self.settings_prefix
        prefix = here if here and settingsfiles.files_bind(self.environ, here) else None
        if prefix is None and not settingsfiles.variables_bind(self.environ):
            return ()
        from torchpick.environment import toolsettings
        from torchpick.install.user_settings import as_limits, unasked_constraints
        from torchpick.knowledge.locations import cache_dir

        named = self.installer if prefix is None or self.installer != "auto" else self._chosen()
        python = "" if self.request.machine is not None else self.machine.python.version
        places = (toolsettings.store_in(cache_dir(self.environ)), *((toolsettings.store_of(here),) if here else ()))
        return as_limits(unasked_constraints(self.own_settings(prefix), named, python, places), self.base)

    def _chosen(self) -> str | None:
        """Which installer would install here; None where nothing could be installed."""
        from torchpick.install.choice import choose_installer

        try:
            return choose_installer("auto", self.target, self.uv, self.own_settings(self.target.prefix)).name
        except TorchpickError:
            return None

    @property
    def settings_prefix(self) -> str | None:
        """The environment of this computer that the request is about; None where it is about another machine."""
        request = self.request
        if request.machine is not None or request.platform or self.environ.get("TORCHPICK_PLATFORM"):
            return None
        try:
            program = self.machine.python.executable
        except TorchpickError:  # an interpreter that does not run has no settings
            return None
        if program is None:
            return None
        from torchpick.environment import world

        return world.prefix_of(program)

    @property
    def given_gpus(self) -> bool:
        """Whether the GPUs are given by flag, file or variable, and not those of this computer."""
        return (
            self.request.gpus is not None or self.request.machine is not None or bool(self.environ.get("TORCHPICK_GPU"))
        )

    @property
    def offline(self) -> bool:
        """Whether no network may be used."""
        return self.request.offline or bool(self.environ.get("TORCHPICK_OFFLINE"))

    # The machine.

    @looked_up_once
    def machine(self) -> Machine:
        """The one machine that flags and this computer make, its trouble included; what is given is not looked up."""
        facts = given.read(self.request, self.knowledge)
        if facts.gpus is not None and len(facts.gpus) < 2 and not facts.only:
            machine = given.machine(facts, facts.gpus, World.here())
        else:
            from torchpick.machine import computer

            machine = computer.detect(facts, knowledge=self.knowledge, report=self.report)
        machine = machine._replace(notes=(*facts.notes, *machine.notes))
        if facts.gpus is None and facts.driver is None:
            return machine
        return resolve.complete_driver(given.checked(machine, facts), self.knowledge.rules.drivers)

    @looked_up_once
    def listed(self) -> Fleet:
        """The machines of `--machine`, as the files have them."""
        from torchpick.machine import machinefiles

        return machinefiles.listed(self.request, self.knowledge)

    @property
    def fleet(self) -> Fleet:
        """The machines of `--machine` that the pick is for, without those left out."""
        from torchpick.machine import machinefiles

        return machinefiles.prepared(self.listed, self.knowledge.rules.drivers, self.wish, strict=self.request.strict)

    @property
    def machines(self) -> tuple[Machine, ...]:
        """The machines to pick for: those of a file, or the one. DetectionError if a GPU does not answer."""
        if self.request.machine is not None:
            fleet = self.fleet
            first, *rest = fleet.machines
            return (first._replace(notes=(*fleet.notes, *first.notes)), *rest)
        if (error := given.no_answer(self.machine)) is not None:
            raise error
        return (self.machine,)

    # The pick.

    @property
    def table(self) -> Table:
        """The table with the builds of the channel for the machines' platforms."""
        return self.table_of(self.machines)

    def table_of(self, machines: tuple[Machine, ...], channel: str | None = None, wish: Wish | None = None) -> Table:
        """The table with the builds for these machines' platforms, the default index's where the wish is for these."""
        wish = wish or demands.wish_of(self.request, self.environ)
        own = DEFAULT_INDEX in wish.backends
        return self.knowledge.table(
            (machine.platform.name for machine in machines),
            channel or self.request.channel,
            base=wish.index_base,
            default_index=own,
            user_base=self.user_base if own else None,
        )

    @looked_up_once
    def user_base(self) -> str | None:
        """Distinguishes the user's own index from others in the cache; None where the settings name none."""
        from torchpick.index import index_places

        try:
            return index_places.of_user(self.environ).base
        except InstallerError:
            return None

    def answer(
        self,
        question: Question | None = None,
        *,
        machines: tuple[Machine, ...] | None = None,
        everything: bool = True,
        catalog: Catalog | None = None,
    ) -> Answer:
        """The answer to a question (the request's own) for these machines (those of the request), by what is known.

        Without `everything` only as many builds are judged as it takes.
        """
        question = question or self.question
        fleet = self.fleet if machines is None and self.request.machine is not None else None
        machines = fleet.machines if fleet is not None else self.machines if machines is None else machines

        def catalogs() -> Catalog:
            return self.catalog(one_of(machines)) if catalog is None else catalog

        given = self.answer_or_needs(question, catalogs, machines, everything=everything)
        if not isinstance(given, answers.Answer):
            raise TypeError("the table's catalog asks for nothing")
        if fleet is not None:
            return given._replace(pick=given.pick._replace(fleet=fleet, notes=(*fleet.notes, *given.pick.notes)))
        if not given.unknown:
            return given
        from torchpick.install import shell

        return answers.saying_unjudged(given, shell.line(["torchpick", "plan", *self.request.requirements]))

    def answer_or_needs(
        self,
        question: Question,
        catalogs: Callable[[], Catalog],
        machines: tuple[Machine, ...],
        *,
        everything: bool = True,
    ) -> Answer | Needs:
        """The answer to a question by this catalog, or what has to be learnt first."""
        table = self.table_of(machines, wish=question.wish)
        self.knowledge.check_backends(question.wish, table)

        def tables(wish: Wish) -> Table:
            return table if wish.backends == question.wish.backends else self.table_of(machines, wish=wish)

        given = answers.answer(question, machines, tables, catalogs, everything=everything)
        if isinstance(given, answers.Answer) and given.stack is not None:
            return answers.with_family(given, given.stack, self.knowledge.family)
        return given

    def catalog(self, machine: Machine) -> Catalog:
        """What the table knows of packages on this machine's platform."""
        from torchpick.knowledge import packages

        name = machine.platform.name
        return self.once("packages", lambda: packages.catalog_of(self.knowledge, self.environ, name), name)

    def pick(self, *, everything: bool = True) -> Pick:
        """The pick, or NoBuildError where nothing runs."""
        return answers.decided(self.answer(everything=everything), self.knowledge.rules).pick

    # Where it is installed, and by what.

    @looked_up_once
    def target(self) -> Environment:
        """The environment to install into, of the target interpreter; a version that was given must be its own."""
        from torchpick.environment import distributions, interpreter, world

        (machine,) = self.machines
        python = interpreter.installable(machine.python, self.request.python)
        program = str(python.executable)
        tool = interpreter.tool_environment(world.prefix_of(program))
        return distributions.read_target(
            program, python.version, free_threaded=python.free_threaded, environ=self.environ, tool=tool
        )

    def own_settings(self, prefix: str | None) -> UserSettings:
        """The settings of the user's pip and uv in an environment; without one those of variables alone."""
        from torchpick.install.user_settings import read_user_settings

        base = self.base
        return self.once("settings", lambda: read_user_settings(self.environ, prefix, self.fetch, base), prefix, base)

    @looked_up_once
    def uv(self) -> str | None:
        """The uv that would be used, if there is one."""
        from torchpick.install.choice import find_uv

        return find_uv(self.environ)

    @looked_up_once
    def store(self) -> str:
        """The folder for the files that an installer is given."""
        from torchpick.install.command import store_folder
        from torchpick.knowledge.locations import cache_dir

        return store_folder(cache_dir(self.environ))


def one_of(machines: tuple[Machine, ...]) -> Machine:
    """The machine that packages are for; UsageError where there are several."""
    first, *others = machines
    if others:
        hint = "ask for one of them at a time; `torchpick fleet` answers for many"
        raise UsageError(f"packages are for one machine, and {len(machines)} were given", hint=hint)
    return first
