"""What a resolution would bring, judged beside torch: versions that nobody has read, and what may move."""

from __future__ import annotations

from tests.installers import test_commands
from torchpick.environment import requirements
from torchpick.environment.requirements import Given
from torchpick.install import twins
from torchpick.install.agreement import Agreement
from torchpick.install.joined import LearntPackages
from torchpick.model.package import Package, PackageFacts
from torchpick.model.request import Request
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
