"""From a question to its answer: what the table lacks is learnt, and the same question is asked again.

Wheels that the table lacks are read by ranges. What only the installer's resolver knows is asked of it once, with
torch's family and all that was judged bound to the answer; a second time only where that was refused, or where a wheel
that was read does not run. What it refuses then is the answer, in its own words and with its status.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from torchpick.decide.answer import Answer, bound_as
from torchpick.decide.demands import PackageDemand
from torchpick.decide.packagefit import Situation
from torchpick.environment.requirementline import requirement
from torchpick.errors import ResolverError
from torchpick.index.user_index import IndexTarget
from torchpick.install import building, handover
from torchpick.install.asking import TargetQuestion
from torchpick.install.handover import Learnt
from torchpick.install.unread import READ, LearntPackages, UnreadWheels
from torchpick.installers import resolution
from torchpick.installers.job import Job
from torchpick.installers.resolution import Resolution
from torchpick.model.build import COMPANIONS, TRIO, TRITONS, Build
from torchpick.model.machine import Note
from torchpick.model.package import Package
from torchpick.model.verdict import Reason
from torchpick.model.versions import some_of
from torchpick.session import decided


class Learner:
    """One question, asked until nothing is lacking; `rehearse` says that the resolver is asked in any case."""

    def __init__(self, asking: TargetQuestion, *, rehearse: bool = False) -> None:
        self.asking, self.rehearse = asking, rehearse
        session, machine = asking.session, asking.machine
        platform, target = machine.platform, asking.target
        aim = IndexTarget(machine.python.tag, platform, target.full_version)
        reader = None if session.offline else UnreadWheels(session.environ, session.report, target.python, aim)
        self.table = session.packages(machine)
        self.packages = LearntPackages(self.table, platform.name, reader)
        self._rules = session.knowledge.rules

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
        rehearse = self.rehearse and not self.asking.order.no_deps
        if self._may_ask and (strangers or rehearse):
            learnt = self._resolved(answer, strangers)
        else:
            learnt = Learnt(answer, self.packages.facts, None, self.unread(answer.unknown))
        return learnt._replace(notes=(*notes, *learnt.notes))

    def _read_placed(self) -> None:
        """Read the wheels that are asked for by a URL or a path, whatever is known of their versions."""
        placed = [each for each in self.asking.wanted if each.place and each.specifier and _is_judged(each.name)]
        wanted = {each.name: each.specifier for each in placed}
        self.packages.read(wanted, {each.name: each.place for each in placed})

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

    def _against(self, versions: Iterable[Package]) -> list[Package]:
        """The versions that do not run here, whatever torch there is."""
        situation = Situation(self.asking.machine, self.asking.session.table)
        return [package for package in versions if situation.refusal(package) is not None]

    def _resolved(self, answer: Answer, strangers: tuple[str, ...]) -> Learnt:
        """The answer that agrees with a resolution in which it is bound."""
        if strangers:
            names = some_of(strangers)
            self.asking.session.report(f"asking {self.asking.installer.name} what {names} needs of torch")
        found = self._resolve(answer, [answer.pick.build])
        refused = found.refusal
        if refused is not None:
            found = self._opened(answer, refused)
            learnt = self._agreed(self._exactly(answer, found), found)
            if learnt.answer.taken == answer.taken:
                raise refused  # it would bind the same again
            return learnt._replace(notes=(*_moved(answer, learnt.answer), *learnt.notes))
        exact = self._exactly(answer, found)
        if exact.ok:
            return self._agreed(exact, found)
        # A wheel that was read needs another torch, or does not run: then not that one.
        moved = self._exactly(answer, found, torch=False)
        bad = [] if moved.ok else [each.name for each in exact.environment.objections if each.name in found.versions]
        answer = moved if moved.ok else answer
        again = self._resolve(
            answer, [answer.pick.build], [requirement(name, f"!={found.versions[name]}") for name in bad]
        )
        if again.refusal is not None:
            decided(exact, self._rules)
        return self._agreed(self._exactly(answer, again), again)

    def _agreed(self, answer: Answer, found: Resolution) -> Learnt:
        decided(answer, self._rules)
        return Learnt(answer, self.packages.facts, found, self.unread(answer.unknown, found.versions))

    def _resolve(self, answer: Answer, offered: list[Build], avoided: Iterable[str] = ()) -> Resolution:
        job = handover.job_of(self.asking, Learnt(answer, self.packages.facts))
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
            if runs and facts.versions[0] in bad:
                yield requirement(name, f"<={runs[0].version}")
            yield from (requirement(name, f"!={package.version}") for package in bad)

    def _opened(self, answer: Answer, refused: ResolverError) -> Resolution:
        """A resolution in which torch's release is open among the builds of one backend that run here."""
        backend, run = answer.pick.build.backend, {Reason.OTHER_TORCH}
        builds = [one.build for one in answer.pick.considered if one.build.backend == backend and one.reasons <= run]
        if len(builds) > 1:
            found = self._resolve(answer._replace(stack=None), builds)
            if found.refusal is None:
                return found
        raise refused

    def _exactly(self, former: Answer, found: Resolution, *, torch: bool = True) -> Answer:
        """The answer with the very versions of a resolution, as far as they concern CUDA and, if said so, `torch`."""
        self._read(found)
        facts, by = self.packages.facts, f"{self.asking.installer.name}'s resolution"
        wanted = {
            name: "" if name in COMPANIONS else f"=={version}"
            for name, version in sorted(found.versions.items())
            if (torch and name == "torch")
            or name in COMPANIONS
            or (_is_judged(name) and name in facts and any(one.version == version for one in facts[name].versions))
        }
        more = (PackageDemand(name, specifier, by=by) for name, specifier in wanted.items())
        return bound_as(former, self.asking.answer(facts, *more))

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
                lacking[name] = "its version was not resolved"
        return tuple(
            Note("PACKAGE_UNREAD", f"no wheel of {name}{unknown.get(name, '')} was read: {why}")
            for name, why in sorted(lacking.items())
            if _is_judged(name)
        )


def _moved(refused: Answer, taken: Answer) -> tuple[Note, ...]:
    """What the resolver did not find, or not together, and what is taken in its place."""
    other = ", ".join(
        f"{name} {version}" for name, version in taken.taken.items() if refused.taken.get(name) != version
    )
    asked = f"what is asked for does not resolve with torch {refused.pick.version}"
    return (Note("TORCH_MOVED", f"{asked}; taken instead: {other}"),) if other else ()


def _is_judged(name: str) -> bool:
    """Whether a package of this name is judged beside torch, and not as a part of it."""
    return name != "" and name not in {*TRIO, *TRITONS} and not name.startswith(("nvidia-", "cuda-"))
