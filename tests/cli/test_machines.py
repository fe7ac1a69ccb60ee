from __future__ import annotations

import errno
import json
import os
from io import BytesIO
from pathlib import Path
from typing import IO

import pytest

from torchpick.environment import world
from torchpick.errors import UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.machine import machine_lines, machinefiles
from torchpick.model.arch import Arch
from torchpick.model.fields import dumps, envelope
from torchpick.model.fleet import Fleet
from torchpick.model.machine import Driver, Gpu, Machine, Note, Platform, Python, Trouble
from torchpick.model.pick import Request

PASCAL = Machine(
    platform=Platform("linux", "x86_64", "2.36", "glibc"),
    python=Python("3.11", executable="/usr/bin/python3", source=".venv"),
    driver=Driver("580.95.05", "13.0", "nvml", "nvml"),
    gpus=(Gpu(0, "nvidia", "NVIDIA GeForce GTX 1080 Ti", Arch("sm", 6, 1), "GPU-1", "0000:01:00.0", source="nvml"),),
    notes=(Note("GPU_LOST", "one"),),
)
BARE = Machine(Platform("linux", "aarch64", None, "glibc"), Python("3.13"), name="b")


def line(machine: Machine) -> str:
    return dumps(envelope("detect", machine=machine.to_dict()))


def read(data: bytes, *, strict: bool = False) -> Fleet:
    reader = machinefiles.Reader(Request(), Knowledge({}))
    reader.stream(BytesIO(data), "fleet")
    return machinefiles.check_fleet(reader.fleet(), "fleet", strict=strict)


def fleet(text: str) -> Fleet:
    return read(text.encode())


def kinds(text: str) -> list[tuple[str, int, str]]:
    """Each kind of machine that was read: platform, how many, and their names."""
    return [(crowd.machine.platform.cpu, crowd.hosts.count, crowd.hosts.text) for crowd in fleet(text).crowds]


def test_one_that_is_spread_over_lines_is_alone_in_its_stream() -> None:
    spread = json.dumps(json.loads(line(BARE)), indent=1)

    assert [crowd.machine for crowd in fleet(f"\n{spread}\n").crowds] == [BARE]
    first, *_ = fleet(f"{line(BARE)}\n{spread}").unread
    assert first.text == "fleet, line 2: not JSON: cut in the middle"


@pytest.mark.parametrize("count", [1, 2, 16])
def test_the_compact_line_is_short_and_decides_the_same(count: int) -> None:
    gpus = tuple(
        PASCAL.gpus[0]._replace(index=place, uuid=f"GPU-{place}", pci=f"0000:{place:02x}:00.0")
        for place in range(count)
    )
    machine = PASCAL._replace(name="n1.cluster.example.org", gpus=gpus)
    short = machine_lines.write_line(machine)
    assert len(short) < 1000
    [read_back] = fleet(short).machines
    assert [(gpu.index, gpu.name, gpu.arch) for gpu in read_back.gpus] == [
        (gpu.index, gpu.name, gpu.arch) for gpu in gpus
    ]
    assert (read_back.name, read_back.driver, read_back.platform) == (machine.name, machine.driver, machine.platform)


def test_what_is_said_of_a_silent_gpu_is_cut_between_words() -> None:
    """A hint is to be followed: half a word of it is none."""
    hint = "restart the container, or " + "or ".join(f"give it by `--gpu sm_{number}`, " for number in range(80, 90))
    silent = PASCAL._replace(gpus=(), trouble=Trouble("DRIVER_SILENT", "x" * 900, hint))
    [left] = fleet(f"{machine_lines.write_line(silent)}\n{line(BARE)}").silent

    assert left.hint.endswith(" ...")
    assert hint.startswith(f"{left.hint[:-4]} ")
    assert 0 < len(left.text) < 200


@pytest.mark.parametrize("prefix", ["node7: ", "node7:", "7: "])
def test_what_launchers_put_before_a_line_is_the_host(prefix: str) -> None:
    assert kinds(prefix + line(BARE._replace(name=None))) == [("aarch64", 1, "task7" if prefix[0] == "7" else "node7")]
    assert kinds(prefix + line(BARE)) == [("aarch64", 1, "b" if prefix[0] == "7" else "node7")]


@pytest.mark.parametrize("coding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("end", ["\r", "\v", "\f", "\x1c", "\x85", "\u2028"])
def test_no_host_begins_a_line_in_anothers_name(end: str, coding: str) -> None:
    """A launcher puts the host before what ends with a newline, whatever the host writes within it."""
    found = read(f"bad: x{end}good: {line(PASCAL)}\nother: {line(BARE)}\n".encode(coding))

    assert [crowd.hosts.text for crowd in found.crowds] == ["other"]
    assert [left.text.partition(": ")[2][:19] for left in found.unread] == ["not JSON: bad: x" + end + "go"]


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16", "utf-8"])
def test_what_windows_shells_write(coding: str) -> None:
    assert len(read(f"{line(PASCAL)}\r\n{line(BARE)}\r\n".encode(coding)).crowds) == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_bad_entry_of_a_folder_is_named_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("n1", "n2", "locked", "broken"):
        (tmp_path / f"{name}.json").write_text(line(PASCAL._replace(name=None)), "utf-8")
    (tmp_path / "loop.json").symlink_to("loop.json")
    (tmp_path / "dangling.json").symlink_to("gone")
    (tmp_path / "link.json").symlink_to("n1.json")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "other").mkdir()
    os.mkfifo(tmp_path / "pipe.json")
    errors = {"locked.json": errno.EACCES, "broken.json": errno.EIO}

    def opened(path: str, **how: bool) -> IO[bytes]:
        if (number := errors.get(os.path.basename(path))) is not None:
            raise OSError(number, os.strerror(number), path)
        return world.opened(path, **how)

    monkeypatch.setattr(machinefiles, "opened", opened)
    reader = machinefiles.Reader(Request(), Knowledge({}))
    reader.read(str(tmp_path))
    found = reader.fleet()

    assert [crowd.hosts.text for crowd in found.crowds] == ["link,n[1-2]"]
    assert {left.hosts.text: left.text.removeprefix(f"{tmp_path}/") for left in found.unread} == {
        "broken": f"broken.json: {os.strerror(errno.EIO)}",
        "locked": f"locked.json: {os.strerror(errno.EACCES)}",
    }


UNREADABLE = [
    ("hello", "fleet, line 1: not JSON: hello"),
    ("n3: bash: torchpick: command not found", "fleet, line 1: not JSON: n3: bash: torchpick"),
    ("ssh: connect to host n3 port 22: Connection refused", "fleet, line 1: not JSON: ssh: connect to host n3"),
    ("pdsh@login: n3: ssh exited with exit code 255", "fleet, line 1: not JSON: pdsh@login: n3: ssh exited"),
    (line(PASCAL)[:-9], "fleet, line 1: not JSON"), (line(PASCAL)[:300], "fleet, line 1: not JSON"),
    ("\n\n\n{}", "fleet, line 4: platform: is missing"), ("3", "line 1: must be an object"),
    ("[[1]]", "line 1: must be an object"), ("[" * 100_000, "line 1: not JSON"), ("1" * 10_000, "line 1: not JSON"),
    (line(PASCAL).replace('"sm_61"', '"sm_6x"'), r"machine\.gpus\[0\]\.arch"),
    (line(PASCAL).replace('"schema": 1', '"schema": 2'), "newer torchpick"),
    ('{"schema": 1, "machine": null}', "contains no machine"),
    ('{"schema": 1, "status": "error", "error": {"code": "X", "text": "it broke", "hint": "h"}}', "it broke"),
    ('{"schema": 1, "machine": null, "machines": [{}, {}]}', "contains no machine"),
    ('{"apiVersion": "v1", "kind": "Pod"}', "kind: must be Node"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words"), UNREADABLE)
def test_what_cannot_be_read_names_the_line(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        fleet(text)
    assert caught.value.hint


@pytest.mark.parametrize("text", [text for text, _ in UNREADABLE])
def test_beside_what_cannot_be_read_the_rest_is_answered(text: str) -> None:
    data = f"{line(PASCAL)}\n{text}\n{line(BARE)}\n".encode()
    found = read(data)
    assert [crowd.machine.platform.cpu for crowd in found.crowds] == ["x86_64", "aarch64"]
    [left] = found.unread
    number = 5 if text.startswith("\n") else 2
    assert left.text.startswith(f"fleet, line {number}: ")
    assert left.text in next(note.text for note in found.notes if note.code == "UNREAD_LEFT_OUT")
    with pytest.raises(UsageError, match=f"line {number}"):
        read(data, strict=True)


def test_what_a_newer_torchpick_wrote_asks_for_an_update() -> None:
    newer = line(PASCAL).replace('"schema": 1', '"schema": 2')
    with pytest.raises(UsageError, match="written by a newer torchpick") as caught:
        fleet(newer)
    assert caught.value.hint == "update torchpick"
    assert [left.hint for left in fleet(f"{newer}\n{line(BARE)}").unread] == ["update torchpick"]


def test_not_text() -> None:
    found = read(line(PASCAL).encode() + b"\n\xff\xfe\x00\n" + line(BARE).encode())
    assert [left.text for left in found.unread] == ["fleet, line 2: not JSON: not UTF-8 text"]
    assert len(found.crowds) == 2
