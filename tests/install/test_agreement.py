"""What a resolution would bring, judged beside torch: versions that nobody has read, and what may move."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.installers import test_commands
from tests.installers.test_commands import PICK
from torchpick.environment import requirements
from torchpick.environment.requirements import Given
from torchpick.errors import NoBuildError
from torchpick.install import agreement as agreement_module
from torchpick.install import twins
from torchpick.install.agreeing import Agreeing
from torchpick.install.agreement import Agreement, AgreementMove, AgreementOutcome
from torchpick.install.joined import JoinedPackages, LearntPackages
from torchpick.installers import needs
from torchpick.installers.command import Command
from torchpick.installers.needs import Learnt
from torchpick.model.machine import Note
from torchpick.model.package import Package, PackageFacts
from torchpick.model.request import Request
from torchpick.model.stack import PackageObjection, PinnedPackage, Stack
from torchpick.model.verdict import Objection, Reason
from torchpick.session import Session

# The driver supports CUDA 12, and not 13.
SESSION = Session(
    Request(gpus=("a100",), driver="550.54.14", platform="linux-x86_64", python="3.12", glibc="2.35", offline=True), {}
)


def facts(name: str, **cudas: str) -> dict[str, PackageFacts]:
    """A package whose versions (`v2` is 2.0), newest first, link these CUDAs."""
    versions = (Package(name, f"{word[1:]}.0", cuda=cuda, links_torch=True) for word, cuda in cudas.items())
    return {name: PackageFacts(name, tuple(versions))}


def agreement(known: dict[str, PackageFacts], *words: str, limits: tuple[str, ...] = ()) -> Agreement:
    asked = requirements.read(Given(words), {})
    asked = asked._replace(limits=tuple(requirements.parse(each, "c.txt") for each in limits))
    (machine,) = SESSION.machines
    return Agreement(SESSION, machine, asked, {}, LearntPackages(known, machine, None))


def test_a_version_that_nobody_has_read_is_judged_by_the_newest_before_it() -> None:
    judged = agreement(facts("swift", v4="13", v2="12"), "swift")

    refused = [version for version in ("1.0", "2.0", "3.0", "4.0", "5.0") if judged.refuses("swift", version)]

    assert refused == ["5.0"]
    assert not judged.refuses("another", "5.0")


def test_what_is_found_is_judged_beside_the_torch_that_is_found_with_it() -> None:
    judged = agreement(facts("swift", v2="12"), "swift")

    stack = judged.of_versions({"swift": "2.0", "torch": "2.9.0+cu126"})

    assert stack is not None
    assert stack.ok
    assert [each.version.partition("+")[0] for each in stack.packages if each.name == "torch"] == ["2.9.0"]


def test_a_wheel_by_its_address_that_could_not_be_read_is_named_without_a_version() -> None:
    judged = agreement(facts("swift", v2="12"), "swift @ https://here.example/swift-3.0-py3-none-any.whl")

    assert ["CUDA swift was built" in note.text for note in judged.unread({})] == [True]


def test_of_several_torches_for_all_machines_one_is_taken() -> None:
    asked = requirements.read(Given(("swift",)), {})
    (machine,) = SESSION.machines
    known = LearntPackages(facts("swift", v2="12"), machine, None)
    newest = Agreement(SESSION, machine, asked, {}, known).of_nothing().version("torch")
    assert newest is not None

    judged = Agreement(SESSION, machine, asked, {}, known, torches={"2.6.0+cu124", "2.5.1+cu124"})

    assert judged.of_nothing().version("torch") == "2.6.0+cu124" != newest


def test_what_a_marker_leaves_out_is_not_judged() -> None:
    placed = "fast @ https://here.example/fast-1-py3-none-any.whl ; python_version < '3'"
    asked = requirements.read(Given(("swift; python_version < '3'", "other", placed)), {})
    (machine,) = SESSION.machines
    known = LearntPackages(
        {**facts("swift", v2="12"), **facts("other", v1="12"), **facts("fast", v1="12")}, machine, None
    )
    markers = {each.marker: not each.marker for each in asked.wanted}

    judged = Agreement(SESSION, machine, asked, markers, known)

    assert {each.name for each in judged.of_nothing().packages} == {"other", "torch"}
    assert judged.unread({}) == []


class Wanted(LearntPackages):
    """Facts that note what is to be read."""

    def read(self, wanted: Mapping[str, str], *_: object, **_how: object) -> bool:
        self.asked = [*wanted]
        return False


def test_what_was_named_is_read_before_what_it_brings() -> None:
    asked = requirements.read(Given(("zebra",)), {})
    (machine,) = SESSION.machines
    known = Wanted({}, machine, None)
    found = Learnt(versions={"ant": "1", "zebra": "1", "bee": "1"}, users=frozenset({"ant", "bee", "zebra"}))

    Agreement(SESSION, machine, asked, {}, known).read(found)

    assert known.asked == ["zebra", "ant", "bee"]


def test_what_is_only_limited_or_not_known_does_not_move() -> None:
    known = {**facts("swift", v4="13", v2="12"), **facts("other", v1="12")}
    judged = agreement(known, "swift", "numpy", limits=("other<2",))

    moves = [*judged.moves({"swift": "4.0", "numpy": "2.0"})]

    assert [{each.name for each in move.stack.packages} - {"torch"} for move in moves if move.stack.ok] == [{"swift"}]
    assert [each.version for each in moves[-1].stack.packages if each.name == "swift"] == ["2.0"]
    assert not any(move.stack.unknown for move in moves)


def test_what_is_not_installed_puts_nothing_aside() -> None:
    known = {"one": PackageFacts("one", (), rivals=("other",))}
    job = test_commands.job(Given(("one; sys_platform == 'win32'", "other")))

    assert twins.apart(job, ["other"], known, leaves_out=True).left_out == ()
    assert twins.apart(job, ["one", "other"], known, leaves_out=True).left_out == ("other",)


def test_a_version_that_is_read_anew_stands_once_with_those_of_the_table() -> None:
    table = facts("swift", v4="13", v2="12")
    read = Package("swift", "2.0", cuda="11"), Package("swift", "3.0", cuda="12"), Package("new", "1.0")

    joined = JoinedPackages(table, read)

    assert [(each.version, each.cuda) for each in joined["swift"].versions] == [
        ("4.0", "13"), ("3.0", "12"), ("2.0", "11"),
    ]  # fmt: skip
    assert [*joined] == ["swift", "new"]
    assert len(joined) == 2


class Disagreeing:
    """A judgement that never agrees, and always has another environment to try."""

    def __init__(self, stack: Stack) -> None:
        self.stack, self.seen = stack, 0
        self.of_versions: Any = lambda _: stack._replace(packages=())
        self.unread: Any = lambda _: []
        self.moves: Any = lambda _: [AgreementMove(stack)]
        self.completed: Any = dict

    def read_placed(self) -> None:
        """Nothing is named by its place."""

    def read(self, _: object) -> None:
        self.seen += 1


def test_where_nothing_is_ever_agreed_on_the_resolver_is_not_asked_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    known = facts("swift", v2="12")
    (move, *_) = agreement(known, "swift").moves({"swift": "2.0"})
    monkeypatch.setattr(needs, "held_to", lambda *_: Learnt())
    judged: Any = Disagreeing(move.stack)
    agreeing = Agreeing(judged, Command("uv", ("uv",)), {}, PICK, lambda _: PICK)

    with pytest.raises(NoBuildError, match="the packages agree with no torch that runs here"):
        agreeing.agreed(test_commands.job(Given(("swift",))), Learnt())

    assert judged.seen == 4


@pytest.mark.parametrize(
    ("name", "judged"),
    [
        ("vllm", True), ("numpy", True), ("nvidia", True),
        ("", False), ("torch", False), ("torchvision", False), ("triton", False), ("pytorch-triton", False),
        ("nvidia-cublas-cu12", False), ("cuda-python", False),
    ],
)  # fmt: skip
def test_what_is_a_part_of_torch_is_not_judged_beside_it(name: str, *, judged: bool) -> None:
    assert agreement_module._is_judged(name) is judged


def test_no_more_is_told_of_a_refusal_than_one_can_read() -> None:
    (machine,) = SESSION.machines
    against = tuple(PackageObjection(f"p{n}", ("1.0",), Objection(Reason.YANKED)) for n in range(9))
    stack = Stack(machine, ("p0", "p1"), objections=against, hints=("one", "two", "three"))

    error = agreement_module.refused(stack, machine, PICK)

    assert error.message.startswith("no environment fits p0 p1 for ")
    assert [f"p{n}" for n in range(9) if f"p{n} 1.0: " in error.message] == ["p0", "p1", "p2", "p3", "p4", "p5"]
    assert error.hint == "one; two"
    assert "--allow-mixed" in str(agreement_module.refused(stack._replace(hints=()), machine, PICK).hint)
    assert error.pick.verdicts == ()


def test_of_what_agrees_only_what_is_news_is_told_and_each_version_held() -> None:
    (machine,) = SESSION.machines
    old, new = Note("OLD", "known"), Note("OLD", "another text")
    pick = PICK._replace(notes=(old,))
    torch = PinnedPackage("torch", pick.version, None, links_torch=True, index="", verdict="runs", why="", evidence="")
    packages = (
        torch,
        torch._replace(name="swift", version="1.0", why="asked; 2.0 needs more"),
        torch._replace(name="nvidia-x", version="12.*", why="needed"),
    )
    stack = Stack(machine, ("swift",), packages, notes=(old, new))

    outcome = agreement_module.outcome(stack, pick)

    assert outcome == AgreementOutcome(None, {"swift": "1.0"}, ("nvidia-x==12.*",), (new,))
    assert agreement_module.outcome(stack, PICK._replace(notes=())).notes == (old, new)
    assert [(note.code, note.text) for note in agreement_module.passed_over(stack)] == [
        ("PACKAGE_MOVED", "swift 1.0 is taken: 2.0 needs more")
    ]


def test_what_is_asked_for_by_its_place_is_read_there_where_it_can_be_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = {
        "swift": "https://user.example/swift",  # of the table, in a version that the place does not tell
        "told": "https://user.example/told-3.0-py3-none-any.whl",
        "other": "https://user.example/other",
        "torchvision": "https://user.example/torchvision-0.29.1-cp312-cp312-linux_x86_64.whl",
    }
    judged = agreement(facts("swift", v2="12"), *(f"{name} @ {url}" for name, url in addresses.items()), "numpy<3")
    seen: list[tuple[object, ...]] = []
    monkeypatch.setattr(judged.known, "read", lambda *words: seen.append(words))

    judged.read_placed()

    assert seen == [
        ({"swift": "", "told": "==3.0"}, {"swift": addresses["swift"], "told": addresses["told"]}),
    ]
    assert judged.completed({"numpy": "2.0", "told": "1.0"}) == {"numpy": "2.0", "told": "3.0"}
    assert [(each.name, each.specifier) for each in judged.wanted if each.name != "torchvision"] == [
        ("told", "==3.0"), ("numpy", "<3"),
    ]  # fmt: skip


def test_what_is_brought_need_not_come_again_where_what_was_named_stays() -> None:
    known = {**facts("swift", v2="12"), **facts("other", v1="12")}
    judged = agreement(known, "swift", "torch<2.10", limits=("other<2",))

    (first, *_) = judged.moves({"swift": "2.0", "other": "1.0"})

    assert {each.name: each.version for each in first.stack.packages if each.name != "torch"} == {"swift": "2.0"}
    assert str(first.stack.version("torch")).startswith("2.9.")
