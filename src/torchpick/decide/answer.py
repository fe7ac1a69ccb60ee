"""A question about an environment and its answer: one torch build, and every package that goes with it. Pure.

Every command asks here. A question of torch, torchvision and torchaudio alone is a question of builds; any other
package makes it one of a whole environment, which is searched package by package.
"""

from __future__ import annotations

from torchpick.decide import resolve
from torchpick.decide.remarks import made
from torchpick.errors import NoBuildError
from torchpick.model.build import COMPANIONS, TRIO
from torchpick.model.machine import Machine, Note
from torchpick.model.noun import Noun
from torchpick.model.pick import Pick
from torchpick.model.request import Limit, Wish
from torchpick.model.table import Table
from torchpick.model.verdict import Objection, Reason
from torchpick.model.versions import admits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torchpick.decide.demands import PackageDemand
    from torchpick.decide.search import Needs
    from torchpick.decide.solution import Solution
    from torchpick.decide.solving import StackSearch
    from torchpick.model.build import Build
    from torchpick.model.package import Catalog
    from torchpick.model.stack import Stack

    Catalogs = Callable[[], Catalog]
    Tables = Callable[[Wish], Table]


# What releases from 2.4 on require beside CUDA and triton (compat/requires.json): a constraint on anything else cannot
# contradict torch.
REQUIRED_BY_TORCH = frozenset({"filelock", "fsspec", "jinja2", "networkx", "setuptools", "sympy", "typing-extensions"})


class TorchToKeep(Noun):
    """The torch of an environment, which stays where it runs and nobody asks for another.

    `wishes` say where it may lie. Without a label its CUDA distinguishes its build from others of the version, such as
    conda's.
    """

    version: str
    cuda: str | None
    wishes: tuple[Wish, ...]


class Question(Noun):
    """Everything that binds an answer, the machine aside.

    `wish` holds the flags, what is asked of torch and its companions, and the limits. `wanted` is empty where nothing
    but these three is asked for, else all that is, they included.
    """

    wish: Wish
    wanted: tuple[PackageDemand, ...] = ()
    stays: TorchToKeep | None = None
    allow_mixed: bool = False


class Answer(Noun):
    """The torch build, the environment around it where packages were asked for, and the limits that changed either."""

    question: Question
    pick: Pick
    stack: Stack | None = None
    bound_by: tuple[Limit, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing stands in the way; what was not judged is in `unknown`.

        Where no build of torch runs, nothing is answered: whatever else is installed may need it.
        """
        return self.pick.ok and (self.stack is None or not self.stack.objections)

    @property
    def environment(self) -> Stack:
        """The environment around the build, without packages where none were asked for."""
        from torchpick.model.stack import Stack

        return self.stack or Stack(self.pick.machine, ())

    @property
    def judged(self) -> dict[str, str]:
        """The packages beside torch that stand on it, which are what was judged: name → version."""
        found = self.environment.packages
        return {each.name: each.version for each in found if each.name not in TRIO and each.pinned}

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
    if (stays := question.stays) is not None:
        for wish in stays.wishes:
            kept = _answered(_beside(question, wish, stays), machines, tables, catalogs, everything=everything)
            if not isinstance(kept, Answer):
                return kept
            pick = kept.pick
            if kept.ok and pick.version == stays.version and ("+" in pick.version or pick.build.cuda == stays.cuda):
                return kept._replace(question=question)
    given = _answered(question, machines, tables, catalogs, everything=everything)
    if not isinstance(given, Answer) or not question.wish.limits:
        return given
    return _bound(given, machines, tables, catalogs)


def with_family(given: Answer, stack: Stack, family: Sequence[str]) -> Answer:
    """The answer whose pick also names what was asked for that lies on torch's index; the rest is the user's own's.

    Each is named by its version where it was judged.
    """
    found: dict[str, None] = {}
    for demand in given.question.wanted:
        if demand.name in family and demand.name not in TRIO:
            version = stack.version(demand.name)
            found[demand.text if version is None else f"{demand.name}=={version}"] = None
    pick = given.pick
    return given._replace(pick=pick._replace(wish=pick.wish._replace(others=(*found,))))


def saying_unjudged(given: Answer, command: str) -> Answer:
    """The answer with a note on what of it nothing is known of, and the command that learns it."""
    note = Note("NOT_JUDGED", f"not judged: {', '.join(given.unknown)}; `{command}` does")
    hint = f"`{command}` also looks for versions that the table does not know"
    pick = given.pick._replace(notes=(*given.pick.notes, note))
    return given._replace(pick=pick, stack=given.environment._replace(hints=(hint, *given.environment.hints)))


def _beside(question: Question, wish: Wish, stays: TorchToKeep) -> Question:
    """The question with the installed torch as part of it."""
    torch = f"{question.wish.torch},=={stays.version}".lstrip(",")
    own = question.wish._replace(torch=torch, backends=wish.backends)
    if not question.wanted:
        return question._replace(wish=own)
    from torchpick.decide.demands import PackageDemand

    return question._replace(wish=own, wanted=(*question.wanted, PackageDemand("torch", f"=={stays.version}")))


def _answered(
    question: Question, machines: tuple[Machine, ...], tables: Tables, catalogs: Catalogs, *, everything: bool
) -> Answer | Needs:
    wish, table = question.wish, tables(question.wish)
    if question.wanted:
        return _environment(question, machines[0], table, catalogs())
    found = _picked(machines, table, wish, everything=everything)
    if found.ok and len(machines) == 1 and any(limit.name in REQUIRED_BY_TORCH for limit in wish.limits):
        # What torch itself requires may contradict a constraint.
        bound = _environment(question._replace(wanted=_family_of(wish)), machines[0], table, catalogs())
        return bound._replace(question=question, stack=None) if isinstance(bound, Answer) and bound.ok else bound
    return Answer(question, found)


def _picked(machines: tuple[Machine, ...], table: Table, wish: Wish, *, everything: bool) -> Pick:
    if len(machines) == 1 and not everything:
        first = resolve.pick(machines[0], table, wish, everything=False)
        if first.ok:
            return first
    from torchpick.decide import several

    return several.pick(machines, table, wish)


def _family_of(wish: Wish) -> tuple[PackageDemand, ...]:
    """What a wish asks of torch and its companions, as demands."""
    from torchpick.decide.demands import PackageDemand

    return (PackageDemand("torch", wish.torch), *map(PackageDemand, wish.companions, wish.companions.values()))


def _environment(question: Question, machine: Machine, table: Table, catalog: Catalog) -> Answer | Needs:
    from torchpick.decide import environments
    from torchpick.decide.demands import PackageDemand
    from torchpick.decide.search import Needs
    from torchpick.decide.solving import StackSearch

    limits = tuple(
        PackageDemand(limit.name, limit.specifier, (), limit.where)
        for limit in question.wish.limits
        if limit.name != "torch"
    )
    search = StackSearch(machine, table, question.wish, catalog, limits)
    found = environments.best(search, question.wanted, allow_mixed=question.allow_mixed)
    if isinstance(found, Needs):
        return found
    stack, solution = found
    return Answer(question, _pick(search, question, stack, solution), stack)


def _pick(search: StackSearch, question: Question, stack: Stack, solution: Solution | None) -> Pick:
    """The build of an environment as a pick, with every build it was weighed against."""
    verdicts = search.verdicts
    family = {demand.name: "" for demand in question.wanted if demand.name in COMPANIONS}
    wish = question.wish._replace(companions=family)
    chosen = None if solution is None else solution.torch or next(iter(search.builds), None)
    if chosen is not None:
        why = next((each.why for each in stack.packages if each.name == "torch"), "")
        better = Objection(Reason.OTHER_TORCH, {"why": why.partition("; ")[0]})
        verdicts = tuple(
            each._replace(objections=(better,)) if each.ok and each.rank > chosen.rank else each for each in verdicts
        )
    return made(search.machine, search.table, wish, chosen, verdicts)


def _bound(given: Answer, machines: tuple[Machine, ...], tables: Tables, catalogs: Catalogs) -> Answer | Needs:
    """The answer with the limits that changed it, each with its place."""
    free = given.question._replace(wish=given.question.wish._replace(limits=()))
    freed = _answered(free, machines, tables, catalogs, everything=False)
    if not isinstance(freed, Answer):
        return freed
    if not freed.ok:
        return given
    there = _versions(freed)
    bound_by = excluding(given.question.wish.limits, there)
    if not bound_by:
        return given
    note = constrained(bound_by, [f"{name} {version}" for name, version in _other(there, _versions(given)).items()])
    return _noted(given, note)._replace(bound_by=bound_by)


def _noted(given: Answer, *more: Note) -> Answer:
    pick = given.pick._replace(notes=(*given.pick.notes, *more))
    stack = given.stack and given.stack._replace(notes=(*given.stack.notes, *more))
    return given._replace(pick=pick, stack=stack)


def constrained(limits: tuple[Limit, ...], instead: list[str]) -> Note:
    """What these limits changed: the versions that the answer would have without them."""
    text = " and ".join(dict.fromkeys(limit.text for limit in limits[:3]))
    return Note("CONSTRAINED", f"bound by {text}; without that it would be {' and '.join(instead[:3])}")


def _versions(given: Answer) -> dict[str, str]:
    """The versions of torch, of the companions that are asked for, and of every package of the environment."""
    asked = of_family(given.pick.build, given.question.wish) if given.pick.ok else {}
    packages = () if given.stack is None else given.stack.packages
    return {**asked, **{each.name: each.version for each in packages}}


def of_family(build: Build, wish: Wish) -> dict[str, str]:
    """Torch and the companions that are asked for, by their versions of this build."""
    return {name: version for name, version in build.pins.items() if name == "torch" or name in wish.companions}


def _other(free: Mapping[str, str], bound: Mapping[str, str]) -> dict[str, str]:
    """Torch where it is another, and else what is."""
    changed = {name: version for name, version in free.items() if bound.get(name) != version}
    return {"torch": changed["torch"]} if "torch" in changed else changed


def excluding(limits: tuple[Limit, ...], versions: Mapping[str, str]) -> tuple[Limit, ...]:
    """The limits that one of these versions does not meet."""
    return tuple(
        limit for limit in limits if limit.name in versions and not admits(limit.specifier)(versions[limit.name])
    )


def decided(answer: Answer, table: Table | None = None) -> Answer:
    """The answer where one fits; else NoBuildError, which says more with the rules of the table."""
    if answer.ok:
        return answer
    from torchpick.decide import refusal

    stack = answer.environment if answer.environment.objections else None
    refused = refusal.words(answer.pick, table) if stack is None else refusal.of_stack(stack)
    raise NoBuildError(refused.why, pick=answer.pick._replace(verdicts=()), hint=refused.remedy, stack=stack)
