"""What a resolution would bring, judged as one environment; what moves until everything in it agrees.

The packages that the resolution found are judged with the torch they would get. Where they do not fit, those that
the table knows may move within what was asked, as `torchpick plan` moves them, and the resolver is asked again.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from torchpick.decide import stack as stacks
from torchpick.decide.demands import PackageDemand
from torchpick.decide.packagefit import Situation
from torchpick.environment.requirements import Requested, Requirements
from torchpick.errors import NoBuildError
from torchpick.install.joined import LearntPackages
from torchpick.installers import jobs
from torchpick.model.build import COMPANIONS
from torchpick.model.machine import Machine, Note
from torchpick.model.noun import Noun
from torchpick.model.package import PackageFacts
from torchpick.model.pick import Pick
from torchpick.model.stack import Stack
from torchpick.model.table import Shelf
from torchpick.session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.installers.needs import Learnt

FAMILY = frozenset({"torch", *COMPANIONS})
# Resolutions until everything agrees; two were the most that was met.
ROUNDS = 4


class AgreementMove(Noun):
    """An environment to try; `held` are versions that are not in the table and that stay as they were found."""

    stack: Stack
    held: Mapping[str, str] = {}


class Agreement:
    """One order judged as a stack, beside the torch that stays where one does; it knows no installer.

    `torches` are the versions that may be taken, where other machines have a say.
    """

    def __init__(  # noqa: PLR0913 # what is judged, and beside what
        self,
        session: Session,
        machine: Machine,
        asked: Requirements,
        applies: Mapping[str, bool],
        known: LearntPackages,
        stays: Pick | None = None,
        *,
        torches: Container[str] | None = None,
        allow_mixed: bool = False,
    ) -> None:
        self.machine, self.known, self.stays = machine, known, stays
        self.allow_mixed = allow_mixed
        self._session = session
        bare = session.asking(session.request._replace(requirements=()))
        self.table, self.wish = bare.table_of((self.machine,)), bare.wish
        if torches is not None:
            builds = (build for build in self.table.of(machine.platform.name) if build.version in torches)
            self.table = self.table._replace(builds={machine.platform.name: Shelf.of(builds)})
        wanted = [each for each in (*asked.wanted, *asked.limits) if applies.get(each.marker, True)]
        self.wanted = tuple(_demand(each) for each in wanted if each.name and not (each.place and not each.specifier))
        self.named = frozenset(each.name for each in asked.wanted)
        mine = (each for each in asked.wanted if applies.get(each.marker, True))
        self._placed = {each.name: each for each in mine if each.place and _is_judged(each.name)}

    @property
    def facts(self) -> Mapping[str, PackageFacts]:
        return self.known.facts

    @property
    def readable(self) -> bool:
        return self.known.readable

    def read(self, learnt: Learnt) -> None:
        """Read what of a resolution the table lacks: versions of its packages, and what else needs torch or CUDA."""
        lacking = {
            name: f"=={version}"
            for name, version in sorted(learnt.versions.items())
            if _is_judged(name)
            and name not in self._placed
            and (name in self.facts or name in learnt.users)
            and not (name in self.facts and self.has(name, version))
        }
        self.known.read({name: lacking[name] for name in sorted(lacking, key=lambda name: name not in self.named)})

    def read_placed(self) -> None:
        """Read the wheels that are asked for by a URL or a path, whatever is known of their versions."""
        placed = {name: each for name, each in self._placed.items() if each.specifier or name in self.facts}
        wanted = {name: each.specifier for name, each in placed.items()}
        self.known.read(wanted, {name: each.place for name, each in placed.items()})

    def completed(self, versions: Mapping[str, str]) -> dict[str, str]:
        """The versions of a resolution with those of the wheels that are asked for by their place."""
        return {**versions, **{name: each.specifier[2:] for name, each in self._placed.items() if each.specifier}}

    @property
    def concerns(self) -> bool:
        """Whether anything that was asked for by name is a package that the table can judge."""
        return self.readable and any(self.knows(name) for name in self.named)

    def knows(self, name: str) -> bool:
        """Whether the table has the package, torch and its companions aside."""
        return name in self.facts and name not in FAMILY and not name.startswith("nvidia-")

    def of_versions(self, versions: Mapping[str, str]) -> Stack | None:
        """The environment with these very versions, as far as they were read; None where there is nothing to judge."""
        exact = [
            PackageDemand(name, f"=={version}")
            for name, version in sorted(versions.items())
            if self.knows(name) and self.has(name, version)
        ]
        too_new = [PackageDemand(name) for name, version in sorted(versions.items()) if self.refuses(name, version)]
        if too_new:  # its newest version that was read says why
            return self._stack(tuple(self._newest(each) for each in too_new))
        if not exact or not self.readable:
            return None
        there = {*self.named, *versions, "torch"} & FAMILY
        asked = (*exact, *(each for each in self.wanted if each.name in there))
        stays = self._beside(asked, versions.get("torch"))
        if stays is not None:
            return stays
        release = versions.get("torch", "").partition("+")[0]
        as_found = self._stack((*asked, PackageDemand("torch", f"=={release}"))) if release else None
        return as_found if as_found is not None and as_found.ok else self._stack(asked)

    def of_nothing(self) -> Stack:
        """The environment of what is asked for, where nothing is found yet."""
        there = {*self.named, "torch"}
        asked = tuple(
            each for each in self.wanted if each.name in there and (self.knows(each.name) or each.name in FAMILY)
        )
        return self._beside(asked, None) or self._stack(asked)

    def _newest(self, demand: PackageDemand) -> PackageDemand:
        return demand._replace(specifier=f"=={self.facts[demand.name].versions[0].version}")

    def moves(self, versions: Mapping[str, str]) -> Iterator[AgreementMove]:
        """Environments in which packages of the table move within what was asked, the smallest move first."""
        there = {*self.named, *versions, "torch"}
        mine = [each for each in self.wanted if each.name in there and (self.knows(each.name) or each.name in FAMILY)]
        found = {name: version for name, version in sorted(versions.items()) if self.knows(name)}
        unread = {name: version for name, version in found.items() if not self.has(name, version)}
        if found:
            # What was named stays as it was found, and so does what nobody has read; the rest and torch may move.
            family = [each for each in mine if each.name in FAMILY]
            exact = [PackageDemand(n, f"=={found[n]}") for n in found if n in self.named and n not in unread]
            brought = [PackageDemand(n, f"<={found[n]}") for n in found if n not in self.named and n not in unread]
            if not any(self.refuses(name, version) for name, version in unread.items()):
                yield AgreementMove(self._stack((*exact, *family, *(brought if unread or not exact else ()))), unread)
        kept = {name: version for name, version in unread.items() if not self.refuses(name, version)}
        bounds = [PackageDemand(name, f"<={found[name]}") for name in found if name in self.named and name not in kept]
        free = [each for each in mine if each.name not in kept]
        if any(self.knows(each.name) for each in free):
            yield AgreementMove(self._stack((*free, *bounds)), kept)

    def refuses(self, name: str, version: str) -> bool:
        """Whether a version that is not in the table is too new for this machine, by the newest before it that is."""
        if not self.readable or not self.knows(name) or self.has(name, version):
            return False
        before = [one for one in self.facts[name].versions if PackageDemand(name, f"<{version}").admits(one.version)]
        return bool(before) and Situation(self.machine, self.table).refusal(before[0]) is not None

    def unread(self, versions: Mapping[str, str]) -> list[Note]:
        """The versions of CUDA packages that are in no table and could not be read."""
        return [
            _unread(f"{name} {version}".rstrip(), self.known.lacking.get(name, ""))
            for name, version in sorted({**dict.fromkeys(self._placed, ""), **versions}.items())
            if (self.knows(name) and self._holds_code(name) and not (self.readable and self.has(name, version)))
            or (name in self.known.lacking and not self.knows(name))
        ]

    def _holds_code(self, name: str) -> bool:
        """Whether any version of it that was read has to do with CUDA."""
        return any(package.cuda or package.links_torch or package.code != () for package in self.facts[name].versions)

    def has(self, name: str, version: str) -> bool:
        """Whether this very version is known, so that it can be judged."""
        return any(package.version == version for package in self.facts[name].versions)

    def _beside(self, asked: tuple[PackageDemand, ...], torch: str | None) -> Stack | None:
        """The same beside the torch that stays, where one does and they agree with it."""
        if self.stays is None or torch not in (None, self.stays.version):
            return None
        own = self._session.asking(self._session.request._replace(backends=self.stays.wish.backends))
        demands = (*asked, PackageDemand("torch", f"=={self.stays.version}"))
        table, wish = own.table_of((self.machine,)), self.stays.wish
        stack = stacks.stack(self.machine, table, wish, demands, self.facts, allow_mixed=self.allow_mixed)
        return stack if stack.ok else None

    def _stack(self, asked: tuple[PackageDemand, ...]) -> Stack:
        return stacks.stack(self.machine, self.table, self.wish, asked, self.facts, allow_mixed=self.allow_mixed)


def _is_judged(name: str) -> bool:
    """Whether a package of this name is judged beside torch, and not as a part of it."""
    return name != "" and name not in FAMILY and not name.startswith(("nvidia-", "cuda-")) and name not in jobs.TRITONS


def _unread(what: str, why: str) -> Note:
    text = f"which GPUs and which CUDA {what} was built for has not been read"
    return Note("PACKAGE_UNREAD", f"{text}: {why}" if why else text)


def _demand(each: Requested) -> PackageDemand:
    return PackageDemand(each.name, each.specifier, each.extras)


class AgreementOutcome(Noun):
    """What was agreed on: the torch to take (None: as it was), the versions to hold, what is added, what to say."""

    torch: str | None = None
    versions: Mapping[str, str] = {}
    added: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


def outcome(stack: Stack, pick: Pick) -> AgreementOutcome:
    """What an environment that fits means for the job."""
    torch = stack.version("torch")
    known = {(note.code, note.text) for note in pick.notes}
    pins = {each.name: each.version for each in stack.packages if each.name not in FAMILY and "*" not in each.version}
    return AgreementOutcome(
        torch=None if torch == pick.version else torch,
        versions=pins,
        added=tuple(f"{each.name}=={each.version}" for each in stack.packages if "*" in each.version),
        notes=tuple(note for note in stack.notes if (note.code, note.text) not in known),
    )


def passed_over(stack: Stack) -> tuple[Note, ...]:
    """The packages whose newest version was passed over, and why."""
    return tuple(
        Note("PACKAGE_MOVED", f"{each.name} {each.version} is taken: {each.why.partition('; ')[2]}")
        for each in stack.packages
        if each.name not in FAMILY and "; " in each.why
    )


def refused(stack: Stack, machine: Machine, pick: Pick) -> NoBuildError:
    """What stands in the way of one environment."""
    reasons = [f"{f'{each.name} {each.span}'.rstrip()}: {each.objection.text}" for each in stack.objections[:6]]
    gpus = ", ".join(gpu.label for gpu in machine.counted)
    message = f"no environment fits {' '.join(stack.asked)}{f' for {gpus}' if gpus else ''}: {'; '.join(reasons)}"
    hint = "; ".join(stack.hints[:2]) or "`torchpick plan` shows what fits; `--allow-mixed` takes two CUDA majors"
    return NoBuildError(message, pick=pick._replace(verdicts=()), hint=hint)
