from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.installers.test_links import build
from torchpick.errors import InstallerError
from torchpick.installers import needs, reporting, run, stubs
from torchpick.installers.command import Command
from torchpick.installers.needs import Need, who_asks
from torchpick.installers.run import Heard
from torchpick.model.build import Build
from torchpick.model.versions import admits, release_key

# Words of pip 26.3, 22.3.1 and uv 0.13.8.
PIP = """\
ERROR: Cannot install mylib[new]==1.0 because these package versions have conflicting dependencies.

The conflict is caused by:
    mylib 1.0 depends on torch>=2.5
    mylib[new] 1.0 depends on torch>=2.15; extra == "new"
    The user requested (constraint) torch<=2.14.1

To fix this you could try to:
"""
UV = """\
  × No solution found when resolving dependencies:
  ╰─▶ Because mylib[new]==1.0 depends on torch>=2.15 and mylib==1.0 depends
      on torch<=2.14.1, we can conclude that mylib==1.0 cannot be used.
"""
UV_ALL = (
    "Because all versions of mylib[new] depend on torch>=2.15 and all versions of mylib depend on torch<=2.14.1, we"
)


def test_who_asks_for_what_in_the_words_of_each() -> None:
    assert who_asks(PIP, "torch<=2.14.1") == (Need("mylib 1.0", "torch>=2.5"), Need("mylib[new] 1.0", "torch>=2.15"))
    assert who_asks(UV, "torch<=2.14.1") == (Need("mylib[new]==1.0", "torch>=2.15"),)
    assert who_asks(UV_ALL, "torch<=2.14.1") == (Need("mylib[new]", "torch>=2.15"),)


@given(st.text())
def test_any_words_are_read(text: str) -> None:
    who_asks(text + " depends on torch" + text, "torch<=2")


def test_a_conflict_names_only_what_nothing_can_give() -> None:
    runnable = [build(), build(torch="2.9.1", version="2.9.1+cu126")]

    assert needs._conflict(PIP, runnable) == ("mylib[new] 1.0 asks for torch>=2.15",)


def test_words_that_name_nobody_are_passed_on() -> None:
    assert needs._conflict("one\ntwo\n\nthree", [build()]) == ("one", "two", "three")


def test_uvs_pins() -> None:
    found = needs.of_pins("# a comment\ntorch==2.9.1+cu126\nMy_Lib[x]==1.0 ; sys_platform\n-e ./x\nname @ https://x\n")

    assert found.versions == {"torch": "2.9.1+cu126", "my-lib": "1.0"}


def test_uv_says_who_needs_torch_or_one_of_cudas_own_wheels() -> None:
    text = """My_Lib==1.0
    # via -r needs.txt
numpy==2.0
    # via
    #   my-lib
    #   other
nvidia-nccl-cu12==2.1
    # via Faiss.GPU
faiss-gpu==1.0
other==1.0
torch==2.9.1
    # via
    #   -c limits.txt
    #   my-lib
    #   other
"""

    assert needs.of_pins(text).users == {"my-lib", "other", "faiss-gpu"}


REPORT = """{"install": [
 {"metadata": {"name": "My_Lib", "version": "1",
  "requires_dist": ["torch (>=2.0,<2.12)", "Torch[x]>=2.1 ; extra == 'y'", "torch-scatter>1", "torchvision", "torch @ https://x"]},
  "download_info": {"url": "https://x/y.whl"}},
 {"metadata": {"name": "torchvision", "version": "0.1", "requires_dist": ["torch==9"]}, "download_info": {"url": "u"}}
]}"""


def test_pips_report_tells_who_requires_what_of_the_family() -> None:
    found = needs.of_report(REPORT)

    assert found.versions == {"my-lib": "1", "torchvision": "0.1"}
    assert found.asked == (("torch", ">=2.0,<2.12"), ("torch", ">=2.1"), ("torchvision", ""), ("torch", "@"))
    assert found.users == {"my-lib", "torchvision"}


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"install": [{}]}', '{"install": 3}', "{" * 100_000, '{"install": [{"metadata": {"name": 3}}]}'],
)
def test_a_report_that_is_none_is_said(text: str) -> None:
    with pytest.raises(InstallerError, match="pip's report"):
        reporting.items(text)


def test_content_only_where_every_specifier_is_met() -> None:
    def content(*asked: tuple[str, str]) -> bool:
        return needs._content(needs.Answer({}, asked), {"torch": "2.9.1+cu126"})

    assert content(("torch", ">=2.0"), ("torch", ""))
    assert content(("torch", "==2.9.1+cu126"))
    assert not content(("torch", "==2.9.1+cu130"))
    assert not content(("torch", "<2.9"))
    assert not content(("torchvision", ""))
    assert not content(("torch", "@"))
    assert not content(("torch", "nonsense"))
    assert not needs._content(needs.Answer(), {})


def test_bounds_keep_a_resolver_to_what_is_offered() -> None:
    offered = [build(), build(torch="2.9.1", version="2.9.1+cu126")]
    known = [*offered, *(build(torch=torch, version=f"{torch}+cu128") for torch in ("2.10.0", "2.8.0", "2.15.0"))]

    assert needs._bounds(offered, known) == "torch<=2.14.1,!=2.8.0,!=2.10.0\n"
    assert needs._bounds((), known) == "torch==0+nothing.runs.here\n"


def test_stand_ins_keep_a_companion_with_its_torch() -> None:
    made = build(companions={"torchvision": "0.29.1+cu126", "torchaudio": None})

    assert stubs.of_builds([made]) == (
        stubs.Stub("torch", "2.14.1+cu126"),
        stubs.Stub("torchvision", "0.29.1+cu126", "torch==2.14.1+cu126"),
    )


class Resolver:
    """A resolver of a world of two libraries, in uv's words or in pip's: it reads what it is given, as they do."""

    def __init__(self, **libraries: str) -> None:
        self.libraries = libraries  # what each asks of torch, all at version 1.0
        self.asked: list[list[str]] = []

    def __call__(self, command: Command, environ: object) -> Heard:
        assert environ == {"A": "b"}
        limits = command.argv[command.argv.index("-c") + 1]
        text = next(file.content for file in command.files if file.path == limits)
        lines = [line.partition(" ")[0] for line in text.splitlines()]
        self.asked.append(lines)
        shelf = Path(command.argv[command.argv.index("--find-links") + 1])
        offered = {name: self._on(shelf, name) for name in ("torch", "torchvision")}
        bound = next(line.removeprefix("torch") for line in lines if line.startswith("torch"))
        fits = [each for each in offered["torch"] if self._admitted(each, bound)]
        taken = [each for each in fits if all(self._admitted(each, asks) for asks in self.libraries.values())]
        found = dict.fromkeys(self.libraries, "1.0")
        if self.libraries:
            if not taken:
                words = " and ".join(f"{name}==1.0 depends on torch{asks}" for name, asks in self.libraries.items())
                return Heard(1, "", f"Because {words} and torch{bound}, we can conclude nothing.")
            found["torch"] = max(taken, key=release_key)
        return self._answer(command, found)

    @staticmethod
    def _on(shelf: Path, name: str) -> list[str]:
        files = sorted(shelf.glob(f"{name}-*-py3-none-any.whl"))
        assert all(zipfile.is_zipfile(file) for file in files)
        return [file.name.split("-")[1] for file in files]

    @staticmethod
    def _admitted(version: str, asks: str) -> bool:
        return not asks or admits(asks)(version)

    def _answer(self, command: Command, found: dict[str, str]) -> Heard:
        if command.installer == "uv":
            return Heard(0, "".join(f"{name}=={version}\n" for name, version in found.items()), "")
        install = [
            {
                "metadata": {
                    "name": name,
                    "version": version,
                    "requires_dist": [f"torch{self.libraries[name]}"] if name in self.libraries else [],
                },
                "download_info": {"url": "https://x"},
            }
            for name, version in found.items()
        ]
        Path(command.argv[command.argv.index("--report") + 1]).write_text(json.dumps({"install": install}))
        return Heard(0, "not for us", "")


NEW = build(torch="2.15.0", version="2.15.0+cu132", backend="cu132")
PICK = build(companions={"torchvision": "0.29.1+cu126"})
OTHER_BACKEND = build(version="2.14.1+cu128", backend="cu128")
OLD = build(torch="2.9.1", version="2.9.1+cu126")
ALL, RUNNABLE = (NEW, PICK, OTHER_BACKEND, OLD), (PICK, OTHER_BACKEND, OLD)


def learnt(resolver: Resolver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, installer: str = "uv") -> needs.Learnt:
    monkeypatch.setattr(run, "capture", resolver)
    command = Command(installer, (installer, "asked"))
    return needs.learn(command, ALL, RUNNABLE, PICK, str(tmp_path), {"A": "b"})


@pytest.mark.parametrize("installer", ["uv", "pip"])
@pytest.mark.parametrize(
    ("libraries", "torch", "conflict", "resolutions"),
    [
        ({}, None, (), 1),
        ({"mylib": ""}, None, (), {"uv": 2, "pip": 1}),
        ({"mylib": ">=2.9", "other": "<3"}, None, (), {"uv": 2, "pip": 1}),
        ({"mylib": "<2.10"}, "2.9.1+cu126", (), 3),
        ({"mylib": "==2.14.1+cu128"}, "2.14.1+cu128", (), 4),
        ({"mylib": ">=2.15"}, None, ("mylib==1.0 asks for torch>=2.15",), 4),
        ({"mylib": ">=2.15", "other": "<=2.15"}, None, ("mylib==1.0 asks for torch>=2.15",), 4),
        ({"mylib": ">=3"}, None, ("mylib==1.0 asks for torch>=3",), 1),
    ],
)
def test_a_librarys_pin_narrows_the_pick_and_moves_no_library(
    installer: str,
    libraries: dict[str, str],
    torch: str | None,
    conflict: tuple[str, ...],
    resolutions: int | dict[str, int],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    resolver = Resolver(**libraries)

    found = learnt(resolver, monkeypatch, tmp_path, installer)

    assert (found.torch, found.conflict) == (torch, conflict)
    assert len(resolver.asked) == (resolutions if isinstance(resolutions, int) else resolutions[installer])
    assert resolver.asked[0] == ["torch<=2.15.0"]
    if len(resolver.asked) > 1:
        held = [f"{name}==1.0" for name in libraries]
        narrow = ["torch<=2.14.1,!=2.9.1", "torch<=2.14.1", "torch<=2.14.1"]
        assert resolver.asked[1:] == [[*held, bound] for bound in narrow[: len(resolver.asked) - 1]]
    if not conflict:
        assert found.needs == ({"torch"} if libraries else set())
        taken = {"torch": torch or PICK.version} if libraries else {}
        assert found.versions == {**dict.fromkeys(libraries, "1.0"), **taken}
        if installer == "pip":
            assert found.users == set(libraries)


def test_one_build_and_one_set_of_versions_are_held_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    resolver = Resolver(mylib=">=2.10")
    monkeypatch.setattr(run, "capture", resolver)
    limits = {"numpy": "2.0", "mylib": "1.0"}

    def held_to(torch: Build) -> needs.Learnt:
        return needs.held_to(Command("uv", ("uv",)), torch, limits, str(tmp_path), {"A": "b"})

    assert held_to(PICK) == needs.Learnt(frozenset({"torch"}), versions={"mylib": "1.0", "torch": PICK.version})
    assert held_to(OLD) == needs.Learnt(conflict=("mylib==1.0 asks for torch>=2.10",))
    assert resolver.asked == [["mylib==1.0", "numpy==2.0", f"torch<={torch}"] for torch in ("2.14.1", "2.9.1")]


def test_a_resolver_that_says_nothing_is_quoted_by_its_status(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(run, "capture", lambda *_: Heard(9, "", ""))

    found = needs.held_to(Command("uv", ("uv",)), PICK, {}, str(tmp_path), {})

    assert found.conflict == ("it exited with status 9",)


def test_a_companion_of_several_torches_needs_one_of_their_releases(tmp_path: Path) -> None:
    """The file of a stand-in says so to a resolver; the shelf is made once and holds nothing else."""
    shared = {"torchaudio": "2.11.0+cu126"}
    made = stubs.of_builds([build(companions=shared), build(torch="2.9.1", version="2.9.1+cu126", companions=shared)])

    folder = stubs.shelf(str(tmp_path), made)
    again = stubs.shelf(str(tmp_path), made)

    assert made[-1] == stubs.Stub("torchaudio", "2.11.0+cu126", "torch>=2.9.1,<=2.14.1")
    assert folder == again
    assert os.listdir(tmp_path) == [Path(folder).name]
    with zipfile.ZipFile(Path(folder, "torchaudio-2.11.0+cu126-py3-none-any.whl")) as wheel:
        info = "torchaudio-2.11.0+cu126.dist-info"
        assert wheel.namelist() == [f"{info}/METADATA", f"{info}/WHEEL", f"{info}/RECORD"]
        assert wheel.read(f"{info}/METADATA").decode().splitlines() == [
            "Metadata-Version: 2.1",
            "Name: torchaudio",
            "Version: 2.11.0+cu126",
            "Requires-Dist: torch>=2.9.1,<=2.14.1",
        ]
        assert b"Tag: py3-none-any" in wheel.read(f"{info}/WHEEL")
    with pytest.raises(InstallerError, match="cannot be written: Not a directory"):
        stubs.shelf(str(Path(folder, "torch-2.9.1+cu126-py3-none-any.whl")), made)
