"""Source archives of a few hundred bytes, whose build says which torch it saw."""

from __future__ import annotations

import io
import tarfile
from typing import NamedTuple

_PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
# A wheel by hand: such a build environment holds nothing but what it is given.
_BACKEND = """\
import zipfile
from importlib.metadata import PackageNotFoundError, version

NAME, VERSION = {name!r}, {version!r}


def build_wheel(folder, config_settings=None, metadata_directory=None):
    try:
        torch = version("torch")
    except PackageNotFoundError:
        torch = "none"
    file, info = f"{{NAME}}-{{VERSION}}-py3-none-any.whl", f"{{NAME}}-{{VERSION}}.dist-info"
    with zipfile.ZipFile(f"{{folder}}/{{file}}", "w") as archive:
        archive.writestr(f"{{NAME}}/built_with.txt", torch)
        archive.writestr(f"{{info}}/METADATA", open("PKG-INFO").read())
        archive.writestr(f"{{info}}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr(f"{{info}}/RECORD", "")
    return file
"""


class TinySource(NamedTuple):
    """One source distribution, as an index has it beside wheels."""

    name: str
    version: str
    requires: tuple[str, ...] = ()

    @property
    def stem(self) -> str:
        return f"{self.name.replace('-', '_')}-{self.version}"

    @property
    def filename(self) -> str:
        return f"{self.stem}.tar.gz"

    @property
    def metadata(self) -> bytes:
        lines = ["Metadata-Version: 2.2", f"Name: {self.name}", f"Version: {self.version}"]
        return "\n".join([*lines, *(f"Requires-Dist: {each}" for each in self.requires), ""]).encode()

    @property
    def content(self) -> bytes:
        backend = _BACKEND.format(name=self.name.replace("-", "_"), version=self.version)
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w") as archive:
            for path, body in (
                ("PKG-INFO", self.metadata),
                ("pyproject.toml", _PROJECT.encode()),
                ("backend.py", backend.encode()),
            ):
                entry = tarfile.TarInfo(f"{self.stem}/{path}")
                entry.size = len(body)
                archive.addfile(entry, io.BytesIO(body))
        import gzip

        return gzip.compress(stream.getvalue(), mtime=0)
