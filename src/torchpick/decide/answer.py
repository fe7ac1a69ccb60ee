"""A question about an environment and its answer: one torch build, and every package that goes with it. Pure.

Every command asks here. A question of torch, torchvision and torchaudio alone is a question of builds; any other
package makes it one of a whole environment, which is searched package by package.
"""

from __future__ import annotations

from itertools import pairwise

from torchpick.decide import buildfit
from torchpick.decide.demands import PackageDemand
from torchpick.decide.remarks import excluding, family_pins, limits_note, made
from torchpick.errors import NoBuildError
from torchpick.model import NamedTuple
from torchpick.model.build import COMPANIONS, TRIO, Objection, Reason
from torchpick.model.machine import Machine, Note
from torchpick.model.pick import Pick, Wish
from torchpick.model.table import DriverTable, Table
from torchpick.model.versions import grouped, release_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeVar

    from torchpick.decide.searchfacts import Needs
    from torchpick.model.package import Catalog, Stack

    T = TypeVar("T")

    Catalogs = Callable[[], Catalog]
    Tables = Callable[[Wish], Table]


# What releases from 2.4 on require beside CUDA and triton (compat/requires.json): a constraint on anything else cannot
# contradict torch.
REQUIRED_BY_TORCH = frozenset({"filelock", "fsspec", "jinja2", "networkx", "setuptools", "sympy", "typing-extensions"})


class Question(NamedTuple):
    """Everything that binds an answer, the machine aside.

    `wish` holds the flags, what is asked of torch and its companions, and the limits. `wanted` is empty where nothing
    but these three is asked for, else all that is, they included. The torch of an environment `stays` where it runs and
    nobody asks for another: its version, its CUDA, which without a label distinguishes its build from others of the
    version (such as conda's), and the wishes that say where it may lie.
    """

    wish: Wish
    wanted: tuple[PackageDemand, ...] = ()
    stays: tuple[str, str | None, tuple[Wish, ...]] | None = None
    allow_mixed: bool = False


class Answer(NamedTuple):
    """The torch build, and the environment around it where packages were asked for."""

    question: Question
    pick: Pick
    stack: Stack | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing stands in the way; what was not judged is in `unknown`.

        Where no build of torch runs, nothing is answered: whatever else is installed may need it.
        """
        return self.pick.ok and (self.stack is None or not self.stack.objections)

    @property
    def environment(self) -> Stack:
        """The environment around the build, without packages where none were asked for."""
        from torchpick.model.package import Stack

        return self.stack or Stack(self.pick.machine, ())

    @property
    def judged(self) -> dict[str, str]:
        """The packages beside torch that stand on it, which are what was judged: name → version."""
        packages = self.environment.packages
        return {package.name: package.version for package in packages if package.name not in TRIO and package.pinned}

    @property
    def taken(self) -> dict[str, str]:
        """Torch, and what was judged beside it: name → version."""
        return {"torch": self.pick.version, **self.judged}

    @property
    def unknown(self) -> Mapping[str, str]:
        """What is asked of packages that nothing is known of: they were not judged."""
        return {} if self.stack is None else self.stack.unknown


def answer(
    question: Question, machines: tuple[Machine, ...], tables: Tables, catalogs: Catalogs, *, everything: bool = True
) -> Answer | Needs:
    """The answer for these machines; where nothing fits its `ok` is false, and its pick or stack says why.

    `tables` gives the builds that a wish may take, `catalogs` what is known of others than torch and its companions;
    either is called where the question needs it. What has to be learnt first is the answer where the catalog grows.
    Without `everything` only as many builds are judged as the pick itself takes.
    """
    if question.stays is not None:
        version, cuda, wishes = question.stays
        for wish in wishes:
            keeping = _answered(_beside(question, wish, version), machines, tables, catalogs, everything=everything)
            if not isinstance(keeping, Answer):
                return keeping
            pick = keeping.pick
            if keeping.ok and pick.version == version and ("+" in version or pick.build.cuda == cuda):
                return keeping._replace(question=question)
    bound = _answered(question, machines, tables, catalogs, everything=everything)
    if not isinstance(bound, Answer) or not question.wish.limits:
        return bound
    free = question._replace(wish=question.wish._replace(limits=()))
    freed = _answered(free, machines, tables, catalogs, everything=False)
    return _naming_limits(bound, freed) if isinstance(freed, Answer) else freed


def with_family(answer: Answer, stack: Stack, family: Sequence[str]) -> Answer:
    """The answer whose pick also names what was asked for that lies on torch's index; the rest is the user's own's.

    Each is named by its version where it was judged.
    """
    others: dict[str, None] = {}
    for demand in answer.question.wanted:
        if demand.name in family and demand.name not in TRIO:
            version = stack.version(demand.name)
            others[demand.text if version is None else f"{demand.name}=={version}"] = None
    pick = answer.pick
    return answer._replace(pick=pick._replace(wish=pick.wish._replace(others=(*others,))))


def saying_unjudged(answer: Answer, command: str) -> Answer:
    """The answer with a note on what of it nothing is known of, and the command that learns it."""
    note = Note("NOT_JUDGED", f"not judged: {', '.join(answer.unknown)}; `{command}` does")
    hint = f"`{command}` also looks for versions that the table does not know"
    pick = answer.pick._replace(notes=(*answer.pick.notes, note))
    return answer._replace(pick=pick, stack=answer.environment._replace(hints=(hint, *answer.environment.hints)))


def _beside(question: Question, wish: Wish, version: str) -> Question:
    """The question with the installed torch as part of it."""
    torch = f"{question.wish.torch},=={version}".lstrip(",")
    pinned = question.wish._replace(torch=torch, backends=wish.backends)
    wanted = question.wanted and (*question.wanted, PackageDemand("torch", f"=={version}"))
    return question._replace(wish=pinned, wanted=wanted)


def _answered(
    question: Question, machines: tuple[Machine, ...], tables: Tables, catalogs: Catalogs, *, everything: bool
) -> Answer | Needs:
    wish, table = question.wish, tables(question.wish)
    if question.wanted:
        return _searched(question, machines[0], table, catalogs())
    pick = _picked(machines, table, wish, everything=everything)
    if pick.ok and len(machines) == 1 and any(limit.name in REQUIRED_BY_TORCH for limit in wish.limits):
        # What torch itself requires may contradict a constraint.
        family = (PackageDemand("torch", wish.torch), *map(PackageDemand, wish.companions, wish.companions.values()))
        bound = _searched(question._replace(wanted=family), machines[0], table, catalogs())
        return bound._replace(question=question, stack=None) if isinstance(bound, Answer) and bound.ok else bound
    return Answer(question, pick)


def _picked(machines: tuple[Machine, ...], table: Table, wish: Wish, *, everything: bool) -> Pick:
    if len(machines) == 1 and not everything:
        first = buildfit.pick(machines[0], table, wish, everything=False)
        if first.ok:
            return first
    from torchpick.decide import several

    return several.pick(machines, table, wish)


def _searched(question: Question, machine: Machine, table: Table, catalog: Catalog) -> Answer | Needs:
    from torchpick.decide import environments, searchfacts

    of_packages = (limit for limit in question.wish.limits if limit.name != "torch")
    limits = tuple(PackageDemand(limit.name, limit.specifier, (), limit.where) for limit in of_packages)
    search = searchfacts.SearchFacts(machine, table, question.wish, catalog, limits)
    outcome = environments.best(search, question.wanted, allow_mixed=question.allow_mixed)
    if isinstance(outcome, searchfacts.Needs):
        return outcome
    stack, solution = outcome
    verdicts = search.verdicts
    family = {demand.name: "" for demand in question.wanted if demand.name in COMPANIONS}
    wish = question.wish._replace(companions=family)
    chosen = None if solution is None else solution.torch or next(iter(search.builds), None)
    if chosen is not None:
        why = next((package.why for package in stack.packages if package.name == "torch"), "")
        better = (Objection(Reason.OTHER_TORCH, {"better": why.partition("; ")[0]}),)
        verdicts = tuple(
            verdict._replace(objections=better) if verdict.ok and verdict.rank > chosen.rank else verdict
            for verdict in verdicts
        )
    return Answer(question, made(machine, table, wish, chosen, verdicts), stack)


def _naming_limits(bound: Answer, freed: Answer) -> Answer:
    """The answer with the limits that changed it, each with its place; `freed` is that without any."""
    versions, taken = _versions(freed), _versions(bound)
    limits = excluding(bound.question.wish.limits, versions) if freed.ok else ()
    if not limits:
        return bound
    others = [f"{name} {version}" for name, version in versions.items() if taken.get(name) != version]
    is_other_torch = taken.get("torch") != versions.get("torch")
    note = limits_note(limits, [f"torch {versions['torch']}"] if is_other_torch else others)
    pick = bound.pick._replace(notes=(*bound.pick.notes, note))
    stack = bound.stack and bound.stack._replace(notes=(*bound.stack.notes, note))
    return bound._replace(pick=pick, stack=stack)


def _versions(answer: Answer) -> dict[str, str]:
    family = family_pins(answer.pick.build, answer.question.wish) if answer.pick.ok else {}
    packages = () if answer.stack is None else answer.stack.packages  # what a start does not load
    return {**family, **{package.name: package.version for package in packages}}


def decided(answer: Answer, table: Table | None = None) -> Answer:
    """The answer where one fits; else NoBuildError, which says more with the rules of the table."""
    if answer.ok:
        return answer
    pick, stack = refused(answer, table)
    why, hint = pick.refusal or ("", None)
    raise NoBuildError(why, pick=pick, hint=hint, stack=stack)


def refused(answer: Answer, table: Table | None = None) -> tuple[Pick, Stack | None]:
    """The pick of nothing, with why that is; and the environment whose packages stand in the way."""
    from torchpick.decide import refusal

    stack = answer.environment if answer.environment.objections else None
    if stack is None:
        why, remedy = refusal.explain_no_build(answer.pick, table)
    else:
        why, remedy = refusal.explain_no_environment(stack)
    return answer.pick._replace(verdicts=(), refusal=(why, remedy)), stack


def driver_spans(
    machine: Machine, table: DriverTable, take: Callable[[Machine], T | None], same: Callable[[T], object]
) -> list[tuple[T, int]]:
    """Where the newest driver was assumed: what each driver takes, with the oldest that does, the newest first.

    As far down as anything is taken.
    """
    if machine.driver is None or machine.driver.source != "assumed":
        return []
    newest = table.branch_number(machine.driver)
    spans: list[tuple[T, int]] = []
    for number in reversed([branch for branch in table.branches if branch <= newest]):
        taken = take(buildfit.with_driver(machine, str(number), table))
        if taken is None:
            break
        if spans and same(taken) == same(spans[-1][0]):
            spans.pop()
        spans.append((taken, number))
    return spans


def older_drivers(machine: Machine, table: DriverTable, ask: Callable[[Machine], Answer]) -> list[str]:
    """Where the newest driver was assumed: what older ones take instead, as far down as anything runs."""

    def take(older: Machine) -> str | None:
        answer = ask(older)
        return ", ".join(f"{name} {version}" for name, version in answer.taken.items()) if answer.ok else None

    spans = driver_spans(machine, table, take, lambda what: what)
    return [f"{oldest} to {above - 1}: {what}" for (_, above), (what, oldest) in pairwise(spans)]


# What a newer build has against it that would run: it comes after PyTorch's own.
_BESIDE = "it is on AMD's index, and PyTorch's has a build that runs here"


def why_not_newer(pick: Pick) -> list[str]:
    """For up to three newer releases, why none of their builds was taken; what is said of several is said once."""
    chosen = release_key(pick.build.torch)
    newer = grouped(
        (verdict.build.torch, verdict)
        for verdict in pick.considered
        if release_key(verdict.build.torch) > chosen and verdict.rank.preference >= 2
    )
    reasons: list[tuple[tuple[str, str], str]] = []
    for torch, verdicts in list(newer.items())[:3]:
        candidates = [verdict for verdict in verdicts if Reason.BACKEND_NOT_ALLOWED not in verdict.reasons] or verdicts
        for verdict in candidates:
            why = verdict.objections[0].text if verdict.objections else _BESIDE
            reasons.append(((why, verdict.build.backend), torch))
    alike = grouped(((why, tuple(releases)), backend) for (why, backend), releases in grouped(reasons).items())
    lines = [f"{', '.join(releases)} {', '.join(backends)}: {why}" for (why, releases), backends in alike.items()]
    if len(newer) > 3:
        lines.append(f"and {len(newer) - 3} more releases; `torchpick list` shows all")
    return lines
