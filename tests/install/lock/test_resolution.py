"""Commands for other environments, and what uv and pip answer."""

from __future__ import annotations

import json

import pytest

from tests.installers.test_commands import PICK
from torchpick.errors import InstallerError, UsageError
from torchpick.install.lock import resolution
from torchpick.install.lock.resolution import Aim
from torchpick.installers import run
from torchpick.installers.command import Command
from torchpick.installers.run import Heard
from torchpick.installers.store import StoredFile
from torchpick.model.lock import LockEnvironment, LockFile

SHA = "ab" * 32
RESOLVER = Command("uv", ("uv", "pip", "compile", "--python", "/here/python", "needs.txt"))
THERE = LockEnvironment("linux-x86_64", "3.12")
PAGE = StoredFile("/here/links.html", "")


@pytest.mark.parametrize(
    ("platform", "glibc", "said"),
    [
        ("linux-x86_64", "2.35", "x86_64-manylinux_2_35"),
        ("linux-x86_64", "2.30", "x86_64-manylinux_2_28"),
        ("linux-x86_64", "2.31", "x86_64-manylinux_2_31"),
        ("linux-aarch64", None, "aarch64-manylinux_2_28"),
        ("linux-x86_64", "2.99", "x86_64-manylinux_2_40"),
        ("linux-x86_64", "2.5", "x86_64-manylinux_2_17"),
        ("windows-x86_64", None, "x86_64-pc-windows-msvc"),
        ("windows-arm64", None, "aarch64-pc-windows-msvc"),
        ("macos-arm64", None, "aarch64-apple-darwin"),
        ("macos-x86_64", None, "x86_64-apple-darwin"),
    ],
)
def test_uv_is_told_the_platform_with_no_newer_glibc(platform: str, glibc: str | None, said: str) -> None:
    assert resolution.uv_platform(Aim(LockEnvironment(platform, "3.12"), glibc=glibc)) == said


@pytest.mark.parametrize(
    ("tags", "oldest"),
    [
        (("macosx_14_0_arm64",), "14.0"),
        (("manylinux_2_28_x86_64", "macosx_11_3_x86_64"), "11.3"),
        (("manylinux_2_28_x86_64",), None),
        (("xmacosx_14_0_arm64",), None),
        ((), None),
    ],
)
def test_the_oldest_macos_stands_in_a_builds_tag(tags: tuple[str, ...], oldest: str | None) -> None:
    assert resolution.macos_of(PICK.build._replace(tags=tags)) == oldest


def test_an_environment_elsewhere_replaces_the_interpreter() -> None:
    for_macs = PICK.build._replace(tags=("macosx_14_0_arm64",))
    made = resolution.aimed(RESOLVER, Aim(LockEnvironment("macos-arm64", "3.12")), for_macs)

    words = ("--python-version", "3.12", "--python-platform", "aarch64-apple-darwin", "needs.txt")
    assert made.argv == ("uv", "pip", "compile", *words)
    assert made.set == {"MACOSX_DEPLOYMENT_TARGET": "14.0"}


def test_here_the_interpreter_stays() -> None:
    assert resolution.aimed(RESOLVER, Aim(THERE, python="/here/python"), PICK.build) == RESOLVER


CHATTER = (
    "Looking in indexes: https://me:secret@h.example/simple", "Collecting a", "  Downloading a-1.whl (5 kB)",
    "  Using cached b-1.whl (3 kB)", "Obtaining c from /srv/c", "WARNING: x is old", "Processing /srv/d.whl", "",
)  # fmt: skip


@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_of_what_an_installer_says_the_end_is_told_without_its_chatter(
    installer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = [f"line {number}" for number in range(13)]
    out, words = "\n".join(["Resolved", *CHATTER]), "\n".join([CHATTER[0], *told, *CHATTER])
    monkeypatch.setattr(run, "capture", lambda *_: Heard(1, out, words))

    with pytest.raises(InstallerError) as caught:
        resolution.packages(RESOLVER._replace(installer=installer), (PAGE,), {})

    assert caught.value.message == f"{installer} could not resolve the requirements: " + "\n".join(told[1:])
    assert f"check the names and {installer}'s index settings" in str(caught.value.hint)


def test_where_torch_stands_in_the_way_the_builds_that_run_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"pip": Heard(1, "a needs torch==2.0", "ERROR: no"), "uv": Heard(1, "", "a needs torchao==1")}
    for installer, heard in said.items():
        monkeypatch.setattr(run, "capture", lambda *_, heard=heard: heard)
        with pytest.raises(InstallerError) as caught:
            resolution.packages(RESOLVER._replace(installer=installer), (PAGE,), {})
        assert "`torchpick list` shows the builds that run" in str(caught.value.hint)


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
vcs = {{ type = "git", url = "https://h.example/d", commit-id = "{"c" * 40}", subdirectory = "python" }}
[[packages]]
name = "e"
version = "1"
index = "https://h.example/simple"
sdist = {{ url = "https://h.example/e-1.tar.gz", hashes = {{ sha256 = "{SHA.upper()}" }} }}
"""


def test_uvs_lock_is_read_and_what_lacks_a_hash_is_known() -> None:
    a, b, c, d, e = resolution.of_pylock(LOCK, "/srv")

    assert a.wheels == (LockFile("https://h.example/a-1-py3-none-any.whl", SHA),)
    assert b.wheels == (LockFile("file:///srv/shelf/b-1-py3-none-any.whl", None, 7),)
    assert c.archive == LockFile("https://h.example/c.zip")
    assert d.vcs == {
        "type": "git", "url": "https://h.example/d", "commit-id": "c" * 40, "subdirectory": "python",
    }  # fmt: skip
    assert (e.version, e.index_url, e.sdist) == (
        "1", "https://h.example/simple", LockFile("https://h.example/e-1.tar.gz", SHA),
    )  # fmt: skip
    assert (a.index_url, c.version, d.wheels) == (None, None, ())


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
    asked = {"vcs": "git", "commit_id": "c" * 40, "requested_revision": "v1"}
    (inside,) = resolution.of_report(report({**git, "vcs_info": asked, "subdirectory": "python"}, direct=True))

    assert (wheel.name, wheel.wheels) == ("my-lib", (LockFile("https://h.example/my_lib-1.0-py3-none-any.whl", SHA),))
    assert source.sdist == LockFile("https://h.example/my.lib-1.0.tar.gz")
    assert archive.archive == LockFile("https://h.example/x.whl", SHA)
    assert vcs.vcs == {"type": "git", "url": "https://h.example/x", "commit-id": "c" * 40}
    assert inside.vcs == {**(vcs.vcs or {}), "requested-revision": "v1", "subdirectory": "python"}


def test_a_folder_in_a_report_is_refused() -> None:
    with pytest.raises(UsageError, match="my-lib is a folder"):
        resolution.of_report(report({"url": "file:///srv/mine", "dir_info": {"editable": True}}))


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"install": [{}]}', '{"install": 5}', "[" * 100_000])
def test_what_is_no_report_is_said_to_be_none(text: str) -> None:
    with pytest.raises(InstallerError, match="pip's report is not what it should be"):
        resolution.of_report(text)
