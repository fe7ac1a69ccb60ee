"""Which files of torch's family an installation is given by their address and hash, and which pages are read for it."""

from __future__ import annotations

import pytest

from tests.fakes.indexes import serve
from tests.install.jobs import PICK, TARGET, job
from torchpick.environment.requirements import RequirementArgs
from torchpick.errors import InstallerError, IntegrityError, NetworkError
from torchpick.index import pages
from torchpick.index.pages import ProjectFile
from torchpick.index.projects import ProjectReader
from torchpick.install.files import with_addresses
from torchpick.install.job import Job
from torchpick.install.question import pick_build
from torchpick.knowledge.compat import Knowledge
from torchpick.model.metadata import parse_metadata
from torchpick.model.pick import Pick, Request
from torchpick.run import start_run

HOST = "https://download.pytorch.org/whl/cu126"
SHA = "0" * 64
# What the wheel host has, a file for each.
THERE = {
    "torch": "2.14.1+cu126", "torchvision": "0.29.1+cu126", "torchaudio": "2.11.0+cu126",
    "triton": "3.8.0", "torchao": "0.17.0+cu126", "mylib": "1.0", "torch-tensorrt": "",
}  # fmt: skip
PINS = {"mylib": "1.0", "torchao": "0.17.0", "torchcodec": "0.9.0"}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The projects whose pages are read."""
    asked: list[str] = []

    def fetch(url: str) -> tuple[ProjectFile, ...]:
        name = url.rstrip("/").rpartition("/")[2]
        asked.append(name)
        if name == "torchcodec":
            raise NetworkError("no answer", hint="try again")
        version = THERE.get(name, "").replace("+", "%2B")
        file = f"{name}-{version}-cp312-cp312-manylinux_2_28_x86_64.whl"
        return pages.files(f'<a href="{file}#sha256={SHA}">x</a>'.encode(), url) if version else ()

    serve(monkeypatch, fetch)
    monkeypatch.setattr(Knowledge, "hashes_in_public_locks", lambda *_: {})
    return asked


def addressed(job: Job) -> Job:
    return with_addresses(job, "uv", start_run(Request(), {}).knowledge, pages=True)


def there(**installed: str) -> Job:
    return job(target=TARGET._replace(installed=installed))


@pytest.mark.parametrize(
    ("asked", "names", "pages_of"),
    [
        (job(), ["torch", "triton"], ["torch", "triton"]),
        (job(RequirementArgs(("torchvision",))), ["torchvision"], ["torchvision"]),
        (job(RequirementArgs(("mylib",))), [], []),
        (job(no_deps=True), ["torch"], ["torch"]),
        # What was judged and is the family's own; of a page that does not answer the installer tells.
        (job(pins=PINS), ["torch", "triton", "torchao"], ["torch", "triton", "torchao", "torchcodec"]),
        # What is there stays: by its very build of the family, by its version of all else.
        (there(torch="2.14.1+cu126", triton="3.8.0"), [], []),
        (there(torchao="0.17.0+cu126")._replace(pins=PINS), ["torch", "triton"], ["torch", "triton", "torchcodec"]),
    ],
)
def test_each_member_is_named_by_its_file_and_hash(
    asked: Job, names: list[str], pages_of: list[str], read: list[str]
) -> None:
    made = addressed(asked)

    assert made.files == {
        name: f"{HOST}/{name}/{name}-{THERE[name].replace('+', '%2B')}-cp312-cp312-manylinux_2_28_x86_64.whl"
        f"#sha256={SHA}"
        for name in names
    }
    assert (read, made.notes) == (pages_of, asked.notes)


@pytest.mark.usefixtures("read")
def test_a_mirrors_page_with_another_hash_than_public_locks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    file = "torch-2.14.1+cu126-cp312-cp312-manylinux_2_28_x86_64.whl"
    monkeypatch.setattr(Knowledge, "hashes_in_public_locks", lambda *_: {file: "a" * 64})
    mirror = PICK._replace(wish=PICK.wish._replace(index_base="https://mirror.example/whl"))

    with pytest.raises(IntegrityError, match="public locks have"):
        addressed(job(pick=mirror))


@pytest.mark.parametrize(("backend", "triton"), [("rocm7.2", "triton-rocm"), ("xpu", "triton-xpu")])
def test_the_triton_of_another_maker_is_the_one_that_torch_asks_for(
    backend: str, triton: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = Request(backends=(backend,), gpus=("none",), platform="linux-x86_64", python="3.12", glibc="2.35")
    pick: Pick = pick_build(start_run(request, {}))
    asked: list[str] = []

    def fetch(url: str) -> tuple[ProjectFile, ...]:
        name = url.rstrip("/").rpartition("/")[2]
        asked.append(name)
        version = pick.version.replace("+", "%2B") if name == "torch" else "3.8.0"
        file = f"{name.replace('-', '_')}-{version}-cp312-cp312-manylinux_2_28_x86_64.whl"
        return pages.files(f'<a href="{file}#sha256={SHA}">x</a>'.encode(), url)

    serve(monkeypatch, fetch)
    text = f"Name: torch\nVersion: 1\nRequires-Dist: {triton}==3.8.0\n"
    monkeypatch.setattr(ProjectReader, "metadata", lambda _, files: dict.fromkeys(files, parse_metadata(text)))
    monkeypatch.setattr(Knowledge, "hashes_in_public_locks", lambda *_: {})

    assert sorted(addressed(job(pick=pick)).files) == ["torch", triton]
    assert asked == ["torch", triton]
    assert list(addressed(job(pick=pick, no_deps=True)).files) == ["torch"]


def test_a_page_that_lacks_torch_and_a_host_that_is_silent_are_told_with_what_to_do(
    read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(THERE, "torch", "2.9.1+cu126")
    with pytest.raises(InstallerError) as lacking:
        addressed(job())
    text = " has no torch==2.14.1+cu126 that fits: it has 2.9.1+cu126 for Python 3.12 on linux-x86_64 with glibc 2.35"
    assert (lacking.value.code, lacking.value.message) == ("NOT_ON_PAGE", f"{HOST}{text}")

    def silent(_url: str) -> None:
        raise NetworkError("no answer", hint="try again")

    serve(monkeypatch, silent)
    with pytest.raises(NetworkError, match="no answer") as caught:
        addressed(job())
    assert caught.value.hint == (
        "try again; `--index-base URL` names a mirror, `--backend default` takes the torch of your own index"
    )
    assert read == ["torch"]
