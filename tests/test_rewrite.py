"""A user's file, read and replaced."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick import rewrite
from torchpick.errors import TorchpickError


@given(content=st.text(st.sampled_from("ab \n\r\té"), max_size=40))
def test_what_is_read_and_written_back_is_byte_for_byte_the_same(
    content: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("rewrite") / "file"
    file.write_bytes(content.encode())

    there = rewrite.read(str(file))
    rewrite.write(there, there.text)

    assert file.read_bytes() == content.encode()
    assert [each.name for each in file.parent.iterdir()] == ["file"]


def test_a_file_that_is_not_there_is_empty_and_can_be_made(tmp_path: Path) -> None:
    there = rewrite.read(str(tmp_path / "new"))
    assert (there.text, there.exists) == ("", False)

    rewrite.write(there, "x\n")

    assert (tmp_path / "new").read_text() == "x\n"


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    there = rewrite.read(str(tmp_path / "no" / "file"))

    with pytest.raises(TorchpickError, match="cannot write"):
        rewrite.write(there, "x")
