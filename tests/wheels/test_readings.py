"""The cache of readings: what goes in comes out, by hash, host and depth; what is damaged counts as none."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.wheels import making
from torchpick.index.ranges import Archive, FileSource
from torchpick.wheels import readings, wheelfiles
from torchpick.wheels.readings import FLAGS, SAMPLE, WHOLE, Reading, Readings

URL = "https://user:secret@files.example/torch-2.15.0-cp312-cp312-manylinux_2_28_x86_64.whl"
HASH = "ab" * 32


@pytest.fixture
def reading(tmp_path: Path) -> Reading:
    """Everything a library can hold: kernels, PTX, a module without a kernel."""
    rich = making.library(
        making.module("sm_80", "compute_90"), making.module("sm_52", size=872)
    )  # fmt: skip
    file = tmp_path / "torch-2.15.0-cp312-cp312-manylinux_2_28_x86_64.whl"
    file.write_bytes(making.torch_wheel(more={"torch/lib/libx.so": rich}))
    source = FileSource(file)
    try:
        return wheelfiles.read_wheel(Archive(source), file.name, WHOLE)._replace(sha256=HASH)
    finally:
        source.close()


def test_what_goes_in_comes_out(reading: Reading, tmp_path: Path) -> None:
    assert reading.torch is not None
    assert reading.libraries[0].code.empty
    cache = Readings(str(tmp_path))
    cache.keep(URL, reading)

    assert cache.find(URL, HASH, WHOLE) == reading
    assert cache.find(URL, HASH, None) == reading
    assert cache.find(URL, HASH, FLAGS) is None
    assert cache.find(URL, None, WHOLE) is None
    assert cache.find(URL, "cd" * 32, WHOLE) is None
    assert "secret" not in "".join(file.read_text("utf-8") for file in (tmp_path / "readings").iterdir())


def test_a_sample_does_not_answer_who_would_read_all_of_it(reading: Reading, tmp_path: Path) -> None:
    url = "https://files.example/pkg-1.0-py3-none-any.whl"
    sample = reading._replace(depth=SAMPLE, size=100)
    cache = Readings(str(tmp_path))
    cache.keep(url, sample)

    assert cache.find(url, HASH, SAMPLE) == sample
    assert cache.find(url, HASH, None) is None
    assert cache.find(url, HASH, None, 100) is None
    assert cache.find(url, HASH, None, 99) == sample


def test_the_flags_answer_for_a_torch_and_for_nothing_else(reading: Reading, tmp_path: Path) -> None:
    """A torch is read by its flags unless all of it is asked for."""
    cache = Readings(str(tmp_path))
    other = "https://files.example/pkg-1.0-py3-none-any.whl"
    for url, sha256 in ((URL, HASH), (other, "cd" * 32)):
        cache.keep(url, reading._replace(depth=FLAGS, sha256=sha256))

    found = cache.find(URL, HASH, None)
    assert found is not None
    assert found.depth == FLAGS
    assert cache.find(URL, HASH, WHOLE) is None
    assert cache.find(other, "cd" * 32, None) is None


def test_one_host_does_not_speak_for_another(reading: Reading, tmp_path: Path) -> None:
    """The hash is the index's word; what lies behind it was not hashed, as only parts of it were fetched."""
    cache = Readings(str(tmp_path))
    cache.keep("https://evil.example/x.whl", reading)

    assert cache.find(URL, HASH, WHOLE) is None


@pytest.mark.skipif(os.name == "nt", reason="the lists of Windows are not judged")
def test_what_others_may_write_is_read_anew(reading: Reading, tmp_path: Path) -> None:
    cache = Readings(str(tmp_path))
    cache.keep(URL, reading)
    for file in (tmp_path / "readings").iterdir():
        file.chmod(0o666)

    assert cache.find(URL, HASH, WHOLE) is None


def test_a_damaged_entry_counts_as_none(reading: Reading, tmp_path: Path) -> None:
    cache = Readings(str(tmp_path))
    cache.keep(URL, reading)
    (file,) = (tmp_path / "readings").iterdir()
    record = json.loads(file.read_text("utf-8"))
    texts = ["", "{", "[]", '{"schema": 1}', json.dumps({**record, "schema": record["schema"] - 1})]
    for row in (record["reading"], record["reading"]["libraries"][0]):
        for name, value in [*row.items()]:
            for other in (7, "x", [7]):
                if type(other) is not type(value) and (value is not None or other != "x"):
                    row[name] = other
                    texts.append(json.dumps(record))
            row[name] = value
    for text in texts:
        file.write_text(text, "utf-8")
        assert cache.find(URL, HASH, WHOLE) is None, text
    file.write_text(json.dumps(record), "utf-8")
    assert cache.find(URL, HASH, WHOLE) == reading


def test_the_cache_is_bounded(reading: Reading, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "MOST_FILES", 8)
    cache = Readings(str(tmp_path))
    for number in range(30):
        cache.keep(URL, reading._replace(sha256=f"{number:064}"))

    assert len(list((tmp_path / "readings").iterdir())) <= 8
    assert cache.find(URL, f"{29:064}", WHOLE) is not None


def test_a_cache_that_cannot_be_written_is_no_error(reading: Reading, tmp_path: Path) -> None:
    (tmp_path / "readings").write_text("a file", "utf-8")
    Readings(str(tmp_path)).keep(URL, reading)
