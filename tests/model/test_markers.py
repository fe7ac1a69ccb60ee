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
