"""The rules are those of the readable files, the cache lies over what was shipped, and each has its own place."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from torchpick.errors import TorchpickError, UsageError
from torchpick.knowledge import indexes, packages
from torchpick.knowledge.compat import Knowledge
from torchpick.knowledge.gpuindex import Names, pci_arches
from torchpick.knowledge.locations import base_key, table_file
from torchpick.model.address import WHEEL_HOST
from torchpick.model.arch import Arch
from torchpick.model.build import Build
from torchpick.model.fields import Fields
from torchpick.model.machine import Machine, Platform, Python
from torchpick.model.pick import Request, Wish
from torchpick.run import start_run

LINUX = "linux-x86_64"


def file(name: str) -> Any:
    return json.loads((Path(os.environ["TORCHPICK_COMPAT_DIR"]) / f"{name}.json").read_text(encoding="utf-8"))


def test_a_name_belongs_to_products_of_its_line_alone() -> None:
    names = Names.from_json(
        Fields(
            {
                "capabilities": ["6.1", "7.5"],
                "full": {"geforcex": "6.1", "quadroy": "7.5 ?"},
                "core": {"x": "g6.1 w7.5", "z": "g6.1 d6.1", "v": "g6.1 w7.5 d8.0 j8.7 n9.0"},
                "products": ["GeForce X", "Quadro Y"],
                "product_capabilities": ["6.1", "7.5 ?"],
                "sold_most": {"x": "6.1"},
                "mig": {},
                "clouds": {},
                "arm_only": ["arm"],
            }
        )
    )

    assert names.products == (("GeForce X", "6.1"), ("Quadro Y", "7.5 ?"))
    assert {name: names.capabilities_of(name) for name in ("geforcex", "quadrox", "gtsx", "x", "teslax", "rtxz")} == {
        "geforcex": {"6.1"}, "quadrox": {"7.5"}, "gtsx": {"6.1"}, "x": {"6.1", "7.5"}, "teslax": set(), "rtxz": {"6.1"},
    }  # fmt: skip
    # GeForces, workstation cards, those for data centers, Jetsons; the last is that of a product without a brand.
    lines = {
        "geforce": "6.1", "gt": "6.1", "gts": "6.1 9.0", "gtx": "6.1 9.0", "rtx": "6.1 7.5 9.0", "quadro": "7.5 9.0",
        "tesla": "8.0 9.0", "grid": "8.0 9.0", "dgx": "8.0 9.0", "hgx": "8.0 9.0", "jetson": "8.7 9.0",
        "drive": "8.7 9.0", "igx": "8.7 9.0", "geforcegtx": "6.1", "teslartx": "9.0", "": "6.1 7.5 8.0 8.7 9.0",
    }  # fmt: skip
    assert {line: names.capabilities_of(f"{line}v") for line in lines} == {
        line: set(capabilities.split()) for line, capabilities in lines.items()
    }
    assert names.written("Quadro Y") is None
    z = names.written("NVIDIA Z-arm")
    assert z is None
    found = names.written("GTX Z")
    assert found is not None
    assert (found.name, str(found.arch), found.platform) == ("GTX Z", "sm_61", None)


def test_a_device_id_that_is_listed_answers_before_the_range_that_it_is_in() -> None:
    ids = pci_arches(
        Fields(
            {
                "pci_ranges": [[0x1000, 0x10FF, "6.1"], [0x1100, 0x11FF, "7.5"]],
                "pci_devices": {"1001": "5.2", "1002": None, "2000": "8.0"},
            }
        )
    )
    found = {device: ids(device) for device in (0x1000, 0x10FF, 0x1100, 0x1001, 0x1002, 0x2000, 0x2001, 0xFFF)}

    assert [None if arch is None else str(arch) for arch in found.values()] == [
        "sm_61", "sm_61", "sm_75", "sm_52", None, "sm_80", None, None,
    ]  # fmt: skip


def test_an_override_that_works_for_nobody_is_none() -> None:
    known = Knowledge(os.environ).rules.gfx_overrides

    assert {arch: known.get(Arch.parse(arch), ("",))[0] for arch in ("gfx1032", "gfx1101", "gfx1103", "gfx1010")} == {
        "gfx1032": "10.3.0", "gfx1101": "11.0.0", "gfx1103": "", "gfx1010": "",
    }  # fmt: skip


def test_of_what_can_be_done_the_first_is_said_first() -> None:
    causes = [{"id": "A", "cures": ["one", "two"]}, {"id": "B", "cures": []}]

    assert indexes.first_remedies(Fields({"signatures": causes})) == {"A": "one"}


def test_each_index_has_its_own_rows_in_the_cache() -> None:
    mirror = base_key("https://mirror.example/whl")

    assert base_key(f"{WHEEL_HOST}/") == base_key(WHEEL_HOST) == ""
    assert mirror == base_key("https://mirror.example/whl/") != base_key("https://other.example/whl")
    assert (len(mirror), mirror[-1]) == (17, "-")
    path = os.path.join("c", "table", f"{mirror}nightly-{LINUX}.json")
    assert table_file("c", "https://mirror.example/whl", "nightly", LINUX) == path


OWN = "https://own.example/simple"


def found(folder: Path, index: dict[str, Any], channel: str = "stable") -> dict[str, Build]:
    """The builds where a refresh left this of the wheel host, or of the user's own index."""
    base = OWN if channel == "default" else WHEEL_HOST
    path = Path(table_file(str(folder), base, channel, LINUX))
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(index), "utf-8")
    knowledge = Knowledge({**os.environ, "TORCHPICK_CACHE_DIR": str(folder)})
    table = knowledge.table([LINUX], default_index=channel == "default", user_base=OWN)
    assert table.date == max(index.get("date") or "", "2026-11-22")
    return {build.version: build for build in table.of(LINUX)}


def test_what_was_measured_lies_over_what_was_declared_and_never_under_it(tmp_path: Path) -> None:
    def glibc(name: str, channel: str, kind: str) -> tuple[str, str | None]:
        index = file(f"index/{name}")
        row = index["builds"][0]
        changed = [*row[:7], "2.99", *row[8:15], kind, *row[16:]]
        builds = found(tmp_path, {**index, "builds": [changed], "date": "2027-01-01"}, channel)
        return row[15], builds[row[2]].glibc

    assert glibc(LINUX, "stable", "declared") == glibc(LINUX, "stable", "measured") == ("declared", "2.99")
    assert glibc(f"default-{LINUX}", "default", "measured") == ("measured", "2.99")
    assert glibc(f"default-{LINUX}", "default", "declared") == ("measured", "2.28")


def test_what_the_server_no_longer_lists_is_left_out_but_for_what_it_never_listed(tmp_path: Path) -> None:
    index = file(f"index/{LINUX}")
    every = found(tmp_path, {**index, "builds": [], "date": "2020-01-01"})
    listed = found(tmp_path, {**index, "builds": [], "listed": ["2.14.1+cu126 cu126", "2.14.1+cu130 cpu"]})
    own = {version for version, build in every.items() if build.vendor is not None or not build.published}

    assert own
    assert set(listed) == own | {"2.14.1+cu126"}
    # What was measured too.
    own_index = file(f"index/default-{LINUX}")
    first, *others = (row[2] for row in own_index["builds"] if row[15] == "measured" and row[10])
    there = found(tmp_path, {**own_index, "builds": [], "listed": [f"{first} default"]}, "default")
    assert first in there
    assert others
    assert there.keys().isdisjoint(others)


def test_what_flags_and_variables_say_of_a_run(tmp_path: Path) -> None:
    pairs = ((False, ""), (True, ""), (False, "1"))
    offline = [start_run(Request(offline=flag), {"TORCHPICK_OFFLINE": word}).offline for flag, word in pairs]
    given = [start_run(Request(gpus=("x",) if flag else None), {"TORCHPICK_GPU": word}) for flag, word in pairs]
    assert offline == [run.has_given_gpus for run in given] == [False, True, True]
    assert start_run(Request(machine=("m",)), {}).has_given_gpus

    here = (Machine(Platform.parse(LINUX), Python("3.12")),)
    found(tmp_path, {**file(f"index/default-{LINUX}"), "date": "2027-01-01"}, "default")
    environ = {**os.environ, "TORCHPICK_CACHE_DIR": str(tmp_path), "PIP_INDEX_URL": OWN}
    days = [start_run(Request(backends=names), environ).read_table(here).date for names in ((), ("default",))]
    assert days == ["2026-11-22", "2027-01-01"]
    with pytest.raises(TorchpickError, match="nothing is known of the nightly channel yet"):
        start_run(Request(channel="nightly"), environ).read_table(here)


@pytest.mark.parametrize("channel", ["nightly", "test"])
def test_a_channel_of_which_nothing_is_known_is_refreshed_first(channel: str) -> None:
    with pytest.raises(TorchpickError) as caught:
        Knowledge(os.environ).table([LINUX], channel, default_index=True)

    said = (f"nothing is known of the {channel} channel yet", f"run `torchpick refresh --channel {channel}`")
    assert (caught.value.message, caught.value.hint) == said


@pytest.mark.parametrize(("backends", "platform", "unknown"), [
    ("", LINUX, None), ("cu126 cuda rocm", LINUX, None), ("cu999", LINUX, "cu999"), ("cu126 cu999", LINUX, "cu999"),
    ("cu126 rocm7.2", "windows-x86_64", None), ("rocm7.2", "windows-x86_64", "rocm7.2"), ("cu126 default", LINUX, None),
])  # fmt: skip
def test_a_backend_of_another_platform_is_no_error_where_another_is_left(
    backends: str, platform: str, unknown: str | None
) -> None:
    knowledge, wish = Knowledge(os.environ), Wish(backends=tuple(backends.split()))
    table = knowledge.table([platform])
    if unknown is None:
        knowledge.check_backends(wish, table)
        return

    with pytest.raises(UsageError, match=f"no build for `{unknown}` is known on {platform}"):
        knowledge.check_backends(wish, table)


def test_the_default_indexs_own_wheels_are_there_where_they_are_asked_for() -> None:
    knowledge = Knowledge(os.environ)
    without, whole = knowledge.table([LINUX]), knowledge.table([LINUX], default_index=True)
    backends = [{build.backend for build in table.of(LINUX)} for table in (without, whole)]

    assert backends[1] - backends[0] == {"default"}
    assert {build.backend for build in knowledge.shipped(default_index=True)} == {"default"}
    assert len(knowledge.every_build) == sum(
        len(knowledge.shipped(default_index=each)) for each in (False, True)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("target", "supported"),
    [("gfx1100", True), ("gfx90a", True), ("gfx1103", True), ("gfx600", False), ("gfx9999", False), ("sm_90", False)],
)
def test_whether_any_build_was_made_for_a_target_of_amd(target: str, supported: bool) -> None:
    assert Knowledge(os.environ).supports_amd(Arch.parse(target)) == supported


def test_the_hashes_that_locks_agree_on_are_those_of_a_backend_and_of_all() -> None:
    files, knowledge = file("files")["files"], Knowledge(os.environ)
    backend = next(name for name in files if name)

    assert knowledge.hashes_in_public_locks(backend) == {**files.get("", {}), **files[backend]}
    assert knowledge.hashes_in_public_locks("none") == files.get("", {})


def test_the_companions_of_a_build_are_its_own_and_the_newest_others_that_fit_it() -> None:
    rows = [
        {"name": "torchao", "version": version, "torch": torch, "cuda_major": major, "basis": basis}
        for version, torch, major, basis in (
            ("0.9", ">=2.5", None, "old"), ("0.10", ">=2.5", 12, "new"), ("0.11", ">=2.6", 13, "newer"),
            ("0.12", ">=2.9", None, "newest"),
        )
    ] + [{"name": "torchvision", "version": "9.9", "torch": ">=2", "cuda_major": None, "basis": "x"}]  # fmt: skip
    known = packages.other_companions(Fields({"others": rows}))
    builds = {build.version: build for build in Knowledge(os.environ).table([LINUX]).of(LINUX)}

    def beside(version: str) -> dict[str, tuple[str, ...]]:
        return {name: tuple(one.values()) for name, one in packages.companions_of(builds[version], known).items()}

    assert [one.text("version") for one in known] == ["9.9", "0.12", "0.11", "0.10", "0.9"]
    cuda = beside("2.7.1+cu126")
    assert cuda["torchvision"] == (builds["2.7.1+cu126"].companions["torchvision"], "metadata")
    assert cuda["torchao"] == ("0.10", "new")
    assert beside("2.7.1+cpu")["torchao"] == ("0.9", "old")
    assert beside("2.10.0+cu130")["torchao"] == ("0.12", "newest")
    assert "torchao" not in beside("2.7.1+rocm6.3")
    without = builds["2.7.1+cu126"]._replace(
        companions={"torchvision": None, "torchaudio": "2.7.1"}, companion_basis={}
    )
    assert packages.companions_of(without, ()) == {"torchaudio": {"version": "2.7.1", "basis": "inferred"}}
