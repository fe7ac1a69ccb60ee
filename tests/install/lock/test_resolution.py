"""Commands for other environments, and what uv and pip answer."""

from __future__ import annotations

import json

import pytest

from torchpick.errors import InstallerError, UsageError
from torchpick.install.lock import resolution
from torchpick.install.lock.resolution import Aim
from torchpick.installers.command import Command
from torchpick.model.lock import LockEnvironment, LockFile

SHA = "ab" * 32
RESOLVER = Command("uv", ("uv", "pip", "compile", "--python", "/here/python", "needs.txt"))
THERE = LockEnvironment("linux-x86_64", "3.12")


@pytest.mark.parametrize(
    ("platform", "glibc", "said"),
    [
        ("linux-x86_64", "2.35", "x86_64-manylinux_2_35"),
        ("linux-x86_64", "2.30", "x86_64-manylinux_2_28"),
        ("linux-aarch64", None, "aarch64-manylinux_2_28"),
        ("linux-x86_64", "2.99", "x86_64-manylinux_2_40"),
        ("linux-x86_64", "2.5", "x86_64-manylinux_2_17"),
        ("windows-arm64", None, "aarch64-pc-windows-msvc"),
        ("macos-arm64", None, "aarch64-apple-darwin"),
    ],
)
def test_uv_is_told_the_platform_with_no_newer_glibc(platform: str, glibc: str | None, said: str) -> None:
    assert resolution.uv_platform(Aim(LockEnvironment(platform, "3.12"), glibc=glibc)) == said


def test_an_environment_elsewhere_replaces_the_interpreter() -> None:
    made = resolution.aimed(RESOLVER, Aim(LockEnvironment("macos-arm64", "3.12"), macos="14.0"))

    words = ("--python-version", "3.12", "--python-platform", "aarch64-apple-darwin", "needs.txt")
    assert made.argv == ("uv", "pip", "compile", *words)
    assert made.set == {"MACOSX_DEPLOYMENT_TARGET": "14.0"}


def test_here_the_interpreter_stays() -> None:
    assert resolution.aimed(RESOLVER, Aim(THERE, python="/here/python")) == RESOLVER


LOCK = f"""
lock-version = "1.0"
created-by = "uv"
[[packages]]
name = "a"
version = "1"
wheels = [{{ url = "https://h.example/a-1-py3-none-any.whl", hashes = {{ sha256 = "{SHA}" }} }}]
[[packages]]
name = "b"
version = "1"
wheels = [{{ path = "shelf/b-1-py3-none-any.whl", size = 7, hashes = {{}} }}]
[[packages]]
name = "c"
archive = {{ url = "https://h.example/c.zip", hashes = {{ md5 = "00" }} }}
[[packages]]
name = "d"
vcs = {{ type = "git", url = "https://h.example/d", commit-id = "{"c" * 40}" }}
"""


def test_uvs_lock_is_read_and_what_lacks_a_hash_is_known() -> None:
    a, b, c, d = resolution.of_pylock(LOCK, "/srv")

    assert a.wheels == (LockFile("https://h.example/a-1-py3-none-any.whl", SHA),)
    assert b.wheels == (LockFile("file:///srv/shelf/b-1-py3-none-any.whl", None, 7),)
    assert c.archive == LockFile("https://h.example/c.zip")
    assert d.vcs == {"type": "git", "url": "https://h.example/d", "commit-id": "c" * 40}


def test_a_folder_in_it_is_refused() -> None:
    lock = 'lock-version = "1.0"\ncreated-by = "uv"\n[[packages]]\nname = "mine"\ndirectory = { path = "." }\n'
    with pytest.raises(UsageError, match="mine is a folder, which has no hash"):
        resolution.of_pylock(lock, "/srv")


@pytest.mark.parametrize(
    "text", ["", "x", "packages = 5", 'packages = ["a"]', "[[packages]]\nwheels = 5", "a = [" * 999]
)
def test_what_is_no_lock_is_said_to_be_none(text: str) -> None:
    with pytest.raises(InstallerError, match="uv's lock is not what it should be"):
        resolution.of_pylock(text, "/srv")


def report(info: dict[str, object], *, direct: bool = False) -> str:
    metadata = {"name": "My.Lib", "version": "1.0"}
    return json.dumps({"install": [{"metadata": metadata, "download_info": info, "is_direct": direct}]})


def test_pips_report_is_read() -> None:
    hashed = {"archive_info": {"hashes": {"sha256": SHA}}}
    (wheel,) = resolution.of_report(report({"url": "https://h.example/my_lib-1.0-py3-none-any.whl", **hashed}))
    (source,) = resolution.of_report(report({"url": "https://h.example/my.lib-1.0.tar.gz", "archive_info": {}}))
    (archive,) = resolution.of_report(report({"url": "https://h.example/x.whl", **hashed}, direct=True))
    git: dict[str, object] = {"url": "https://h.example/x", "vcs_info": {"vcs": "git", "commit_id": "c" * 40}}
    (vcs,) = resolution.of_report(report(git, direct=True))

    assert (wheel.name, wheel.wheels) == ("my-lib", (LockFile("https://h.example/my_lib-1.0-py3-none-any.whl", SHA),))
    assert source.sdist == LockFile("https://h.example/my.lib-1.0.tar.gz")
    assert archive.archive == LockFile("https://h.example/x.whl", SHA)
    assert vcs.vcs == {"type": "git", "url": "https://h.example/x", "commit-id": "c" * 40}


def test_a_folder_in_a_report_is_refused() -> None:
    with pytest.raises(UsageError, match="my-lib is a folder"):
        resolution.of_report(report({"url": "file:///srv/mine", "dir_info": {"editable": True}}))


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"install": [{}]}', '{"install": 5}', "[" * 100_000])
def test_what_is_no_report_is_said_to_be_none(text: str) -> None:
    with pytest.raises(InstallerError, match="pip's report is not what it should be"):
        resolution.of_report(text)
