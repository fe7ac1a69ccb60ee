"""Where each file of a run comes from, and whether that is where it must come from. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from torchpick.errors import InstallerError
from torchpick.installers import jobs
from torchpick.installers.jobs import TRITONS, Job
from torchpick.installers.reporting import Item
from torchpick.model.build import COMPANIONS, is_on_host_of, is_wheel_host
from torchpick.model.machine import Note
from torchpick.model.redaction import redacted
from torchpick.model.versions import first_three

# What only the wheel host (or the mirror that stands for it) may supply.
_STRICT = frozenset({"torch", *COMPANIONS})


def host_of(url: str) -> str:
    """The host that a file comes from, or the folder."""
    parts = urlsplit(url)
    return parts.hostname or (parts.path.rpartition("/")[0] if parts.scheme in ("", "file") else url)


def note(job: Job) -> Note:
    """Which host each file comes from, for the files that a resolution named and for torch's family."""
    index = job.pick.index_url.removeprefix("flat+")
    family = {name: index for name in jobs.concerned(job) if name not in _given(job)} | dict(job.files)
    hosts: dict[str, list[str]] = {}
    for name, url in {**{item.name: item.url for item in job.taken}, **family}.items():
        hosts.setdefault(host_of(url), []).append(name)
    said = "; ".join(f"{first_three(sorted(names))} from {host}" for host, names in sorted(hosts.items()) if host)
    return Note("HOSTS_CHECKED", f"checked before the start: {said}")


def check(items: Iterable[Item], job: Job, family: Iterable[str]) -> None:
    """Raise where one of torch's family comes from elsewhere, or anything else from the wheel host."""
    index, base = job.pick.index_url, job.pick.wish.index_base
    given = _given(job)
    for item in items:
        named = job.files.get(item.name, "").partition("#")[0]
        from_index = item.url.partition("#")[0] == named or is_from(item.url, index)
        if index and item.name in _STRICT and item.name not in given and not from_index:
            raise _wrong(item, f"and only {redacted(index)} may supply it")
        if item.name not in {*family, *TRITONS, *given} and is_wheel_host(item.url, base):
            raise _wrong(item, "and that host supplies nothing but torch's family here")


def _given(job: Job) -> set[str]:
    """The projects whose files the user named."""
    return {each.name for each in job.asked.wanted if each.place}


def is_from(url: str, index: str) -> bool:
    """Whether a file comes from the wheel host, or from the mirror that stands for it."""
    return is_wheel_host(url) or is_on_host_of(url, index)


def _wrong(item: Item, why: str) -> InstallerError:
    message = f"{item.name} {item.version} would come from {redacted(item.url)}, {why}"
    hint = f"remove the index that leads there; if you mean that file, ask for it by its address: `{item.name} @ URL`"
    return InstallerError(message, hint=hint, code="WRONG_HOST")
