"""`torchpick plan` takes what pip and uv take: files, projects, places, and the rules for which files may be taken."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import torchpick
from tests.fakes.loopback import Loopback
from tests.fakes.tinywheel import TinyWheel
from tests.fakes.wheelindex import Release, Source, WheelIndex
from torchpick.cli import main

MACHINE = ("--gpu", "RTX 4090", "--driver", "580.95.05", "--platform", "linux-x86_64", "--python", "3.12")
ROBOTS = WheelIndex(
    {
        "robots": {"2.0": ["torch<2.12,>=2.7", "sim>=1"], "1.0": ["torch>=2.2"]},
        "sim": {"1.5": ["numpy<2"]},
        "numpy": {"2.3.0": [], "1.26.4": []},
    }
)


class Planned(NamedTuple):
    """What a plan prints with --json."""

    document: Mapping[str, Any]
    status: int

    @property
    def pins(self) -> dict[str, str]:
        return {each["name"]: each["version"] for each in self.document["stack"]["packages"]}

    def notes(self, code: str) -> list[str]:
        return [each["text"] for each in self.document["stack"]["notes"] if each["code"] == code]


Planning = Callable[..., Planned]


@pytest.fixture
def planning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Planning:
    """Runs `plan`, by the index of the robots where no other one is set, in an empty folder."""
    monkeypatch.setenv("TORCHPICK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_INDEX_URL", ROBOTS.write(tmp_path / "index"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def plan(*words: str) -> Planned:
        capsys.readouterr()
        status = main(["plan", *MACHINE, *words, "--json"])
        return Planned(json.loads(capsys.readouterr().out), status)

    return plan


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[WheelIndex], str]]:
    """Serves an index, whose pages then have sizes and times, as the user's own."""
    with Loopback({}).running() as server:

        def serve(index: WheelIndex) -> str:
            server.sites["127.0.0.1"] = index
            monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple/")
            return server.url

        yield serve


@pytest.mark.parametrize(("variable", "robots"), [("PIP_INDEX_URL", "2.0"), ("UV_DEFAULT_INDEX", "0.9")])
def test_an_index_that_the_file_names_is_looked_at_too(
    variable: str, robots: str, planning: Planning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By pip beside the user's own, by uv before it."""
    own = os.environ["PIP_INDEX_URL"]
    monkeypatch.delenv("PIP_INDEX_URL")
    monkeypatch.setenv(variable, own)
    more = WheelIndex({"lamps": {"3.0": ["torch<2.10"]}, "robots": {"0.9": []}}).write(tmp_path / "more")
    Path("requirements.txt").write_text(f"--extra-index-url {more}\nlamps\nrobots\n", "utf-8")

    found = planning("-r", "requirements.txt")

    assert (found.pins["lamps"], found.pins["robots"]) == ("3.0", robots)
    assert found.pins["torch"].startswith("2.9.")


PROJECT = """[project]
name = "Our.Lab"
version = "4.2"
dependencies = ["robots", "torchvision"]
[project.optional-dependencies]
old = ["torch<2.9"]
"""


def test_a_project_is_read_by_its_pyproject(planning: Planning) -> None:
    Path("pyproject.toml").write_text(PROJECT, "utf-8")

    as_file, in_place = planning("-r", "pyproject.toml"), planning("-e", ".[old]")

    assert (as_file.pins["robots"], as_file.pins["torch"]) == ("2.0", "2.11.0+cu130")
    assert "our-lab" not in as_file.pins
    assert (in_place.pins["our-lab"], in_place.pins["robots"]) == ("4.2", "2.0")
    assert in_place.pins["torch"].startswith("2.8.")
    assert "torchvision" in in_place.pins


@pytest.mark.parametrize("words", [("-e", "."), ("-r", "pyproject.toml"), ("./",)])
def test_what_only_a_build_knows_is_named(words: tuple[str, ...], planning: Planning) -> None:
    Path("pyproject.toml").write_text('[project]\nname = "lab"\nversion = "1"\ndynamic = ["dependencies"]\n', "utf-8")

    found = planning(*words, "robots")

    assert found.pins["robots"] == "2.0"
    assert any("leaves" in text for text in found.notes("PACKAGE_UNREAD"))


def test_a_repository_is_named_and_not_read(planning: Planning) -> None:
    found = planning("robots", "git+https://git.example/lab.git@main#egg=lab")

    assert "git.example/lab.git" in found.notes("PACKAGE_UNREAD")[0]


@pytest.mark.parametrize("form", ["{path}", "robots @ {uri}", "{uri}"])
def test_a_wheel_by_its_place_is_the_one_candidate(form: str, planning: Planning, tmp_path: Path) -> None:
    wheel = TinyWheel("robots", "0.5", requires=("torch<2.8",))
    path = tmp_path / wheel.filename
    path.write_bytes(wheel.content)

    found = planning(form.format(path=path, uri=path.as_uri()))

    assert found.pins["robots"] == "0.5"
    assert found.pins["torch"].startswith("2.7.")


def test_the_marker_of_an_address_counts(planning: Planning) -> None:
    Path("requirements.txt").write_text(
        'https://files.example/robots-9-py3-none-any.whl; sys_platform == "win32"\n'
        'lab @ https://files.example/lab-9-py3-none-any.whl ; sys_platform == "win32"\nrobots\n',
        "utf-8",
    )

    assert planning("-r", "requirements.txt").pins["robots"] == "2.0"


def test_an_sdist_by_its_place_is_read(planning: Planning, tmp_path: Path) -> None:
    index = WheelIndex({"robots": {"0.5": Release(["torch<2.8"], tags=(), source=Source.FINAL)}})
    index.write(tmp_path / "other")

    found = planning(str(tmp_path / "other" / "robots" / "robots-0.5.tar.gz"))

    assert (found.pins["robots"], found.pins["torch"][:4]) == ("0.5", "2.7.")


@pytest.mark.parametrize("tag", ["cp310-cp310-any", "py3-none-win_amd64"])
def test_a_wheel_for_another_python_or_platform_is_refused(tag: str, planning: Planning, tmp_path: Path) -> None:
    wheel = TinyWheel("robots", "0.5", tag)
    (tmp_path / wheel.filename).write_bytes(wheel.content)

    found = planning(str(tmp_path / wheel.filename))

    assert found.status == 2
    assert "is not for Python 3.12 on linux-x86_64" in found.document["error"]["text"]


# Which files may be taken.

SOURCES = WheelIndex(
    {
        "robots": {
            "3.0rc1": ["torch"],
            "2.0": Release(["torch<2.12"], tags=(), source=Source.FINAL),
            "1.0": Release(["torch<2.10"], source=Source.FINAL),
        }
    }
)


@pytest.fixture
def sources(tmp_path: Path, planning: Planning, monkeypatch: pytest.MonkeyPatch) -> Planning:
    monkeypatch.setenv("PIP_INDEX_URL", SOURCES.write(tmp_path / "sources"))
    return planning


@pytest.mark.parametrize(
    ("words", "lines", "place"),
    [
        (("--only-binary=robots",), "", "`--only-binary robots`"),
        ((), "--only-binary robots\n", "requirements.txt line 1"),
    ],
)
def test_what_has_no_wheel_is_left_out_and_who_says_so_is_named(
    words: tuple[str, ...], lines: str, place: str, sources: Planning
) -> None:
    Path("requirements.txt").write_text(f"{lines}robots\n", "utf-8")

    found = sources("-r", "requirements.txt", *words)

    assert found.pins["robots"] == "1.0"
    assert place in found.notes("CONSTRAINED")[0]
    assert "robots 2.0" in found.notes("CONSTRAINED")[0]


def test_what_is_to_be_built_is_said(sources: Planning) -> None:
    found = sources("robots==1.0", "--no-binary", "robots")

    assert found.notes("CONSTRAINED") == ["robots 1.0 is built from source, as `--no-binary robots` says"]


def test_pre_releases_are_taken_where_somebody_says_so(sources: Planning) -> None:
    found = sources("robots", "--pre")

    assert found.pins["robots"] == "3.0rc1"
    assert "is a pre-release" in found.notes("CONSTRAINED")[0]
    for word in ("robots==3.0rc1", "robots<3"):  # asked for by itself, or not taken
        assert sources(word, "--pre").notes("CONSTRAINED") == []


DATED = WheelIndex(
    {
        "robots": {
            "4.0rc1": Release(["torch"], uploaded="2026-06-03T10:00:00Z"),
            "3.0": Release(["torch"], uploaded="2026-06-02T10:00:00Z"),
            "2.0": Release(["torch<2.12"], uploaded="2026-06-01T10:00:00Z"),
            "1.0": Release(["torch<2.10"], uploaded="2026-01-01T10:00:00Z"),
        }
    }
)


@pytest.mark.parametrize(
    ("name", "value", "version"),
    [("PIP_UPLOADED_PRIOR_TO", "2026-06-02T09:00:00Z", "2.0"), ("UV_EXCLUDE_NEWER", "2026-05-30", "1.0")],
)
def test_what_is_too_new_waits(
    name: str, value: str, version: str, site: Callable[[WheelIndex], str], planning: Planning,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    site(DATED)
    monkeypatch.setenv(name, value)

    found = planning("robots")

    assert found.pins["robots"] == version
    assert name in found.notes("CONSTRAINED")[0]
    assert "robots 3.0 was" in found.notes("CONSTRAINED")[0]
    assert planning("robots<1.5").notes("CONSTRAINED") == []  # none of these is among the newer ones


def test_an_override_takes_the_place_of_what_is_required(planning: Planning, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("overrides.txt").write_text("torch==2.6.0\n", "utf-8")
    monkeypatch.setenv("UV_OVERRIDE", "overrides.txt")

    found = planning("robots")

    assert (found.pins["robots"], found.pins["torch"].partition("+")[0]) == ("2.0", "2.6.0")
    assert any("overrides.txt line 1" in text for text in found.notes("CONSTRAINED"))


def test_what_a_plain_package_wants_against_your_own_words_is_said(planning: Planning) -> None:
    (note,) = planning("robots", "numpy>=2").notes("PLAIN_CONFLICT")
    assert planning("robots", "numpy<2.4").notes("PLAIN_CONFLICT") == []

    assert note == "sim 1.5, which robots 2.0 requires, wants numpy<2, and `numpy>=2` is asked for"


def test_without_dependencies_nothing_that_is_required_counts(planning: Planning) -> None:
    found = planning("robots", "sim", "--no-deps")

    assert found.pins == {"robots": "2.0", "sim": "1.5"}


def test_what_has_no_wheel_is_said_to_be_built(planning: Planning, site: Callable[[WheelIndex], str]) -> None:
    site(WheelIndex({"robots": {"1.0": ["torch<2.8"], "2.0": Release(["torch<2.9"], tags=(), source=Source.FINAL)}}))

    found = planning("robots")

    assert found.pins["robots"] == "2.0"
    assert found.notes("BUILT_FROM_SOURCE") == ["robots 2.0 has no wheel, and is built where it is installed"]


# Several indexes, sizes, drivers.


def test_a_project_on_two_indexes_is_named_with_both(
    planning: Planning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = WheelIndex({"robots": {"3.0": ["torch<2.10"]}, "sim": {"1.0": []}}).write(tmp_path / "other")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", other)

    found = planning("robots", "sim")

    assert found.pins["robots"] == "3.0"
    (note,) = found.notes("INDEX_ORDER")
    assert note.startswith("robots, sim are on ")
    assert other in note


def test_the_library_plans_files_too(planning: Planning) -> None:  # noqa: ARG001 # its index and its folder
    Path("requirements.txt").write_text("robots\n", "utf-8")

    stack = torchpick.plan(
        files=["requirements.txt"], gpus=["RTX 4090"], driver="580.95.05", platform="linux-x86_64", python="3.12"
    )

    assert stack.version("robots") == "2.0"


def test_a_requirement_that_is_not_valid_is_said_and_stops_nothing(
    planning: Planning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = WheelIndex({"robots": {"1.0": ["torch<2.12", "lamps"]}, "lamps": {"1.0": ["PyYAML (>=5.1.*)"]}})
    monkeypatch.setenv("PIP_INDEX_URL", index.write(tmp_path / "old"))

    assert planning("robots").pins == {"robots": "1.0", "torch": "2.11.0+cu130"}


def test_a_wheel_index_of_a_file_is_named_and_not_asked(planning: Planning) -> None:
    Path("requirements.txt").write_text(
        "--extra-index-url https://download.pytorch.org/whl/cu128\nrobots\ntorch==2.10.0+cu128\n"
        "nvidia-cuda-runtime-cu12==12.8.90\n",
        encoding="utf-8",
    )

    found = planning("-r", "requirements.txt")

    assert (found.pins["robots"], found.pins["torch"]) == ("2.0", "2.10.0+cu128")
    assert f"{Path('requirements.txt').absolute()}:1" in found.notes("WHEEL_INDEX")[0]


def test_a_toolkit_of_another_cuda_is_not_that_of_a_build(planning: Planning) -> None:
    assert planning("torch==2.10.0+cu128", "robots", "nvidia-cuda-runtime-cu12==12.6.77").status == 3
