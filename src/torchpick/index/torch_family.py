"""The rest of torch's family (torchcodec, a ROCm triton), found on the wheel host's own pages.

No table pins these, and an installer with a page beside the user's index takes the highest version of either. So the
page is read here, and the installer is given the exact file.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping

from torchpick.errors import InstallerError
from torchpick.model.machine import Platform
from torchpick.model.noun import Noun
from torchpick.model.redaction import redacted
from torchpick.model.versions import admits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packaging.version import Version

    from torchpick.index.listing import Link

Read = Callable[[str], bytes]
_UNFIT = sys.maxsize
_TRITON = re.compile(r"Requires-Dist:\s*((?:pytorch-)?triton(?:-rocm|-xpu)?)\s*\(?([^;)\n]*)", re.IGNORECASE)


class Place(Noun):
    """Where a pick's wheels are for: the Python's tag, and the platform they must run on."""

    tag: str
    platform: Platform


def best(name: str, specifier: str, listed: Iterable[Link], page: str, place: Place) -> str:
    """The address of the newest wheel that suits, with its hash if the page has it; the page is only named."""
    links = [link for link in listed if link.wheel.project == name and suits(link, place)]
    fitting = [link for link in links if admits(specifier)(link.wheel.version)]
    if not fitting:
        shown = sorted({link.wheel.version for link in links})[-5:]
        there = f"it has {', '.join(shown)} for this Python" if shown else "it has none for this Python"
        hint = f"remove {name}, or install it separately afterwards"
        raise InstallerError(
            f"{redacted(page)} has no {name}{specifier} that fits: {there}", hint=hint, code="NOT_ON_PAGE"
        )
    # Of one version the one whose tags suit best, and never another because of its build tag.
    newest = max(fitting, key=lambda link: (order(link.wheel.version), -_rank(link, place), link.file))
    return newest.url + (f"#sha256={newest.sha256}" if newest.sha256 else "")


def triton_of(wheel: str, read: Read) -> Mapping[str, str]:
    """The triton that a torch wheel requires and its specifier, from the metadata file beside the wheel."""
    text = read(f"{wheel}.metadata").decode("utf-8", "replace")
    return {match[1].lower(): match[2].strip() for match in _TRITON.finditer(text)}


def order(version: str) -> Version:
    """Newest last: 0.0.33 < 0.0.33.post2 < 0.0.33.post10; a text that is not a version comes first."""
    from packaging.version import InvalidVersion, Version

    try:
        return Version(version.partition("+")[0])
    except (InvalidVersion, ValueError):  # ValueError: more digits than int() takes
        return Version("0.dev0")


def suits(link: Link, place: Place) -> bool:
    return link.yanked is None and _rank(link, place) < _UNFIT


def _rank(link: Link, place: Place) -> int:
    """How well its tags suit, 0 the best."""
    from torchpick.index import tags

    rank = tags.rank(link.wheel, place.tag, place.platform)
    return _UNFIT if rank is None else rank


def read(url: str) -> bytes:
    """A small file of the wheel host or a mirror."""
    from torchpick.index import pages
    from torchpick.index.client import Client

    with Client() as client:
        return pages.text(url, client)
