"""`inspect name==version` and the user's own index: which file is taken, by whose settings, and at what cost."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pytest

from tests.index.server import Host, serving
from tests.wheels import making
from torchpick.cli import main
from torchpick.environment import distributions
from torchpick.environment.distributions import Environment
from torchpick.errors import InstallerError, RequirementError, TorchpickError
from torchpick.index import index_places
from torchpick.index.index_places import IndexPlaces
from torchpick.index.projectfiles import IndexTarget
from torchpick.index.projects import ProjectReader
from torchpick.model.machine import Platform, Python
from torchpick.wheels import inspect_target
from torchpick.wheels.inspect_target import ReadOptions

NAME = "gpupkg-1.5-py3-none-any.whl"
LATER = "gpupkg-2.0-cp33-cp33-manylinux_2_28_aarch64.whl"
TARGET = IndexTarget("cp312", Platform("linux", "x86_64", "2.35", "glibc"))


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("UV_NO_CONFIG", "1")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """An index of one package: a wheel with much that nobody needs to read."""
    metadata = b"Metadata-Version: 2.1\nName: gpupkg\nVersion: 1.5\nRequires-Dist: nowhere-to-be-found\n"
    members = {
        "gpupkg/pad.bin": making.noise(1, 3_000_000),
        "gpupkg/_C.so": making.library(making.module("sm_70", "sm_80")),
        "gpupkg-1.5.dist-info/METADATA": metadata,
        "gpupkg-1.5.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "gpupkg-1.5.dist-info/RECORD": b"",
    }
    with serving() as found:
        found.files[f"/files/{NAME}"] = making.wheel(members, stored=True)
        found.files[f"/files/{LATER}"] = making.wheel(
            {name.replace("1.5", "2.0"): data.replace(b"1.5", b"2.0") for name, data in members.items()}, stored=True
        )
        links = [f"/files/{name}#sha256={sha256(found.files[f'/files/{name}']).hexdigest()}" for name in (NAME, LATER)]
        found.files["/simple/gpupkg/"] = "".join(f'<a href="{link}">x</a>' for link in links).encode()
        found.types["/simple/gpupkg/"] = "text/html"
        monkeypatch.setenv("PIP_INDEX_URL", f"{found.url}/simple")
        yield found


def test_the_file_is_found_and_not_downloaded(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["inspect", "gpupkg==1.5", "--gpu", "7.5", "--json"])
    [result] = json.loads(capsys.readouterr().out)["results"]

    assert status == 0
    assert (result["file"], result["sass"], result["verdict"]) == (NAME, ["sm_70", "sm_80"], "runs")
    assert result["sha256"] == sha256(host.files[f"/files/{NAME}"]).hexdigest()
    assert host.sent < 1_500_000, "the whole wheel was fetched"


def test_the_newest_that_fits_is_taken_for_a_bare_name(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "gpupkg", "--gpu", "6.1"]) == 3
    out, err = capsys.readouterr()

    assert "gpupkg 1.5" in out
    assert "will not run" in out
    assert f"the newest wheel that fits is {host.url}/files/{NAME}" in err


@pytest.mark.parametrize(("words", "text"), [
    (["gpupkg==7.0"],  "has no gpupkg==7.0 that fits: it has 1.5 for Python"),
    (["no-such-package==1"], "has no no-such-package==1 that fits: no file of it is listed there"),
    (["gpupkg>=2", "--platform", "linux-s390x"], "on linux-s390x"),
    ([f"gpupkg=={'1' * 5000}"], "is neither a file nor a name with its versions"),
])  # fmt: skip
@pytest.mark.usefixtures("host")
def test_what_the_index_lacks_is_an_error_that_says_why(
    words: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", *words]) in (1, 2)
    err = capsys.readouterr().err

    assert text in err
    assert "hint:" in err
    assert "Traceback" not in err


def page(*lines: str) -> bytes:
    return "".join(f"<a {line}>x</a>\n" for line in lines).encode()


def wheel(version: str, tag: str = "py3-none-any") -> str:
    return f"pkg-{version}-{tag}.whl"


def two(host: Host, *, first_only: bool) -> IndexPlaces:
    host.files["/one/pkg/"], host.files["/two/pkg/"] = page(f"href={wheel('1.0')}"), page(f"href={wheel('2.0')}")
    host.types.update({"/one/pkg/": "text/html", "/two/pkg/": "text/html"})
    return IndexPlaces((f"{host.url}/none", f"{host.url}/one", f"{host.url}/two/"), first_only=first_only)


def test_pip_takes_the_best_of_all_indexes_and_uv_the_first_that_knows_the_name(host: Host) -> None:
    for first_only, version in ((False, "2.0"), (True, "1.0")):
        with ProjectReader(two(host, first_only=first_only), os.environ, anew=True) as index:
            assert index.best_wheel("pkg", "", TARGET, "").version == version
            assert index.wheels("unknown") is None


def test_the_default_index_is_read_from_a_pip_that_is_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = tmp_path / "pip" / "_internal" / "models" / "index.py"
    module.parent.mkdir(parents=True)
    module.write_text(
        'PyPI = PackageIndex("https://default.example/", file_storage_domain="f")\nraise SystemExit\n', "utf-8"
    )
    monkeypatch.setattr(
        distributions,
        "read_environment",
        lambda *_, **__: Environment(Python("3.12", executable="python"), "/env", sites=(str(tmp_path),)),
    )
    assert index_places.default() == "https://default.example/simple"
    module.unlink()
    monkeypatch.setattr(index_places, "bundled", lambda: iter(()))
    with pytest.raises(InstallerError, match="no package index is known") as caught:
        index_places.default()
    assert "PIP_INDEX_URL" in str(caught.value.hint)


def test_the_pip_that_python_brings_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    if not list(index_places.bundled()):
        pytest.skip("this Python brings no pip")
    monkeypatch.setattr(
        distributions, "read_environment", lambda *_, **__: Environment(Python("3.12", executable="python"), "/env")
    )

    assert index_places.default().startswith("https://")


@pytest.mark.parametrize("text", ["torch==" + "9" * 5000, "a\nb"])
def test_no_requirement_breaks_the_reader(text: str) -> None:
    with pytest.raises(RequirementError) as caught:
        inspect_target.read_target(text, ReadOptions())
    assert "secret" not in str(caught.value)


def test_another_python_is_asked_for_its_tags() -> None:
    assert (
        inspect_target.target_of(ReadOptions(python=sys.executable)).tag == inspect_target.target_of(ReadOptions()).tag
    )
    assert inspect_target.target_of(ReadOptions(python="3.14t", platform="linux-s390x", glibc="2.28")) == IndexTarget(
        "cp314t", Platform("linux", "s390x", "2.28", "glibc")
    )
    with pytest.raises(TorchpickError):
        inspect_target.target_of(ReadOptions(python="/no/such/python"))


@pytest.mark.parametrize(
    "file", ["x = " + "9" * 5000, "x = [" * 5000, "index = 5", "[[index]]\nurl = 5", "[pip]\nindex-url = 5"]
)
def test_no_settings_file_breaks_the_reader(file: str, tmp_path: Path) -> None:
    toml = tmp_path / "uv.toml"
    toml.write_text(file, "utf-8")
    with suppress(TorchpickError):
        index_places.of_user({"PIP_CONFIG_FILE": os.devnull, "UV_CONFIG_FILE": str(toml), "PIP_FIND_LINKS": ""})


@pytest.mark.parametrize("name", ["UV_FIND_LINKS", "PIP_FIND_LINKS", "UV_INDEX", "PIP_INDEX_URL", "UV_DEFAULT_INDEX"])
@pytest.mark.parametrize(
    "value", ["https://127.0.0.1:1/a\nhttps://127.0.0.1:1/b", "http://[", "a\nb", "x" * 5000, "::"]
)
def test_no_setting_breaks_the_reader(name: str, value: str) -> None:
    environ = {"PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1", name: value}
    with suppress(TorchpickError):
        found = index_places.of_user(environ)
        for part in (found._replace(indexes=()), found._replace(links=())):
            with suppress(TorchpickError), ProjectReader(part, environ, anew=True) as index:
                index.best_wheel("pkg", "", TARGET, "")
