"""What the tests take over from the settings of whoever runs them: where packages come from, and nothing else.

Their constraints, targets, cooldowns and configuration files would change what a test sees, so a test starts without
them. A fixture that fetches a real tool still has to use their index, their proxy and their certificates.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from configparser import RawConfigParser
from pathlib import Path

import pytest

from torchpick.environment import toolsettings

# As the run began, before any test's environment is cleared.
ORIGINAL = dict(os.environ)

_PIP_OPTIONS = (
    "index-url", "extra-index-url", "find-links", "no-index", "trusted-host", "cert", "client-cert", "proxy", "timeout",
    "default-timeout", "retries", "keyring-provider", "disable-pip-version-check",
)  # fmt: skip
_UV_VARIABLES = (
    "UV_INDEX", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_NATIVE_TLS",
    "UV_SYSTEM_CERTS", "UV_INSECURE_HOST", "UV_HTTP_TIMEOUT", "UV_KEYRING_PROVIDER",
)  # fmt: skip
_NETWORK = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NETRC")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_MACHINE = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "PYENV_ROOT", "USER", "LOGNAME")
# pip reads this file, and uv its own, whatever the environment says.
_FIXED = ("/etc/pip.conf", "/etc/uv/uv.toml")
_HARMLESS = {
    "cert", "client-cert", "timeout", "default-timeout", "retries", "trusted-host", "disable-pip-version-check",
}  # fmt: skip


def _variable(option: str) -> str:
    return "PIP_" + option.upper().replace("-", "_")


def index_settings(original: Mapping[str, str] = ORIGINAL, prefix: str = sys.prefix) -> dict[str, str]:
    """The variables that lead pip and uv to the user's index: from the environment, else from pip's files."""
    home = original.get("HOME") or os.path.expanduser("~")
    files = toolsettings.read_pip_settings(original, prefix, home)
    found = {_variable(name): " ".join(files[name].words) for name in _PIP_OPTIONS if name in files}
    names = [*map(_variable, _PIP_OPTIONS), *_UV_VARIABLES, *_NETWORK, *_PROXIES, *map(str.upper, _PROXIES)]
    return found | {name: original[name] for name in names if name in original}


def fetching(original: Mapping[str, str] = ORIGINAL, prefix: str = sys.prefix) -> dict[str, str]:
    """An environment in which pip and uv fetch from the user's index and obey nothing else of the user's."""
    kept = {name: original[name] for name in _MACHINE if name in original}
    return {**kept, **index_settings(original, prefix), "PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1"}


def take_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test of this process reach the user's index."""
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)  # tests/conftest.py's, which trusts nobody
    for name, value in index_settings().items():
        monkeypatch.setenv(name, value)


def nothing(folder: Path) -> dict[str, str]:
    """Variables that lead to a home, configuration and temporary files in which there is nothing."""
    places = {"HOME": folder / "home", "XDG_CONFIG_DIRS": folder / "config", "TMPDIR": folder / "tmp"}
    for place in places.values():
        place.mkdir(parents=True, exist_ok=True)
    return {name: str(place) for name, place in places.items()}


def binding(files: Iterable[str] = _FIXED) -> str:
    """Why real installers cannot be tested on this computer, in words; empty where they can."""
    for file in files:
        path = Path(file)
        if path.name == "uv.toml" and path.exists():
            return f"{file} binds every uv on this computer"
        if path.name == "pip.conf" and path.exists():
            parser = RawConfigParser()
            parser.read(path)
            options = {option for section in ("global", "install") if section in parser for option in parser[section]}
            bound = options - _HARMLESS
            if bound:
                return f"{file} binds every pip on this computer: {', '.join(sorted(bound))}"
    return ""
