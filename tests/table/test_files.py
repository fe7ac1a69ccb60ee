"""The hashes of files that public locks have seen: only what two owners agree on, and nobody contradicts."""

from __future__ import annotations

import json
from pathlib import Path

from scripts.table import files, layout
from torchpick.knowledge.compat import Knowledge

COMPAT = Path(__file__).parents[2] / "compat"
WITNESSES = ["One/a 1 uv.lock", "one/b 2 poetry.lock", "two/c 3 uv.lock"]
SHA, OTHER = "a" * 64, "b" * 64


def hashes_in_public_locks(*rows: tuple[str, str, list[int]]) -> dict[str, dict[str, str]]:
    named = [{"index": index, "file": "t.whl", "sha256": sha, "seen": seen} for index, sha, seen in rows]
    return files.hashes_in_public_locks(named, WITNESSES)


def test_the_shipped_table_is_what_the_evidence_makes() -> None:
    built = files.table(files.EVIDENCE.read_text("utf-8").splitlines())

    assert json.loads((COMPAT / "files.json").read_text("utf-8")) == built
    assert layout.readable(built) + "\n" == (COMPAT / "files.json").read_text("utf-8")


def test_two_owners_make_a_witness_and_two_repositories_of_one_do_not() -> None:
    assert hashes_in_public_locks(("whl/cu126", SHA, [0, 2])) == {"cu126": {"t.whl": SHA}}
    assert hashes_in_public_locks(("whl", SHA, [0, 2])) == {"": {"t.whl": SHA}}
    assert hashes_in_public_locks(("whl/cu126", SHA, [0, 1])) == {}


def test_a_conflict_is_no_hash_however_many_saw_one_of_them() -> None:
    assert hashes_in_public_locks(("whl/cu126", SHA, [0, 2]), ("whl/cu126", OTHER, [1])) == {}


def test_no_hash_is_shipped_of_a_file_that_public_locks_disagree_on() -> None:
    _, *lines = map(json.loads, files.EVIDENCE.read_text("utf-8").splitlines())
    hashes: dict[tuple[str, str], set[str]] = {}
    for line in lines:
        hashes.setdefault((line["index"].removeprefix("whl").removeprefix("/"), line["file"]), set()).add(
            line["sha256"]
        )
    shipped = json.loads((COMPAT / "files.json").read_text("utf-8"))["files"]
    disagreed = {place for place, seen in hashes.items() if len(seen) > 1}

    # Three owners' hash of the first is not believed either: a fourth has another.
    assert ("cu128", "torchaudio-2.11.0+cu128-cp312-cp312-win_amd64.whl") in disagreed
    assert len(disagreed) > 50
    assert [(folder, file) for folder, file in disagreed if file in shipped.get(folder, {})] == []


def test_another_folder_is_another_file() -> None:
    assert hashes_in_public_locks(("whl/cu126", SHA, [0]), ("whl/cpu", SHA, [2])) == {}
    for index in ("whl/test/cu126", "whl/nightly/cu126", "whl/variant", "whl/test"):
        assert hashes_in_public_locks((index, SHA, [0, 2])) == {}


def test_the_files_with_a_hash_are_counted_by_release_and_backend() -> None:
    *rows, last = files.counts(Knowledge({}))

    by_build = {tuple(row.split()[:2]): row.split()[2:] for row in rows}
    known, of, expected = by_build["2.6.0", "cu126"]
    assert (of, 0 < int(known) <= int(expected)) == ("of", True)
    assert int(last.split()[1]) == sum(int(known) for known, *_ in by_build.values()) > 500
