"""What the installer's own resolver makes of the requirements, with stand-ins for torch's family.

The family is bound to the builds that are offered, so that no other torch is weighed; nothing is fetched of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from torchpick.environment.requirementline import file_of, requirement
from torchpick.environment.requirements import wheel_of
from torchpick.errors import ResolverError
from torchpick.installers import reporting, store, stubs
from torchpick.installers.job import Job
from torchpick.installers.run import Command
from torchpick.model.build import Build
from torchpick.model.noun import Noun
from torchpick.model.versions import named, normal, release_key

# `name @ URL` and `name==version`, as uv writes its pins.
_PLACED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])? @ (\S+)")
_PINNED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)")


class Resolution(Noun):
    """A version for each package, the packages that need torch or a wheel of CUDA's, and a refusal if there is one."""

    versions: Mapping[str, str] = {}
    users: frozenset[str] = frozenset()
    refusal: ResolverError | None = None


def resolve(
    resolver: Command, job: Job, offered: Sequence[Build], environ: Mapping[str, str], avoided: Iterable[str] = ()
) -> Resolution:
    """One resolution in which torch's family is of one of the builds, and what was judged has its version.

    `avoided` are further constraints, such as `xformers!=0.0.35`.
    """
    pins = {name: version for name, version in job.pins.items() if name not in job.placed}
    lines = [requirement(name, f"=={version}") for name, version in sorted(pins.items())]
    lines += [requirement(name, f"<={version}") for name, version in sorted(job.bounds.items())]
    limits = store.file(job.place, "limits", ".txt", file_of([*lines, *avoided, *_family(offered)]))
    with stubs.shelf(stubs.of_builds(offered)) as shelf:
        argv = (*resolver.argv, "--find-links", shelf, "-c", limits.path)
        try:
            said = reporting.said(resolver._replace(argv=argv, files=(*resolver.files, limits)), environ)
        except ResolverError as refusal:
            return Resolution(refusal=refusal)
    return of_pins(said) if resolver.installer == "uv" else of_report(said)


def _family(offered: Sequence[Build]) -> list[str]:
    """Constraints that keep the resolver to these builds: another index may hold other releases, or the same plain."""
    if len(offered) == 1:
        return [requirement(name, f"=={version}") for name, version in offered[0].pins.items()]
    ours = sorted({build.torch for build in offered}, key=release_key)
    return [requirement("torch", f">={ours[0]},<={ours[-1]}" if ours else "==0+nothing.runs.here")]


def of_pins(text: str) -> Resolution:
    """Uv's `name==version` lines, and below each `# via NAME`, or a line for each name; or `name @ URL`."""
    versions: dict[str, str] = {}
    users: set[str] = set()
    name = ""
    for line in text.splitlines():
        stripped = line.strip()
        if match := _PINNED.match(stripped):
            name = normal(match[1])
            versions[name] = match[2]
        elif placed := _PLACED.match(stripped):
            name = normal(placed[1])
            versions[name] = wheel_of(placed[2])[1]
        elif brings_cuda(name) and stripped.startswith("#"):
            users |= {normal(each) for each in stripped.strip("# \t").removeprefix("via").split()[:1]}
    return Resolution({name: version for name, version in versions.items() if version}, frozenset(users & {*versions}))


def of_report(text: str) -> Resolution:
    """The report of pip, which also has what each package requires."""
    items = reporting.items(text)
    users = {item.name for item in items if any(brings_cuda(named(line)) for line in item.requires)}
    return Resolution({item.name: item.version for item in items}, frozenset(users))


def brings_cuda(name: str) -> bool:
    """Whether a package that needs this one may be built for CUDA."""
    return name == "torch" or name.startswith(("nvidia-", "cuda-"))
