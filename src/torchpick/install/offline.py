"""Whether pip can do its work without a network: it keeps no packages of its own, so they must lie in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator

from torchpick.errors import InstallerError
from torchpick.installers import dashes, jobs
from torchpick.installers.inherits import OwnSettings
from torchpick.installers.jobs import Job
from torchpick.model.versions import normal


def check(job: Job, own: OwnSettings) -> None:
    """Refuse what pip could only end in a conflict of requirements: that nothing holds what is asked for."""
    places = list(_places(job, own))
    if job.asked.opaque or any("://" in place and not place.startswith("file:") for place in places):
        return  # a page of the user's is asked even with `--no-index`
    there = {normal(file.partition("-")[0]) for place in places for file in _files(place)}
    lacking = [_named(job, name) for name in _wanted(job) if name not in there]
    if lacking:
        hint = (
            "`--installer uv` takes what is in its cache; a folder of wheels goes after `--`, such as "
            "`-- --find-links DIR`, and `--index-base file:///DIR` is a mirror of the wheel host"
        )
        message = f"offline, pip has nothing to install {', '.join(dict.fromkeys(lacking))} from"
        raise InstallerError(message, hint=hint, code="OFFLINE")


def _wanted(job: Job) -> Iterator[str]:
    """What is asked for by name and not installed already, nor named as a file."""
    for each in job.asked.wanted:
        is_there = jobs.stays(job, each.name) if each.name in job.pins else each.name in job.target.installed
        if each.name and not each.place and not is_there and each.name not in job.files:
            yield each.name


def _named(job: Job, name: str) -> str:
    return f"{name} {job.pins[name]}" if name in job.pins else name


def _places(job: Job, own: OwnSettings) -> Iterator[str]:
    """Folders, files and pages of the user's own, which pip asks without an index."""
    if "find-links" in own.pip:
        yield from own.pip["find-links"].words
    yield from dashes.files(job.passed_on, "--find-links")
    for source in job.asked.sources.values():
        yield from (line.value for line in source.entries if line.option == "--find-links")


def _files(place: str) -> list[str]:
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    path = url2pathname(urlsplit(place).path) if place.startswith("file:") else os.path.expanduser(place)
    if not os.path.isdir(path):
        return [os.path.basename(path)]
    try:
        return os.listdir(path)
    except OSError:
        return []
