"""How the user's computer reaches a server: certificates, credentials and proxies, where pip and uv look for them."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

from torchpick.errors import NetworkError, TorchpickError
from torchpick.model.noun import Noun

# pip: PIP_CERT or `cert`, then requests' own two. uv: SSL_CERT_FILE and SSL_CERT_DIR.
_FILES = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


class Login(Noun):
    user: str
    password: str


def login_of(userinfo: str) -> Login | None:
    """The credentials that stand before the host of a URL."""
    user, _, password = userinfo.partition(":")
    return Login(unquote(user), unquote(password)) if userinfo else None


def netrc(environ: Mapping[str, str]) -> Callable[[str], Login | None]:
    """Credentials by host from the user's netrc, as pip reads it; one that cannot be parsed is ignored."""
    from netrc import NetrcParseError
    from netrc import netrc as parsed

    named = environ.get("NETRC")
    found = None
    with suppress(OSError, RuntimeError, ValueError, NetrcParseError):
        paths = [Path(named)] if named else [Path.home() / ".netrc", Path.home() / "_netrc"]
        path = next((path for path in paths if path.is_file()), None)
        found = None if path is None else parsed(str(path))

    def login(host: str) -> Login | None:
        entry = None if found is None else found.authenticators(host)
        return None if entry is None else Login(entry[0] or "", entry[2] or "")

    return login


def certificates(environ: Mapping[str, str]) -> ssl.SSLContext:
    """The certificates to trust: what the user's settings name, else the system's certificates and certifi's."""
    cert = None if environ.get("PIP_CERT") else _pip_cert(environ)
    return _context(tuple(environ.get(name, "") for name in (*_FILES, "SSL_CERT_DIR")), cert)


@lru_cache(4)  # to read them takes longer than many a wheel, and one command has several clients
def _context(values: tuple[str, ...], cert: str | None) -> ssl.SSLContext:
    environ = dict(zip((*_FILES, "SSL_CERT_DIR"), values, strict=True))
    named: dict[str, str] = {}  # often several name the same file, which takes a while to read
    for name in _FILES:
        if environ.get(name):
            named.setdefault(environ[name], name)
    if cert:
        named.setdefault(cert, "pip's `cert`")
    folders = [folder for folder in environ.get("SSL_CERT_DIR", "").split(os.pathsep) if os.path.isdir(folder)]
    if not named and not folders:
        import certifi

        context = ssl.create_default_context()
        context.load_verify_locations(certifi.where())
        return context
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for place, name in named.items():
        try:
            context.load_verify_locations(**{"capath" if os.path.isdir(place) else "cafile": place})
        except (OSError, ssl.SSLError) as error:
            hint = f"set it to a file of certificates in PEM format, or unset {name}"
            raise NetworkError(f"{name}: cannot read the certificates in {place}: {error}", hint=hint) from error
    for folder in folders:
        context.load_verify_locations(capath=folder)
    return context


def _pip_cert(environ: Mapping[str, str]) -> str | None:
    import sys

    from torchpick.environment import toolsettings

    with suppress(TorchpickError, RuntimeError):  # a broken pip.conf is for pip to report
        setting = toolsettings.pip(environ, sys.prefix, str(Path.home())).get("cert")
        return None if setting is None else os.path.expanduser(" ".join(setting.words))
    return None


def proxy(scheme: str, host: str) -> str | None:
    """The proxy for a host from the environment or the system's settings."""
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    address = proxies.get(scheme) or proxies.get("all")
    if not address or proxy_bypass(host):
        return None
    return address if "://" in address else f"http://{address}"
