"""What the wheels of two projects overwrite of each other."""

from __future__ import annotations

from typing import NamedTuple


class SharedFiles(NamedTuple):
    """How many files the wheels of two projects both write, with different contents, and the libraries among these."""

    files: int
    libraries: tuple[str, ...]
