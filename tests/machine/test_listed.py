"""Machines that are read from a file: which flags contradict it, and who may speak in it."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from torchpick.errors import UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.machine import machinefiles
from torchpick.model.fleet import Fleet
from torchpick.model.pick import Request

MACHINE = {
    "platform": {"os": "linux", "cpu": "x86_64", "glibc": "2.35"},
    "python": {"version": "3.12"},
    "driver": {"version": "580.95.05"},
    "gpus": [{"arch": "sm_80"}],
}


def listed(folder: Path, value: dict[str, Any], **more: Any) -> Fleet:
    file = folder / "machine.json"
    file.write_text(json.dumps(value), "utf-8")
    return machinefiles.read_machines(Request(machine=(str(file),), **more), Knowledge({}))


@pytest.mark.parametrize(("more", "flag"), [
    ({"gpus": ("a100",)}, "--gpu"), ({"gpus": ()}, "--gpu"), ({"visible_only": True}, "--gpus visible"),
    ({"driver": "580"}, "--driver"), ({"cuda_driver": "13.0"}, "--cuda-driver"),
    ({"platform": "linux-x86_64"}, "--platform"), ({"glibc": "2.35"}, "--glibc"), ({"macos": "14"}, "--macos"),
    ({"only": "0"}, "--only"),
])  # fmt: skip
def test_a_flag_that_describes_another_machine_is_refused(more: dict[str, Any], flag: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        listed(tmp_path, MACHINE, **more)

    assert caught.value.message == f"`--machine` and `{flag}` both describe the machine"
    assert caught.value.hint == f"remove `{flag}`, or change the fact in the file"


def test_a_host_that_was_asked_speaks_for_itself_alone_and_equal_machines_are_one_kind() -> None:
    reader = machinefiles.Reader(Request(python="3.12"), Knowledge({}))
    for place, host in enumerate(("n1", "n2")):
        gpu = {"arch": "sm_80", "uuid": f"GPU-{place}", "pci": f"0000:0{place}:00.0"}
        line = json.dumps({**MACHINE, "name": "login", "gpus": [gpu]}).encode()
        reader.stream(BytesIO(b"other: " * place + line + b"\n"), f"{host}'s answer", host, "")

    [crowd] = reader.fleet().crowds
    assert (crowd.hosts.names, crowd.machine.gpus[0].pci) == (("n1", "n2"), None)
    alone = machinefiles.Reader(Request(python="3.12"), Knowledge({}))
    alone.stream(BytesIO(json.dumps({**MACHINE, "name": "login"}).encode()), "n1's answer", "n1", "")
    assert [machine.name for machine in alone.fleet().machines] == ["n1"]


def test_of_a_folder_the_files_of_machines_are_read_each_for_its_host(tmp_path: Path) -> None:
    for file in ("a.json", "b.jsonl", "c.out", "d.txt", "n1.site.json", "e.log", ".f.json", "g"):
        (tmp_path / file).write_text(json.dumps(MACHINE), "utf-8")
    fleet = machinefiles.read_machines(Request(machine=(str(tmp_path),)), Knowledge({}))
    assert [crowd.hosts.names for crowd in fleet.crowds] == [("a", "b", "c", "d", "n1.site")]
