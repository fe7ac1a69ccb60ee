"""What is said of a THING that cannot be read, from where a reading comes, and what the table takes of a torch."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from torchpick.errors import TorchpickError, UsageError, WheelError, WheelLayoutError
from torchpick.wheels import inspect_target
from torchpick.wheels.inspect_target import ReadOptions
from torchpick.wheels.readings import WHOLE, Reading, Readings

URL = "https://me:secret@host.example/a%2Bb-1.0-py3-none-any.whl"
SHOWN = "https://me:****@host.example/a%2Bb-1.0-py3-none-any.whl"
HASH = "ab" * 32


@pytest.mark.parametrize(
    ("name", "how", "kind", "message"),
    [
        ("", ReadOptions(), UsageError, "an empty name cannot be inspected"),
        ("a\0b", ReadOptions(), UsageError, "an empty name cannot be inspected"),
        ("https://me:secret@[x/", ReadOptions(), UsageError, "`https://me:****@[x/` is not a valid URL"),
        ("ftp://x/y.whl#z", ReadOptions(), UsageError,
         "`ftp://x/y.whl`: only http, https and file addresses can be read"),
        (f"{URL}#x", ReadOptions(offline=True), UsageError, f"`{SHOWN}` is on the web"),
        ("pkg==1", ReadOptions(offline=True), UsageError, "`pkg==1` must be looked up on an index"),
        ("file:///nowhere/x-1.0-py3-none-any.whl#y", ReadOptions(), WheelError,
         "file:///nowhere/x-1.0-py3-none-any.whl is not a file"),
        ("https://x/torch-1.0.tar.gz", ReadOptions(), WheelLayoutError,
         "torch-1.0.tar.gz is source: its GPU code depends on how it is built"),
    ],
)  # fmt: skip
def test_why_a_thing_cannot_be_read(name: str, how: ReadOptions, kind: type[TorchpickError], message: str) -> None:
    with pytest.raises(kind) as caught:
        inspect_target.read_target(name, how)
    assert (type(caught.value), caught.value.message) == (kind, message)


def test_what_is_wrong_with_a_files_bytes_names_the_file_once(tmp_path: Path) -> None:
    file, source, text = tmp_path / "x.whl", tmp_path / "x.tar.gz", tmp_path / "x.so"
    file.write_bytes(b"PK")
    source.write_bytes(b"")
    text.write_bytes(b"text")

    for path, message in (
        (file, f"{file}: is not a readable zip archive: "),
        (source, "x.tar.gz is source: "),
        (text, f"{text} is neither a wheel nor a library"),
    ):
        with pytest.raises(WheelError) as caught:
            inspect_target.read_target(str(path), ReadOptions())
        assert caught.value.message.startswith(message)
        assert caught.value.message.count("x.") == 1


READ = Reading("elsewhere", WHOLE, complete=True, size=9, bytes_read=7, requests=3, sha256=HASH)


class BuildsByRelease:
    """Has one reading or none, and writes down what it is asked and given."""

    def __init__(self, held: Reading | None) -> None:
        self.held, self.asked, self.kept = held, list[object](), list[object]()

    def find(self, *question: object) -> Reading | None:
        self.asked.append(question)
        return self.held

    def keep(self, *given: object) -> None:
        self.kept.append(given)


def test_what_was_read_before_costs_nothing_now_and_what_another_computer_reads_is_kept() -> None:
    before, new = BuildsByRelease(READ), BuildsByRelease(None)

    def elsewhere(url: str, how: ReadOptions) -> Reading:
        assert (url, how.depth) == (f"{URL}#sha256={HASH}", WHOLE)
        return READ

    for shelf, cost in ((before, {"bytes_read": 0, "requests": 0}), (new, {})):
        how = ReadOptions(WHOLE, readings=cast(Readings, shelf), elsewhere=elsewhere, most=5)
        found = inspect_target.read_target(f"{URL}#sha256={HASH}", how)

        assert found == READ._replace(target=SHOWN, **cost)  # type: ignore[arg-type]
        assert shelf.asked == [(f"{URL}#sha256={HASH}", HASH, WHOLE, 5)]
    assert before.kept == []
    assert new.kept == [(f"{URL}#sha256={HASH}", READ._replace(target=SHOWN))]
