"""Several environments' packages in one lock."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.markers import Marker

from torchpick.errors import UsageError
from torchpick.install.lock.merging import merged
from torchpick.model.lock import Lock, LockedPackage, LockEntry, LockEnvironment, LockFile, Part

LINUX = LockEnvironment("linux-x86_64", "3.12")
WINDOWS = LockEnvironment("windows-x86_64", "3.12")
NEWER = LockEnvironment("linux-x86_64", "3.13")
SHA = "0" * 64


def package(name: str, version: str, *files: str) -> LockedPackage:
    return LockedPackage(name, version, tuple(LockFile(f"https://host.example/{file}", SHA) for file in files))


def selected(lock: Lock, environment: LockEnvironment) -> list[LockEntry]:
    facts = dict(environment.facts)
    return [entry for entry in lock.entries if not entry.marker or Marker(entry.marker).evaluate(facts)]


def test_what_all_need_alike_has_no_marker_and_the_wheels_of_all() -> None:
    lock = merged([
        Part(LINUX, (package("torch", "2.14.1+cu126", "l.whl", "any.whl"),)),
        Part(WINDOWS, (package("torch", "2.14.1+cu126", "w.whl", "any.whl"),)),
    ])  # fmt: skip

    (entry,) = lock.entries
    assert entry.marker == ""
    assert [file.name for file in entry.package.wheels] == ["l.whl", "any.whl", "w.whl"]
    assert lock.environments == (LINUX.marker, WINDOWS.marker)
    assert lock.requires_python == ">=3.12,<3.13"


def test_the_source_of_a_package_stays_whichever_machine_named_it() -> None:
    mine, theirs = (LockFile(f"https://host.example/{name}.tar.gz", SHA) for name in ("mine", "theirs"))
    bare = package("numpy", "2.0", "l.whl")

    for first, second, sdist in ((bare, bare._replace(sdist=theirs), theirs), (bare._replace(sdist=mine), bare, mine)):
        (entry,) = merged([Part(LINUX, (first,)), Part(WINDOWS, (second,))]).entries
        assert entry.package.sdist == sdist


def test_the_packages_stand_by_name_version_and_place() -> None:
    mine, theirs = package("numpy", "2.0", "a.whl"), package("numpy", "1.0", "b.whl")
    other = LockedPackage("numpy", "1.0", archive=LockFile("https://host.example/c.whl", SHA))
    lock = merged([
        Part(WINDOWS, (package("zlib", "1"), mine)), Part(NEWER, (theirs,)), Part(LINUX, (other, package("a", "9"))),
    ])  # fmt: skip

    found = [(each.package.name, each.package.version, each.marker) for each in lock.entries]

    assert found == sorted(found)
    assert [name for name, *_ in found] == ["a", "numpy", "numpy", "numpy", "zlib"]


def test_what_one_needs_alone_is_marked_for_it() -> None:
    lock = merged([Part(LINUX, (package("triton", "3.8.0"),)), Part(WINDOWS, ()), Part(NEWER, ())])

    (entry,) = lock.entries
    assert entry.marker == "sys_platform == 'linux' and platform_machine == 'x86_64' and python_version == '3.12'"
    assert lock.requires_python == ">=3.12,<3.14"


def test_windows_and_macs_are_called_as_python_calls_them() -> None:
    assert LockEnvironment("windows-arm64", "3.13").facts["platform_machine"] == "ARM64"
    assert LockEnvironment("macos-arm64", "3.13").facts == {
        "sys_platform": "darwin",
        "platform_machine": "arm64",
        "python_version": "3.13",
    }


def test_environments_that_no_marker_tells_apart_must_need_the_same() -> None:
    free = LINUX._replace(free_threaded=True)
    same = merged([Part(LINUX, (package("numpy", "2.0"),)), Part(free, (package("numpy", "2.0", "t.whl"),))])
    assert [file.name for file in same.entries[0].package.wheels] == ["t.whl"]
    assert len(same.environments) == 1

    with pytest.raises(UsageError, match=r"3\.12t on linux-x86_64 needs another numpy") as caught:
        merged([Part(LINUX, (package("numpy", "2.0"),)), Part(free, (package("numpy", "2.1"),))])
    assert "--each" in str(caught.value.hint)


ENVIRONMENTS = [
    LockEnvironment(platform, python)
    for platform in ("linux-x86_64", "linux-aarch64", "windows-x86_64", "macos-arm64")
    for python in ("3.9", "3.10", "3.13")
]
PACKAGES = st.dictionaries(st.sampled_from("abcd"), st.sampled_from(("1", "2", "3")), max_size=4)


@given(st.dictionaries(st.sampled_from(ENVIRONMENTS), PACKAGES, min_size=1, max_size=6))
def test_every_environment_gets_exactly_its_own(needs: dict[LockEnvironment, dict[str, str]]) -> None:
    parts = [Part(env, tuple(package(*each) for each in sorted(own.items()))) for env, own in needs.items()]
    lock = merged(parts)

    for environment, own in needs.items():
        found = {entry.package.name: entry.package.version for entry in selected(lock, environment)}
        assert found == own
        assert len(selected(lock, environment)) == len(own)
        assert sum(Marker(each).evaluate(dict(environment.facts)) for each in lock.environments) == 1
