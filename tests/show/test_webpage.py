"""What the page looks up, added together, is what is judged, and what is put into it cannot break out of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes import pagenames
from torchpick.cli import webpage
from torchpick.decide import buildfit
from torchpick.errors import UsageError
from torchpick.knowledge import compat
from torchpick.model import VERSION
from torchpick.model.arch import Arch, Fit, best
from torchpick.model.build import Evidence, Objection, Reason
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python
from torchpick.model.pick import Wish
from torchpick.model.table import BuildsByRelease, Table

KNOWLEDGE = compat.Knowledge({"TORCHPICK_CACHE_DIR": "/nonexistent"})


@pytest.fixture(autouse=True)
def _names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webpage, "names", pagenames.names)


@pytest.fixture(scope="module")
def table() -> Table:
    return compat.Knowledge(os.environ).table(webpage.PLATFORMS)


@pytest.fixture(scope="module")
def data(table: Table) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(webpage, "names", pagenames.names)
        return webpage.data(table, Wish(), KNOWLEDGE)


def added_up(data: dict[str, Any], sheet: dict[str, Any], used: str, python: int, gpu: str) -> dict[str, list[str]]:
    """Version → what is said against it, in the order of the page: the sum that page.js makes."""
    says = sheet["says"].get(used, {"objects": {}, "relies": [], "refuses": {}})
    found = []
    for place, (torch, backend, cuda, *_, vendor, no_wheel) in enumerate(sheet["builds"]):
        relies = cuda in says["relies"]
        own = sheet["gpus"][gpu]
        if (verdict := own["abroad" if relies and "abroad" in own else "home"][place]) is None:
            continue
        why, fit, _how, _notes = data["verdicts"][verdict]
        others = [
            says["refuses"].get(gpu),
            says["objects"].get(cuda),
            None if sheet["pythons"][python]["wheels"][place] is not None else no_wheel,
        ]
        against = sorted(filled(data, gpu, sheet, python, text) for text in (*why, *others) if text is not None)
        found.append(((vendor, sheet["releases"].index(torch), -fit, relies), f"{torch}+{backend}", against))
    return {version: against for _, version, against in sorted(found, key=lambda each: each[0])}


def filled(data: dict[str, Any], gpu: str, sheet: dict[str, Any], python: int, text: int) -> str:
    """A text with what page.js puts back into it."""
    line: str = data["texts"][text].replace("{gpu}", data["gpus"][int(gpu)]["arch"])
    return line.replace("{python}", sheet["pythons"][python]["name"])


@pytest.mark.parametrize("version", ["3.15", "3.12", "3.14t"])
def test_a_build_is_shown_with_the_companions_that_this_python_has(
    table: Table, data: dict[str, Any], version: str
) -> None:
    sheet = next(each for each in data["platforms"] if each["name"] == "linux-x86_64")
    python = next(each for each in sheet["pythons"] if each["name"] == f"Python {version}")
    target = Python(version.removesuffix("t"), free_threaded=version.endswith("t"))
    judged = buildfit.judge(Machine(Platform.parse("linux-x86_64"), target), table, Wish())
    decided = {(each.build.torch, each.build.backend): each.build.companions for each in judged}

    shown = {
        (torch, backend): data["texts"][wheel]
        for wheel, (torch, backend, *_) in zip(python["wheels"], sheet["builds"], strict=True)
        if wheel is not None
    }

    for build, text in shown.items():
        assert text == ", ".join(f"{name} {number}" for name, number in decided[build].items() if number)
    assert any("torchaudio" in text for text in shown.values()) == (version != "3.15")


@settings(max_examples=40)
@given(drawn=st.data())
def test_the_sum_is_what_resolve_says(table: Table, data: dict[str, Any], drawn: st.DataObject) -> None:
    sheet = drawn.draw(st.sampled_from([sheet for sheet in data["platforms"] if sheet["drivers"]]))
    python = drawn.draw(st.sampled_from(range(len(sheet["pythons"]))))
    others = {*webpage.OTHERS}
    gpu = drawn.draw(st.sampled_from([gpu for gpu in sheet["gpus"] if data["gpus"][int(gpu)]["arch"] not in others]))
    arch = Arch.parse(data["gpus"][int(gpu)]["arch"])
    used = drawn.draw(st.sampled_from([sheet["gpus"][gpu]["driver"], *sheet["drivers"]])) if arch.kind == "sm" else ""
    version = sheet["pythons"][python]["name"].removeprefix("Python ")

    found = added_up(data, sheet, used, python, gpu)

    machine = Machine(
        Platform.parse(sheet["name"]),
        Python(version.removesuffix("t"), free_threaded=version.endswith("t")),
        Driver(used, table.drivers.speaks(Driver(used))) if used else None,
        (Gpu(0, "amd" if arch.kind == "gfx" else "nvidia", None, arch),),
    )
    verdicts = [
        verdict
        for verdict in buildfit.judge(machine, table, Wish())
        if Reason.BACKEND_NOT_ALLOWED not in verdict.reasons
    ]
    expected = {f"{each.build.torch}+{each.build.backend}": sorted(map(said, each.objections)) for each in verdicts}
    assert found == expected
    assert list(found) == list(expected)  # and in the order of preference


def test_a_vendor_s_line_leaves_room_for_the_gpu_that_is_chosen(data: dict[str, Any]) -> None:
    (windows,) = [each for each in data["platforms"] if each["name"] == "windows-x86_64"]
    lines = [data["texts"][build[3]] for build in windows["builds"] if build[6]]

    assert "torch[device-ARCH]=={t}+{b}.0" in lines[0]
    assert all(line.count("device-ARCH") == 1 for line in lines)
    assert "ARCH" not in "".join(data["texts"][build[3]] for build in windows["builds"] if not build[6])


def said(objection: Objection) -> str:
    """In the page's words, which name no driver in what a GPU says."""
    own = objection.gpu is not None and objection.reason is not Reason.GPU_NOT_SERVED_BY_DRIVER
    return webpage.words_of(objection) if own else objection.text


def test_a_driver_that_is_not_told_is_the_newest_that_serves_the_gpu(data: dict[str, Any]) -> None:
    pascal = next(place for place, gpu in enumerate(data["gpus"]) if gpu["arch"] == "sm_61")

    assert data["platforms"][0]["gpus"][str(pascal)]["driver"] == "580"
    assert str(pascal) not in data["platforms"][0]["says"]["580"]["refuses"]


def test_every_named_product_that_a_build_has_code_for_is_of_a_kind_that_stands_there(table: Table) -> None:
    """For the others the page says that no build runs."""
    names = compat.Knowledge(os.environ).gpu_names.products
    capabilities = {each for _, several in names for each in several.split() if each[:1].isdigit()}
    others = {Arch.of_capability(*map(int, each.split("."))) for each in capabilities} - {
        kind.arch for kind in table.nvidia
    }
    builds = [build for shelf in table.builds.values() for build in shelf if build.family == "cuda" and build.arches]

    assert others
    assert not [
        (build.version, str(arch))
        for build in builds
        for arch in others
        if best(build.arches or (), arch, unified=build.unified)[0]
    ]


# As people, Windows, lspci, nvidia-smi, browsers, shops and clouds write them.
WRITTEN = (
    "GTX 1080 Ti", "gtx1080ti", "1080ti", "NVIDIA GeForce GTX 1080 Ti", "RTX 4070 Laptop",
    "NVIDIA GeForce RTX 4070 Laptop GPU", "A100", "a100 80gb", "NVIDIA A100-SXM4-80GB", "H100 NVL", "L40S", "T4",
    "Tesla K80", "Quadro P2000", "MX150", "TITAN X", "GTX 860M", "RTX 3060 12GB", "4090D", "5090", "RTX PRO 6000",
    "Jetson Orin Nano", "DGX Spark", "gtx 750", "8800 gtx", "AMD RX 9070", "RX 7900 XTX", "7900xtx",
    "AMD Radeon(TM) 780M Graphics", "Ryzen AI Max+ 395", "Instinct MI300X", "vega 64", "Arc B580",
    "Intel(R) Arc(TM) A770 Graphics", "UHD 630", "M3 Max", "Apple M1", "g5.xlarge", "a2-highgpu-1g",
    "Standard_NC4as_T4_v3", "8x H100", "6.1", "sm_86", "gfx1100", "GRID T4-8Q", "RTX 6000", "no such card",
    "A100-SXM4-40GB MIG 3g.20gb", "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", "MIG 1g.12gb", "MIG 1g.10gb",
    "  MIG 3g.20gb     Device  0: (UUID: MIG-41b3)", "GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-5b7f)", "H200 NVL",
    "NVIDIA H100 NVL 94GB", "GH200 480GB", "A100-PCIE-40GB", "NVIDIA L40S-24C", "RTX8000-4Q", "V100-DGXS-16GB",
    "RTX PRO 6000 Blackwell Max-Q Workstation Edition", "GB10 (DGX Spark)", "Jetson AGX Orin / Orin NX",
    "RTX 3060 / 3060 Ti", "NVIDIA GeForce RTX 4090/PCIe/SSE2",
    "NVIDIA Corporation GP102 [GeForce GTX 1080 Ti] (rev a1)", "nvidia-tesla-t4",
    "Navi 48 [Radeon RX 9070/9070 XT/9070 GRE]", "AMD Radeon RX 6600/6600 XT/6600M",
    "AMD Radeon RX 7900 XTX (RADV NAVI31)", "AMD Instinct MI300X VF", "Vega 56/64", "Radeon RX 580 Series",
    "Intel Corporation DG2 [Arc A770]", "Apple M4 Pro",
    "p4d.24xlarge", "g6e.12xlarge", "Standard_ND96isr_H100_v5", "NC24ads_A100_v4", "a3-highgpu-8g", "inf2.xlarge",
)  # fmt: skip


@pytest.mark.process
@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
def test_a_name_means_to_the_page_what_it_means_to_the_command(data: dict[str, Any], tmp_path: Path) -> None:
    """Every product of the table too."""
    arches = [gpu["arch"] for gpu in data["gpus"]]
    products = (name for name, _ in (*KNOWLEDGE.gpu_names.products, *KNOWLEDGE.other_names.amd_named))
    known = (name for name in products if name != "FirePro S9300 x2")
    names = [*WRITTEN, *known, *KNOWLEDGE.other_names.intel_products]
    (tmp_path / "asked.json").write_text(json.dumps({"data": data, "names": names}), "utf-8")
    script = webpage.part("names.js") + (
        'const { data, names } = JSON.parse(require("fs").readFileSync(process.argv[1]));'
        "console.log(JSON.stringify(names.map(gpuNames(data).look)));"
    )
    words = ["node", "-e", script, str(tmp_path / "asked.json")]
    answers = json.loads(subprocess.run(words, capture_output=True, timeout=60, check=True).stdout)

    assert len(names) > 1500
    meant = [webpage.number_of(KNOWLEDGE, name, arches) for name in names]
    expected = [number if number in (None, webpage.OLD) else int(number) for number in meant]
    differ = [(name, *both) for name, *both in zip(names, expected, answers, strict=True) if both[0] != both[1]]
    assert differ == []
    assert expected[names.index("no such card")] is None
    shown = {"g5.xlarge": "sm_86", "MIG 1g.12gb": "sm_90", "RTX 3060 / 3060 Ti": "sm_86", "Vega 56/64": "gfx900"}
    assert {name: arches[answers[names.index(name)]] for name in shown} == shown


@given(st.text())
def test_data_stays_inside_its_element_whatever_it_holds(text: str) -> None:
    inside = webpage.embedded({"text": text})

    assert not {"<", ">", "&"} & set(inside)
    assert json.loads(inside) == {"text": text}


def test_what_a_gpu_says_of_a_build_with_a_driver_for_its_cuda_and_with_an_older_one(data: dict[str, Any]) -> None:
    sheet, texts = data["platforms"][0], data["texts"]
    places = {(torch, backend): place for place, (torch, backend, *_) in enumerate(sheet["builds"])}
    numbers = {gpu["arch"]: str(number) for number, gpu in enumerate(data["gpus"])}

    def said(arch: str, build: tuple[str, str], way: str) -> tuple[list[str], int, str, list[str]]:
        ways = sheet["gpus"][numbers[arch]]
        why, fit, how, notes = data["verdicts"][ways.get(way, ways["home"])[places[build]]]

        def shown(text: int) -> str:
            return str(texts[text]).replace("{gpu}", arch)

        return [shown(each) for each in why], fit, shown(how), [shown(each) for each in notes]

    relies = "CUDA 13.0 on this driver relies on minor-version compatibility"
    against, fit, how, notes = said("sm_61", ("2.14.1", "cu130"), "home")
    assert (against[0], fit, how, notes) == (
        "holds no code for sm_61: it was built for sm_75 sm_80 sm_86 sm_90 sm_100 sm_120", Fit.NONE, "", [],
    )  # fmt: skip
    assert said("sm_61", ("2.14.1", "cu126"), "home") == ([], Fit.BINARY, "runs the machine code of sm_60", [])
    assert said("sm_120", ("2.14.1", "cu130"), "home") == ([], Fit.EXACT, "runs its own machine code, sm_120", [])
    assert said("sm_120", ("2.14.1", "cu130"), "abroad") == (
        [], Fit.EXACT, "runs its own machine code, sm_120", [relies],
    )  # fmt: skip
    partial, (first, second) = (said("sm_75", ("2.14.1", "cu130"), way)[3] for way in ("home", "abroad"))
    assert partial[0].startswith("libtorch_cuda_linalg.so in it was built mostly without sm_75")
    assert (first, second, len(partial)) == (relies, partial[0], 1)
    assert sheet["gpus"][numbers["gfx1100"]]["home"][places["2.14.1", "cu130"]] is None


def test_a_build_has_its_command_its_glibc_and_its_evidence(data: dict[str, Any]) -> None:
    texts = data["texts"]
    rows = {
        (torch, backend, sheet["name"]): (cuda, *(texts[each] for each in said), vendor)
        for sheet in data["platforms"]
        for torch, backend, cuda, *said, vendor, _ in sheet["builds"]
    }

    assert rows["2.14.1", "cu126", "linux-x86_64"] == (
        "12.6", "pip install --index-url https://download.pytorch.org/whl/{b} torch=={t}+{b}", "2.28",
        "declared by build scripts and lists", False,
    )  # fmt: skip
    assert rows["2.14.1", "cu126", "windows-x86_64"][2] == ""
    assert {family for _, family, _ in rows} >= {"cu126", "rocm7.2", "cpu", "xpu"}


def test_what_was_read_out_of_a_wheel_says_so(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webpage, "names", lambda *_: {})
    build = next(each for each in table.of("linux-x86_64") if each.version == "2.14.1+cu126")
    read = build._replace(evidence=Evidence("measured", "torch-2.14.1.whl"))

    found = webpage.data(table._replace(builds={"linux-x86_64": BuildsByRelease.of([read])}), Wish(), KNOWLEDGE)

    (row,) = found["platforms"][0]["builds"]
    assert found["texts"][row[5]] == "measured: read out of the wheel"


def test_the_lists_of_the_page_begin_with_the_newest(data: dict[str, Any]) -> None:
    sheet = data["platforms"][0]

    assert [(each["name"], each["label"]) for each in data["platforms"]] == [*webpage.PLATFORMS.items()]
    assert sheet["releases"][:4] == ["2.15.0", "2.14.1", "2.14.0", "2.13.0"]
    assert sheet["newest"][:3] == [0, 1, 3]
    assert sheet["drivers"][:3] == ["615", "610", "595"]
    assert [each["name"] for each in sheet["pythons"][:2]] == ["Python 3.15", "Python 3.14"]
    assert data["gpus"][0] == {
        "arch": "sm_121", "capability": "12.1", "generation": "Blackwell", "examples": "DGX Spark, GB10",
    }  # fmt: skip
    assert [gpu["arch"] for gpu in data["gpus"][-4:]] == ["gfx900", "xpu", "mps", "cpu"]
    assert sheet["says"]["580"]["relies"] == ["13.2"]
    assert sheet["says"]["575"]["relies"] == ["13.0", "13.2"]


def test_a_page_is_one_file_with_its_data_in_it_and_without_releases_there_is_none(table: Table) -> None:
    page = webpage.html_page(table, Wish(), KNOWLEDGE, {"platform": "linux-x86_64", "python": "3.12"})

    assert "{{" not in page
    assert '"start":{"platform":"linux-x86_64","python":"3.12"}' in page
    assert VERSION in page
    for release in ("1.7.0", "2.15.0"):
        assert release in page.replace(page[page.index('"gpus"') :], "")
    with pytest.raises(UsageError, match="no release is within what was asked for"):
        webpage.html_page(table, Wish(torch=">99"), KNOWLEDGE, {})


@pytest.mark.parametrize("reason", [Reason.DRIVER_TOO_OLD, Reason.PACKAGE_DRIVER_TOO_OLD])
def test_the_words_for_an_old_driver_hold_for_each_that_is_too_old(reason: Reason) -> None:
    facts = {"library": "libcudart.so.13", "cuda": "13.0", "needs": "580", "has": "470.82"}

    text = webpage.words_of(Objection(reason, facts))

    assert text == Objection(reason, {**facts, "has": "an older one"}).text
    assert text.endswith("CUDA 13.0 needs driver 580 or newer; this one is an older one")


def test_words_without_a_driver_are_those_of_the_objection() -> None:
    objection = Objection(Reason.UNCONFIRMED, {"why": "it is new"})

    assert webpage.words_of(objection) == objection.text
