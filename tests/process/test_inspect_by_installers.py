"""`inspect name==version` through real pip and real uv, with an index on loopback that counts what is fetched."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from tests.wheels import making
from tests.wheels.server import Host, serving
from torchpick.cli import main
from torchpick.wheels import installed, locate

pytestmark = pytest.mark.process
NAME = "gpupkg-1.5-py3-none-any.whl"
LATER = "gpupkg-2.0-cp33-cp33-manylinux_2_28_aarch64.whl"


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Host]:
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
        # Without a hash uv downloads a wheel to compute one for its lock.
        links = [f"/files/{name}#sha256={sha256(found.files[f'/files/{name}']).hexdigest()}" for name in (NAME, LATER)]
        found.files["/simple/gpupkg/"] = "".join(f'<a href="{link}">x</a>' for link in links).encode()
        found.types["/simple/gpupkg/"] = "text/html"
        for name in list(os.environ):
            if name.lower().endswith("_proxy"):
                monkeypatch.delenv(name)
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("UV_NO_CONFIG", "1")
        monkeypatch.setenv("PIP_INDEX_URL", f"{found.url}/simple")
        monkeypatch.setenv("UV_INDEX_URL", f"{found.url}/simple")
        monkeypatch.setenv("PIP_CACHE_DIR", str(tmp_path / "pip"))
        monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
        monkeypatch.setenv("NETRC", str(tmp_path / "none"))
        yield found


@pytest.fixture(params=["pip", "uv"])
def by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """One installer at a time."""
    if request.param == "uv":
        if locate._uv_program() is None:
            pytest.skip("no uv here")
        monkeypatch.setattr(locate, "_pip_serves", lambda _: False)
    elif not locate._pip_serves(None):
        pytest.skip("the pip here downloads what it reports")
    else:
        monkeypatch.setattr(locate, "_uv_program", lambda: None)
    return str(request.param)


@pytest.mark.usefixtures("by")
def test_the_file_is_found_and_not_downloaded(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["inspect", "gpupkg==1.5", "--gpu", "7.5", "--json"])
    [result] = json.loads(capsys.readouterr().out)["results"]

    assert status == 0
    assert (result["file"], result["sass"], result["verdict"]) == (NAME, ["sm_70", "sm_80"], "runs")
    assert host.sent < 1_500_000, "the installer fetched the wheel"


@pytest.mark.usefixtures("host")
def test_the_newest_that_fits_is_taken_for_a_bare_name(by: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "gpupkg", "--gpu", "6.1"]) == 3
    out, err = capsys.readouterr()

    assert "gpupkg 1.5" in out
    assert "will not run" in out
    assert f"{by} would take {NAME}" in err


@pytest.mark.usefixtures("by")
def test_a_told_platform_and_python_find_their_wheel(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--platform", "linux-aarch64", "--gpu", "sm_80", "--python", "3.12"]
    host.files["/simple/gpupkg/"] = host.files["/simple/gpupkg/"].replace(b"cp33-cp33", b"cp312-cp312")
    host.files[f"/files/{LATER.replace('cp33-cp33', 'cp312-cp312')}"] = host.files[f"/files/{LATER}"]
    status = main(["inspect", "gpupkg", "--json", *words])
    [result] = json.loads(capsys.readouterr().out)["results"]

    assert (status, result["version"]) == (0, "2.0")


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("what", ["gpupkg==7.0", "no-such-package==1"])
def test_what_the_index_lacks_is_an_error_with_the_installers_word(
    by: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", what]) == 1
    err = capsys.readouterr().err

    assert f"{by} finds no wheel for `{what}`" in err
    assert "hint:" in err


def test_a_pip_that_would_download_is_not_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pip-25.2.dist-info").mkdir()
    monkeypatch.setattr(installed, "folders", lambda _: (tmp_path,))

    assert not locate._pip_serves(sys.executable)
    (tmp_path / "pip-25.2.dist-info").rename(tmp_path / "pip-25.3.dist-info")
    assert locate._pip_serves(sys.executable)
