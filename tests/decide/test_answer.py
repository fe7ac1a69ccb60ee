"""The torch that is installed stays, where it runs and nobody asks for another."""

from __future__ import annotations

import pytest

from tests.decide.test_buildfit import AMD, ROCM, build
from tests.decide.test_buildfit import machine as small
from tests.decide.test_stack import known, machine, package
from tests.laws.strategies import DRIVERS, table
from torchpick.decide import answer as answers
from torchpick.decide import buildfit
from torchpick.decide.answer import Answer, Question
from torchpick.decide.demands import PackageDemand
from torchpick.errors import NoBuildError
from torchpick.knowledge.compat import Knowledge
from torchpick.knowledge.packages import KnownPackages
from torchpick.model.build import DEFAULT_INDEX, Build, Objection, Reason
from torchpick.model.machine import Driver, Machine, Note
from torchpick.model.package import Catalog, PackageObjection
from torchpick.model.pick import Limit, Wish

PLATFORM = "linux-x86_64"
DEFAULT = Wish(backends=(DEFAULT_INDEX,))


@pytest.mark.parametrize("wanted", [(), ("numpy",)])
@pytest.mark.parametrize(("stays", "taken"), [
        (("2.9.1+cu126", None, (Wish(),)), "2.9.1+cu126"),
        (("2.9.1", "12.8", (Wish(), DEFAULT)), "2.9.1"),  # the default index's own
        (("2.9.1", "11.8", (Wish(), DEFAULT)), "2.15.0+cu132"),  # somebody else's build
        (("2.6.0+cpu", None, (Wish(),)), "2.15.0+cu132"),  # it does not use the GPU
])  # fmt: skip
def test_the_installed_torch_stays_where_it_runs(
    stays: tuple[str, str | None, tuple[Wish, ...]], taken: str, wanted: tuple[str, ...]
) -> None:
    question = Question(Wish(), tuple(map(PackageDemand, (*wanted, "torch") if wanted else ())), stays)

    found = answered(question)

    assert found.pick.version == taken
    assert found.question == question


def test_the_installed_torch_does_not_stay_where_another_is_asked_for() -> None:
    found = answered(Question(Wish(torch="<2.9"), (), ("2.9.1+cu126", None, (Wish(),))))

    assert found.pick.version.startswith("2.8.")


def answered(question: Question) -> Answer:
    knowledge = Knowledge({})
    found = answers.answer(
        question,
        (machine(),),
        lambda wish: knowledge.table((PLATFORM,), default_index=DEFAULT_INDEX in wish.backends),
        lambda: Catalog(KnownPackages({}, PLATFORM)),
    )
    assert isinstance(found, Answer)
    return found


def limits(*texts: str) -> tuple[Limit, ...]:
    rows = enumerate(map(str.split, texts), 1)
    return tuple(Limit(name, specifier, f"limits.txt line {line}") for line, (name, specifier) in rows)


FAMILIES = (("nobodys", "vllm"), ("nobodys",))


def test_what_was_not_judged_is_said_with_the_command_that_learns_it() -> None:
    given = answered(Question(Wish(), (PackageDemand("vllm"), PackageDemand("nobodys"))))

    found = answers.saying_unjudged(given, "torchpick plan vllm nobodys")

    others = [answers.with_family(given, given.environment, ("torch", *more)).pick.wish.others for more in FAMILIES]
    assert others[1] == others[0][1:]
    assert others[0] == (f"vllm=={given.environment.version('vllm')}", "nobodys")
    note = Note("NOT_JUDGED", "not judged: nobodys; `torchpick plan vllm nobodys` does")
    assert found.pick.notes == (*given.pick.notes, note)
    hint = "`torchpick plan vllm nobodys` also looks for versions that the table does not know"
    assert found.environment.hints == (hint, *given.environment.hints)
    assert (given.unknown, answered(Question(Wish())).unknown) == ({"nobodys": ""}, {})
    assert given.taken == {"torch": given.pick.version, **given.judged}
    assert given.judged.keys() >= {"vllm"}
    first, objection = given.environment.packages[0], PackageObjection("x", (), Objection(Reason.YANKED))
    for changed in ({"packages": (first._replace(pinned=False),)}, {"objections": (objection,)}):
        other = given._replace(stack=given.environment._replace(**changed))
        assert (other.ok, bool(other.judged)) == (("packages" in changed), ("packages" not in changed))
    assert not given._replace(pick=given.pick._replace(verdicts=())).ok
    assert given.judged.keys().isdisjoint({"torch", "torchvision", "torchaudio", "nobodys"})


OLD, NEW = build("2.9.0", "cu126"), build("2.11.0", "cu130")


def bound(
    wish: Wish, *builds: Build, requires: tuple[str, ...] = (), driver: str = "580.95.05", no_deps: bool = False
) -> Answer:
    """The answer of a small table; what torch itself requires is asked where a limit concerns that."""
    catalog = Catalog({}, torch_requirements=lambda _: requires, no_deps=no_deps) if requires else None

    def catalogs() -> Catalog:
        assert catalog is not None
        return catalog

    found = answers.answer(Question(wish), (small("sm_80", driver=driver),), lambda _: table([*builds]), catalogs)
    assert isinstance(found, Answer)
    return found


@pytest.mark.parametrize(
    "name", ["filelock", "fsspec", "jinja2", "networkx", "setuptools", "sympy", "typing-extensions", "numpy"]
)
def test_a_constraint_on_what_torch_itself_requires_binds_it(name: str) -> None:
    wish = Wish(limits=limits(f"{name} <2", f"{name} !=9"))
    if name == "numpy":
        assert bound(wish, OLD).ok  # nothing is asked for that
        return

    assert bound(wish, OLD, requires=(f"{name}<3",)).ok
    against = bound(wish, OLD, requires=(f"{name}>=2",))
    assert not against.ok
    assert bound(wish, OLD, requires=(f"{name}>=2",), no_deps=True).ok
    why, _ = answers.refused(against)
    assert why.refusal is not None
    assert f"torch 2.9.0 requires {name}>=2, and {name}<2 is asked for" in why.refusal[0]


def test_the_limits_that_changed_the_answer_are_named_with_what_it_would_be() -> None:
    pair = (OLD._replace(companions={"torchvision": "0.24.0"}), NEW._replace(companions={"torchvision": "0.26.0"}))

    def said(wish: Wish) -> list[str]:
        return [note.text for note in bound(wish, *pair).pick.notes if note.code == "CONSTRAINED"]

    would = "without that it would be torch 2.11.0+cu130"
    assert said(Wish(limits=limits("torch <2.11", "torch <3"))) == [
        f"bound by torch<2.11 in limits.txt line 1; {would}"
    ]
    assert said(Wish(limits=limits("torchvision <0.26", "torch !=2.11.0"))) == [
        f"bound by torch!=2.11.0 in limits.txt line 2; {would}"
    ]
    vision = Wish(limits=limits("torchvision <0.26", "torch !=2.11.0"), companions={"torchvision": ""})
    assert said(vision) == [
        f"bound by torchvision<0.26 in limits.txt line 1 and torch!=2.11.0 in limits.txt line 2; {would}"
    ]
    assert said(Wish(limits=limits("torch >=2.9"))) == []
    early = Wish(limits=limits("torch <3"), channel="test")
    assert not bound(early, build("2.12.0rc1"), OLD).pick.notes
    nothing = bound(Wish(torch="<2", limits=limits("torch <1.9")), *pair)
    assert not nothing.ok
    with pytest.raises(NoBuildError, match="no build runs here"):
        nothing.pick.require()
    assert not [note for note in nothing.pick.notes if note.code == "CONSTRAINED"]


def test_a_limit_on_a_package_is_named_with_what_that_alone_would_be() -> None:
    question = Question(Wish(limits=limits("lib <2")), (PackageDemand("lib"), PackageDemand("torch")))
    catalog = Catalog(known(package("lib", "2"), package("lib", "1")))

    found = answers.answer(question, (small("sm_80"),), lambda _: table([OLD, NEW]), lambda: catalog)

    assert isinstance(found, Answer)
    said = "bound by lib<2 in limits.txt line 1; without that it would be lib 2"
    assert [note.text for note in found.pick.notes] == [said]


def test_older_drivers_are_those_that_take_something_else_as_far_down_as_anything_runs() -> None:
    def ask(where: Machine) -> Answer:
        return Answer(Question(Wish()), buildfit.pick(where, table([OLD, NEW]), Wish()))

    assumed = small("sm_80")._replace(driver=Driver("595", source="assumed"))

    assert answers.older_drivers(assumed, DRIVERS, ask) == ["525 to 579: torch 2.9.0+cu126"]
    assert answers.older_drivers(assumed._replace(driver=Driver("570", source="assumed")), DRIVERS, ask) == []
    assert answers.older_drivers(assumed._replace(driver=Driver("595")), DRIVERS, ask) == []
    spans = answers.driver_spans(assumed, DRIVERS, lambda where: str(where.driver and where.driver.version)[:2], str)
    assert spans == [("59", 595), ("58", 580), ("57", 570), ("56", 560), ("52", 525), ("47", 470), ("45", 450)]


def test_why_no_newer_release_was_taken_is_said_for_three_of_them() -> None:
    newer = [build(f"2.{minor}.0", "cu130") for minor in (10, 11, 12, 13)]
    why = "CUDA 13.0 needs driver 580 or newer; this one is 525.60.13"

    def lines(*builds: Build) -> list[str]:
        return answers.why_not_newer(bound(Wish(), *builds, OLD, driver="525.60.13").pick)

    assert lines(build("2.14.0", "cpu", ""), *newer[:3]) == [f"2.12.0, 2.11.0, 2.10.0 cu130: {why}"]
    more = "and 1 more releases; `torchpick list` shows all"
    assert lines(*newer) == [f"2.13.0, 2.12.0, 2.11.0 cu130: {why}", more]
    two = [build("2.10.0", backend)._replace(pythons=("cp310",)) for backend in ("cu126", "cu128")]
    assert lines(*two) == ["2.10.0 cu128, cu126: there is no wheel for Python 3.12: it has 3.10"]
    # A backend that nobody asked for says nothing, but where there is no other.
    of_one = Wish(backends=("cu126",))
    both = [one._replace(pythons=("cp310",)) for one in (build("2.10.0", "cu126"), build("2.10.0", "cu128"))]
    asked = [answers.why_not_newer(bound(of_one, *some, OLD).pick) for some in (both, both[1:])]
    assert asked == [
        ["2.10.0 cu126: there is no wheel for Python 3.12: it has 3.10"], ["2.10.0 cu128: `cu126` was asked for"],
    ]  # fmt: skip
    later = ROCM._replace(torch="2.11.0", version="2.11.0+rocm7.2", vendor=AMD)
    pick = buildfit.pick(small("gfx1100", driver=None), table([ROCM, later]), Wish())
    assert answers.why_not_newer(pick) == [
        "2.11.0 rocm7.2: it is on AMD's index, and PyTorch's has a build that runs here"
    ]
