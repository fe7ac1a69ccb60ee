"""A file to read from, wherever it is: so many bytes at such a place, and a count of what it cost."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from torchpick.errors import IntegrityError, WheelError, silent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.errors import Report

CHUNK = 1 << 18
# What is read from the end of a file before anything else: of a wheel, the last part of its directory.
TAIL = 112 << 10


class Source(Protocol):
    """A file read by ranges."""

    size: int
    bytes_read: int
    requests: int  # 0 for a file of this computer

    def read(self, offset: int, length: int) -> bytes:
        """Exactly these bytes."""
        ...

    def stream(self, offset: int, length: int) -> Iterator[bytes]:
        """These bytes in chunks; what is not taken is not fetched."""
        ...

    def expect(self, ranges: list[tuple[int, int]], gap: int) -> None:
        """A hint: these ranges will be streamed in this order; those closer than `gap` may come together."""

    def close(self) -> None: ...


class FileSource:
    """A file of this computer."""

    requests = 0

    def __init__(self, path: Path, report: Report = silent) -> None:
        self.path = path
        self.name = str(path)
        self.bytes_read = 0
        self._report = report
        try:
            self._file = path.open("rb", buffering=0)
            self.size = os.fstat(self._file.fileno()).st_size
        except OSError as error:
            raise WheelError(f"cannot read {path}: {error.strerror}", hint="check the path and its permissions") from (
                error
            )

    def read(self, offset: int, length: int) -> bytes:
        return b"".join(self.stream(offset, length))

    def stream(self, offset: int, length: int) -> Iterator[bytes]:
        left = length
        try:
            self._file.seek(offset)
            while left > 0:
                chunk = self._file.read(min(CHUNK, left))
                if not chunk:
                    raise IntegrityError(
                        f"{self.name} ends {left} bytes early", hint="the file is cut off: download it again"
                    )
                left -= len(chunk)
                offset += len(chunk)
                self.bytes_read += len(chunk)
                self._report(len(chunk))
                yield chunk
                self._file.seek(offset)  # another reader may have moved it
        except OSError as error:
            raise WheelError(f"cannot read {self.name}: {error.strerror}", hint="check the disk it is on") from error

    def expect(self, ranges: list[tuple[int, int]], gap: int) -> None:
        """Nothing is gained by it on a disk."""

    def close(self) -> None:
        self._file.close()
