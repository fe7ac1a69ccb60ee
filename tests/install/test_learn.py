"""What is learnt for an answer: each page once, in rounds, within bounds that are said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from tests.fakes.loopback import Loopback
from tests.fakes.wheelindex import Release, Source, WheelIndex
from tests.install.jobs import TARGET
from torchpick.decide import search
from torchpick.decide.answer import Answer, Question
from torchpick.decide.demands import parse_demands
from torchpick.decide.searchfacts import Needs
from torchpick.environment.requirements import RequirementArgs, Requirements
from torchpick.errors import InstallerError, TorchpickError
from torchpick.index.projects import ProjectReader, ReadingLimits
from torchpick.install import learner
from torchpick.install.asking import Order, TargetQuestion
from torchpick.install.learner import MOST_ROUNDS, Learner
from torchpick.model.package import Catalog
from torchpick.model.pick import Request, Wish
from torchpick.run import start_run

NOTHING = RequirementArgs()
REQUEST = Request(gpus=("RTX 4090",), driver="580.95.05", platform="linux-x86_64", python="3.12", glibc="2.35")


class Learning:
    """A question put to an index, and how many rounds it took."""

    def __init__(self, index: str, cache: Path, *names: str) -> None:
        run = start_run(REQUEST, {"PIP_INDEX_URL": index, "TORCHPICK_CACHE_DIR": str(cache)})
        self.machine = run.find_machines()[0]
        self.question = Question(Wish(), parse_demands(names))
        self.run, self.rounds = run, 0
        self.learner = Learner(TargetQuestion(run, Order(NOTHING), Requirements(NOTHING), TARGET, self.machine))

    def answer(self) -> Answer:
        return self.learner.answer(self._ask)

    def _ask(self, catalog: Catalog) -> Answer | Needs:
        self.rounds += 1
        return self.run.answer_or_needs(self.question, lambda: catalog, self.run.find_machines())

    @property
    def pins(self) -> Mapping[str, str]:
        return {package.name: package.version for package in self.answer().environment.packages}


@pytest.fixture
def learning(tmp_path: Path) -> Callable[..., Learning]:
    """Writes an index, and puts a question to it."""
    folders = (tmp_path / f"index-{number}" for number in count())

    def of(index: WheelIndex, *names: str, silent: bool = False) -> Learning:
        folder = next(folders)
        address = index.write(folder)
        for page in folder.glob("*/index.html") if silent else ():  # then METADATA alone says for which Pythons
            page.write_text(page.read_text("utf-8").replace("data-requires-python", "data-nothing"), "utf-8")
        return Learning(address, tmp_path / "cache", *names)

    return of


def chain(depth: int) -> WheelIndex:
    """`link-0` requires `link-1` … and the last one torch."""
    links = {f"link-{place}": {"1.0": [f"link-{place + 1}"]} for place in range(depth)}
    return WheelIndex({**links, f"link-{depth}": {"1.0": ["torch<2.12"]}})


@pytest.mark.parametrize("source", [Source.FINAL, Source.EGG_INFO])
def test_an_older_wheel_does_not_pass_a_newer_sdist(source: Source, learning: Callable[..., Learning]) -> None:
    newest = Release(["torch<2.9"], tags=(), source=source)
    index = WheelIndex({"robots": {"2.0": newest, "1.0": ["torch<2.12"]}})

    pins = learning(index, "robots").pins

    assert (pins["robots"], pins["torch"][:4]) == ("2.0", "2.8.")


def test_what_was_withdrawn_is_taken_only_where_that_very_version_is_asked_for(
    learning: Callable[..., Learning],
) -> None:
    index = WheelIndex({"robots": {"2.0": Release(["torch"], yanked="it is broken"), "1.0": ["torch"]}})

    assert learning(index, "robots").pins["robots"] == "1.0"
    assert learning(index, "robots==2.0").pins["robots"] == "2.0"


@pytest.mark.parametrize("silent", [False, True])
def test_a_version_for_another_python_is_passed_over(*, silent: bool, learning: Callable[..., Learning]) -> None:
    later = Release(["torch"], requires_python=">=3.13")
    index = WheelIndex({"robots": {"2.0": later, "1.0": ["torch"]}})

    assert learning(index, "robots", silent=silent).pins["robots"] == "1.0"


def test_a_project_without_a_version_for_this_python_is_refused_for_that(learning: Callable[..., Learning]) -> None:
    index = WheelIndex({"robots": {"2.0": Release(["torch"], requires_python=">=3.13")}})

    found = learning(index, "robots", silent=True).answer()

    assert not found.ok
    assert "3.13" in str(found.environment.objections)


def test_the_order_of_lines_and_pages_changes_nothing(learning: Callable[..., Learning]) -> None:
    projects = {
        "robots": {"3.0": ["sim>=2", "torch<2.9"], "2.0": ["sim<2", "torch<2.12"], "1.0": ["torch"]},
        "sim": {"2.0": ["torch>=2.9"], "1.0": ["torch", "parts"]},
        "parts": {"1.0": ["torch>=2.7"]},
    }
    turned = {name: dict(reversed(versions.items())) for name, versions in reversed(projects.items())}

    first, second = (learning(WheelIndex(each), "robots", "sim").pins for each in (projects, turned))

    assert first == second
    assert first["robots"] == "2.0"


def test_rounds_grow_with_the_depth_and_each_page_is_asked_for_once(tmp_path: Path) -> None:
    rounds = []
    for depth in (2, 6, 10, 14):
        with Loopback({"127.0.0.1": chain(depth)}).running() as server:
            learning = Learning(f"{server.url}/simple", tmp_path / str(depth), "link-0")
            pins = learning.pins
        rounds.append(learning.rounds)
        asked_for = Counter(each.path for each in server.log)
        assert pins["torch"] == "2.11.0+cu130"
        assert set(asked_for.values()) == {1}, asked_for
        assert len(asked_for) == 2 * (depth + 1)  # a page and METADATA of each
    assert len({rounds[place + 1] - rounds[place] for place in range(3)}) == 1, rounds
    assert rounds[1] - rounds[0] <= 4  # one round a level


# Bounds.


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> Callable[[ReadingLimits], None]:
    return lambda limits: monkeypatch.setattr(learner, "ProjectReader", partial(ProjectReader, limits=limits))


def test_a_chain_without_end_is_given_up_after_so_many_rounds(learning: Callable[..., Learning]) -> None:
    with pytest.raises(InstallerError, match=f"{MOST_ROUNDS} rounds") as stopped:
        learning(chain(60), "link-0").answer()

    assert stopped.value.code == "ROUNDS"


def test_more_projects_than_the_bound_are_not_looked_at(
    learning: Callable[..., Learning], limits: Callable[[ReadingLimits], None]
) -> None:
    limits(ReadingLimits(projects=5))

    with pytest.raises(TorchpickError, match="no more than 5 projects") as stopped:
        learning(chain(8), "link-0").answer()

    assert stopped.value.code == "READING_LIMIT"


def test_more_bytes_than_the_bound_are_not_read(tmp_path: Path, limits: Callable[[ReadingLimits], None]) -> None:
    limits(ReadingLimits(bytes=1000))
    with (
        Loopback({"127.0.0.1": chain(8)}).running() as server,
        pytest.raises(TorchpickError, match="MB are read") as stopped,
    ):
        Learning(f"{server.url}/simple", tmp_path, "link-0").answer()

    assert stopped.value.code == "READING_LIMIT"


def test_a_search_without_end_says_after_how_many_steps_it_stopped(
    learning: Callable[..., Learning], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five that all want to be another of four: nothing fits, and no conflict of fewer shows it."""
    monkeypatch.setattr(search, "MOST_STEPS", 60)
    names, versions = "abcde", ("1.0", "2.0", "3.0", "4.0")
    index = WheelIndex(
        {
            name: {
                version: ["torch", *(f"{other}!={version}" for other in names if other != name)] for version in versions
            }
            for name in names
        }
    )

    found = learning(index, *names).answer()

    assert not found.ok
    assert "the search was stopped after 60 steps" in str(found.environment.objections)
