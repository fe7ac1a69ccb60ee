"""The facts of one run: its request, where it was made, and what follows from them, each found by a verb."""

from __future__ import annotations

import os

from torchpick.decide import answer as answers
from torchpick.decide import buildfit, demands
from torchpick.decide.answer import Answer, Question
from torchpick.environment.world import World
from torchpick.errors import InstallerError, UsageError, silent
from torchpick.knowledge.compat import Knowledge
from torchpick.machine import given
from torchpick.model import NamedTuple
from torchpick.model.address import redacted
from torchpick.model.build import DEFAULT_INDEX, TRIO
from torchpick.model.machine import Machine, Platform
from torchpick.model.pick import MACHINE_FIELDS, Request, Wish
from torchpick.model.table import Table
from torchpick.model.versions import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torchpick.decide.searchfacts import Needs
    from torchpick.errors import Report
    from torchpick.machine.given import MachineOverrides
    from torchpick.machine.kernel import LookOptions, Seen
    from torchpick.model.fleet import Fleet
    from torchpick.model.package import Catalog


class Hardware:
    """What was found of this computer: its GPUs and driver are looked for once, whatever is asked of them.

    Machines by what a request says of them, and the files of `--machine`, of which stdin can be read but once.
    """

    __slots__ = ("fleets", "machines", "seen")

    def __init__(self) -> None:
        self.seen: Seen | None = None
        self.machines: dict[Request, Machine] = {}
        self.fleets: dict[Request, Fleet] = {}

    def once(self, look: Callable[[LookOptions, Platform], Seen]) -> Callable[[LookOptions, Platform], Seen]:
        def look_once(how: LookOptions, platform: Platform) -> Seen:
            self.seen = self.seen or look(how, platform)
            return self.seen

        return look_once


class Run(NamedTuple):
    """A request, the variables it was made under, and who hears of progress.

    `installer` is the one whose settings files bind: `pip`, `uv`, or the one that would be chosen; `named_shell` is
    the one that `--shell` names.
    """

    request: Request
    environ: Mapping[str, str]
    report: Report
    installer: str
    knowledge: Knowledge
    hardware: Hardware
    named_shell: str = ""

    def with_request(self, request: Request) -> Run:
        """The run of another request, for which nothing is detected anew."""
        return self._replace(request=request)

    def without_requirements(self) -> Run:
        return self.with_request(self.request._replace(requirements=()))

    @property
    def has_given_gpus(self) -> bool:
        """Whether the GPUs are given by flag, file or variable, and not those of this computer."""
        request = self.request
        return request.gpus is not None or request.machine is not None or bool(self.environ.get("TORCHPICK_GPU"))

    @property
    def index_base(self) -> str:
        """The wheel host, or the mirror that stands for it."""
        return demands.wish_of(self.request, self.environ).index_base

    @property
    def offline(self) -> bool:
        """Whether no network may be used."""
        return self.request.offline or bool(self.environ.get("TORCHPICK_OFFLINE"))

    @property
    def shell(self) -> str:
        """The shell that printed commands are quoted for."""
        from torchpick.environment import shell

        return shell.current(self.environ, self.named_shell)

    # The machine.

    def find_machine(self) -> Machine:
        """The one machine that flags and this computer make, its trouble included; what is given is not looked for."""
        key, machines = _machine_part(self.request), self.hardware.machines
        if key not in machines:
            machines[key] = self._machine(given.read_overrides(self.request, self.knowledge))
        return machines[key]

    def _machine(self, facts: MachineOverrides) -> Machine:
        if facts.gpus is not None and len(facts.gpus) < 2 and not facts.only:
            machine = given.make_machine(facts, facts.gpus, World.here())
        else:
            from torchpick.machine import computer

            look = self.hardware.once(computer.look)
            machine = computer.detect(facts, knowledge=self.knowledge, look_for_gpus=look)
        machine = machine._replace(notes=(*facts.notes, *machine.notes))
        if facts.gpus is None and facts.driver is None:
            return machine
        return buildfit.complete_driver(given.check_jetson(machine, facts), self.knowledge.rules.drivers)

    def read_fleet(self) -> Fleet:
        """The machines of `--machine` that the pick is for, and those left out."""
        from torchpick.machine import machinefiles

        key, fleets = _machine_part(self.request), self.hardware.fleets
        if key not in fleets:
            fleets[key] = machinefiles.read_machines(self.request, self.knowledge)
        wish = demands.wish_of(self.request, self.environ)
        return machinefiles.prepare(fleets[key], self.knowledge.rules.drivers, wish, strict=self.request.strict)

    def find_machines(self) -> tuple[Machine, ...]:
        """The machines to pick for: those of a file, or the one. DetectionError if a GPU does not answer."""
        if self.request.machine is not None:
            fleet = self.read_fleet()
            first, *rest = fleet.machines
            return (first._replace(notes=(*fleet.notes, *first.notes)), *rest)
        return (self.find_machine().require(),)

    # The table, and an answer by it.

    def read_table(
        self, machines: tuple[Machine, ...] | None = None, channel: str | None = None, wish: Wish | None = None
    ) -> Table:
        """The table with the builds for these machines' platforms, the default index's where the wish is for these."""
        wish = wish or demands.wish_of(self.request, self.environ)
        default_index = DEFAULT_INDEX in wish.backends
        return self.knowledge.table(
            (machine.platform.name for machine in (self.find_machines() if machines is None else machines)),
            channel or self.request.channel,
            base=wish.index_base,
            default_index=default_index,
            user_base=self._user_base() if default_index else None,
        )

    def _user_base(self) -> str | None:
        """Distinguishes the user's own index from others in the cache; None where the settings name none."""
        from torchpick.index import index_places

        try:
            return index_places.of_user(self.environ).base
        except InstallerError:
            return None

    def read_catalog(self, machine: Machine) -> Catalog:
        """What the table knows of packages on this machine's platform."""
        from torchpick.knowledge import packages

        return packages.catalog_of(self.knowledge, machine.platform.name)

    def answer_or_needs(
        self,
        question: Question,
        catalogs: Callable[[], Catalog],
        machines: tuple[Machine, ...],
        *,
        everything: bool = True,
    ) -> Answer | Needs:
        """The answer to a question by this catalog, or what has to be learnt first."""
        table = self.read_table(machines, wish=question.wish)
        self.knowledge.check_backends(question.wish, table)

        def tables(wish: Wish) -> Table:
            return table if wish.backends == question.wish.backends else self.read_table(machines, wish=wish)

        answer = answers.answer(question, machines, tables, catalogs, everything=everything)
        if isinstance(answer, Answer) and answer.stack is not None:
            return answers.with_family(answer, answer.stack, self.knowledge.family)
        return answer

    def fetch(self, url: str) -> bytes:
        """A requirements file on another computer."""
        if self.offline:
            raise UsageError(f"{redacted(url)} is not on this computer, and `--offline` is given", hint="download it")
        from torchpick.index.client import Client

        with Client(environ=self.environ) as client:
            return client.get(url).body


def start_run(
    request: Request,
    environ: Mapping[str, str] | None = None,
    report: Report = silent,
    *,
    installer: str = "auto",
    shell: str = "",
) -> Run:
    """The run of a request; nothing is looked for yet."""
    environ = os.environ if environ is None else environ
    return Run(request, environ, report, installer, Knowledge(environ), Hardware(), shell)


def check_names(requirements: Sequence[str], command: str) -> None:
    """UsageError for what is no package, or nearly torch's name; a command of this name takes the right one."""
    if any(named(requirement) not in TRIO for requirement in requirements):
        from torchpick.decide.refusal import refuse

        refuse(requirements, command)


def _machine_part(request: Request) -> Request:
    return Request(strict=request.strict, **{name: getattr(request, name) for name in MACHINE_FIELDS})


def one_of(machines: tuple[Machine, ...]) -> Machine:
    """The machine that packages are for; UsageError where there are several."""
    first, *others = machines
    if others:
        hint = "ask for one of them at a time; `torchpick fleet` answers for many"
        raise UsageError(f"packages are for one machine, and {len(machines)} were given", hint=hint)
    return first
