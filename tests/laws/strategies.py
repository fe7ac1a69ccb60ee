"""Machines, builds and tables drawn at random, small enough to collide."""

from __future__ import annotations

from hypothesis import strategies as st

from torchpick.model.arch import Arch
from torchpick.model.build import Build, Evidence
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python
from torchpick.model.pick import Wish
from torchpick.model.table import BuildsByRelease, DriverTable, Floor, Table

CAPABILITIES = (37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 107, 110, 120, 121)
CUDAS = ("10.2", "11.8", "12.6", "12.8", "13.0", "13.2")
PYTHONS = ("cp310", "cp312", "cp314", "cp314t")

DRIVERS = DriverTable(
    toolkits={
        "10.2": {"linux": "440.33"}, "11.8": {"linux": "520.61.05"}, "12.6": {"linux": "560.28.03"},
        "12.8": {"linux": "570.26"}, "13.0": {"linux": "580.65.06"}, "13.2": {"linux": "595.45.04"},
    },
    majors={11: {"linux": "450.80.02"}, 12: {"linux": "525.60.13"}, 13: {"linux": "580"}},
    branches={450: "11.0", 470: "11.4", 525: "12.0", 560: "12.6", 570: "12.8", 580: "13.0", 595: "13.2"},
    windows_last={450: 453, 470: 475, 525: 529, 560: 561, 570: 573, 580: 582, 595: 596},
    last_branch={(3, 7): 470, **dict.fromkeys([(5, 0), (5, 2), (6, 0), (6, 1), (7, 0)], 580)},
    first_driver={(10, 0): {"linux": "570.26"}, (12, 0): {"linux": "570.26"}},
    unified_tegra="595",
)  # fmt: skip
CUDNN: tuple[Floor, ...] = (("8.0", (3, 5), None), ("9.0", (5, 0), None), ("9.11", (7, 5), None))
NCCL: tuple[Floor, ...] = (("2.28.9", (6, 0), 12),)

LIBRARIES: tuple[dict[str, str], ...] = (
    {}, {"cudnn": "8.7.0"}, {"cudnn": "9.10.2"}, {"cudnn": "9.26.0", "nccl": "2.29.3"},
)  # fmt: skip

driver_versions = st.sampled_from(
    ("440.33", "450.80.02", "470.256.02", "525.60.13", "570.26", "580.95.05", "595.58.03")
)
capabilities = st.sampled_from(CAPABILITIES)
machine_code = st.builds(
    lambda digits, suffix: Arch("sm", digits // 10, digits % 10, suffix),
    capabilities,
    st.sampled_from(("", "", "a", "f")),
)
ptx = st.builds(lambda digits: Arch("compute", digits // 10, digits % 10), capabilities)
devices = st.builds(lambda digits: Arch.of_capability(digits // 10, digits % 10), capabilities)
amd = st.sampled_from([Arch.parse(name) for name in ("gfx90a", "gfx942", "gfx1030", "gfx1100")])
codes = st.lists(st.one_of(machine_code, machine_code, ptx), max_size=6).map(tuple)


@st.composite
def builds(draw: st.DrawFn) -> Build:
    torch = draw(st.sampled_from(("2.3.1", "2.9.1", "2.10.0", "2.14.1", "2.15.0")))
    family = draw(st.sampled_from(("cuda", "cuda", "cuda", "cpu", "rocm")))
    cuda = draw(st.sampled_from(CUDAS)) if family == "cuda" else None
    backend = f"cu{cuda.replace('.', '')}" if cuda else {"cpu": "cpu", "rocm": "rocm7.2"}[family]
    arches: tuple[Arch, ...] | None = ()
    if family == "cuda":
        arches = draw(st.one_of(codes, codes, codes, st.none()))
    elif family == "rocm":
        arches = tuple(draw(st.lists(amd, max_size=3)))
    return Build(
        torch=torch, backend=backend, platform="linux-x86_64", version=f"{torch}+{backend}", cuda=cuda, arches=arches,
        pythons=tuple(draw(st.lists(st.sampled_from(PYTHONS), min_size=1, unique=True))),
        tags=("manylinux_2_28_x86_64",), glibc=draw(st.sampled_from((None, "2.17", "2.28"))),
        libraries=draw(st.sampled_from(LIBRARIES)), lacks={},
        published=draw(st.sampled_from((True, True, True, None))),
        yanked=draw(st.sampled_from((False, False, False, True))),
        companions={"torchvision": draw(st.sampled_from(("0.24.1", None)))},
        companion_basis={"torchvision": "declared"},
        evidence=Evidence("declared", "drawn"),
    )  # fmt: skip


@st.composite
def tables(draw: st.DrawFn) -> Table:
    drawn = draw(st.lists(builds(), max_size=8, unique_by=lambda build: (build.version, build.backend)))
    return table(drawn)


def table(drawn: list[Build]) -> Table:
    return Table({"linux-x86_64": BuildsByRelease.of(drawn)}, DRIVERS, CUDNN, NCCL)


def gpu(index: int, arch: Arch) -> Gpu:
    return Gpu(index=index, vendor="amd" if arch.kind == "gfx" else "nvidia", name=None, arch=arch)


@st.composite
def machines(draw: st.DrawFn, most: int = 3) -> Machine:
    arches = draw(st.one_of(st.lists(devices, max_size=most), st.lists(amd, min_size=1, max_size=1)))
    version = draw(driver_versions)
    tag = draw(st.sampled_from(PYTHONS))
    return Machine(
        platform=Platform("linux", "x86_64", draw(st.sampled_from((None, "2.17", "2.35"))), "glibc"),
        python=Python(f"3.{tag[3:].rstrip('t')}", free_threaded=tag.endswith("t")),
        driver=Driver(version) if arches and arches[0].kind != "gfx" else None,
        gpus=tuple(gpu(index, arch) for index, arch in enumerate(arches)),
    )


@st.composite
def drawn_wishes(draw: st.DrawFn) -> Wish:
    return Wish(
        torch=draw(st.sampled_from(("", "", "<2.12", "==2.9.1", ">=2.10"))),
        companions=draw(st.sampled_from(({}, {}, {"torchvision": ""}, {"torchvision": "<0.24"}))),
        backends=draw(st.sampled_from(((), (), ("cu126",), ("cpu",), ("cu126", "cu128")))),
        allow_cpu=draw(st.booleans()), allow_unconfirmed=draw(st.booleans()), whole=draw(st.booleans()),
    )  # fmt: skip


wishes = drawn_wishes()
