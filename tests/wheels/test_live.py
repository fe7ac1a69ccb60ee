"""A live index against the table: what is new, what changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.index import pages
from torchpick.knowledge import refreshed
from torchpick.model.arch import Arch
from torchpick.model.build import Build, Evidence, TwinWheel
from torchpick.wheels import listed
from torchpick.wheels.listed import ListedBuild

HOST = "https://wheels.example/whl"


def found(*paths: str, channel: str = "stable") -> tuple[ListedBuild, ...]:
    page = "".join(f'<a href="{HOST}/{path}">x</a>' for path in paths)
    return listed.list_builds(pages.parse(page.encode(), HOST + "/torch/"), channel)


@pytest.mark.parametrize(("path", "backend"), [
    ("cpu/torch-2.6.0-cp312-none-macosx_11_0_arm64.whl", "cpu"),
    ("cu124/torch-2.5.1-cp310-cp310-linux_aarch64.whl", "cu124"),
    ("torch-2.6.0-cp312-none-macosx_11_0_arm64.whl", "cpu"),
    ("rocm6.2.4/torch-2.6.0%2Brocm6.2.4-cp312-cp312-manylinux_2_28_x86_64.whl", "rocm6.2.4"),
    ("xpu/torch-2.6.0%2Bxpu-cp312-cp312-win_amd64.whl", "xpu"),
])  # fmt: skip
def test_the_backend_is_the_label_or_the_folder(path: str, backend: str) -> None:
    assert [each.build.backend for each in found(path)] == [backend]


@pytest.mark.parametrize("path", [
    "cpu-cxx11-abi/torch-2.6.0%2Bcpu.cxx11.abi-cp312-cp312-linux_x86_64.whl",
    "cu118_full/torch-2.1.0%2Bcu118.full-cp310-cp310-linux_x86_64.whl",
    "torch-2.6.0-cp312-cp312-win_amd64.whl", "cpu/torchvision-0.29.0-cp312-cp312-win_amd64.whl",
    "cpu/torch-1.6.0-cp38-cp38-win_amd64.whl", "cpu/torch-2.9.0.post1-cp312-cp312-win_amd64.whl",
    "cpu/torch-2.9.0%2Bcpu-py3-none-any.whl",
])  # fmt: skip
def test_what_is_no_build_of_the_table(path: str) -> None:
    assert found(path) == ()


def test_of_dated_builds_the_newest_counts() -> None:
    name = "nightly/cu132/torch-2.16.0.dev202611{0:02}%2Bcu132-cp312-cp312-manylinux_2_28_x86_64.whl"
    [one] = found(*(name.format(day) for day in (1, 14, 9)), channel="nightly")

    assert one.build.torch == "2.16.0.dev20261114"


CUDA = {"cu132": "13.2", "cu126": "12.6"}


def row(version: str = "2.15.0+cu132", **facts: object) -> Build:
    torch, _, backend = version.partition("+")
    one = Build(
        torch, backend, "linux-x86_64", version, CUDA.get(backend), (Arch.parse("sm_75"),), ("cp312",),
        ("manylinux_2_28_x86_64",), "2.28", {}, {}, True, False, {}, {}, Evidence("declared", "a list"),
    )  # fmt: skip
    return one._replace(**facts)  # type: ignore[arg-type]


def known(*builds: Build) -> dict[tuple[str, str, str], Build]:
    return {each.key: each for each in builds}


LISTED = found("cu132/torch-2.15.0%2Bcu132-cp312-cp312-manylinux_2_28_x86_64.whl")


@pytest.mark.parametrize(("facts", "expected"), [
    ({"published": None}, {"published": True}), ({"pythons": ("cp311",)}, {"pythons": ("cp312",)}),
    ({"tags": ("linux_x86_64",), "glibc": None}, {"glibc": "2.28"}), ({"yanked": True}, {"yanked": False}),
])  # fmt: skip
def test_what_the_index_says_of_a_wheel_wins(facts: dict[str, object], expected: dict[str, object]) -> None:
    before = row()._replace(**facts)  # type: ignore[arg-type]
    [changed] = listed.compare_builds(LISTED, known(before))[1]

    assert changed._asdict() | expected == changed._asdict()
    assert changed.arches == row().arches


BUILDS = st.lists(
    st.builds(
        row,
        st.sampled_from(["2.15.0+cu132", "2.16.0+cu126", "2.9.1+rocm6.4", "2.16.0.dev20261101+cpu"]),
        arches=st.none()
        | st.lists(st.sampled_from(["sm_61", "sm_90a", "compute_120"]).map(Arch.parse), max_size=3).map(tuple),
        pythons=st.sampled_from([(), ("cp312",), ("cp313", "cp313t")]),
        lacks=st.sampled_from([{}, {"lib.so": (Arch.parse("sm_75"),)}]),
        companions=st.sampled_from([{}, {"torchvision": "0.30.0+cu132", "torchaudio": None}]),
        companion_basis=st.sampled_from([{}, {"torchvision": "inferred"}]),
        published=st.sampled_from([True, None]),
        evidence=st.sampled_from(
            [Evidence("declared", "x"), Evidence("measured", "w.whl", TwinWheel("f.whl", "0" * 64))]
        ),
    ),
    max_size=6,
)


@given(BUILDS)
def test_a_compact_index_reads_back_as_it_was(builds: list[Build]) -> None:
    index = refreshed.index("linux-x86_64", builds)
    back = list(refreshed.read(index)[0])

    assert sorted(map(repr, back)) == sorted(map(repr, builds))
