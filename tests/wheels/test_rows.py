"""What is made of wheels and of pages as rows of the table: `rows.json` has it for each kind of them.

See `tests/recorded.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests import recorded
from tests.wheels import making
from torchpick.environment.distributions import TorchFacts
from torchpick.errors import TorchpickError
from torchpick.index import pages
from torchpick.index.pages import ProjectFile
from torchpick.model.arch import Arch
from torchpick.model.build import Build, Evidence
from torchpick.model.fields import plain
from torchpick.model.package import WheelRule
from torchpick.wheels import librarycode, listed, refresh, wheelfiles
from torchpick.wheels.readings import WHOLE, Reading

FILE = Path(__file__).with_name("rows.json")
LINUX = "manylinux_2_28_x86_64"
OWN_CUDA = {"2.9.0": "12.8", "2.10.0": "13.0"}
LINE: dict[str, Any] = {
    "file": "pkg-1.0-cp312-cp312-linux_x86_64.whl", "sha256": "ab", "project": "pkg", "version": "1.0",
    "requires_python": ">=3.10", "requires": ["torch==2.9", "numpy"], "pythons": ["cp312"],
        "platforms": ["linux-x86_64"],
    "glibc": "2.28", "needed": ["libc10.so", "libcudart.so.12", "libcublas.so.12", "libstdc++.so.6"],
        "libraries_unread": 0,
    "yanked": False, "code": [{"path": "pkg/_C.so", "sass": ["sm_80", "sm_90"], "ptx": ["compute_90"]}],
}  # fmt: skip
REQUIRES = [
    "Torch_Vision", "torchvision>=0.20", "triton==3.1 ; sys_platform == 'linux'", "xformers", "accelerate", "numpy",
        "nvidia-cuda-runtime-cu12==12.6",
    "nvidia-cudnn-cu12==9.1", "nvidia-nccl", "nvidia-curand-cu130", "nvidia-other", "cuda-toolkit==13.*",
        "cuda-pathfinder", "onnxruntime",
    "torchaudio ; extra == 'audio'", "not a requirement", "flashinfer-python==1", "timm", "torchdata",
]  # fmt: skip
PER_CUDA = [
    {"path": f"b/libbits_cuda{cuda}{rest}.so", "sass": ["sm_75"], "ptx": []}
    for cuda in ("118", "126")
    for rest in ("", "_nocublas")
]
LINES: dict[str, tuple[dict[str, Any], WheelRule]] = {
    "as it is": ({}, WheelRule()),
    "all that it may require": ({"requires": REQUIRES}, WheelRule()),
    "with its extras": ({"requires": REQUIRES}, WheelRule(extras=True)),
    "beyond what it says": ({}, WheelRule(beyond={"<2": "cuda-toolkit==12.*", ">=2": "x"})),
    "a torch of another CUDA": ({"requires": ["torch==2.10.0"]}, WheelRule()),
    "a torch from some release on": ({"requires": ["torch>=2.9", "torch<3"]}, WheelRule()),
    "a torch that is not known": ({"requires": ["torch==2.1"]}, WheelRule()),
    "no torch": ({"requires": [], "needed": ["libcudart.so.12", "libcudart.so.11.0"]}, WheelRule()),
    "linked without torch": ({"needed": ["libcudart.so.12.0", "libnvrtc.so.13", "libcuda.so.1", "libnccl.so.2"]},
        WheelRule()),
    "links torch by the rule": ({"needed": []}, WheelRule(links_torch=True)),
    "links no torch by the rule, and does": ({}, WheelRule(links_torch=False)),
    "its CUDA by the rule": ({}, WheelRule(cuda={"<2": "11.8", ">=2": "12"})),
    "what it opens by itself": ({}, WheelRule(dlopens={"==1.*": ("libcublas.so.13", "libx.so")}, preloads=True)),
    "a library that it goes on without": ({"needed": ["libcublas.so.12", "libcudnn.so.8"]},
        WheelRule(spares=("libcudnn",))),
    "a library per CUDA": ({"code": PER_CUDA}, WheelRule(per_cuda=True, main=r"b/libbits_cuda\d+\.so")),
    "a main library": ({"code": [*LINE["code"], {"path": "pkg/_D.so", "sass": ["sm_90"], "ptx": []}]},
        WheelRule(main=r"pkg/_C\.so")),
    "of two CUDAs the older": ({"needed": ["libcudart.so.13", "libcudart.so.12"]}, WheelRule(optional=True,
        minor_fallback=">=1")),
    "what it does without": (
        {"code": [{"path": "a.libs/libnvjpeg.so.12", "sass": ["sm_80"], "ptx": []}, {"path": "a/mscclpp.so",
            "sass": ["sm_80"], "ptx": []},
                  {"path": "a/few.so", "sass": ["sm_50"], "ptx": []}, {"path": "a/none.so", "sass": [], "ptx": []},
                  {"path": "a/more.so", "sass": ["sm_90"], "ptx": []}]},
        WheelRule(few=("sm_50",)),
    ),
    "read in part": ({"code": [LINE["code"][0] | {"whole": False}]}, WheelRule()),
    "yanked, for any Python": ({"yanked": True, "requires_python": None, "glibc": None}, WheelRule()),
}  # fmt: skip


def links(*files: str, more: str = "", folder: str = "cu126") -> tuple[ProjectFile, ...]:
    page = "".join(f'<a href="{file.replace("+", "%2B")}#sha256={"ab" * 32}"{more}>x</a>' for file in files)
    return pages.files(page.encode(), f"https://host.example/whl/{folder}/")


def torch(version: str, tag: str = f"cp312-cp312-{LINUX}") -> str:
    return f"torch-{version}-{tag}.whl"


LISTED: dict[str, tuple[tuple[ProjectFile, ...], str]] = {
    "releases, oldest last": (links(torch("2.9.0+cu126"), torch("2.10.0+cu126"), torch("2.10.0rc1+cu126"),
        torch("2.9.1+cu126")), "stable"),
    "before the table, and after a release": (links(torch("1.6.0+cu92"), torch("1.7.0+cu92"),
        torch("2.9.0.post1+cu126")), "stable"),
    "what is not torch": (links(f"torchvision-0.20.0-cp312-cp312-{LINUX}.whl", "torch-2.9.0-cp312-cp312-any.whl"),
        "stable"),
    "labels": (links(torch("2.9.0+cpu"), torch("2.9.0+rocm7.2"), torch("2.9.0+xpu"), torch("2.9.0+git123"),
        torch("2.9.0+cpu.cxx11.abi")), "stable"),
    "no label in a folder": (links(torch("2.9.0"), torch("2.9.0", "cp312-none-macosx_11_0_arm64")), "stable"),
    "no label in a folder of another name": (
        links(torch("2.9.0"), torch("2.9.0", "cp312-none-macosx_11_0_arm64"), folder="all"), "stable"
    ),
    "the user's own index": (links(torch("2.9.0"), torch("2.9.0+cu126"), torch("2.9.0", "cp312-cp312-win_amd64")),
        "default"),
    "nightly": (links(torch("2.11.0.dev20261101+cu126"), torch("2.11.0.dev20261102+cu126"),
        torch("2.11.0.dev20261101+cpu")), "nightly"),
    "Pythons and platforms": (
        links(torch("2.9.0+cu126"), torch("2.9.0+cu126", f"cp313-cp313t-{LINUX}"), torch("2.9.0+cu126",
            f"cp313-cp313-{LINUX}"),
              torch("2.9.0+cu126", f"cp39-cp39-{LINUX}"), torch("2.9.0+cu126", "cp312-cp312-win_amd64"),
              torch("2.9.0+cu126", f"py3-none-{LINUX}"), torch("2.9.0+cu126", "cp312-cp312-manylinux2014_x86_64")),
                  "stable"
    ),
    "a tag that promises nothing": (links(torch("2.9.0+cu126"), torch("2.9.0+cu126", "cp313-cp313-linux_x86_64")),
        "stable"),
    "yanked": (links(torch("2.9.0+cu126"), more=" data-yanked=bad"), "stable"),
    "yanked in part": (links(torch("2.9.0+cu126"), more=" data-yanked=bad") + links(torch("2.9.0+cu126",
        f"cp313-cp313-{LINUX}")), "stable"),
}  # fmt: skip


def in_words(build: Build) -> Any:
    usual: dict[str, object] = {
        "libraries": {},
        "lacks": {},
        "companions": {},
        "companion_basis": {},
        "companion_pythons": {},
        "vendor": None,
        "extras": [],
    }
    return {name: value for name, value in plain(build).items() if value != usual.get(name, ...)}


BUILT = listed.list_builds(links(torch("2.9.0+cu126"), torch("2.9.0+cu126", f"cp313-cp313-{LINUX}")))
[ROW] = [build for build, _ in BUILT]
MEASURED = ROW._replace(
    arches=(Arch.parse("sm_80"),),
    evidence=Evidence("measured", "torch-2.9.0.whl sha256:00", {"file": "t.whl", "sha256": "11"}),
)
KNOWN = {
    "nothing": None, "the same": ROW, "read": MEASURED, "of other Pythons": MEASURED._replace(pythons=("cp312",)),
    "of the same Pythons in another order": MEASURED._replace(pythons=ROW.pythons[::-1]),
    "of other tags": MEASURED._replace(tags=("manylinux_2_17_x86_64",), glibc="2.17"),
    "never seen": MEASURED._replace(published=None), "yanked": MEASURED._replace(yanked=True),
    "that nobody knows": ROW._replace(evidence=Evidence("declared", "a list")),
}  # fmt: skip
METADATA = (
    "Requires-Dist: nvidia-cudnn-cu12 (==9.1.0.70) ; platform_system == 'Linux'\n"
    "Requires-Dist: nvidia-nccl-cu12==2.21.5; x\n"
    ""
    "Requires-Dist: triton==3.1.0\nRequires-Dist: nvidia-cublas-cu12>=12\n"
    "Requires-Dist: numpy==2\nRequires-Dist: nvidia-nvtx-cu12==12.4\n"
)
READ = Reading(
    "x", WHOLE, True, 1, 1, 1, torch=TorchFacts("2.9.0", "12.6", flags=tuple(map(Arch.parse, ("sm_75", "sm_80",
        "compute_90")))),
    libraries=(librarycode.read_buffer(making.library(making.module("sm_80", "sm_90")),
        "torch/lib/libtorch_cuda_linalg.so"),),
    metadata=METADATA,
)  # fmt: skip


def rows() -> dict[str, object]:
    now: dict[str, object] = {}
    for name, (line, rule) in LINES.items():
        now[f"a wheel: {name}"] = wheelfiles.make_row(LINE | line, rule, OWN_CUDA)
    now["a version of which nothing is known"] = wheelfiles.empty_row("1.0", {"kind": "declared", "ref": "x"})
    for name, (found, channel) in LISTED.items():
        builds = listed.list_builds(found, channel)
        now[f"a page: {name}"] = [in_words(build) | {"sample": sample.file} for build, sample in builds]
    for_any = [(build._replace(pythons=()), sample) for build, sample in BUILT]
    now["a page of wheels for any Python"] = [
        in_words(row) for row in listed.compare_builds(for_any, {ROW.key: ROW})[1]
    ]
    for name, row in KNOWN.items():
        unread, differing = listed.compare_builds(BUILT, {} if row is None else {row.key: row})
        changed = [in_words(each) for each in differing]
        now[f"known: {name}"] = {"unread": [build.version for build, _ in unread], "changed": changed}
    now["a wheel that was read"] = in_words(
        refresh.measured_row(BUILT[0][1], READ, MEASURED._replace(libraries={"old": "1"}))
    )
    unhashed = BUILT[0][1]._replace(hash=None)
    for name, reading in {
        "no GPU code": READ._replace(torch=READ.torch and READ.torch._replace(cuda=None, flags=())),
        "no metadata": READ._replace(metadata=None), "no torch": READ._replace(torch=None),
    }.items():  # fmt: skip
        now[f"a wheel that was read: {name}"] = in_words(refresh.measured_row(unhashed, reading, ROW))

    named: dict[str, object] = plain(now)
    return named


test_wheels_and_pages_become_the_rows_they_became = recorded.table(FILE, rows)


def test_a_released_wheel_never_changes() -> None:
    file, digest = BUILT[0][1].file, "ab" * 32

    def refused(ref: str, sha256: str | None = digest) -> list[TorchpickError]:
        rows = [ROW._replace(evidence=Evidence("measured", ref))]
        mine = [(BUILT[0][0], BUILT[0][1]._replace(hash=sha256 and f"sha256={sha256}"))]
        return [error for _, error in listed.with_another_hash(mine, rows).values()]

    [error] = refused(f"{file} sha256:00")
    assert error.message == f"its sha256 is {digest}, and was 00; a released wheel never changes, so it is refused"
    assert error.hint == "ask the operator of the index; the known row stays"
    assert refused(f"{file} sha256:{digest}") == refused(file) == refused("other.whl sha256:00") == []
    assert refused(f"{file} sha256:00", None) == []


def test_a_mirror_s_pages_are_those_of_all_builds_and_then_of_each_backend() -> None:
    flat = refresh.places("flat+https://m.example/all.html", "stable", ("cu126",))
    stable, nightly = (
        refresh.places("https://m.example/whl/", channel, ("cpu", "cu126")) for channel in ("stable", "nightly")
    )

    assert [(each.indexes, each.links) for each in flat] == [((), ("https://m.example/all.html",))]
    assert [each.indexes for each in stable] == [
        ("https://m.example/whl",), ("https://m.example/whl/cpu", "https://m.example/whl/cu126"),
    ]  # fmt: skip
    assert nightly[1].indexes == ("https://m.example/whl/nightly/cpu", "https://m.example/whl/nightly/cu126")


def test_the_wheel_to_read_of_each_version() -> None:
    tags = [
        f"cp313-cp313-{LINUX}",
        f"cp312-cp312t-{LINUX}",
        f"cp39-abi3-{LINUX}",
        "py3-none-any",
        "cp312-cp312-win_amd64",
    ]
    order = [f"cp312-cp312-{LINUX}", f"cp311-cp311-{LINUX}", tags[0], tags[2], tags[1], tags[3]]
    files = list(links(*(f"pkg-1.0-{tag}.whl" for tag in {**dict.fromkeys(tags), **dict.fromkeys(order)})))
    pythons = ("any", "cp311", "cp312", "cp312t", "cp313", "cp39+")
    for place, tag in enumerate(order):
        left = [file for file in files if f"-{order[place - 1]}." not in file.file or not place]
        files = left
        found = wheelfiles.wheel_to_read(files, "linux-x86_64")
        assert found is not None
        assert found[0].file == f"pkg-1.0-{tag}.whl"
        assert set(found[1]) <= set(pythons)
        assert place or found[1:] == (pythons, ("any", "linux-x86_64", "windows-x86_64"))
    assert wheelfiles.wheel_to_read(links(f"pkg-1.0-{tags[4]}.whl"), "linux-x86_64") is None
    several = links(*(f"pkg-{version}-py3-none-any.whl" for version in ("1.9", "1.10", "1.10rc1", "2")))
    several = (*several[:3], several[3]._replace(yanked=""))
    newest = [wheel.version for wheel, _, _ in wheelfiles.wheels_of_versions(several, "linux-x86_64")]
    assert newest == ["1.10", "1.10rc1", "1.9"]


def test_a_wheel_beside_its_code_as_a_line_of_evidence() -> None:
    [link] = links(f"pkg-1.0-cp312-cp312-{LINUX}.whl")
    part = READ.libraries[0]._replace(complete=False)
    metadata = "Requires-Python: >=3.10\nRequires-Dist: torch\nRequires-Dist: numpy>1\n"
    reading = READ._replace(libraries=(part, READ.libraries[0]), unread=2, metadata=metadata, needed=(
        "libc.so.6", "libc10.so", "libcudart.so.12", "libcu_x.so", "libnvrtc.so.12", "libnccl.so.2", "libnppc.so.12",
        "libtorch.so", "libm.so"))  # fmt: skip
    line = wheelfiles.evidence_line((link, ("cp312",), ("linux-x86_64",)), reading)

    assert line == {
        "file": link.file, "sha256": "ab" * 32, "project": "pkg", "version": "1.0", "requires_python": ">=3.10",
        "requires": ["torch", "numpy>1"], "pythons": ["cp312"], "platforms": ["linux-x86_64"], "glibc": "2.28",
        "needed": ["libc10.so", "libcudart.so.12", "libnvrtc.so.12", "libnccl.so.2", "libnppc.so.12", "libtorch.so"],
        "libraries_unread": 2, "yanked": False,
    }  # fmt: skip
    sample = wheelfiles.evidence_line(
        (link._replace(yanked=""), (), ()), reading._replace(depth="sample", metadata=None)
    )
    said = [sample[name] for name in ("libraries_unread", "yanked", "requires", "requires_python")]
    assert said == [3, True, [], None]


def test_what_a_vendor_lists_for_its_platforms_known_or_newer() -> None:
    gfx = (Arch.parse("gfx1201"),)
    amd = ROW._replace(torch="2.8.0", version="2.8.0+rocm6.4", backend="rocm6.4", arches=gfx, tags=("x",), glibc="2.28")
    old = amd._replace(torch="2.7.0", version="2.7.0+rocm6.3", backend="rocm6.3", arches=())
    versions = (
        "2.9.0+rocm7.0.2",
        "2.8.0+rocm6.4",
        "2.7.0+rocm6.3",
        "2.7.1+rocm6.3",
        "2.9.0.post1+rocm7.0",
        "2.10.0rc1",
        "2.9.1+git1",
    )
    found = links(*map(torch, versions), torch("2.9.0+rocm7.0", "cp312-cp312-win_amd64"))
    listed_ = {
        build.version: (build.backend, build.arches, build.tags, build.glibc)
        for build, _ in listed.list_vendor(found, (old, amd))
    }

    assert listed_ == {
        "2.9.0+rocm7.0.2": ("rocm7.0", gfx, ("x",), None), "2.8.0+rocm6.4": ("rocm6.4", gfx, ("x",), None),
        "2.7.0+rocm6.3": ("rocm6.3", (), ("x",), None), "2.9.1+git1": ("rocm6.4", gfx, ("x",), None),
    }  # fmt: skip
    [(nvidia, _)] = listed.list_vendor(links(torch("2.10.0")), (ROW._replace(arches=(Arch.parse("sm_87"),)),))
    assert (nvidia.backend, nvidia.arches) == ("cu126", None)
