from __future__ import annotations

import pytest

from torchpick.model.versions import marker_applies, marker_facts


@pytest.mark.parametrize(("marker", "holds"), [
        ("", True), ("python_full_version >= '3.12.4'", True), ("python_full_version >= '3.12.5'", False),
        ("python_version < '3.12'", False),
        ("sys_platform == 'win32' and platform_machine == 'AMD64' and os_name == 'nt'", True),
        ("platform_system == 'Linux'", False),
        ("platform_python_implementation == 'CPython' and implementation_name == 'cpython'", True),
        ("extra == 'gpu'", False), ("no marker", True), ("no_such_name == 'x'", True), ("python_version ~= 'x'", True),
])  # fmt: skip
def test_a_marker_is_judged_for_another_machine(marker: str, *, holds: bool) -> None:
    assert marker_applies(marker, marker_facts("3.12", "3.12.4", "windows-x86_64")) is holds


def test_the_facts_of_a_machine_are_named_as_its_own_python_would() -> None:
    arm, mac = marker_facts("3.11", None, "windows-arm64", "pp"), marker_facts("3.12", "3.13.1", "macos-arm64")

    names = (
        "platform_machine",
        "os_name",
        "platform_python_implementation",
        "implementation_name",
        "python_full_version",
    )
    assert [arm[name] for name in names] == ["ARM64", "nt", "PyPy", "pypy", "3.11.0"]
    assert [mac[name] for name in names] == ["arm64", "posix", "CPython", "cpython", "3.12.0"]
    assert ("implementation_version" in arm, mac["implementation_version"]) == (False, "3.12.0")
    assert marker_facts("3.12", platform="freebsd-x86_64")["sys_platform"] == "freebsd"
    assert (mac["sys_platform"], mac["platform_system"]) == ("darwin", "Darwin")
