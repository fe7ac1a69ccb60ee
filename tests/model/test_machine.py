"""A machine that is told in a file: what it may say, and which sentence answers what it may not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.model.altered import altered
from torchpick.model.fields import ShapeError
from torchpick.model.machine import Machine

GOOD: dict[str, Any] = {
    "name": "node-1", "platform": {"os": "linux", "cpu": "x86_64", "glibc": "2.35"}, "python": {"version": "3.12"},
    "driver": {"version": "580.95.05", "cuda": "13.0", "os": None},
    "gpus": [{"arch": "sm_61", "name": "GTX 1080 Ti"}, {"arch": "sm_86"}], "notes": [{"code": "A", "text": "b"}],
}  # fmt: skip


@pytest.mark.parametrize(("path", "value"), [
        ("platform.os", "../../../etc"), ("platform.os", ""), ("platform.cpu", "x86_64/../../x"),
        ("platform.cpu", "X86"), ("platform.cpu", "x" * 33), ("platform.libc", "evil"),
        ("python.implementation", "../cp"), ("python.executable", "/" * 5000), ("driver.os", "macos"),
        ("driver.cuda", "13"), ("driver.cuda", "13.0.1"), ("driver.source", "x" * 300), ("gpus.0.index", -1),
        ("gpus.0.index", 1), ("gpus.0.index", 1 << 40), ("gpus.0.arch", "compute_80"), ("gpus.0.arch", "sm_999"),
        ("gpus.0.arch", "sm_90a"), ("gpus.0.arch", "gfx1100"), ("gpus.0.vendor", "amd"), ("gpus.0.vendor", "intel"),
        ("gpus.0.name", "x" * 300), ("gpus.0.uuid", "x" * 300), ("gpus.0.pci", "x" * 300), ("name", "x" * 300),
        ("notes", [{"code": "A", "text": "x" * 300_000}]), ("notes", [{"code": "A", "text": "x"}] * 2000),
])  # fmt: skip
def test_what_no_machine_has_is_refused_by_its_path(path: str, value: object) -> None:
    with pytest.raises(ShapeError) as caught:
        Machine.from_dict(altered(GOOD, path, value))

    assert caught.value.path.startswith(path.split(".", maxsplit=1)[0])


def test_an_implementation_and_a_platform_are_words() -> None:
    python = {"version": "3.11", "implementation": "pp"}
    assert Machine.from_dict(altered(GOOD, "python", python)).python.tag == "pp311"
    assert Machine.from_dict(altered(GOOD, "python", {**python, "implementation": ""})).python.tag == "cp311"
    assert Machine.from_dict(altered(GOOD, "platform.cpu", "x")).platform.cpu == "x"
    for path, value in (("python", {**python, "implementation": "../x"}), ("platform.cpu", "")):
        with pytest.raises(ShapeError):
            Machine.from_dict(altered(GOOD, path, value))
