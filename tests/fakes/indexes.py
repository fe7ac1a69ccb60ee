"""Package indexes as sites: the wheel host's layout, and a user's own index.

The layout is that of the wheel host as its page generator and captured pages show it: `/whl/<backend>/<project>/`,
`%2B` in every href, hrefs to a second host, sha256 and sidecar hashes where they are known, 403 for what is not there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from packaging.requirements import Requirement

from tests.fakes.loopback import Answer
from tests.fakes.tinywheel import TinyWheel
from torchpick.index.client import Client, Reply
from torchpick.index.pages import ProjectFile
from torchpick.install.env import links_page
from torchpick.knowledge.packages import KnownPackages
from torchpick.model.build import TRIO
from torchpick.model.versions import normal

WHEEL_HOST = "download.pytorch.org"
FILE_HOST = "download-r2.pytorch.org"
VENDOR_HOSTS = (
    "stable.repo.amd.com", "pypi.nvidia.com", "pypi.jetson-ai-lab.io", "developer.download.nvidia.com",
)  # fmt: skip
_HTML = {"Content-Type": "text/html"}
_COMPAT = Path(__file__).parents[2] / "compat"


def serve(patch: pytest.MonkeyPatch, page_of: Callable[[str], Iterable[ProjectFile] | None]) -> None:
    """In place of all servers: by the address of a page the files that it lists."""

    def get(_client: Client, url: str, *_headers: object, absent: bool = False) -> Reply:
        files = page_of(url)
        status, text = (404, "") if files is None and absent else (200, links_page(files or ()))
        return Reply(url, status, httpx.Headers({}), iter(()), lambda: None, text.encode())

    patch.setattr(Client, "get", get)


class WheelHost:
    """Pages and files of the wheel host; the same files answer on both of its names."""

    def __init__(self, *, hashes: bool = True, files_at: str = f"https://{FILE_HOST}", dates: bool = False) -> None:
        self.hashes = hashes
        self.files_at = files_at
        self.dates = dates
        self.wheels: dict[tuple[str, str], list[TinyWheel]] = {}

    def add(self, backend: str, *wheels: TinyWheel) -> None:
        for wheel in wheels:
            self.wheels.setdefault((backend, wheel.name), []).append(wheel)

    def __call__(self, path: str) -> Answer:
        parts = path.strip("/").split("/")
        if len(parts) == 3 and parts[0] == "whl" and path.endswith("/"):
            wheels = self.wheels.get((parts[1], parts[2]))
            return Answer(403) if wheels is None else Answer(200, self._page(parts[1], parts[2], wheels), _HTML)
        if len(parts) == 3 and parts[0] == "whl":
            return self._file(parts[1], parts[2])
        return Answer(403)

    def _file(self, backend: str, file: str) -> Answer:
        for (where, _), wheels in self.wheels.items():
            for wheel in wheels:
                if where == backend and file == wheel.filename:
                    return Answer(200, wheel.content)
                if where == backend and file == f"{wheel.filename}.metadata":
                    return Answer(200, wheel.metadata)
        return Answer(403)

    def _page(self, backend: str, project: str, wheels: Iterable[TinyWheel]) -> bytes:
        lines = []
        for wheel in wheels:
            digest = f"#sha256={hashlib.sha256(wheel.content).hexdigest()}" if self.hashes else ""
            sidecar = f"sha256={hashlib.sha256(wheel.metadata).hexdigest()}"
            date = ' data-upload-time="2026-06-01T00:00:00+00:00"' if self.dates else ""
            href = f"{self.files_at}/whl/{backend}/{quote(wheel.filename)}{digest}"
            lines.append(
                f'<a href="{href}" data-dist-info-metadata="{sidecar}" data-core-metadata="{sidecar}"{date}>'
                f"{wheel.filename}</a><br/>"
            )
        return (
            f"<!DOCTYPE html>\n<html>\n  <body>\n    <h1>Links for {project}</h1>\n    "
            + "\n    ".join(lines)
            + "\n  </body>\n</html>\n<!--TIMESTAMP 1785888000-->\n"
        ).encode()


class SimpleIndex:
    """A user's own index: `/simple/<project>/`, files beside it, 404 for what is not there."""

    def __init__(self, *wheels: TinyWheel) -> None:
        self.wheels: dict[str, list[TinyWheel]] = {}
        self.add(*wheels)

    def add(self, *wheels: TinyWheel) -> None:
        for wheel in wheels:
            self.wheels.setdefault(wheel.name, []).append(wheel)

    def __call__(self, path: str) -> Answer:
        parts = path.strip("/").split("/")
        if len(parts) == 2 and parts[0] == "simple" and parts[1] in self.wheels:
            return Answer(200, self._page(self.wheels[parts[1]]), _HTML)
        if len(parts) == 2 and parts[0] == "files":
            for wheel in (each for wheels in self.wheels.values() for each in wheels):
                if parts[1] == wheel.filename:
                    return Answer(200, wheel.content)
                if parts[1] == f"{wheel.filename}.metadata":
                    return Answer(200, wheel.metadata)
        return Answer(404)

    def _page(self, wheels: Iterable[TinyWheel]) -> bytes:
        lines = []
        for wheel in wheels:
            digest = hashlib.sha256(wheel.content).hexdigest()
            sidecar = f"sha256={hashlib.sha256(wheel.metadata).hexdigest()}"
            lines.append(
                f'<a href="../../files/{quote(wheel.filename)}#sha256={digest}" data-core-metadata="{sidecar}"'
                f' data-dist-info-metadata="{sidecar}">{wheel.filename}</a><br/>'
            )
        return ("<!DOCTYPE html><html><body>\n" + "\n".join(lines) + "\n</body></html>").encode()


def of_table(*names: str, needed: Iterable[str] = ()) -> tuple[TinyWheel, ...]:
    """A wheel of each version of these projects that the table has, and of what these others need beside it."""
    known = KnownPackages({"TORCHPICK_COMPAT_DIR": str(_COMPAT)}, "linux-x86_64")
    rows = [row for name in names for row in known[name].versions if not row.place]
    made = {(row.name, row.version) for row in rows}
    for need in (Requirement(text) for name in needed for row in known[name].versions for text in row.requires):
        if need.name not in known and need.name not in TRIO:
            made.add((normal(need.name), version_of(need)))
    return tuple(TinyWheel(name, version) for name, version in sorted(made))


def version_of(need: Requirement) -> str:
    """A version that the requirement allows: a new one, or one that it names."""
    named = [part.version.removesuffix(".*") for part in need.specifier]
    candidates = ("99.0", *named, *(f"{version}.1" for version in named), "0.1")
    return next(version for version in candidates if need.specifier.contains(version, prereleases=True))


def table_without_hashes(folder: Path) -> Path:
    """The table of the program but for the hashes of files: the wheels here have their names, and other bytes."""
    made = folder / "compat"
    made.mkdir()
    for each in _COMPAT.iterdir():
        (made / each.name).symlink_to(each)
    (made / "files.json").unlink()
    (made / "files.json").write_text('{"schema": 1, "files": {}}', "utf-8")
    return made
