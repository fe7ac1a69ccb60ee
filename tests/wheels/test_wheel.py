"""A wheel read by its flags, by a sample, and whole."""

from __future__ import annotations

import pytest

from tests.doctor.homes import linking
from tests.index.server import Host
from tests.index.test_archive import Bytes
from tests.wheels import making
from torchpick.errors import WheelError, WheelLayoutError
from torchpick.index import pages
from torchpick.index.client import Client
from torchpick.index.ranges import Archive, RemoteSource
from torchpick.model.fields import plain
from torchpick.wheels import wheelfiles
from torchpick.wheels.readings import FLAGS, SAMPLE, WHOLE, Reading

TORCH = "torch-2.15.0-cp312-cp312-manylinux_2_28_x86_64.whl"
LINALG = making.library(*[making.module("sm_80", "sm_90")] * 4, making.module("sm_75", "sm_80", "sm_90"))


def read(
    data: bytes, file: str = "pkg-1.0-py3-none-any.whl", depth: str | None = None, *, remote: bool = False
) -> Reading:
    return wheelfiles.read_wheel(Archive(Bytes(data, remote=remote)), file, depth)


def test_the_flags_cost_a_fraction_of_the_wheel(host: Host, client: Client) -> None:
    noise = making.noise(3, 8_000_000)
    host.files["/t.whl"] = making.torch_wheel(more={"torch/lib/libtorch_cuda.so": noise})
    source = RemoteSource(f"{host.url}/t.whl", client)
    found = wheelfiles.read_wheel(Archive(source), TORCH)
    source.close()

    assert plain(found.sass) == ["sm_75", "sm_80", "sm_90"]
    assert found.bytes_read < 0.03 * found.size
    assert found.requests <= 4


def test_a_cpu_build_holds_no_code() -> None:
    found = read(making.torch_wheel(None, version="2.15.0+cpu", cuda=None), TORCH)

    assert (found.sass, found.holds_code, found.depth) == ((), False, FLAGS)


def test_torch_for_windows_has_its_flags_in_a_dll() -> None:
    members = {"torch/version.py": making.version_py("2.9.0", "12.6")}
    found = read(making.wheel(members | {"torch/lib/torch_python.dll": making.torch_python("sm_75 sm_86")}), TORCH)

    assert (found.depth, plain(found.sass), found.version) == (FLAGS, ["sm_75", "sm_86"], "2.9.0")


def test_a_torch_for_rocm_has_its_flags_too_and_one_without_them_is_no_row() -> None:
    members = {"torch/version.py": making.version_py("2.9.0+rocm6.4", None, "6.4.1")}
    linalg = {f"torch/lib/{name}": LINALG for name in ("torch_cuda_linalg.dll", "libtorch_nvshmem.so", "libtorch_x.so")}
    [link] = pages.files(f"<a href={TORCH}>x</a>".encode(), "https://host.example/")

    def row(flags: str | None, version: bytes) -> Reading:
        more = {"torch/version.py": version, "torch/lib/libtorch_python.so": making.torch_python(flags)}
        return wheelfiles.read_release(Archive(Bytes(making.wheel({**more, **linalg}))), link)

    rocm = read(making.wheel({**members, "torch/lib/libtorch_python.so": making.torch_python("gfx90a gfx1100")}), TORCH)
    assert (rocm.depth, plain(rocm.sass), rocm.torch and rocm.torch.hip) == (FLAGS, ["gfx1100", "gfx90a"], "6.4")
    assert row("gfx90a gfx942", members["torch/version.py"]).libraries == ()
    cuda = row("sm_80 sm_90", making.version_py("2.9.0", "12.6"))
    assert [one.path for one in cuda.libraries] == ["torch/lib/torch_cuda_linalg.dll", "torch/lib/libtorch_nvshmem.so"]
    assert row(None, making.version_py("2.9.0+cpu", None)).sass == ()
    for version in (members["torch/version.py"], making.version_py("2.9.0", "12.6")):
        with pytest.raises(WheelLayoutError, match="names no architectures"):
            row(None, version)


def test_torch_without_flags_is_read_by_its_libraries() -> None:
    more = {"torch/lib/libtorch_cuda.so": making.library(making.module("sm_87"))}
    found = read(making.torch_wheel(None, version="2.8.0", more=more), TORCH)

    assert (found.depth, plain(found.sass)) == (WHOLE, ["sm_87"])


@pytest.mark.parametrize("stored", [False, True])
def test_any_other_wheel_is_read_whole(stored: bool) -> None:
    data = making.wheel({"pkg/_C.so": LINALG, "pkg/k.cubin": making.cubin(90), "pkg/x.py": b"pass"}, stored=stored)
    found = read(data)

    assert (found.depth, found.complete, found.name, found.version) == (WHOLE, True, "pkg", "1.0")
    assert plain(found.sass) == ["sm_75", "sm_80", "sm_90"]
    assert [one.path for one in found.libraries] == ["pkg/_C.so", "pkg/k.cubin"]


def test_a_compiler_in_the_wheel_is_named() -> None:
    found = read(making.wheel({"triton/backends/nvidia/bin/ptxas": b"\x7fELF", "triton/_C/libtriton.so": b"\x7fELF"}))

    assert found.compilers == ("triton/backends/nvidia/bin/ptxas",)


def test_a_sample_stays_within_its_share_and_never_claims_to_be_all() -> None:
    modules = [making.module("sm_80") + making.noise(place, 40_000) for place in range(60)]
    large = making.library(*modules, making.module("sm_90"))
    data = making.wheel({"pkg/large.so": large, "pkg/small.so": LINALG[:3000]})
    found = read(data, depth=SAMPLE, remote=True)

    assert not found.complete
    assert found.bytes_read <= len(data) * wheelfiles.SAMPLE_SHARE + 300_000
    assert "sm_90" not in plain(found.sass)


def test_only_a_wheel_on_the_web_is_sampled_and_where_it_is_larger_than_was_asked_for() -> None:
    large = making.elf({".text": making.noise(5, 2_000_000), ".nv_fatbin": making.module("sm_90")})
    data = making.wheel({"pkg/large.so": large, "pkg/small.so": LINALG})
    packed = sum(one.compress_size for one in Archive(Bytes(data)).members())

    def depth(remote: bool, most: int) -> str:
        return wheelfiles.read_wheel(Archive(Bytes(data, remote=remote)), "pkg-1.0-py3-none-any.whl", None, most).depth

    assert [depth(False, 1), depth(True, packed), depth(True, packed - 1)] == [WHOLE, WHOLE, SAMPLE]
    found = read(data, depth=SAMPLE)
    assert [(one.path, one.complete) for one in found.libraries] == [("pkg/small.so", True), ("pkg/large.so", False)]
    alone = read(making.wheel({"pkg/small.so": LINALG, "pkg/pad": making.noise(6, 500_000)}), depth=SAMPLE)
    assert ([one.complete for one in alone.libraries], alone.complete) == ([True], False)


def test_an_allowance_goes_to_the_small_libraries_and_the_main_ones() -> None:
    modules = [making.module("sm_80") + making.noise(place, 40_000) for place in range(60)]
    members = {
        "pkg/huge.so": making.library(*[making.module("sm_90") + making.noise(100 + n, 40_000) for n in range(90)]),
        "pkg/_C.so": making.library(*modules),
        "pkg/links.so": linking(["libcudart.so.13", "libc10.so"]),
    }
    archive = Archive(Bytes(making.wheel(members)))
    found = wheelfiles.read_wheel(archive, "pkg-1.0-py3-none-any.whl", None, 1_000_000, r"pkg/_C\.so")

    assert found.depth == SAMPLE
    assert found.needed == ("libc10.so", "libcudart.so.13")
    assert [(one.path, plain(one.sass), one.complete) for one in found.libraries] == [("pkg/_C.so", ["sm_80"], False)]
    assert 900_000 <= found.bytes_read <= 1_300_000


def test_a_wheel_that_is_one_bomb_is_refused() -> None:
    with pytest.raises(WheelLayoutError, match="zip bomb"):
        read(making.wheel({"pkg/_C.so": bytes(80 << 20)}))


@pytest.mark.parametrize("file", ["torch-2.0.tar.gz", "x-1.0.tgz", "a.tar.zst"])
def test_source_is_refused_with_the_reason(file: str) -> None:
    with pytest.raises(WheelError, match="is source"):
        wheelfiles.check_is_wheel(file)
