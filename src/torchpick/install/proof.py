"""Where each file of a run comes from, and whether that is where it must come from. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from torchpick.environment.settings import is_wheel_index
from torchpick.errors import InstallerError
from torchpick.installers.jobs import TRITONS, Job
from torchpick.installers.reporting import Item
from torchpick.model.build import COMPANIONS
from torchpick.model.redaction import redacted

# What only the wheel host (or the mirror that stands for it) may supply.
_STRICT = frozenset({"torch", *COMPANIONS})


def host_of(item: Item) -> str:
    """The host that a file comes from, or the folder."""
    parts = urlsplit(item.url)
    return parts.hostname or (parts.path.rpartition("/")[0] if parts.scheme in ("", "file") else item.url)


def check(items: Iterable[Item], job: Job, family: Iterable[str]) -> None:
    """Raise where one of torch's family comes from elsewhere, or anything else from the wheel host."""
    index = job.pick.index_url
    given = {each.name for each in job.asked.wanted if each.place}
    for item in items:
        named = job.files.get(item.name, "").partition("#")[0]
        from_index = is_wheel_index(item.url) or item.url.partition("#")[0] == named or _is_below(item.url, index)
        if index and item.name in _STRICT and item.name not in given and not from_index:
            raise _wrong(item, f"and only {redacted(index)} may supply it")
        if item.name not in {*family, *TRITONS} and is_wheel_index(item.url):
            raise _wrong(item, "and that host supplies nothing but torch's family here")


def _is_below(url: str, index: str) -> bool:
    """Whether it comes from a mirror's own host."""
    one, other = urlsplit(url), urlsplit(index.removeprefix("flat+"))
    return (one.scheme, one.netloc.rpartition("@")[2]) == (other.scheme, other.netloc.rpartition("@")[2]) != ("", "")


def _wrong(item: Item, why: str) -> InstallerError:
    message = f"{item.name} {item.version} would come from {redacted(item.url)}, {why}"
    return InstallerError(message, hint="`--dry-run --report` shows all; check the indexes you name", code="WRONG_HOST")
