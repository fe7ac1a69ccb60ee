"""What `torchpick install` is asked, in the target → the job for the installer, with what the other packages need."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from functools import cached_property

from torchpick.environment import interpreter, requirements, targets, toolsettings
from torchpick.environment.requirements import Given, Requested, Requirements
from torchpick.environment.targets import Target
from torchpick.environment.world import World
from torchpick.errors import NoBuildError, UsageError
from torchpick.index.pages import fetcher
from torchpick.install import constraints, staying
from torchpick.install.agreement import FAMILY, Agreement, outcome, passed_over, refused
from torchpick.install.joined import LearntPackages, WheelReader
from torchpick.installers import choice, copies, dashes, jobs, settings_files
from torchpick.installers.command import Command
from torchpick.installers.installer import Installer
from torchpick.installers.jobs import Job
from torchpick.knowledge.packages import KnownPackages
from torchpick.model.machine import Machine, Note
from torchpick.model.noun import Noun
from torchpick.model.pick import Pick
from torchpick.model.pythons import marker_applies, marker_facts
from torchpick.session import Session, decided

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.installers.reporting import Item


class Order(Noun):
    """What `torchpick install` is asked, beside the request that decides."""

    given: Given
    installer: str = "auto"
    upgrade: bool = False
    no_deps: bool = False
    allow_mixed: bool = False
    passed_on: tuple[str, ...] = ()


class Installation:
    """An order in a target, before and after it is decided; everything but the order is the session's."""

    def __init__(
        self, session: Session, order: Order, asked: Requirements, target: Target, applies: Mapping[str, bool]
    ) -> None:
        self.session = session
        self.order = order
        self.asked = asked
        self.target = target
        self.applies = applies

    @cached_property
    def installer(self) -> Installer:
        """Which installer does the work, with what it inherits."""
        return self.installer_of(self.order.installer)

    def installer_of(self, wanted: str) -> Installer:
        session, target = self.session, self.target
        return choice.choose(wanted, target, session.uv, session.own_settings(target.prefix), session.store)

    @cached_property
    def limits(self) -> tuple[Requested, ...]:
        """The constraints of the order, and those that the installer obeys by itself."""
        own = self.session.own_settings(self.target.prefix)
        places = (self.session.store, toolsettings.store_of(self.target.prefix))
        return (*self.asked.limits, *constraints.of(self.installer.name, own, places))

    @cached_property
    def asks(self) -> tuple[Requested, ...]:
        """What is asked of torch's family, by the order and by all constraints."""
        asked = self.asked._replace(limits=self.limits)
        return requirements.of_family(asked, self.session.knowledge.family, self._applying)

    @cached_property
    def _applying(self) -> Mapping[str, bool]:
        """Which markers hold, those of the constraints too."""
        texts = {each.marker for each in self.limits if each.marker}
        return {**_apply(texts, self.target), **self.applies}

    @property
    def texts(self) -> tuple[str, ...]:
        """The same as a request holds them."""
        return tuple(each.plain for each in self.asks)

    @property
    def strangers(self) -> tuple[str, ...]:
        """What may need a torch of its own, by name; empty where every requirement is of the family."""
        if self.order.no_deps or self.asked.hashed:
            return ()
        outsiders = requirements.outsiders(self.asked, self.session.knowledge.family)
        return (*(each.text for each in outsiders), *self.asked.opaque)

    def pick(self, *, everything: bool = True) -> Pick:
        """The pick for what was asked, in the target's Python; NoBuildError where nothing runs.

        An installed torch that runs here stays where nobody asks for another. Without `everything` only as many builds
        are judged as the pick itself takes.
        """
        if self.staying is not None:
            return self.staying
        found = self.weighed(everything=everything)
        if not found.ok:
            self.check_bound(found)
        return decided(found, self.session.knowledge.rules)

    @cached_property
    def staying(self) -> Pick | None:
        """The installed torch, where it runs here and nobody asks for another."""
        if self.order.upgrade or any(each.name == "torch" for each in self.asked.wanted):
            return None
        return staying.pick(self.session, self.target, self.texts)

    def check_bound(self, found: Pick, machines: tuple[Machine, ...] | None = None) -> None:
        """Refuse with the constraint that binds and its place, where one alone keeps every build away."""
        for ask in self.asks:
            others = tuple(each.plain for each in self.asks if each is not ask)
            if not ask.specifier or not ask.where:
                continue
            request = self.session.request._replace(requirements=others)
            freed = self.session.asking(request).weighed(machines, everything=False)
            if freed.ok:
                message = f"no torch that runs here is within `{ask.text}` ({ask.where})"
                hint = f"without that line it would be torch {freed.version}"
                raise NoBuildError(message, pick=found, hint=hint)

    def weighed(self, *more: str, machines: tuple[Machine, ...] | None = None, everything: bool = True) -> Pick:
        """What these requirements, and more, come to."""
        request = self.session.request._replace(requirements=(*self.texts, *more))
        return self.session.asking(request).weighed(machines, everything=everything)

    def job(self, pick: Pick) -> Job:
        """The pick as a job for the installer."""
        made = Job(
            asked=self.asked,
            pick=pick,
            target=self.target,
            place=self.session.store,
            applies=self.applies,
            upgrade=self.order.upgrade,
            no_deps=self.order.no_deps,
            offline=self.session.offline,
            passed_on=self.order.passed_on,
            cuda_installed=targets.cuda_of(self.target) if "+" not in pick.version else None,
            copies=copies.without_wheel_indexes(self.asked, self.session.store),
        )
        own = self.session.own_settings(self.target.prefix)
        settings_files.check(made.passed_on, own)
        if self.installer.name == "uv":
            constraints.check_excluded(settings_files.excluded(made.passed_on, own), self.asked.wanted)
        constraints.check_addresses((each for each in self.limits if self._applying.get(each.marker, True)), pick)
        return made

    def narrowed(self, job: Job) -> Job:
        """The job with what the other requirements need of torch; it asks the installer's resolver."""
        from torchpick.install import agreeing, twins
        from torchpick.install.agreeing import Agreeing
        from torchpick.installers import needs

        everything = self.weighed()
        mine = [each for each in everything.considered if self.target.tag in each.build.pythons]
        builds = [each.build for each in mine]
        runnable = [each.build for each in mine if each.ok]
        resolver = self.installer.resolver(job)
        learnt = needs.learn(resolver, builds, runnable, job.pick.build, job.place, self.session.environ)
        if learnt.conflict and not self.agreement.concerns:
            raise agreeing.conflict(learnt.conflict, everything)
        if learnt.torch is not None:
            job = job._replace(pick=self._pick_of(learnt.torch))
        parties = Agreeing(self.agreement, resolver, self.session.environ, everything, self._pick_of)
        tried, known = parties.agreed(job, learnt), self.agreement.known
        job = self.held(tried.job, self.agreement)
        return twins.apart(job, tried.learnt.versions, known.facts, leaves_out=self.installer.name == "uv")

    @cached_property
    def agreement(self) -> Agreement:
        """What is known of the packages that are asked for."""
        (machine,) = self.session.machines
        return self.agreement_of(machine, self.known_of(machine, self.target.full_version), self.staying)

    def agreement_of(
        self,
        machine: Machine,
        known: LearntPackages,
        stays: Pick | None,
        torches: Container[str] | None = None,
    ) -> Agreement:
        """The order as it is judged for a machine, with these torches, beside the one that stays where one does."""
        session, mixed = self.session, self.order.allow_mixed
        return Agreement(session, machine, self.asked, self.applies, known, stays, torches=torches, allow_mixed=mixed)

    def known_of(self, machine: Machine, full_version: str | None) -> LearntPackages:
        """The packages of the table for a machine, and a reader of what it lacks."""
        table = KnownPackages(self.session.environ, machine.platform.name)
        return LearntPackages(table, machine, None if self.session.offline else self.reader, full_version)

    @cached_property
    def reader(self) -> WheelReader:
        """What reads wheels for all environments of this order."""
        return WheelReader(self.session, self.target.python)

    def _pick_of(self, torch: str) -> Pick:
        return decided(self.weighed(f"torch=={torch}"), self.session.knowledge.rules)

    def held(self, job: Job, agreement: Agreement) -> Job:
        """The job that holds the packages which were asked for by name, and those of the table, which were judged."""
        placed = {each.name for each in self.asked.wanted if each.place}
        named = agreement.named - placed
        kept = {name: job.held[name] for name in sorted(job.held) if name in named or agreement.knows(name)}
        held = {name: version for name, version in kept.items() if name not in {*FAMILY, *placed}}
        related = {name: version for name, version in held.items() if name in self.session.knowledge.family}
        return job._replace(held=held, related=related, notes=_taken_from_host(job.notes))

    def alone(self, job: Job) -> Job:
        """The job where nothing but torch's family is asked for, or where nothing else may be brought."""
        of_family = {each.name for each in self.asked.wanted} & set(self.session.knowledge.family)
        brings_torch = of_family and not self.order.no_deps and not self.asked.hashed
        return job._replace(needs=frozenset({"torch"} if brings_torch else ()))

    def decided_job(self, pick: Pick) -> Job:
        """The job with all that is to be learnt before it: by a dry run too, which shows what a real one does."""
        job = self.job(pick)
        if job.offline and self.installer.name == "pip":
            from torchpick.install import offline

            offline.check(self.with_files(self.alone(job)), self.session.own_settings(self.target.prefix))
        if self.agreement.concerns and not job.no_deps:
            from torchpick.install import building

            job = job._replace(notes=building.check(job, self.agreement))
        if self.strangers:
            return self._proven(self.with_files(self.narrowed(job)))
        job = self.alone(job)
        return self.with_files(self.related(job, self.agreement, self._pick_of) if job.needs else job)

    def related(self, job: Job, agreement: Agreement, pick_of: Callable[[str], Pick]) -> Job:
        """The job where members of torch's family that the table knows as CUDA packages are asked for, as xformers."""
        if not agreement.concerns:
            return job
        agreement.read_placed()
        stack = agreement.known.judged(agreement.of_nothing)
        if not stack.ok:
            raise refused(stack, agreement.machine, job.pick)
        result = outcome(stack, job.pick)
        pick = job.pick if result.torch is None else pick_of(result.torch)
        notes = _taken_from_host((*passed_over(stack), *result.notes))
        return job._replace(pick=pick, related=result.versions, added=result.added, notes=notes)

    def with_files(self, job: Job) -> Job:
        """The job with the addresses of the family's files, where the installer alone could take others.

        uv with the name of the backend asks the backend's pages alone; find-links would be asked beside them.
        """
        alone = self.installer.alone(job)
        if (alone and not job.related) or not (jobs.concerned(job) or job.pick.wish.others or job.related):
            return job
        from torchpick.install import wheelfiles

        platform = job.pick.machine.platform
        # One page more where the network is asked anyway; for torch alone, on one index, none is.
        reads = self.installer.shared(job) or bool(self.strangers) or wheelfiles.asks(job)
        triton = wheelfiles.triton(job) if reads and not alone else {}
        return job._replace(files=wheelfiles.addresses(job, platform, self.session.environ, triton, alone=alone))

    def command(self, job: Job) -> Command:
        """The exact command for the pick; nothing is started or written."""
        return self.installer.command(job)

    def prove(self, job: Job) -> tuple[Item, ...]:
        """The report, checked: InstallerError where a file would come from the wrong host."""
        return self._proven(job._replace(taken=self.report(job))).taken

    def _proven(self, job: Job) -> Job:
        """The job, checked as far as a resolution has named its files, with their hosts in a note."""
        from torchpick.install import proof

        proof.check(job.taken, job, self.session.knowledge.family)
        return job._replace(notes=(*job.notes, proof.note(job))) if job.taken else job

    def report(self, job: Job) -> tuple[Item, ...]:
        """What the command would take from where, by the installer's own resolver."""
        from torchpick.installers import reporting

        return reporting.of(self.installer.reporter(job), self.session.environ)


def _taken_from_host(notes: Iterable[Note]) -> tuple[Note, ...]:
    """The notes without a doubt that is settled here: the wheel host's own build is taken where it has one."""
    return tuple(note for note in notes if note.code != "DEFAULT_INDEX_WHEEL")


def look(session: Session, order: Order) -> Installation:
    """Read what there is; raises where an installation could only fail."""
    _check_place(session)
    dashes.check(order.passed_on)
    order = _with_what_follows_dashes(order)
    asked = requirements.read(order.given, session.environ, fetcher(session.environ, offline=session.offline))
    if not asked.wanted and not asked.opaque:
        raise UsageError("nothing to install is named", hint="such as `torchpick install torch torchvision`")
    target = session.target
    targets.check(target, order.passed_on)
    return Installation(session, order, asked, target, _applies(asked, target))


def _with_what_follows_dashes(order: Order) -> Order:
    """The order with the requirements that stand after `--` among its own, where they are read."""
    given, words = order.given, order.passed_on
    parted = dashes.parted(words)
    more = given._replace(
        words=(*given.words, *parted.requirements),
        files=(*given.files, *dashes.files(words, dashes.REQUIREMENT)),
        constraints=(*given.constraints, *dashes.files(words, dashes.CONSTRAINT)),
        editables=(*given.editables, *dashes.files(words, dashes.EDITABLE)),
        groups=(*given.groups, *dashes.files(words, dashes.GROUP)),
    )
    return order._replace(given=more, passed_on=parted.options) if more != given else order


def _check_place(session: Session) -> None:
    """Packages are installed on this computer, whatever machine is given."""
    given = {
        "--platform": session.request.platform,
        "TORCHPICK_PLATFORM": session.environ.get("TORCHPICK_PLATFORM"),
        "--machine": None if session.request.machine is None else session.request.machine[0],
    }
    here = interpreter.own(World.here()).platform.name
    for name, value in given.items():
        if value and value != here:
            hint = "`torchpick url` and `torchpick env --shell dockerfile` answer for machines elsewhere"
            raise UsageError(f"`{name}` is another machine, and packages are installed on this one", hint=hint)


def _applies(asked: Requirements, target: Target) -> dict[str, bool]:
    """Which markers of what is asked hold in the target environment."""
    return _apply(requirements.markers(asked), target)


def _apply(texts: Iterable[str], target: Target) -> dict[str, bool]:
    """Which of these markers hold there; without markers the packaging library is not loaded."""
    if not texts:
        return {}
    facts = marker_facts(target.version, target.full_version)
    return {text: marker_applies(text, facts) for text in texts}
