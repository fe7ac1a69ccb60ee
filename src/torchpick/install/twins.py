"""Two packages that install the same module: the installer is kept from the one that would overwrite the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from torchpick.decide.stacknotes import same_module
from torchpick.installers.jobs import Job
from torchpick.model.package import PackageFacts, doubles


def apart(job: Job, versions: Iterable[str], known: Mapping[str, PackageFacts], *, leaves_out: bool) -> Job:
    """The job without what would double a package that it installs; `leaves_out` says that the installer can do so.

    A double that is installed already shares its files with the other: both must go first, and that is said.
    """
    names = [*versions]
    named = [each.name for each in job.asked.wanted if each.name in names]
    found = doubles((*named, *names), names, known)
    notes = [note for note in job.notes if note.code != "SAME_MODULE"]
    there = job.target.installed
    notes += [same_module(name, stays, left_out=leaves_out and name not in there) for name, stays in found.items()]
    kept = {name: version for name, version in job.held.items() if name not in found}
    return job._replace(left_out=tuple(found) if leaves_out else (), held=kept, notes=tuple(notes))
