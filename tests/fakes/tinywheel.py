"""Wheels of a few hundred bytes: real enough for pip and uv, with nothing in them."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

# A fixed date keeps the bytes, and so the hashes, the same in every run.
_DATE = (2026, 1, 1, 0, 0, 0)


class TinyWheel(NamedTuple):
    """One distribution file; `files` are its modules."""

    name: str
    version: str
    tag: str = "py3-none-any"
    requires: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    files: Mapping[str, str | bytes] = {}
    requires_python: str | None = None

    @property
    def stem(self) -> str:
        return f"{self.name.replace('-', '_')}-{self.version}"

    @property
    def filename(self) -> str:
        return f"{self.stem}-{self.tag}.whl"

    @property
    def metadata(self) -> bytes:
        lines = ["Metadata-Version: 2.1", f"Name: {self.name}", f"Version: {self.version}"]
        if self.requires_python:
            lines.append(f"Requires-Python: {self.requires_python}")
        lines += [f"Provides-Extra: {extra}" for extra in self.extras]
        lines += [f"Requires-Dist: {requirement}" for requirement in self.requires]
        return ("\n".join(lines) + "\n").encode()

    @property
    def content(self) -> bytes:
        python, abi, platforms = self.tag.split("-")[-3:]  # a build tag may stand before them
        tags = "".join(f"Tag: {python}-{abi}-{platform}\n" for platform in platforms.split("."))
        info = f"{self.stem}.dist-info"
        files = {
            f"{self.name.replace('-', '_')}/__init__.py": f"__version__ = {self.version!r}\n".encode(),
            **{path: text.encode() if isinstance(text, str) else text for path, text in self.files.items()},
            f"{info}/METADATA": self.metadata,
            f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: tiny\nRoot-Is-Purelib: true\n{tags}".encode(),
        }
        return _archive(f"{info}/RECORD", tuple(files.items()))


@lru_cache(maxsize=256)  # a client asks for it by ranges, again and again
def _archive(record: str, files: tuple[tuple[str, bytes], ...]) -> bytes:
    lines = [f"{path},sha256={_digest(body)},{len(body)}" for path, body in files]
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for path, body in (*files, (record, ("\n".join([*lines, f"{record},,"]) + "\n").encode())):
            archive.writestr(zipfile.ZipInfo(path, _DATE), body)
    return stream.getvalue()


def _digest(body: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode()
