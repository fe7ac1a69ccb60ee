"""What every test has that starts real tools."""

from __future__ import annotations

import shutil

import pytest

from tests.fakes.indexes import FILE_HOST, VENDOR_HOSTS, WHEEL_HOST
from tests.fakes.loopback import Authority


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl command to make certificates with")
    return Authority.make(tmp_path_factory.mktemp("authority"), (WHEEL_HOST, FILE_HOST, *VENDOR_HOSTS))
