"""The wish that flags and variables state, and what in it is an error."""

from __future__ import annotations

from torchpick.errors import UsageError
from torchpick.model.build import FAMILIES, WHEEL_HOST, Build
from torchpick.model.request import Request, Wish

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def of(request: Request, environ: Mapping[str, str]) -> Wish:
    """The wish of flags and variables; what the requirements add is `demands.narrowed`."""
    named = map(str.strip, environ.get("TORCHPICK_BACKEND", "").split(","))
    backends = request.backends or tuple(filter(None, named))
    if request.cpu:
        if request.backends and set(request.backends) != {"cpu"}:
            hint = "`--cpu` means `--backend cpu`; `--allow-cpu` picks it only if nothing else runs"
            raise UsageError(f"`--cpu` contradicts `--backend {request.backends[0]}`", hint=hint)
        backends = ("cpu",)
    backends = tuple(map(_as_named, backends))
    if unknown := [backend for backend in backends if not is_backend(backend) and backend not in FAMILIES]:
        hint = "such as cu126, cuda, cpu, rocm7.2, rocm or xpu; `torchpick list --all` shows all"
        raise UsageError(f"unknown backend `{unknown[0]}`", hint=hint)
    base = request.index_base if request.index_base is not None else environ.get("TORCHPICK_INDEX_BASE") or WHEEL_HOST
    return Wish(
        backends=backends,
        channel=request.channel,
        index_base=_base(base),
        allow_cpu=request.allow_cpu,
        allow_unconfirmed=request.allow_unconfirmed,
        whole=request.whole,
    )


def _as_named(backend: str) -> str:
    """`cuda12.6`, `12.6` and `CU126` as the index names it."""
    digits = backend.lower().removeprefix("cuda").removeprefix("cu").strip("- ").replace(".", "")
    return f"cu{digits}" if digits.isdigit() else backend.lower()


def takes(wish: Wish, build: Build) -> bool:
    """Whether a build is of a backend that was asked for, or none was."""
    named = {build.backend, build.family} & {*wish.backends}
    return bool(named or not wish.backends or (wish.allow_cpu and build.backend == "cpu"))


def is_backend(text: str) -> bool:
    """Whether the text has the form of a backend's name."""
    kind, digits = text.rstrip("0123456789."), text.lstrip("abcdefghijklmnopqrstuvwxyz")
    return text in ("cpu", "xpu", "default") or (kind == "cu" and digits.isdigit()) or (kind == "rocm" and bool(digits))


def _base(url: str) -> str:
    if url == WHEEL_HOST:
        return url  # without a look, which a start would pay for
    hint = "such as https://mirror.example/whl, file:///srv/whl, or flat+https://… for one flat page"
    try:
        url = _address(url)
    except ValueError as error:
        raise _refused(url, "is not a valid mirror URL", hint) from error
    scheme, mark, rest = url.removeprefix("flat+").partition("://")
    known = bool(mark and rest) and scheme in ("https", "http", "file")
    if not known or not _has_host(rest):
        raise _refused(url, "is not a valid mirror URL", hint)
    if url.startswith("flat+"):
        return url  # one page, whose links are relative to it as it is spelled
    if "?" in rest or "#" in rest:
        hint = "remove what follows the path; credentials go before the host or into netrc"
        raise _refused(url, "has a query or a fragment, so no backend can be added to it", hint)
    return url.rstrip("/")


def _address(url: str) -> str:
    from torchpick.model.address import Address

    return str(Address(url))


def _refused(url: str, why: str, hint: str) -> UsageError:
    from torchpick.model.redaction import redacted  # one file more for each `url`

    # On one line, as in free text a line's end is the end of a password, too.
    return UsageError(f"`{redacted(' '.join(url.split()))}` {why}", hint=hint)


def _has_host(rest: str) -> bool:
    """Whether a URL with this behind its scheme can be read: brackets in its host hold an IPv6 address."""
    host = rest.partition("/")[0].rpartition("@")[2]
    if "[" not in host and "]" not in host:
        return True
    from ipaddress import IPv6Address

    inside, closed, port = host.removeprefix("[").partition("]")
    try:
        IPv6Address(inside)
    except ValueError:
        return False
    return host.startswith("[") and bool(closed) and port.removeprefix(":").isdigit() == bool(port)
