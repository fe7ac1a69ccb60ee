"""What is seen of whole computers, folders that stand for them, and which of their GPUs count: `seen.json` has it.

See `tests/recorded.py`.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import recorded
from tests.machine.conftest import brief
from torchpick.environment.world import World
from torchpick.errors import UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.machine import computer, kernel, machine_lines, probe
from torchpick.machine.kernel import KernelFacts, LookOptions, PciGpu
from torchpick.model.arch import Arch
from torchpick.model.fields import plain
from torchpick.model.machine import Driver, Gpu, Machine, Note, Platform, Python, Trouble

FILE = Path(__file__).with_name("seen.json")
LINUX = Platform("linux", "x86_64", "2.36", "glibc")
KFD = "/sys/class/kfd/kfd/topology/nodes"


def bus(address: str, vendor: str, device: str, bound: str = "", kind: str = "0x030000") -> dict[str, str]:
    folder = f"/sys/bus/pci/devices/{address}"
    files = {f"{folder}/class": f"{kind}\n", f"{folder}/vendor": f"{vendor}\n", f"{folder}/device": f"{device}\n"}
    return files | ({f"{folder}/driver": f"-> {bound}"} if bound else {})


def node(number: int, text: str, name: str = "") -> dict[str, str]:
    files = {f"{KFD}/{number}/properties": text, "/dev/kfd": ""}
    return files | ({f"{KFD}/{number}/name": name} if name else {})


PROCESSOR = "cpu_cores_count 16\nsimd_count 0\ngfx_target_version 0\n"
NAVI = "simd_count 192\ngfx_target_version 110000\nlocation_id 768\ndomain 2\nunique_id 4660\nodd line here\n"
RAPHAEL = "cpu_cores_count 16\nsimd_count 4\ngfx_target_version 100306\nlocation_id 2561\n"
STRIX = "cpu_cores_count 16\nsimd_count 40\ngfx_target_version 110501\nlocation_id 70000\n"
PASCAL = bus("0000:01:00.0", "0x10de", "0x1b06")
RADEON = bus("0002:03:00.0", "0x1002", "0x744c", "amdgpu")
ARC = bus("0000:04:00.0", "0x8086", "0xe20b", "xe")
UHD = bus("0000:00:02.0", "0x8086", "0x9bc5", "i915")


class Case(NamedTuple):
    files: Mapping[str, str] = {}
    environ: Mapping[str, str] = {}
    platform: Platform = LINUX
    trust_pci: bool = False


CASES = {
    "nothing": Case(),
    "sound, a bridge, and what says nothing": Case(
        bus("0000:01:00.1", "0x10de", "0x10ef", kind="0x040300")
        | bus("0000:02:00.0", "0x10de", "", kind="0x030200")
        | bus("0000:03:00.0", "10de", "0x1b06") | bus("0000:05:00.0", "0x10de", "0x0000001b06")
        | bus("0000:06:00.0", "0x10de", "0x1b06", kind="0x060400") | bus("0000:07:00.0", "0x10de", "0x1b06", kind="x")
    ),
    "a GPU without its driver": Case(PASCAL),
    "its PCI id is trusted": Case(PASCAL, trust_pci=True),
    "another driver holds it": Case(bus("0000:01:00.0", "0x10de", "0x1b06", "nouveau")),
    "a virtual machine has it": Case(bus("0000:02:00.0", "0x10de", "0x20b0", "vfio-pci", kind="0x030200")
                                    | bus("0000:01:00.0", "0x10de", "0x1b06", "vfio-pci")),
    "a container sees it": Case(PASCAL | {"/.dockerenv": ""}),
    "a pod sees it": Case(PASCAL, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}),
    "a container of another kind": Case(PASCAL, {"container": "lxc"}),
    "nodes without a library": Case(
        PASCAL | {"/dev/nvidia0": "", "/dev/nvidia1": "", "/dev/nvidiactl": "", "/dev/nvidia-uvm": "",
                  "/sys/module/nvidia/version": "580.95.05\n"}
    ),
    "a module without a version": Case(PASCAL | {"/sys/module/nvidia/refcnt": "1"}),
    "WSL2": Case({
        "/dev/dxg": "", "/usr/lib/wsl/lib/libdxcore.so": "", "/proc/sys/kernel/osrelease": "5.15-Microsoft-WSL2\n",
    }),
    "a container under WSL2": Case({
        "/run/systemd/container": "", "/proc/sys/kernel/osrelease": "5.15.microsoft-WSL2\n",
    }),
    "a Jetson": Case({
        "/proc/device-tree/compatible": "nvidia,p3701\0nvidia,tegra234\0",
        "/proc/device-tree/model": "NVIDIA Jetson AGX Orin\0",
        "/etc/nv_tegra_release": "# R36 (release), REVISION: 4.0, GCID: 1\n", "/dev/nvhost-gpu": "",
        "/dev/nvhost-ctrl-gpu": "", "/dev/nvgpu": "",
    }, platform=Platform("linux", "aarch64")),
    "a Jetson without a name": Case({
        "/proc/device-tree/compatible": "nvidia,tegra194\0", "/proc/device-tree/model": "\0",
    }),
    "a Jetson of no device tree": Case({"/sys/devices/soc0/family": "Tegra\n"}),
    "a Radeon": Case(node(0, PROCESSOR) | node(1, NAVI, "ip discovery\n") | RADEON),
    "a Radeon that has no id here": Case(node(0, PROCESSOR) | node(1, NAVI, "navi31\n")),
    "a Radeon beside a Ryzen's": Case(
        node(0, PROCESSOR) | node(1, NAVI) | node(2, RAPHAEL) | RADEON | bus("0000:0a:00.1", "0x1002", "0x164e")
    ),
    "a Ryzen's alone": Case(node(0, PROCESSOR) | node(1, RAPHAEL)),
    "a Ryzen's that builds support": Case(node(0, PROCESSOR) | node(1, STRIX)),
    "a Radeon called another": Case(node(0, NAVI) | node(1, RAPHAEL), {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}),
    "an old Radeon": Case(node(0, "simd_count 144\ngfx_target_version 80003\n")),
    "a Radeon called nonsense": Case(node(0, NAVI), {"HSA_OVERRIDE_GFX_VERSION": "10.3"}),
    "a Radeon in a container without it": Case(
        {"/run/.containerenv": ""} | {name: text for name, text in node(0, NAVI).items() if name != "/dev/kfd"} | RADEON
    ),
    "a Radeon without a compute node": Case(RADEON),
    "one that nobody knows": Case(bus("0000:03:00.0", "0x1002", "0x1234")),
    "a Radeon beside a silent GPU": Case(PASCAL | node(0, NAVI)),
    "an Arc": Case(ARC),
    "an Arc beside a Radeon": Case(ARC | node(0, NAVI)),
    "an Arc beside a Ryzen's": Case(ARC | node(0, RAPHAEL)),
    "an Arc beside a silent GPU": Case(ARC | PASCAL),
    "what xpu builds do not support": Case(UHD),
    "a Mac": Case(platform=Platform("macos", "arm64", macos="14.2")),
    "an Intel Mac": Case(platform=Platform("macos", "x86_64")),
}  # fmt: skip


def seen() -> dict[str, object]:
    return {name: looked_at(case) for name, case in CASES.items()}


def looked_at(case: Case) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as root:
        for path, text in case.files.items():
            there = Path(root, path.lstrip("/"))
            there.parent.mkdir(parents=True, exist_ok=True)
            if text.startswith("-> "):
                there.symlink_to(f"../../../bus/pci/drivers/{text[3:]}")
            else:
                there.write_text(text, "utf-8")
        world = World(root, case.environ, root, "darwin" if case.platform.os == "macos" else "linux")
        how = LookOptions(world, time.monotonic() + 60, Knowledge({}), trust_pci=case.trust_pci)
        usual = KernelFacts()._asdict()
        facts = {fact: value for fact, value in plain(kernel.read_kernel(world)).items() if value != plain(usual[fact])}
        return {"facts": facts, **brief(computer.look(how, case.platform))}


test_whole_computers_are_seen_as_they_were = pytest.mark.skipif(
    os.name == "nt", reason="links need a right on Windows"
)(recorded.table(FILE, seen))


@pytest.mark.parametrize(
    ("facts", "is_worth_it"),
    [
        (KernelFacts(), False), (KernelFacts(module=True), True), (KernelFacts(nodes=("nvidia0",)), True),
        (KernelFacts(tegra="orin"), True), (KernelFacts(pci=(PciGpu("a", 0x10DE, 1),)), True),
        (KernelFacts(pci=(PciGpu("a", 0x1002, 1),)), False), (KernelFacts(wsl=True), False),
        (KernelFacts(wsl_kernel=True), True),
    ],
)  # fmt: skip
def test_nothing_is_asked_where_nothing_of_nvidia_is_seen(
    facts: KernelFacts, is_worth_it: bool, tmp_path: Path
) -> None:
    assert kernel.worth_asking(facts, World(str(tmp_path), {}, "/", "linux")) == is_worth_it


def test_display_adapters_as_windows_lists_them() -> None:
    listed = (
        "PCI\\VEN_10DE&DEV_1B06&SUBSYS_1\0PCI\\VEN_1002&DEV_744c&REV_2\0ROOT\\DISPLAY\\0\0PCI\\VEN_10D&DEV_1B06\0\0"
    )

    assert kernel.windows_ids(listed) == (
        PciGpu("PCI\\VEN_10DE&DEV_1B06&SUBSYS_1", 0x10DE, 0x1B06), PciGpu("PCI\\VEN_1002&DEV_744c&REV_2", 0x1002,
         0x744C),
    )  # fmt: skip
    assert [len(gpu.address) for gpu in kernel.windows_ids("PCI\\VEN_10DE&DEV_1B06&" + "x" * 300)] == [200]
    assert len(kernel.windows_ids("PCI\\VEN_10DE&DEV_1B06\0" * 1100)) == 1000


def gpu(index: int, vendor: str, arch: str = "", **more: object) -> Gpu:
    return Gpu(index, vendor, f"{vendor}{index}", Arch.parse(arch) if arch else None)._replace(**more)  # type: ignore[arg-type]


ONE, TWO = gpu(0, "nvidia", "sm_61", visible=False), gpu(1, "nvidia", "sm_86")
RX, APU = gpu(2, "amd", "gfx1100", source="kfd"), gpu(3, "amd", "gfx1036", integrated=True, source="kfd")
OWN = gpu(4, "nvidia", "sm_87", integrated=True)
TROUBLE = Trouble("DRIVER_SILENT", "it does not answer", "look")
NOTES = (Note("CUDA_VISIBLE_DEVICES", "it hides one"), Note("X", "else"))
BASE = Machine(LINUX, Python("3.12"), Driver("580.95.05"), (ONE, TWO, RX), NOTES, TROUBLE)


@pytest.mark.parametrize(("gpus", "counted", "notes"), [
    ((), "", ""), ((ONE, TWO), "01", ""),
    ((ONE, RX), "0", "amd2 (gfx1100): left out, as a build supports one vendor's GPUs"),
    ((RX, ONE), "0", "amd2 (gfx1100): left out, as a build supports one vendor's GPUs"),
    ((RX, ONE._replace(counted=False)), "2", "nvidia0 (sm_61): left out, as a build supports one vendor's GPUs"),
    ((RX, APU), "2", "amd3 (gfx1036): left out, as there is a discrete GPU"),
    ((RX, APU._replace(source="given")), "2", "amd3 (gfx1036): left out, as there is a discrete GPU"),
    ((APU,), "3", ""),
    ((TWO, OWN._replace(source="nvml")), "1", "nvidia4 (sm_87): left out, as there is a discrete GPU"),
    ((TWO, OWN._replace(source="given")), "14", ""),
    ((ONE._replace(counted=False), RX._replace(counted=False)), "", ""),
])  # fmt: skip
def test_the_gpus_of_one_vendor_count_and_a_processor_s_own_where_it_is_alone(
    gpus: tuple[Gpu, ...], counted: str, notes: str
) -> None:
    found, left = computer.count_one_vendor(gpus)

    assert "".join(str(each.index) for each in found if each.counted) == counted
    assert [each._replace(counted=True) for each in found] == [each._replace(counted=True) for each in gpus]
    assert "".join(note.text for note in left) == notes
    assert {note.code for note in left} <= {"OTHER_VENDOR_LEFT_OUT", "INTEGRATED_LEFT_OUT"}


def test_what_a_variable_hides_does_not_count_where_that_is_asked_for() -> None:
    found = computer.without_hidden(BASE)
    text = "nvidia0 (sm_61): hidden by CUDA_VISIBLE_DEVICES and left out (--gpus visible)"

    assert [each.counted for each in found.gpus] == [False, True, True]
    assert found.notes == (NOTES[1], Note("NOT_VISIBLE_LEFT_OUT", text))
    both = computer.without_hidden(BASE._replace(gpus=(ONE, TWO._replace(visible=False), RX)))
    assert both.notes[-1].text.startswith("nvidia0 (sm_61), nvidia1 (sm_86): hidden")
    assert computer.without_hidden(BASE._replace(gpus=(TWO,))) == BASE._replace(gpus=(TWO,), notes=NOTES[1:])
    hidden = ONE._replace(counted=False)
    assert computer.without_hidden(BASE._replace(gpus=(hidden, TWO))).notes == NOTES[1:]


@pytest.mark.parametrize(
    ("gpus", "only", "message", "hint"),
    [
        ((ONE, TWO), (0, 7, 8), "--only 7,8: this machine has GPU 0, 1", "run `torchpick detect`"),
        ((), (0,), "--only 0: this machine has no GPU", "run `torchpick detect`"),
        ((ONE, RX), (2, 0), "--only 2,0: GPUs of amd and nvidia, and no build supports both",
         "select the GPUs of one vendor"),
    ],
)  # fmt: skip
def test_only_gpus_that_are_there_and_of_one_vendor_are_taken(
    gpus: tuple[Gpu, ...], only: tuple[int, ...], message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        computer.only_gpus(BASE._replace(gpus=gpus), only)

    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_a_silent_driver_matters_to_its_own_vendor_s_gpus_alone() -> None:
    assert [computer.only_gpus(BASE, (index,)).trouble for index in (1, 2)] == [TROUBLE, None]


def test_on_windows_radeons_are_known_by_their_pci_ids() -> None:
    known, unknown, inside = (
        PciGpu(f"PCI\\VEN_1002&DEV_{device:04X}", 0x1002, device) for device in (0x744C, 0x1234, 0x164E)
    )
    facts = KernelFacts(pci=(unknown, inside, known, PciGpu("x", 0x10DE, 0x744C)))
    found = computer.look_for_amd(World("/nowhere", {}, "/", "win32"), facts, 5, Knowledge({}))

    assert [(each.index, each.name, str(each.arch), each.pci, each.counted) for each in found.gpus] == [
        (5, "AMD Raphael / Dragon Range", "gfx1036", inside.address, False),
        (6, "AMD Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M", "gfx1100", known.address, True),
    ]
    assert [note.code for note in found.notes] == ["INTEGRATED_LEFT_OUT"]


@pytest.mark.skipif(os.name == "nt", reason="the real ones would be found")
@pytest.mark.parametrize(
    ("environ", "root"),
    [({"SYSTEMROOT": "D:"}, "D:"), ({"WINDIR": "E:"}, "E:"), ({"SYSTEMROOT": "D:", "WINDIR": "E:"}, "D:"), ({},
     "C:\\Windows")],
)  # fmt: skip
def test_windows_has_its_libraries_in_one_of_two_folders(
    environ: dict[str, str], root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # here a name with backslashes is a file of that name
    names = [f"{root}\\System32\\nvml.dll", "C:\\Program Files\\NVIDIA Corporation\\NVSMI\\nvml.dll"]
    world = World("/", environ, "/", "win32")
    for count, name in enumerate(names, 1):
        (tmp_path / name).touch()

        assert kernel.candidates(kernel.NVML, world) == names[:count]
    assert kernel.candidates(kernel.CUDA, world) == []


@pytest.mark.parametrize(
    ("release", "cuda"),
    [
        ("R32 (release), REVISION: 7.1", "10.2"), ("R34 (release), REVISION: 1.0", "11.4"),
        ("R35 (release), REVISION: 4.1", "11.4"), ("R36 (release), REVISION: 2.0", "12.2"),
        ("R36 (release), REVISION: 3.0", "12.2"), ("R36 (release), REVISION: 4.3", "12.6"),
        ("R38 (release), REVISION: 2.0", None), ("R320 (release)", None),
    ],
)  # fmt: skip
def test_the_cuda_of_each_release_of_jetson_linux(release: str, cuda: str | None, tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/nv_tegra_release").write_text(f"# {release}, GCID: 1\n", "utf-8")
    facts = kernel.read_kernel(World(str(tmp_path), {}, "/", "linux"))

    assert (facts.tegra, facts.jetson_cuda) == ("tegra", cuda)


def test_the_folders_where_distributions_put_the_libraries_of_a_driver(tmp_path: Path) -> None:
    cpus = [f"/usr/lib/{cpu}-linux-gnu" for cpu in ("x86_64", "aarch64")]
    folders = ["/usr/lib/wsl/lib", "/usr/lib64/nvidia", "/usr/lib64", *cpus, f"{cpus[1]}/nvidia", f"{cpus[1]}/tegra",
               "/run/opengl-driver/lib", "/usr/lib/nvidia", "/usr/lib"]  # fmt: skip
    world = World(str(tmp_path), {}, "/", "linux")
    for folder in folders:
        (tmp_path / folder[1:]).mkdir(parents=True, exist_ok=True)
    for name, other in ((kernel.NVML, kernel.CUDA), (kernel.CUDA, kernel.NVML)):
        paths = [tmp_path / folder[1:] / name for folder in folders]
        for path in reversed(paths):
            path.touch()
            assert kernel.candidates(name, world)[0] == str(path)
        assert kernel.candidates(name, world) == list(map(str, paths))
        assert kernel.candidates(other, world) == []
        assert kernel.worth_asking(KernelFacts(), world)
        for path in paths:
            path.unlink()


def test_every_node_that_a_gpu_needs_must_be_open_for_reading_and_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dev").mkdir()
    for name in ("nvidia0", "nvidia1", "nvidiactl", "sda", "7"):
        (tmp_path / "dev" / name).touch()
    closed = [("sda", os.R_OK), ("7", os.R_OK)]
    monkeypatch.setattr(os, "access", lambda path, mode: not any(path.endswith(n) and mode & m for n, m in closed))
    world = World(str(tmp_path), {}, "/", "linux")

    assert kernel.read_kernel(world).permitted
    for name, sees in (("/usr/lib/wsl/lib/libcuda.so.1", (False, False)), ("/dev/dxg", (True, True))):
        (tmp_path / name[1:]).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name[1:]).touch()
        assert kernel.read_kernel(world)[5:7] == sees, "the driver of Windows, and the device that leads to it"
    for node in (("nvidia1", os.W_OK), ("nvidia1", os.R_OK), ("nvidiactl", os.W_OK)):
        closed[:] = [node]
        assert not kernel.read_kernel(world).permitted


def test_what_is_no_version_and_no_name() -> None:
    texts = ("580.95.05", " 390.157\n", "32.0.15.8115", "580", "32.0.15.8.1", "N/A", "580.x", "")
    assert [kernel.driver_version(text) for text in texts] == ["580.95.05", "390.157", "32.0.15.8115", *[None] * 5]
    names = (" GTX 1080 \n", "x" * 200, "[Unknown Error]", "a\x01b", "a\N{REPLACEMENT CHARACTER}", " ", None)
    assert [kernel.product_name(text) for text in names] == ["GTX 1080", "x" * 128, *[None] * 5]
    cudas = {12080: "12.8", 2000: "2.0", 10020: "10.2", 99_999: "99.99", 1999: None, 100_000: None, 0: None, -1: None}
    assert {number: probe.cuda_version(number) for number in cudas} == cudas
    assert [probe.signal_name(number) for number in (11, 200)] == ["SIGSEGV", "signal 200"]


@pytest.mark.parametrize(
    ("pair", "found"),
    [((6, 1), (6, 1)), ((1, 0), (1, 0)), ((30, 9), (30, 9)), ((0, 9), None), ((31, 0), None), ((6, 10), None), ((6,
     -1), None),
     ((True, 1), None), (("6", 1), None), ((6, None), None)],
)  # fmt: skip
def test_a_capability_that_can_be(pair: tuple[object, object], found: tuple[int, int] | None) -> None:
    assert probe.capability(*pair) == found


@pytest.mark.parametrize(
    ("raw", "address"),
    [("00000000:01:00.0", "0000:01:00.0"), ("01:00.0", "0000:01:00.0"), ("AAAA:0B:0C.7", "aaaa:0b:0c.7"), ("01:00",
     "0000:01:00.0"),
     (" 0001:02:03.4 ", "0001:02:03.4"), ("00010000:00:1e.0", "10000:00:1e.0"),
     ("01:00.8", None), ("1:00.0", None), ("x", None), ("", None), (None, None)],
)  # fmt: skip
def test_an_address_as_the_kernel_writes_it(raw: str | None, address: str | None) -> None:
    assert kernel.pci_address(raw) == address


@pytest.mark.parametrize(
    ("value", "expanded"),
    [
        (5, 5), ([], []), ({"gpus": 5}, {"gpus": 5}), ({}, {}), ({"gpus": [5]}, {"gpus": [5]}),
        ({"gpus": [{"a": 1, "count": 2}], "b": 3}, {"gpus": [{"a": 1}, {"a": 1}], "b": 3}),
        ({"gpus": [{"count": 0}, {"count": -1}, {"count": True}, {"count": "2"}, {"count": 1025}]},
         {"gpus": [{"count": 0}, {"count": -1}, {"count": True}, {"count": "2"}, {"count": 1025}]}),
    ],
)  # fmt: skip
def test_equal_gpus_that_are_written_once_are_as_many_as_they_were(value: object, expanded: object) -> None:
    assert machine_lines.expand_gpus(value) == expanded


def test_no_line_has_more_gpus_than_a_machine() -> None:
    assert len(machine_lines.expand_gpus({"gpus": [{"count": 1024}]})["gpus"]) == 1024  # type: ignore[index]
    assert len(machine_lines.expand_gpus({"gpus": [{}] * 5000})["gpus"]) == 1025  # type: ignore[index]


@pytest.mark.parametrize(("name", "file"), [
    ("n1.example", "n1.example"), ("../x", "_x"), ("a b/c", "a_b_c"), ("...", "host"), ("x" * 300, "x" * 253),
    ("ä", "_"),
])  # fmt: skip
def test_the_file_of_a_host_lies_in_its_folder_and_is_not_hidden(name: str, file: str) -> None:
    assert machine_lines.file_name(name) == file


def test_a_host_is_called_as_slurm_calls_its_node() -> None:
    assert machine_lines.host_name({"SLURMD_NODENAME": "n" * 300}) == "n" * 253
    assert machine_lines.host_name({"SLURMD_NODENAME": ""}) == (platform.node()[:253] or None)


def test_a_line_is_short_enough_for_a_launcher() -> None:
    long = tuple(gpu(index, "nvidia", "sm_90", name=f"{index} {'x' * 70}") for index in range(40))
    machine = BASE._replace(gpus=long, notes=(), name="n" * 300, trouble=Trouble("C", "word " * 40, "hint " * 22))
    line = machine_lines.write_line(machine)

    named = (BASE._replace(gpus=long[:count], notes=(), name="n") for count in range(12))
    assert max(len(line), *(len(machine_lines.write_line(one)) for one in named)) < 1000
    found = json.loads(line)["machine"]
    assert found["name"] == "n" * 64
    assert found["gpus"] == [{"arch": "sm_90", "count": 40}]
    assert found["trouble"] == {"code": "C", "text": "word " * 21 + "...", "hint": ("hint " * 22)}
    two = json.loads(machine_lines.write_line(machine._replace(gpus=long[:2], trouble=None)))
    assert [each["name"] for each in two["machine"]["gpus"]] == [f"{index} {'x' * 70}"[:64] for index in range(2)]
    assert (two["exit"], json.loads(line)["exit"]) == (0, 4)


@pytest.mark.skipif(not os.path.exists("/etc/ld.so.cache"), reason="no cache of the loader here")
def test_the_loader_itself_finds_what_its_cache_or_its_variable_names(tmp_path: Path) -> None:
    (tmp_path / "libown.so.1").touch()

    def found(name: str, variable: str) -> bool:
        return name in kernel.candidates(name, World("/", {"LD_LIBRARY_PATH": variable}, "/", "linux"))

    for variable in (str(tmp_path), f":/nowhere:{tmp_path}", f"/nowhere;{tmp_path}"):
        assert found("libown.so.1", variable)
    assert not found("libown.so.1", "")
    assert not found("libown.so.1", "/nowhere")
    assert kernel.candidates("libc.so.6", World("/", {}, "/", "linux"))[0] == "libc.so.6"
    assert kernel.candidates("libc.so.6", World(str(tmp_path), {}, "/", "linux")) == []
