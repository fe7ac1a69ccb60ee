"""The companions of a build that the table does not know, from their pages and what their metadata asks of torch."""

from __future__ import annotations

from typing import cast

import pytest

from torchpick.errors import WheelError
from torchpick.index.pages import ProjectFile, parse
from torchpick.index.projects import ProjectReader
from torchpick.model.build import Build
from torchpick.model.metadata import Metadata, parse_metadata
from torchpick.wheels import listed
from torchpick.wheels.listed import CompanionPages

HOST = "https://wheels.example/whl"
LINUX = "manylinux_2_28_x86_64"
PINNED, BOUND = "Requires-Dist: torch (==2.16.0)\n", "Requires-Dist: numpy\nRequires-Dist: torch>=2.14.0\n"


def links(*paths: str) -> tuple[ProjectFile, ...]:
    return parse("".join(f'<a href="{HOST}/{path}">x</a>' for path in paths).encode(), f"{HOST}/torch/")


def build(torch: str = "2.16.0", backend: str = "cu126", channel: str = "stable") -> Build:
    label = "" if channel == "default" else f"+{backend}"
    (one,) = listed.list_builds(links(f"{backend}/torch-{torch}{label}-cp312-cp312-{LINUX}.whl"), channel)
    return one.build


class Pages:
    """An index of companions: the path of each wheel, and its METADATA."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = {path.rpartition("/")[2]: text for path, text in texts.items()}
        self.every = links(*texts)
        self.asked: list[str] = []

    def wheels(self, name: str) -> tuple[ProjectFile, ...] | None:
        self.asked.append(name)
        return tuple(link for link in self.every if link.name.project == name) or None

    def metadata(self, files: list[ProjectFile]) -> dict[ProjectFile, Metadata | WheelError]:
        return {file: self._read(file) for file in files}

    def _read(self, file: ProjectFile) -> Metadata | WheelError:
        text = self.texts[file.file]
        if text == "broken":
            return WheelError("it is broken", hint="look")
        return parse_metadata(f"Name: {file.project}\nVersion: 1\n{text}")


def pages(texts: dict[str, str]) -> CompanionPages:
    return CompanionPages(cast(ProjectReader, Pages(texts)))


def paired(texts: dict[str, str], row: Build | None = None) -> tuple[dict[str, str | None], dict[str, str]]:
    found = pages(texts).paired(row or build())
    return dict(found.companions), dict(found.companion_basis)


def vision(version: str, python: str = "cp312-cp312", platform: str = LINUX, folder: str = "cu126") -> str:
    return f"{folder}/torchvision-{version}-{python}-{platform}.whl"


def audio(version: str) -> str:
    return f"cu126/torchaudio-{version}-cp312-cp312-{LINUX}.whl"


@pytest.mark.parametrize(
    ("texts", "version", "basis"),
    [
        ({vision("0.31.0+cu126"): PINNED}, "0.31.0+cu126", "metadata"),
        ({vision("0.31.0+cu126"): "Requires-Dist: torch ==2.16.0+cu126\n"}, "0.31.0+cu126", "metadata"),
        ({vision("0.32.0+cu126"): BOUND, vision("0.31.0+cu126"): PINNED}, "0.31.0+cu126", "metadata"),
        ({vision("0.31.0+cu126"): BOUND, vision("0.32.0+cu126"): BOUND}, "0.32.0+cu126", "inferred"),
        ({vision("0.31.0"): PINNED}, "0.31.0", "metadata"),
        # As torchvision's wheels for Windows on Arm have it.
        ({vision("0.31.0+e437e35"): PINNED}, "0.31.0+e437e35", "metadata"),
        ({vision("0.31.0+e437e35"): PINNED, vision("0.31.0+cu126"): PINNED}, "0.31.0+cu126", "metadata"),
        ({vision("0.32.0+cu126"): "broken", vision("0.31.0+cu126"): BOUND}, "0.31.0+cu126", "inferred"),
        ({vision("0.33.0+cu130"): BOUND, vision("0.32.0+cu126"): BOUND}, "0.32.0+cu126", "inferred"),
    ],
)
def test_the_companion_that_pins_the_torch_or_else_the_newest_that_allows_it(
    texts: dict[str, str], version: str, basis: str
) -> None:
    assert paired(texts) == ({"torchvision": version}, {"torchvision": basis})


@pytest.mark.parametrize(
    "texts",
    [
        {},
        {vision("0.31.0+cu130"): PINNED},
        {vision("0.31.0+cpu"): PINNED},
        {vision("0.31.0+e437e35", folder="cpu"): PINNED},
        {vision("0.31.0", folder="cu130"): PINNED},
        {vision("0.31.0+cu126", platform="win_amd64"): PINNED},
        {vision("0.31.0+cu126"): "Requires-Dist: torch==2.15.0\n"},
        {vision("0.31.0+cu126"): "Requires-Dist: torch>=2.17\n"},
        {vision("0.31.0+cu126"): "Requires-Dist: numpy\n"},
        {vision("nightly+cu126"): PINNED},
        {audio("2.10.0+cu126"): ""},
    ],
)
def test_what_is_for_another_torch_backend_or_platform_is_none(texts: dict[str, str]) -> None:
    assert paired(texts) == ({}, {})


def test_what_uses_the_stable_abi_alone_goes_with_every_torch_from_its_own_on() -> None:
    texts: dict[str, str] = {audio("2.11.0+cu126"): ""}

    assert paired(texts) == ({"torchaudio": "2.11.0+cu126"}, {"torchaudio": "inferred"})
    assert paired(texts, build("2.11.0"))[0] == {"torchaudio": "2.11.0+cu126"}
    assert paired(texts, build("2.10.0"))[0] == {}
    assert paired({audio("2.11.0"): ""}, build(channel="default"))[0] == {}


def test_only_the_newest_releases_of_a_companion_are_read() -> None:
    newer: dict[str, str] = {vision(f"0.4{number}.0+cu126"): "Requires-Dist: torch>=9\n" for number in range(3)}

    assert paired({**newer, vision("0.31.0+cu126"): PINNED})[0] == {"torchvision": "0.31.0+cu126"}
    assert paired({**newer, vision("0.43.0+cu126"): "", vision("0.31.0+cu126"): PINNED})[0] == {}


def test_the_pythons_of_a_companion_are_those_of_its_files_and_a_page_is_read_once() -> None:
    index = Pages(
        {
            vision("0.31.0+cu126", "cp313-cp313t"): PINNED, vision("0.31.0+cu126"): PINNED,
            vision("0.31.0+cu126", "cp39-cp39", "win_amd64"): PINNED, audio("2.11.0+cu126"): "",
        }
    )  # fmt: skip
    found = CompanionPages(cast(ProjectReader, index))
    of_any = pages({vision("0.31.0+cu126", "py3-none"): PINNED}).paired(build())

    for _ in range(2):
        row = found.paired(build())
        assert row.companion_pythons == {"torchvision": ("cp312", "cp313t"), "torchaudio": ("cp312",)}
    assert sorted(index.asked) == ["torchaudio", "torchvision"]
    assert (dict(of_any.companions), of_any.companion_pythons) == ({"torchvision": "0.31.0+cu126"}, {})
