"""Members of really published wheels, read by ranges from the user's index: a gigabyte is never fetched for a text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from tests import usersettings
from torchpick.errors import TorchpickError
from torchpick.index import locate
from torchpick.index.client import Client
from torchpick.index.locate import WheelTarget
from torchpick.index.remote import RemoteSource
from torchpick.wheels.archive import Archive

TARGET = WheelTarget(version="3.12", platform="linux-x86_64", glibc="2.39")
_MOST = 8 << 20


@contextmanager
def archive(requirement: str) -> Iterator[Archive]:
    """The wheel for CPython 3.12 on Linux; the test is skipped where the index does not give it."""
    try:
        found = locate.locate(requirement, TARGET, usersettings.fetching())
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
