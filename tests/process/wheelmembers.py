"""Members of really published wheels, read by ranges from the user's index: a gigabyte is never fetched for a text."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import lru_cache
from urllib.parse import urljoin

import pytest
from packaging.utils import parse_sdist_filename

from tests import usersettings
from torchpick.errors import TorchpickError
from torchpick.index import index_places
from torchpick.index.client import Client
from torchpick.index.ranges import Archive, RemoteSource
from torchpick.model.versions import parsed
from torchpick.wheels import inspect_target
from torchpick.wheels.inspect_target import ReadOptions

TARGET = ReadOptions(python="3.12", platform="linux-x86_64", glibc="2.39")
_MOST = 8 << 20


@contextmanager
def archive(requirement: str) -> Iterator[Archive]:
    """The wheel for CPython 3.12 on Linux; the test is skipped where the index does not give it."""
    try:
        found = inspect_target.locate(parsed(requirement), TARGET, usersettings.fetching())
        client = Client(environ=usersettings.fetching())
        source = RemoteSource(found.url, client)
        wheel = Archive(source)
    except TorchpickError as error:
        pytest.skip(f"the package index does not give it: {error.message}")
    with client, closing(source):
        yield wheel


def texts(requirement: str, *names: str) -> dict[str, str]:
    """The text of these members, by their names; one that is not there is left out."""
    with archive(requirement) as wheel:
        return {
            name: wheel.read(member, _MOST).decode("utf-8", "replace") for name, member in wheel.find(*names).items()
        }


def data(requirement: str, name: str) -> bytes:
    """One member as it is."""
    with archive(requirement) as wheel:
        return wheel.read(wheel.find(name)[name], _MOST)


@lru_cache(maxsize=1)
def sdist(project: str) -> tarfile.TarFile:
    """The newest source distribution, which is read and never built; skipped where no index gives one."""
    environ = usersettings.fetching()
    with Client(environ=environ) as client:
        for index in index_places.of_user(environ, None).indexes:
            page = f"{index.rstrip('/')}/{project}/"
            links = _archives(page, client)
            if links:
                newest = max(links, key=lambda link: parse_sdist_filename(link.rpartition("/")[2])[1])
                with closing(RemoteSource(newest, client)) as source:
                    return tarfile.open(fileobj=io.BytesIO(source.read(0, source.size)))
    pytest.skip(f"no package index gives the source of {project}")


def _archives(page: str, client: Client) -> list[str]:
    """The addresses of the source distributions on a page; none where it cannot be had."""
    try:
        answer = client.get(page)
    except TorchpickError:
        return []
    if answer.status != 200:
        return []
    return [urljoin(page, href) for href in re.findall(r'href="([^"#]+\.tar\.gz)', answer.body.decode())]


def source_text(project: str, name: str) -> str:
    """A file of the newest source distribution, named from its root."""
    archive = sdist(project)
    root = archive.getnames()[0].partition("/")[0]
    member = archive.extractfile(f"{root}/{name}")
    assert member is not None, f"{project} has no {name} any more"
    return member.read().decode("utf-8", "replace")
