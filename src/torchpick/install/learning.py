"""From a question to its answer: what the table lacks is learnt, and the same question is asked again.

Wheels that the table lacks are read by ranges. What only the installer's resolver knows is asked of it once, with
torch's family and all that was judged bound to the answer; a second time only where that was refused, or where a wheel
that was read does not run. What it refuses then is the answer, in its own words and with its status.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from torchpick.decide.answer import TRIO, Answer
from torchpick.decide.demands import PackageDemand
from torchpick.decide.packagefit import Situation
from torchpick.decide.stacknotes import same_module
from torchpick.environment import targets
from torchpick.errors import InstallerError, ResolverError
from torchpick.index.user_index import IndexTarget
from torchpick.install import building, files
from torchpick.install.asking import TargetQuestion
from torchpick.install.unread import READ, LearntPackages, UnreadWheels
from torchpick.installers import copies, reporting, resolution
from torchpick.installers.job import TRITONS, Job
from torchpick.installers.reporting import Item
from torchpick.installers.resolution import Resolution
from torchpick.installers.run import Command
from torchpick.knowledge.packages import KnownPackages
from torchpick.model.build import Build
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.package import Package, PackageFacts, doubles
from torchpick.model.redaction import redacted
from torchpick.model.table import Table
from torchpick.model.versions import first_three
from torchpick.session import decided


class Learnt(Noun):
    """An answer, and the resolution that it agrees with, where the resolver was asked."""

    answer: Answer
    facts: Mapping[str, PackageFacts]
    resolution: Resolution | None = None
    notes: tuple[Note, ...] = ()


class Learner:
    """One question, asked until nothing is lacking; `rehearse` says that the resolver is asked in any case."""

    def __init__(self, asking: TargetQuestion, *, rehearse: bool = False) -> None:
        self.asking, self.rehearse = asking, rehearse
        session, machine = asking.session, asking.machine
        platform, target = machine.platform, asking.target
        aim = IndexTarget(machine.python.tag, platform, None if asking.elsewhere else target.full_version)
        reader = None if session.offline else UnreadWheels(session.environ, session.report, target.python, aim)
        table = KnownPackages(session.environ, platform.name)
        self.packages = LearntPackages(table, platform.name, reader)

    def learn(self) -> Learnt:
        """The answer with all that is to be learnt for it; raises where none fits, or the resolver refuses."""
        self._read_placed()
        answer = self._judged()
        unread = frozenset(name for name in answer.unknown if self._may_run_unread(name))
        if not answer.ok and unread:
            self.asking.unjudged = unread
            answer = self._judged()
        decided(answer, self._rules)
        notes = building.check(self.asking, answer, self.packages.facts)
        strangers = self.asking.strangers(self.packages.facts)
        rehearse = self.rehearse and answer.stack is not None and not self.asking.order.no_deps
        if self._may_ask and (strangers or rehearse):
            learnt = self._resolved(answer, strangers)
        else:
            learnt = Learnt(answer, self.packages.facts, None, self.unread(answer.unknown))
        return learnt._replace(notes=(*notes, *learnt.notes))

    def _read_placed(self) -> None:
        """Read the wheels that are asked for by a URL or a path, whatever is known of their versions."""
        placed = {
            each.name: each for each in self.asking.wanted if each.place and each.specifier and _is_judged(each.name)
        }
        wanted = {name: each.specifier for name, each in placed.items()}
        self.packages.read(wanted, {name: each.place for name, each in placed.items()})

    def _judged(self, *more: PackageDemand) -> Answer:
        """The answer once every wheel that it lacked was read, as far as it can be.

        Of a project that the table does not have the resolver says which version it would be, where it may be asked.
        """
        packages = self.packages
        answer = self.asking.answer(packages.facts, *more)
        while packages.read(
            {name: text for name, text in answer.unknown.items() if name in packages.facts or not self._may_ask},
            pure=True,
        ):
            answer = self.asking.answer(packages.facts, *more)
        return answer

    @property
    def _may_ask(self) -> bool:
        """Whether a resolver can be asked: for a machine elsewhere only uv."""
        return self.asking.elsewhere is None or self.asking.installer.name == "uv"

    def _may_run_unread(self, name: str) -> bool:
        """Whether a version that could not be read may be taken: nothing known beside it speaks against."""
        facts = self.packages.facts
        return name in facts and not self.asking.session.offline and not self._against(facts[name].versions[:1])

    @cached_property
    def _situation(self) -> Situation:
        return Situation(self.asking.machine, self.asking.session.table)

    def _against(self, versions: Iterable[Package]) -> list[Package]:
        """The versions that do not run here, whatever torch there is."""
        return [package for package in versions if self._situation.refusal(package) is not None]

    @property
    def _rules(self) -> Table:
        return self.asking.session.knowledge.rules

    def _resolved(self, answer: Answer, strangers: tuple[str, ...]) -> Learnt:
        """The answer that agrees with a resolution in which it is bound."""
        if strangers:
            names = first_three(strangers)
            self.asking.session.report(f"asking {self.asking.installer.name} what {names} needs of torch")
        found = self._resolve(answer, [answer.pick.build])
        if found.refusal is not None:
            found = self._opened(answer, found.refusal)
            return self._agreed(self._exactly(found), found)
        exact = self._exactly(found)
        if exact.ok:
            return self._agreed(exact, found)
        # A wheel that was read does not run: not that one.
        bad = [each.name for each in exact.environment.objections if each.name in found.versions]
        again = self._resolve(answer, [answer.pick.build], [f"{name}!={found.versions[name]}" for name in bad])
        if again.refusal is not None:
            decided(exact, self._rules)
        return self._agreed(self._exactly(again), again)

    def _agreed(self, answer: Answer, found: Resolution) -> Learnt:
        decided(answer, self._rules)
        return Learnt(answer, self.packages.facts, found, self.unread(answer.unknown, found.versions))

    def _resolve(self, answer: Answer, offered: list[Build], avoided: Iterable[str] = ()) -> Resolution:
        job = job_of(self.asking, Learnt(answer, self.packages.facts))
        resolver = self.asking.installer.resolver(job)
        environ = self.asking.session.environ
        return resolution.resolve(resolver, job, offered, environ, (*self._not_here(job), *avoided))

    def _not_here(self, job: Job) -> Iterator[str]:
        """Constraints that keep what may be brought along to the versions of the table that run here."""
        for name, facts in self.packages.facts.items():
            if name in job.pins or name in job.placed or name in TRIO:
                continue
            bad = self._against(facts.versions)
            runs = [package for package in facts.versions if package not in bad]
            if bad and runs and facts.versions[0] in bad:
                yield f"{name}<={runs[0].version}"
            yield from (f"{name}!={package.version}" for package in bad)

    def _opened(self, answer: Answer, refused: ResolverError) -> Resolution:
        """A resolution in which torch's release is open among the builds of one backend that run here."""
        backend = answer.pick.build.backend
        builds = [each.build for each in answer.pick.considered if each.ok and each.build.backend == backend]
        exact = any(each.name == "torch" and "==" in each.specifier for each in self.asking.wanted)
        if len(builds) > 1 and not exact:
            found = self._resolve(answer._replace(stack=None), builds)
            torch = found.versions.get("torch")
            if found.refusal is None and torch in {None, *(build.version for build in builds)}:
                return found
        raise refused

    def _exactly(self, found: Resolution) -> Answer:
        """The answer with the very versions of a resolution, as far as they concern torch or CUDA."""
        self._read(found)
        more = [PackageDemand("torch", f"=={found.versions['torch']}")] if "torch" in found.versions else []
        more += [PackageDemand(name) for name in sorted(TRIO - {"torch"}) if name in found.versions]
        facts = self.packages.facts
        for name, version in sorted(found.versions.items()):
            if _is_judged(name) and name in facts and any(one.version == version for one in facts[name].versions):
                more.append(PackageDemand(name, f"=={version}"))
        return self.asking.answer(facts, *more)

    def _read(self, found: Resolution) -> None:
        """Read what of a resolution the table lacks: versions of its packages, and what else needs torch or CUDA."""
        facts, placed = self.packages.facts, {each.name: each.place for each in self.asking.wanted if each.place}
        lacking = {
            name: f"=={version}"
            for name, version in sorted(found.versions.items())
            if _is_judged(name)
            and (name in facts or name in found.users)
            and not (name in facts and any(one.version == version for one in facts[name].versions))
        }
        self.packages.read(lacking, {name: placed[name] for name in lacking if name in placed})

    def unread(self, unknown: Mapping[str, str], versions: Mapping[str, str] = {}) -> tuple[Note, ...]:
        """What was not judged: it is named, never approved in silence."""
        lacking = dict(self.packages.lacking)
        for name in unknown:
            if name in lacking or name in versions:
                continue
            if self.asking.session.offline:
                lacking[name] = "nothing is read with `--offline`"
            elif not self.packages.readable:
                lacking[name] = f"wheels are read for {' and '.join(READ)}"
            else:
                lacking[name] = "your index has no release within that"
        return tuple(
            Note("PACKAGE_UNREAD", f"no wheel of {name}{unknown.get(name, '')} was read: {why}")
            for name, why in sorted(lacking.items())
            if _is_judged(name)
        )


def _is_judged(name: str) -> bool:
    """Whether a package of this name is judged beside torch, and not as a part of it."""
    return name != "" and name not in {*TRIO, *TRITONS} and not name.startswith(("nvidia-", "cuda-"))


def learn(asking: TargetQuestion, *, rehearse: bool = False) -> Learnt:
    """The answer to what is asked, with all that is to be learnt for it."""
    return Learner(asking, rehearse=rehearse).learn()


def job_of(asking: TargetQuestion, learnt: Learnt) -> Job:
    """An answer as a job for the installer, without the addresses of files."""
    answer, session, target = learnt.answer, asking.session, asking.target
    stack, pick = answer.stack, answer.pick
    versions = {} if learnt.resolution is None else learnt.resolution.versions
    brings = {name for name in TRIO if name in versions or (stack is not None and stack.version(name) is not None)}
    if learnt.resolution is None and stack is None and not asking.order.no_deps:
        brings |= {"torch"} if any(each.name in TRIO for each in asking.wanted) else set()
    packages = () if stack is None else stack.packages
    pins = {name: version for name, version in answer.judged.items() if "*" not in version}
    names = [*(each.name for each in asking.wanted), *pins, *versions]
    twins = doubles(names, {*names, *answer.unknown}, learnt.facts)
    moved = [each for each in packages if each.name not in TRIO and "; " in each.why]
    known = {(note.code, note.text) for note in pick.notes}
    notes = [note for note in (stack.notes if stack is not None else ()) if (note.code, note.text) not in known]
    there, leaves_out = target.installed, asking.installer.name == "uv"
    notes = [note for note in notes if note.code != "SAME_MODULE"]
    notes += [same_module(name, stays, left_out=leaves_out and name not in there) for name, stays in twins.items()]
    notes += [
        Note("PACKAGE_MOVED", f"{each.name} {each.version} is taken: {each.why.partition('; ')[2]}") for each in moved
    ]
    return Job(
        asked=asking.asked,
        pick=pick,
        target=target,
        place=session.store,
        own=session.own_settings(None if asking.elsewhere else target.prefix),
        pins={name: version for name, version in pins.items() if name not in twins},
        bounds={each.name: each.version for each in moved if not each.is_pinned},
        needs=frozenset(brings),
        added=tuple(f"{each.name}=={each.version}" for each in packages if "*" in each.version),
        left_out=tuple(twins) if leaves_out else (),
        upgrade=asking.order.upgrade,
        no_deps=asking.order.no_deps,
        offline=session.offline,
        passed_on=asking.order.passed_on,
        cuda_installed=targets.cuda_of(target) if "+" not in pick.version else None,
        copies=copies.without_wheel_indexes(asking.asked, session.store),
        elsewhere=asking.elsewhere,
        notes=tuple(dict.fromkeys((*notes, *learnt.notes))),
    )


def handed_over(asking: TargetQuestion, learnt: Learnt, *, pages: bool) -> tuple[Job, Command]:
    """The answer as a job with its files, and the exact command for it; nothing is started or written."""
    installer, family = asking.installer, asking.session.knowledge.family
    job = files.addressed(job_of(asking, learnt), installer.name, asking.machine.platform, family, pages=pages)
    return job, installer.command(job)


def proved(asking: TargetQuestion, job: Job) -> tuple[Item, ...]:
    """What the command would take from where; raises where a file of the family would come from elsewhere."""
    items = reporting.of(asking.installer.reporter(job), asking.session.environ)
    index = job.pick.index_url
    for item in items:
        named = job.files.get(item.name, "").partition("#")[0]
        strays = (
            item.name in TRIO and item.name not in job.placed and index and not files.comes_from(item.url, index, named)
        )
        if strays or (
            item.name not in {*asking.session.knowledge.family, *TRITONS, *job.placed}
            and job.own.is_wheel_index(item.url)
        ):
            raise InstallerError(
                f"{item.name} {item.version} would come from {redacted(item.url)}",
                hint="remove the index that leads there; if you mean that file, ask for it by its address",
                code="WRONG_HOST",
            )
    return items
