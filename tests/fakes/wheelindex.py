"""A user's own index, made from a dict of projects, versions and what each requires: in a folder, or as a site.

In a folder it is read through `file://` by torchpick, pip and uv alike. As a site its pages are JSON with upload times.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from html import escape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from tests.fakes.loopback import Answer
from tests.fakes.tinywheel import TinyWheel

_EXTRA = re.compile(r"extra == ['\"]([^'\"]+)['\"]")


class Source(Enum):
    """What an sdist says of its requirements: finally, as a guess that a build may change, or nothing at all."""

    FINAL = "PKG-INFO"
    EGG_INFO = "requires.txt"
    SILENT = ""


class Release(NamedTuple):
    """One version of a project: a wheel for each tag, and an sdist where a kind of it is given."""

    requires: Sequence[str] = ()
    tags: Sequence[str] = ("py3-none-any",)
    source: Source | None = None
    yanked: str | None = None
    requires_python: str | None = None
    uploaded: str | None = None
    files: Mapping[str, str | bytes] = {}

    @property
    def extras(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(extra for line in self.requires for extra in _EXTRA.findall(line)))


Projects = Mapping[str, Mapping[str, Sequence[str] | Release]]


class IndexFile(NamedTuple):
    """A file of a release, with its METADATA where that is served beside it."""

    name: str
    content: bytes
    release: Release
    metadata: bytes | None = None

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


class WheelIndex:
    """Its files by project. Called as a site: `/simple/<project>/`, `/files/<file>`, 404 for what is not there."""

    def __init__(self, projects: Projects) -> None:
        self.files: dict[str, list[IndexFile]] = {}
        self.add(projects)

    def add(self, projects: Projects) -> None:
        for name, versions in projects.items():
            files = self.files.setdefault(name, [])
            for version, said in versions.items():
                release = said if isinstance(said, Release) else Release(said)
                files += _files(name, version, release)

    def write(self, folder: Path) -> str:
        """The address of the index in this folder."""
        for project, files in self.files.items():
            (folder / project).mkdir(parents=True, exist_ok=True)
            for file in files:
                (folder / project / file.name).write_bytes(file.content)
            (folder / project / "index.html").write_text(_html(files), "utf-8")
        return folder.absolute().as_uri()

    def __call__(self, path: str) -> Answer:
        kind, _, name = path.strip("/").partition("/")
        if kind == "simple" and name in self.files:
            page = json.dumps(_json(name, self.files[name])).encode()
            return Answer(200, page, {"Content-Type": "application/vnd.pypi.simple.v1+json"})
        for file in (file for files in self.files.values() for file in files) if kind == "files" else ():
            if name == file.name:
                return Answer(200, file.content)
            if name == f"{file.name}.metadata" and file.metadata is not None:
                return Answer(200, file.metadata)
        return Answer(404)


def _files(name: str, version: str, release: Release) -> Iterator[IndexFile]:
    for tag in release.tags:
        wheel = TinyWheel(
            name, version, tag, tuple(release.requires), release.extras, release.files, release.requires_python
        )
        yield IndexFile(wheel.filename, wheel.content, release, wheel.metadata)
    if release.source is not None:
        yield IndexFile(f"{name.replace('-', '_')}-{version}.tar.gz", _sdist(name, version, release), release)


def _sdist(name: str, version: str, release: Release) -> bytes:
    stem = f"{name.replace('-', '_')}-{version}"
    final = release.source is Source.FINAL
    lines = [f"Metadata-Version: {'2.2' if final else '2.1'}", f"Name: {name}", f"Version: {version}"]
    if release.requires_python:
        lines.append(f"Requires-Python: {release.requires_python}")
    if final:
        lines += [f"Provides-Extra: {extra}" for extra in release.extras]
        lines += [f"Requires-Dist: {line}" for line in release.requires]
    members = {f"{stem}/setup.py": "import setuptools\nsetuptools.setup()\n", f"{stem}/PKG-INFO": "\n".join(lines)}
    if release.source is Source.EGG_INFO:
        members[f"{stem}/{name.replace('-', '_')}.egg-info/requires.txt"] = "\n".join(release.requires)
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for path, text in members.items():
            body = f"{text}\n".encode()
            member = tarfile.TarInfo(path)
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    return stream.getvalue()


def _html(files: Sequence[IndexFile]) -> str:
    links = []
    for file in files:
        said = {"data-requires-python": file.release.requires_python, "data-yanked": file.release.yanked}
        words = "".join(f' {key}="{escape(value)}"' for key, value in said.items() if value is not None)
        links.append(f'<a href="{quote(file.name)}#sha256={file.sha256}"{words}>{escape(file.name)}</a><br/>')
    return "\n".join(["<!DOCTYPE html>", "<html><body>", *links, "</body></html>", ""])


def _json(project: str, files: Sequence[IndexFile]) -> dict[str, object]:
    def entry(file: IndexFile) -> dict[str, object]:
        release = file.release
        said: dict[str, object] = {
            "filename": file.name, "url": f"../../files/{quote(file.name)}", "hashes": {"sha256": file.sha256},
            "size": len(file.content),
        }  # fmt: skip
        if file.metadata is not None:
            said["core-metadata"] = {"sha256": hashlib.sha256(file.metadata).hexdigest()}
        more = {"requires-python": release.requires_python, "yanked": release.yanked, "upload-time": release.uploaded}
        return {**said, **{key: value for key, value in more.items() if value is not None}}

    return {"meta": {"api-version": "1.1"}, "name": project, "files": [entry(file) for file in files], "versions": []}
