"""`torchpick plan` where the table lacks a package or a version: a wheel of the user's own index is read and judged."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import torchpick
from tests.doctor.homes import linking
from tests.fakes.indexes import SimpleIndex
from tests.fakes.loopback import Answer, Loopback
from tests.fakes.tinywheel import TinyWheel
from tests.install.jobs import TARGET
from tests.wheels import making
from torchpick.cli import main
from torchpick.environment import requirements
from torchpick.environment.requirements import RequirementArgs
from torchpick.errors import TorchpickError
from torchpick.install import unread
from torchpick.install.asking import Order, TargetQuestion
from torchpick.install.handover import find_answer, plan_environment
from torchpick.model.pick import Request
from torchpick.run import start_run

LINUX = ("--platform", "linux-x86_64", "--python", "3.12", "--glibc", "2.35")
A100 = ("--gpu", "a100", "--driver")
TAG = "py3-none-manylinux_2_28_x86_64"


def wheel(
    name: str, major: int, *arches: str, version: str = "1.0", tag: str = TAG, requires: tuple[str, ...] = ("torch",)
) -> TinyWheel:
    """A wheel whose one library links this CUDA and holds code for these architectures."""
    folder = name.replace("-", "_")
    library = linking(["libtorch_cuda.so", f"libcudart.so.{major}"], making.module(*arches))
    return TinyWheel(name, version, tag, requires, files={f"{folder}/_C.abi3.so": library})


class OwnIndex:
    """The user's index on loopback, and what was asked of it."""

    def __init__(self, server: Loopback, index: SimpleIndex) -> None:
        self.server, self.index = server, index

    def add(self, *wheels: TinyWheel) -> None:
        self.index.add(*wheels)

    def asked(self, part: str) -> list[str]:
        return [each.path for each in self.server.log if part in each.path]


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnIndex]:
    index = SimpleIndex()
    with Loopback({"127.0.0.1": index}).running() as server:
        monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple/")
        monkeypatch.setenv("TORCHPICK_CACHE_DIR", str(tmp_path / "cache"))
        yield OwnIndex(server, index)


def planned(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, str]:
    """The versions of the plan, by name."""
    capsys.readouterr()
    assert main(["plan", *words, "--json"]) == 0
    stack = json.loads(capsys.readouterr().out)["stack"]
    return {each["name"]: each["version"] for each in stack["packages"]}


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert main(["plan", *words]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    return err


def test_torch_that_an_extra_of_an_unread_package_brings_is_in_the_plan(
    own: OwnIndex, capsys: pytest.CaptureFixture[str]
) -> None:
    own.add(TinyWheel("swift", "1.0", "py3-none-any", ("torch>=2; extra == 'torch'",)))

    assert planned(capsys, "swift[torch]", "--gpu", "GTX 1080 Ti", "--driver", "580", *LINUX)["torch"] == "2.14.1+cu126"


VLLM = ("torch==2.14.0", "torchvision==0.29.0", "torchaudio==2.11.0")


def test_a_version_that_the_table_lacks_is_judged_like_any(own: OwnIndex, capsys: pytest.CaptureFixture[str]) -> None:
    own.add(wheel("vllm", 13, "sm_80", "sm_90", version="0.99.0", requires=VLLM))

    found = planned(capsys, "vllm==0.99.0", *A100, "580.95.05", *LINUX)
    said = refused(capsys, "vllm>=0.99", *A100, "550.54.14", *LINUX)

    assert (found["vllm"], found["torch"]) == ("0.99.0", "2.14.0+cu130")
    assert "vllm 0.99.0: needs libcudart.so.13, and CUDA 13 needs driver 580" in said


def test_a_newer_version_than_the_tables_is_seen_and_judged(own: OwnIndex, capsys: pytest.CaptureFixture[str]) -> None:
    own.add(
        wheel("vllm", 13, "sm_80", version="0.99.0", requires=VLLM),
        wheel("vllm", 12, "sm_80", version="0.19.1"),  # of this one the table says what it requires
    )

    assert planned(capsys, "vllm", *A100, "580.95.05", *LINUX)["vllm"] == "0.99.0"
    assert planned(capsys, "vllm", *A100, "535.183.01", *LINUX)["vllm"] == "0.19.1"
    assert own.asked("0.19.1") == []


def test_the_newest_that_this_python_can_take_is_read(own: OwnIndex, capsys: pytest.CaptureFixture[str]) -> None:
    linux, windows = "cp312-cp312-manylinux_2_28_x86_64", "cp312-cp312-win_amd64"
    own.add(
        wheel("swift-ops", 12, "sm_80", version="1.0", tag=linux),
        wheel("swift-ops", 12, "sm_90", version="2.0", tag=windows),
        wheel("swift-ops", 12, "sm_90", version="3.0", tag=linux.replace("312", "313")),
    )

    assert planned(capsys, "swift-ops", *A100, "580.95.05", *LINUX)["swift-ops"] == "1.0"
    assert planned(capsys, "swift-ops<2", *A100, "580.95.05", *LINUX)["swift-ops"] == "1.0"
    assert own.asked(linux) == own.asked(".whl")
    machine = ("--gpu", "h100", "--driver", "580.95.05", "--platform", "linux-x86_64", "--python", "3.13")
    assert planned(capsys, "swift-ops", *machine)["swift-ops"] == "3.0"


def test_what_a_read_wheel_asks_for_is_read_too(own: OwnIndex, capsys: pytest.CaptureFixture[str]) -> None:
    own.add(
        TinyWheel("swift-train", "1.0", requires=("xformers==0.99.0",)),
        wheel("xformers", 13, "sm_90", version="0.99.0"),
    )

    said = refused(capsys, "swift-train", *A100, "550.54.14", *LINUX)

    assert "xformers 0.99.0: needs libcudart.so.13" in said


def test_the_bytes_of_a_wheel_are_read_once_for_every_python(own: OwnIndex, capsys: pytest.CaptureFixture[str]) -> None:
    own.add(wheel("swift-ops", 12, "sm_80"))
    first = planned(capsys, "swift-ops", *A100, "580.95.05", *LINUX)
    own.server.log.clear()

    again = planned(capsys, "swift-ops", *A100, "580.95.05", *LINUX[:2], "--python", "3.13")

    assert again["swift-ops"] == first["swift-ops"]
    assert [each for each in own.asked(".whl") if not each.endswith(".metadata")] == []


def test_what_was_made_of_a_wheel_counts_for_its_python_platform_glibc_and_index_alone(
    own: OwnIndex, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own.add(
        wheel("swift-ops", 12, "sm_80", tag="cp312-cp312-manylinux_2_28_x86_64"),
        wheel("swift-ops", 12, "sm_90", tag="cp312-cp312-manylinux_2_34_x86_64"),
        wheel("swift-ops", 12, "sm_90", tag="cp313-cp313-manylinux_2_28_x86_64"),
    )
    words = ("swift-ops==1.0", *A100, "580.95.05", *LINUX[:2])
    assert planned(capsys, *words, "--python", "3.12", "--glibc", "2.28")["swift-ops"] == "1.0"

    for others in (("3.13", "2.28"), ("3.12", "2.35")):
        said = refused(capsys, *words, "--python", others[0], "--glibc", others[1])
        assert "holds no code for a100 (sm_80)" in said

    with Loopback({"127.0.0.1": SimpleIndex(wheel("swift-ops", 13, "sm_80"))}).running() as another:
        monkeypatch.setenv("PIP_INDEX_URL", f"{another.url}/simple/")
        found = planned(capsys, *words, "--python", "3.12", "--glibc", "2.28")
    assert "+cu13" in found["torch"]


def test_offline_reads_nothing_and_says_so(own: OwnIndex, capsys: pytest.CaptureFixture[str]) -> None:
    own.add(wheel("vllm", 13, "sm_80", version="0.99.0", requires=VLLM))

    said = refused(capsys, "vllm==0.99.0", *A100, "580.95.05", *LINUX, "--offline")
    stack = torchpick.plan("vllm==0.99.0", gpus=["a100"], platform="linux-x86_64", python="3.12", offline=True)

    assert not stack.ok
    assert "no version within `vllm==0.99.0` is known" in said
    assert main(["plan", "swift-ops", *A100, "580.95.05", *LINUX, "--offline"]) == 1
    assert "is not kept on this computer, and `--offline` is given" in capsys.readouterr().err
    assert own.server.log == []


def said_unread(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What is said of a plan that has a package whose wheel was not read."""
    capsys.readouterr()
    assert main(["plan", *words]) == 0
    out, err = capsys.readouterr()
    assert "not read" in out
    return err


@pytest.mark.parametrize(("bad", "says"), [(Answer(403), "403"), (Answer(200, b"PK\x03\x04 and no more"), "zip")])
def test_what_cannot_be_read_is_said_with_the_reason(
    own: OwnIndex, bad: Answer, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    own.add(wheel("swift-ops", 12, "sm_80"))
    site = own.server.sites["127.0.0.1"]
    own.server.sites["127.0.0.1"] = lambda path: bad if path.endswith(".whl") else site(path)

    said = said_unread(capsys, "swift-ops", *A100, "580.95.05", *LINUX)

    assert "note: no wheel of swift-ops 1.0 was read: " in said
    assert says in said


def test_pages_of_many_projects_are_read_once(
    own: OwnIndex, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wheels = [wheel(f"swift-{part}", 12, "sm_80") for part in ("ops", "norm", "attn", "rope", "moe")]
    own.add(*wheels)
    pages = [own.index(f"/simple/{each.name}/").body for each in wheels]
    page = b"".join(pages).replace(b"../../files/", b"/files/")
    site = own.server.sites["127.0.0.1"]
    own.server.sites["127.0.0.1"] = lambda path: (
        Answer(200, page, {"Content-Type": "text/html"}) if path == "/flat.html" else site(path)
    )
    monkeypatch.setenv("PIP_FIND_LINKS", f"{own.server.url}/flat.html")
    monkeypatch.setenv("PIP_NO_INDEX", "1")

    found = planned(capsys, *(each.name for each in wheels), *A100, "580.95.05", *LINUX)

    assert {each.name for each in wheels} <= set(found)
    assert own.asked("flat.html") == ["/flat.html"]


def test_of_a_large_wheel_a_part_is_read_and_its_metadata(
    own: OwnIndex, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(unread, "MOST_BYTES", 300_000)
    small = linking(["libtorch_cuda.so", "libcudart.so.13"])
    large = linking([], making.module("sm_80"), making.noise(1, 1_000_000))
    files = {"vllm/_links.so": small, "vllm/_C.abi3.so": large}
    own.add(TinyWheel("vllm", "0.99.0", TAG, VLLM, files=files))

    found = planned(capsys, "vllm==0.99.0", *A100, "580.95.05", *LINUX)

    assert (found["vllm"], found["torch"]) == ("0.99.0", "2.14.0+cu130")
    assert "needs libcudart.so.13" in refused(capsys, "vllm==0.99.0", *A100, "550.54.14", *LINUX)


def test_what_a_part_of_a_large_wheel_does_not_show_is_said(
    own: OwnIndex, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(unread, "MOST_BYTES", 100_000)
    large = linking(["libtorch_cuda.so", "libcudart.so.13"], making.module("sm_80"), making.noise(1, 300_000))
    own.add(TinyWheel("vllm", "0.99.0", TAG, VLLM, files={"vllm/_C.abi3.so": large}))

    said = said_unread(capsys, "vllm==0.99.0", *A100, "580.95.05", *LINUX)

    assert "no wheel of vllm 0.99.0 was read: what is read of so large a wheel does not show it" in said


def test_what_a_wheel_asks_for_in_words_that_nobody_can_read_stops_nothing_and_is_named(
    own: OwnIndex, capsys: pytest.CaptureFixture[str]
) -> None:
    own.add(TinyWheel("swift-train", "1.0", requires=("swift-ops>=newest", "torch<2.8")))

    assert main(["plan", "swift-train", "torch", *A100, "580.95.05", *LINUX]) == 0
    assert "`swift-ops>=newest`, which is not a valid requirement" in capsys.readouterr().err


def test_no_more_than_eight_wheels_are_read(own: OwnIndex, capsys: pytest.CaptureFixture[str]) -> None:
    wheels = [wheel(f"swift-{number}", 12, "sm_80") for number in range(10)]
    own.add(*wheels)
    capsys.readouterr()

    assert main(["plan", *(each.name for each in wheels), *A100, "580.95.05", *LINUX]) == 0

    err = capsys.readouterr().err
    assert err.count("was read: no more than 8 wheels are read for one question") == 2
    assert err.count("swift-7 1.0 were built for") == 1
    assert len({each for each in own.asked(".whl") if not each.endswith(".metadata")}) == 8


def test_nor_are_more_read_of_one_project_after_another(own: OwnIndex, capsys: pytest.CaptureFixture[str]) -> None:
    own.add(*(wheel("swift-ops", 12, "sm_90", version=f"{number}.0") for number in range(1, 13)))

    assert "swift-ops 1.0 to 4.0: has not been read" in refused(capsys, "swift-ops", *A100, "580.95.05", *LINUX)
    assert len({each for each in own.asked(".whl") if not each.endswith(".metadata")}) == 8


def test_the_newest_with_the_cuda_that_it_lacks_comes_before_an_older_one_that_nobody_read(
    own: OwnIndex, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where no torch brings its CUDA: which older one needs none would be known only of all that are read."""
    files = {"ctranslate2.libs/libctranslate2.so": linking(["libcublas.so.12"], making.module("sm_80"))}
    own.add(*(TinyWheel("ctranslate2", f"90.{number}", TAG, files=files) for number in range(1, 13)))

    found = planned(capsys, "ctranslate2", *A100, "580.95.05", *LINUX)

    assert found == {"ctranslate2": "90.12", "nvidia-cublas-cu12": "12.*"}


def test_a_slow_wheel_is_given_up(
    own: OwnIndex, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(unread, "MOST_SECONDS", -1.0)
    own.add(wheel("swift-ops", 12, "sm_80"))

    said = said_unread(capsys, "swift-ops", *A100, "580.95.05", *LINUX)

    assert "no wheel of swift-ops 1.0 was read: no more than" in said


def test_of_a_wheel_for_windows_the_code_is_judged_and_the_rest_is_said(
    own: OwnIndex, capsys: pytest.CaptureFixture[str]
) -> None:
    library = making.pe({".text": bytes(700), ".nv_fatb": making.module("sm_90")})
    own.add(
        TinyWheel("swift-ops", "1.0", "cp312-cp312-win_amd64", ("torch",), files={"swift_ops/_C.pyd": library}),
        wheel("swift-ops", 12, "sm_80", version="2.0"),
    )
    windows = ("--platform", "windows-x86_64", "--python", "3.12")

    said = refused(capsys, "swift-ops", *A100, "581.15", *windows)

    assert "holds no code for a100 (sm_80)" in said
    assert main(["plan", "swift-ops", "--gpu", "h100", "--driver", "581.15", *windows]) == 0
    assert "note: which CUDA swift-ops 1.0 links is not read on Windows" in capsys.readouterr().err


@pytest.mark.parametrize("tag", [TAG, "py3-none-any"])
def test_an_index_is_read_with_the_certificates_of_the_request(tag: str, own: OwnIndex, tmp_path: Path) -> None:
    own.add(wheel("swift-ops", 12, "sm_80", tag=tag))
    request = Request(
        gpus=("a100",), driver="580.95.05", platform="linux-x86_64", python="3.12", requirements=("swift-ops",)
    )
    environ = {"PIP_INDEX_URL": f"{own.server.url}/simple/", "TORCHPICK_CACHE_DIR": str(tmp_path / "cache")}
    damaged = tmp_path / "damaged.pem"
    damaged.write_text("no certificate", "utf-8")

    with pytest.raises(TorchpickError, match=r"damaged\.pem"):
        plan_environment(
            start_run(request, {**environ, "SSL_CERT_FILE": str(damaged)}), Order(RequirementArgs(("swift-ops",)))
        )


def test_the_libraries_of_an_unknown_project_support_a_gpu_together(
    own: OwnIndex, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["libtorch_cuda.so", "libcudart.so.12"]
    files = {f"swift_ops/_{arch}.abi3.so": linking(names, making.module(arch)) for arch in ("sm_80", "sm_90")}
    own.add(TinyWheel("swift-ops", "1.0", TAG, ("torch",), files=files))

    assert planned(capsys, "swift-ops", *A100, "580.95.05", *LINUX)["swift-ops"] == "1.0"
    assert "holds no code for" in refused(capsys, "swift-ops", "--gpu", "sm_75", "--driver", "580.95.05", *LINUX)


@pytest.mark.parametrize(("full", "taken"), [("3.12.1", "1.0"), ("3.12.6", "2.0"), (None, "2.0")])
def test_a_wheel_that_is_not_for_the_very_python_of_the_environment_is_passed_over(
    full: str | None, taken: str, own: OwnIndex, tmp_path: Path
) -> None:
    own.add(TinyWheel("swift-train", "1.0", requires=("torch",)), TinyWheel("swift-train", "2.0", requires=("torch",)))
    page = re.sub(rb"<a (?=[^>]*-2.0-)", b'<a data-requires-python="!=3.12.1" ', own.index("/simple/swift-train/").body)
    site = own.server.sites["127.0.0.1"]
    own.server.sites["127.0.0.1"] = lambda path: (
        Answer(200, page, {"Content-Type": "text/html"}) if path == "/simple/swift-train/" else site(path)
    )
    request = Request(gpus=("a100",), driver="580.95.05", platform="linux-x86_64", python="3.12", glibc="2.35")
    environ = {"PIP_INDEX_URL": f"{own.server.url}/simple/", "TORCHPICK_CACHE_DIR": str(tmp_path / "cache")}
    run, asked = start_run(request, environ), requirements.read_requirements(RequirementArgs(("swift-train",)), {})
    target = TARGET._replace(installed={"pip": "26.3"}, python=TARGET.python._replace(exact=full))
    # For a machine elsewhere pip is not asked, so that the index is.
    question = TargetQuestion(run, Order(asked.given, "pip"), asked, target, run.find_machine())

    assert find_answer(question).answer.judged == {"swift-train": taken}


def test_a_version_whose_cuda_is_not_that_of_torch_gives_way(own: OwnIndex, capsys: pytest.CaptureFixture[str]) -> None:
    own.add(
        wheel("swift-ops", 12, "sm_80", version="2.0"), wheel("swift-ops", 13, "sm_80"),
        wheel("swift-norm", 12, "sm_80", version="2.0"), wheel("swift-norm", 12, "sm_80"),
    )  # fmt: skip

    def taken(*words: str) -> tuple[str, str]:
        found = planned(capsys, "swift-ops", *words, *A100, "580.95.05", *LINUX)
        return found["swift-ops"], found["torch"]

    # Which CUDA it links is known once it is read: then torch gives way, or, where that may not, the version.
    assert taken() == ("2.0", "2.14.1+cu126")
    assert taken("torch==2.14.1+cu130") == ("1.0", "2.14.1+cu130")
    # Where no version does, that is the answer.
    said = refused(capsys, "swift-norm", "torch==2.14.1+cu130", *A100, "580.95.05", *LINUX)
    assert "swift-norm 1.0 to 2.0: links CUDA 12, and torch 2.14.1+cu130 is for CUDA 13.0" in said


def test_without_code_it_depends_on_whether_all_was_read() -> None:
    assert unread.as_one_library("swift", [], all_read=True) == []
    assert unread.as_one_library("swift", [], all_read=False) is None
