"""One run: the request, where it was made, and every fact it needs, each looked up once and lazily."""

from __future__ import annotations

import os
import time

from torchpick.decide import driver_numbers, resolve, wishes
from torchpick.errors import DetectionError, InstallerError, NoBuildError, UsageError, silent
from torchpick.knowledge.compat import Knowledge
from torchpick.machine import given
from torchpick.model.build import DEFAULT_INDEX, backend_order
from torchpick.model.machine import PLATFORMS, Machine, Note, Python
from torchpick.model.pick import Pick
from torchpick.model.request import MACHINE_FIELDS, Request, Wish
from torchpick.model.table import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    from torchpick.environment.targets import Target
    from torchpick.errors import Report
    from torchpick.installers.inherits import OwnSettings
    from torchpick.model.fleet import Fleet
    from torchpick.model.verdict import Verdict

    T = TypeVar("T")


class Session:
    """A request, the variables it was made under, and what follows from them.

    Everything is looked up when it is first asked for, and once. `asking` gives the session of another request, which
    shares all that the two have in common: of one run there is one detection and one reading of the table.
    """

    __slots__ = ("_known", "environ", "knowledge", "report", "request")

    def __init__(self, request: Request, environ: Mapping[str, str] | None = None, report: Report = silent) -> None:
        self.request = request
        self.environ: Mapping[str, str] = os.environ if environ is None else environ
        self.report = report
        self.knowledge = Knowledge(self.environ)
        self._known: dict[object, object] = {}

    def asking(self, request: Request) -> Session:
        """The session of another request in the same run."""
        other = Session(request, self.environ, self.report)
        other.knowledge, other._known = self.knowledge, self._known
        return other

    def _once(self, what: str, look: Callable[[], T], *of: object) -> T:
        """The fact, looked up once for the machine that the request is about and for what else it depends `of`."""
        key = (what, *(getattr(self.request, name) for name in MACHINE_FIELDS), *of)
        if key not in self._known:
            self._known[key] = look()
        return self._known[key]  # type: ignore[return-value]  # kept under the name of what looked it up

    # The request.

    @property
    def wish(self) -> Wish:
        """What the request wants of the pick."""
        wish = wishes.of(self.request, self.environ)
        if not self.request.requirements:
            return wish
        from torchpick.decide import requested

        return requested.narrowed(wish, self.request.requirements, lambda: self.knowledge.family)

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

    @property
    def machine(self) -> Machine:
        """The one machine that flags and this computer make, its trouble included; what is given is not looked up."""
        return self._once("machine", self._machine)

    def _machine(self) -> Machine:
        from torchpick.machine import computer

        facts = given.read(self.request, self.knowledge)
        machine = computer.detect(facts, knowledge=self.knowledge, report=self.report)
        machine = machine._replace(notes=(*facts.notes, *machine.notes))
        if facts.gpus is None:
            return machine if facts.driver is None else driver_numbers.completed(machine, self.knowledge.rules.drivers)
        if len(machine.gpus) > 1:
            from torchpick.machine import narrow

            gpus, notes = narrow.one_vendor(machine.gpus)
            machine = machine._replace(gpus=gpus, notes=(*machine.notes, *notes))
        return driver_numbers.completed(machine, self.knowledge.rules.drivers)

    @property
    def listed(self) -> Fleet:
        """The machines of `--machine`, as the files have them."""
        from torchpick.machine import files

        return self._once("listed", lambda: files.listed(self.request, self.knowledge), self.request.strict)

    @property
    def fleet(self) -> Fleet:
        """The machines of `--machine` that the pick is for, without those left out."""
        from torchpick.machine import files

        return files.prepared(self.listed, self.knowledge.rules.drivers, self.wish, strict=self.request.strict)

    @property
    def machines(self) -> tuple[Machine, ...]:
        """The machines to pick for: those of a file, or the one. DetectionError if a GPU does not answer."""
        if self.request.machine is not None:
            fleet = self.fleet
            first, *rest = fleet.machines
            return (first._replace(notes=(*fleet.notes, *first.notes)), *rest)
        machine = self.machine
        if machine.trouble is not None:
            code, text, hint = machine.trouble
            raise DetectionError(text, hint=hint, code=code, machine=machine)
        return (machine,)

    # The pick.

    @property
    def table(self) -> Table:
        """The table with the builds of the channel for the machines' platforms."""
        return self.table_of(self.machines)

    def table_of(self, machines: tuple[Machine, ...], channel: str | None = None) -> Table:
        """The table with the builds for these machines' platforms."""
        platforms = (machine.platform.name for machine in machines)
        wish = wishes.of(self.request, self.environ)
        own = DEFAULT_INDEX in wish.backends
        return self.knowledge.table(
            platforms,
            self.request.channel if channel is None else channel,
            base=wish.index_base,
            default_index=own,
            user_base=self.user_base if own else None,
        )

    @property
    def user_base(self) -> str | None:
        """Distinguishes the user's own index from others in the cache; None where the settings name none."""
        return self._once("user_base", self._user_base)

    def _user_base(self) -> str | None:
        from torchpick.index import index_places

        try:
            return index_places.of_user(self.environ).base
        except InstallerError:
            return None

    def pick(self, *, everything: bool = True) -> Pick:
        """The pick, or NoBuildError where nothing runs."""
        return decided(self.weighed(everything=everything), self.knowledge.rules)

    def weighed(self, machines: tuple[Machine, ...] | None = None, *, everything: bool = True) -> Pick:
        """The pick for these machines (those of the request); where no build runs its `ok` is false.

        Without `everything` only as many builds are judged as the pick itself takes.
        """
        wish = self.wish
        if machines is None and self.request.machine is not None:
            fleet = self.fleet
            pick = self._weighed(fleet.machines, wish, everything=everything)
            return pick._replace(fleet=fleet, notes=(*fleet.notes, *pick.notes))
        return self._weighed(self.machines if machines is None else machines, wish, everything=everything)

    def weighed_anyhow(self) -> Pick:
        """As `weighed`, but a GPU that does not answer is a note, and the builds are judged by everything else."""
        if self.request.machine is not None:
            return self.weighed()
        wish = self.wish
        try:
            machines = self.machines
        except DetectionError as error:
            if error.machine is None:
                raise
            note = Note(error.code, f"{error.message}, so no GPU was checked; {error.hint}")
            machines = (error.machine._replace(gpus=(), trouble=None, notes=(*error.machine.notes, note)),)
            shelves = self.table_of(machines, "stable").builds.values()
            for_gpus = sorted({build.backend for shelf in shelves for build in shelf if build.family == "cuda"})
            wish = wish if wish.backends else wish._replace(backends=tuple(for_gpus))
        return self._weighed(machines, wish)

    def _weighed(self, machines: tuple[Machine, ...], wish: Wish, *, everything: bool = True) -> Pick:
        table = self.table_of(machines)
        for machine in machines:
            wishes.check_python(machine, table)
        self._check_backends(wish, table)
        if len(machines) == 1 and not everything:
            first = resolve.pick(machines[0], table, wish, resolve.judge(machines[0], table, wish), everything=False)
            if first.ok:
                return first
        from torchpick.decide import several

        return several.pick(machines, table, wish)

    def _check_backends(self, wish: Wish, table: Table) -> None:
        """A backend that no build of these platforms has is an error too, and often a common misconception."""
        if not wish.backends:
            return
        known = {build.backend for shelf in table.builds.values() for build in shelf}
        unknown = [backend for backend in wish.backends if backend not in known]
        if not unknown:
            return
        # A team may share one list of names: a backend of another platform is not an error if another one is left.
        others = self.knowledge.table(PLATFORMS, wish.channel, base=wish.index_base, default_index=True)
        elsewhere = {build.backend for shelf in others.builds.values() for build in shelf}
        for backend in unknown:
            if backend not in elsewhere or len(unknown) == len(wish.backends):
                reason = self.knowledge.never_published(backend, tuple(table.builds))
                names = ", ".join(sorted(known, key=backend_order))
                hint = f"there are {names}; run `torchpick refresh` to read the live index"
                raise UsageError(f"no build for `{backend}` is known on {' or '.join(table.builds)}{reason}", hint=hint)

    def spoken_cuda(self, pick: Pick) -> str | None:
        """The CUDA that the driver of the pick's first machine supports, as it reports or by its version."""
        driver = pick.machine.driver
        return None if driver is None else driver.cuda or self.knowledge.rules.drivers.speaks(driver)

    def never_picked(self, pick: Pick) -> tuple[Verdict, ...]:
        """What `list --all` adds: the builds of other platforms and the default index's own."""
        mine = {machine.platform.name for machine in pick.machines}
        return resolve.never_picked(self.knowledge.every_build, mine)

    # Where it is installed, and by what.

    @property
    def target(self) -> Target:
        """The environment to install into, of the target interpreter; a version that was given must be its own."""
        return self._once("target", self._target)

    def _target(self) -> Target:
        from torchpick.environment import interpreter, layout, targets

        (machine,) = self.machines
        python = _installable(machine.python, self.request.python)
        program = str(python.executable)
        tool = interpreter.tool_environment(layout.prefix_of(program))
        return targets.read(
            program, python.version, free_threaded=python.free_threaded, environ=self.environ, tool=tool
        )

    def own_settings(self, prefix: str) -> OwnSettings:
        """The settings of the user's pip and uv in an environment, by files and by variables."""
        from torchpick.installers import inherits

        return self._once("settings", lambda: inherits.read(self.environ, prefix, offline=self.offline), prefix)

    @property
    def uv(self) -> str | None:
        """The uv that would be used, if there is one."""
        from torchpick.installers import tools

        return self._once("uv", lambda: tools.uv(self.environ))

    @property
    def store(self) -> str:
        """The folder for the files that an installer is given."""
        from torchpick.installers import store
        from torchpick.knowledge.locations import cache_dir

        return self._once("store", lambda: store.folder(cache_dir(self.environ)))


def _installable(python: Python, wanted: str | None) -> Python:
    """The interpreter to install for; if only a version was given, the one that is here must have it."""
    if python.executable is not None:
        return python
    from torchpick.environment import interpreter, layout
    from torchpick.environment.world import World

    hint = "specify the interpreter with `--python PATH`; `torchpick url --python` works for any version"
    if wanted is None:
        raise InstallerError(f"no Python to install for: {python.source}", hint=hint, code="NO_TARGET")
    here = interpreter.choose(None, World.here(), time.monotonic() + layout.SECONDS).python
    if here.executable is None or here.tag != python.tag:
        message = f"`--python {wanted}` does not match the target: {here.source} is {here.version}"
        raise UsageError(message, hint=hint)
    return here


def decided(pick: Pick, table: Table | None = None) -> Pick:
    """The pick where a build runs; else NoBuildError, which says more with the rules of the table."""
    if not pick.ok:
        from torchpick.decide import refusal

        refused = refusal.words(pick, table)
        raise NoBuildError(refused.why, pick=pick, hint=refused.remedy)
    return pick
