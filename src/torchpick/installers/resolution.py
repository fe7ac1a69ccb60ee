"""What the installer's own resolver makes of requirements whose METADATA nobody else can have.

It is offered the builds of torch that run here as stand-ins, with what torch itself requires, and nothing is bound.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from torchpick.environment.requirementline import file_of, requirement
from torchpick.environment.requirements import wheel_of
from torchpick.installers import reporting, store, stubs
from torchpick.installers.job import Job
from torchpick.installers.run import Command
from torchpick.model.build import Build
from torchpick.model.versions import normal, release_key

# `name @ URL` and `name==version`, as uv writes its pins.
_PLACED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])? @ (\S+)")
_PINNED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)")


def resolve(
    resolver: Command,
    job: Job,
    offered: Sequence[Build],
    torch_requirements: Callable[[str], Sequence[str]],
    environ: Mapping[str, str],
) -> Mapping[str, str]:
    """The version of each package; ResolverError, in the resolver's own words, where it refuses."""
    limits = store.file(job.place, "limits", ".txt", file_of([_range(offered)]))
    with stubs.shelf(stubs.of_builds(offered, torch_requirements)) as folder:
        argv = (*resolver.argv, "--find-links", folder, "-c", limits.path)
        report = reporting.said(resolver._replace(argv=argv, files=(*resolver.files, limits)), environ)
    if resolver.installer == "uv":
        return versions_of_pins(report)
    return {item.name: item.version for item in reporting.items(report)}


def _range(offered: Sequence[Build]) -> str:
    """A constraint that keeps the resolver to these builds: the user's index may hold other releases."""
    releases = sorted({build.torch for build in offered}, key=release_key)
    return requirement("torch", f">={releases[0]},<={releases[-1]}" if releases else "==0+nothing.runs.here")


def versions_of_pins(text: str) -> Mapping[str, str]:
    """Uv's `name==version` and `name @ URL` lines."""
    versions: dict[str, str] = {}
    for line in map(str.strip, text.splitlines()):
        if match := _PINNED.match(line):
            versions[normal(match[1])] = match[2]
        elif placed := _PLACED.match(line):
            versions[normal(placed[1])] = wheel_of(placed[2])[1]
    return {name: version for name, version in versions.items() if version}
