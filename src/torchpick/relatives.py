"""The rest of torch's family (torchcodec, a ROCm triton), found on the wheel host's own pages.

No table pins these, and an installer with a page beside the user's index takes the highest version of either. So the
page is read here, and the very file is named to the installer.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from urllib.parse import unquote, urlsplit

from torchpick.errors import InstallerError, NetworkError
from torchpick.model.machine import Platform
from torchpick.model.noun import Noun
from torchpick.model.specifiers import admits
from torchpick.model.versions import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.wheels.listing import Link
    from torchpick.wheels.names import WheelName

# The page of a project of one backend has some hundred links; metadata is a few kB.
MOST_BYTES = 16 << 20
Read = Callable[[str], bytes]
_TRITON = re.compile(r"Requires-Dist:\s*((?:pytorch-)?triton(?:-rocm|-xpu)?)\s*\(?([^;)\n]*)", re.IGNORECASE)


class Place(Noun):
    """Where a pick's wheels are for: the Python's tag, and the platform they must run on."""

    tag: str
    platform: Platform


def find(name: str, specifier: str, page: str, place: Place, read: Read) -> str:
    """The address of the newest wheel that suits, with its hash where the page tells it."""
    from torchpick.wheels import listing

    links = [link for link in listing.parse(read(page), page) if link.wheel.project == name and suits(link, place)]
    fitting = [link for link in links if admits(specifier)(link.wheel.version)]
    if not fitting:
        shown = sorted({link.wheel.version for link in links})[-5:]
        there = f"it has {', '.join(shown)} for this Python" if shown else "it has none for this Python"
        hint = f"leave {name} out, or install it on its own afterwards"
        raise InstallerError(f"{page} has no {name}{specifier} that fits: {there}", hint=hint, code="NOT_ON_PAGE")
    best = max(fitting, key=lambda link: (order(link.wheel.version), link.file))
    return best.url + (f"#sha256={best.sha256}" if best.sha256 else "")


def triton_of(wheel: str, read: Read) -> Mapping[str, str]:
    """The triton that a torch wheel requires and its specifier, from the metadata file beside the wheel."""
    text = read(f"{wheel}.metadata").decode("utf-8", "replace")
    return {match[1].lower(): match[2].strip() for match in _TRITON.finditer(text)}


def order(version: str) -> tuple[tuple[int, ...], str]:
    """Newest last; a final release after its own pre-releases."""
    plain, _, _ = version.partition("+")
    digits = re.match(r"\d+(?:\.\d+)*", plain)
    release = numbers(digits[0]) if digits else ()
    rest = plain[digits.end() :] if digits else plain
    return (*release, 1 if not rest or rest.startswith(".post") else 0), rest


def suits(link: Link, place: Place) -> bool:
    from torchpick.wheels import names

    wheel = link.wheel
    if link.yanked is not None or not _python_suits(wheel, place.tag):
        return False
    for platform in wheel.platform.split("."):
        if platform == "any":
            return True
        glibc = names.glibc_of(platform)
        new_enough = glibc is None or place.platform.glibc is None or numbers(glibc) <= numbers(place.platform.glibc)
        if names.platform_of(platform) == place.platform.name and new_enough:
            return True
    return False


def _python_suits(wheel: WheelName, tag: str) -> bool:
    """The same Python, any Python 3, or the stable ABI of an older one."""
    pythons, plain = wheel.python.split("."), tag.rstrip("t")
    if wheel.abi == "none" and {"py3", "py2.py3", plain} & set(pythons):
        return True
    if wheel.abi == "abi3" and not tag.endswith("t"):
        return any(each.startswith("cp3") and int(each[3:] or 0) <= int(plain[3:]) for each in pythons)
    return plain in pythons and wheel.abi in (tag, f"{tag}m")


def read(url: str) -> bytes:
    """A small file of the wheel host or a mirror; a folder's page is its index.html where the mirror is a folder."""
    if url.startswith("file:"):
        path = unquote(urlsplit(url).path)
        path = os.path.join(path, "index.html") if os.path.isdir(path) else path
        try:
            with open(path, "rb") as stream:
                return stream.read(MOST_BYTES)
        except OSError as error:
            raise NetworkError(f"{url}: cannot be read: {error.strerror}", hint="check `--index-base`") from error
    import httpx

    from torchpick.wheels import web

    name = web.redacted(url)
    try:
        with web.client() as client, client.stream("GET", url) as response:
            if response.status_code != 200:
                raise web.refusal(name, response.status_code)
            content = b""
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > MOST_BYTES:
                    raise NetworkError(f"{name}: is larger than {MOST_BYTES >> 20} MiB", hint="check `--index-base`")
            return content
    except httpx.HTTPError as error:
        raise web.failure(name, error) from error
