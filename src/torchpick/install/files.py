"""The very files of torch's family: torch's name stands in the table, the others are read on their projects' pages."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from contextlib import closing, suppress
from urllib.parse import urlsplit

from torchpick.errors import InstallerError, NetworkError
from torchpick.installers import job as jobs
from torchpick.installers import links
from torchpick.installers.job import Job
from torchpick.installers.links import Wheel
from torchpick.model.build import is_on_host_of
from torchpick.model.machine import Platform
from torchpick.model.pick import Pick

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.index.host_pages import Host
    from torchpick.index.listing import Link

# The wheel host and the other names its files are on.
PYTORCH = ".pytorch.org"


def addressed(job: Job, installer: str, platform: Platform, family: Collection[str], *, pages: bool) -> Job:
    """The job with the address of each file of the family that it may install, with its hash where that is known.

    Without `pages` nothing is read, and what is known without a look is named. What is installed at the very build
    stays as it is. A build of the default index has no place of its own: the user's own index supplies it. Offline pip
    fetches no address, and has only what lies in folders of the user's.
    """
    pick = job.pick
    if not pick.index_url or (job.offline and installer == "pip" and not _is_folder(pick)):
        return job
    pages = pages and (not job.offline or _is_folder(pick))
    wanted = [name for name in jobs.concerned(job) if not jobs.stays(job, name)]
    files: dict[str, str] = {}
    if "torch" in wanted and (torch := _certain(job)) is not None:
        files["torch"] = links.address(torch)
    if pages:
        from torchpick.index.host_pages import Host

        with closing(Host(offline=False)) as host:
            pages_of = _Pages(job, platform, host)
            files |= {name: pages_of.required(name) for name in wanted if name not in files}
            files |= pages_of.tritons(files.get("torch"))
            others = {name: version for name, version in job.pins.items() if name in family and name not in job.placed}
            files |= {name: url for name, version in others.items() if (url := pages_of.other(name, version))}
    return job._replace(files={name: _at_home(url, pick.index_url) for name, url in files.items()})


class _Pages:
    """The pages of the family's projects on the wheel host, or on the mirror that stands for it."""

    def __init__(self, job: Job, platform: Platform, host: Host) -> None:
        self.job, self.host, self.index, self.flat = job, host, job.pick.index_url, _is_flat(job.pick)
        from torchpick.index import host_pages
        from torchpick.index.user_index import IndexTarget

        self.reading = host_pages
        self.place = IndexTarget(job.target.tag, platform)

    def _best(self, name: str, specifier: str) -> str:
        page = self.index if self.flat else links.project_page(self.index, name)
        listed = self.host.links(self.index, name, flat=self.flat) or ()
        return self.reading.best(name, specifier, listed, page, self.place)

    def required(self, name: str) -> str:
        """The file of a member that the build pins; an error where its page does not have it."""
        return self._best(name, f"=={self.job.family[name]}")

    def other(self, name: str, version: str) -> str | None:
        """The host's build of a package that was judged, where it has one for torch's backend."""
        if self.job.target.installed.get(name, "").partition("+")[0] == version:
            return None
        with suppress(InstallerError, NetworkError):
            listed = self.host.links(self.index, name, flat=self.flat) or ()
            mine = [link for link in listed if link.wheel.version.partition("+")[0] == version]
            return self.reading.best(name, f"=={version}", mine, self.index, self.place)
        return None

    def tritons(self, torch: str | None) -> dict[str, str]:
        """The triton that the build brings: several places of the user's may have it."""
        job, build = self.job, self.job.pick.build
        if not job.moves_torch or job.no_deps:
            return {}
        wanted: Mapping[str, str] = {}
        if build.family in ("rocm", "xpu"):
            wanted = {} if torch is None else self.host.tritons(torch)
        elif version := build.libraries.get("triton"):
            wanted = {"triton": f"=={version}" if version[:1].isdigit() else version}
        found = {}
        for name, specifier in wanted.items():
            if job.target.installed.get(name) == specifier.removeprefix("=="):
                continue
            # A host that lacks it leaves it to the user's own index; of one that does not answer the installer tells.
            with suppress(InstallerError, NetworkError):
                found[name] = self._best(name, specifier)
        return found


def _at_home(url: str, index: str) -> str:
    """The same file on the mirror: a copied page may still lead to the wheel host, which is not asked then."""
    ours = (urlsplit(index).hostname or "").endswith(PYTORCH)
    theirs = (urlsplit(url).hostname or "").endswith(PYTORCH)
    return url if ours or not theirs else f"{index}/{url.rpartition('/')[2]}"


def _certain(job: Job) -> Wheel | None:
    """Torch's file where its name is known without a look: on the wheel host and on mirrors of its layout."""
    if _is_flat(job.pick) or _is_folder(job.pick):
        return None
    found = links.wheels(job.pick.build, "torch", job.pick.version, job.target.tag, job.pick.index_url) or ()
    return found[0] if len(found) == 1 else None


def _is_flat(pick: Pick) -> bool:
    return pick.wish.index_base.startswith("flat+")


def _is_folder(pick: Pick) -> bool:
    return pick.index_url.startswith("file:")


def host_of(url: str) -> str:
    """The host that a file comes from, or the folder."""
    parts = urlsplit(url)
    return parts.hostname or (parts.path.rpartition("/")[0] if parts.scheme in ("", "file") else url)


def companions_on_pages(pick: Pick, names: Mapping[str, str], *, offline: bool) -> dict[str, tuple[Wheel, ...]]:
    """The files of these versions for every Python, by project; none for one whose page was read and lacks them."""
    if not pick.index_url or _is_flat(pick) or (offline and not _is_folder(pick)):
        return {}
    from torchpick.index.host_pages import Host

    found: dict[str, tuple[Wheel, ...]] = {}
    with closing(Host(offline=False)) as host:
        for name, version in names.items():
            try:
                listed = host.links(pick.index_url, name, flat=False) or ()
            except NetworkError:
                break  # its page is given to the installer instead, which says what is wrong
            found[name] = tuple(_wheel(link, pick.index_url) for link in listed if _is(link, name, version, pick))
    return found


def _is(link: Link, name: str, version: str, pick: Pick) -> bool:
    from torchpick.index.wheelnames import platform_of

    wheel = link.wheel
    return (
        wheel.project == name
        and wheel.version == version
        and link.yanked is None
        and platform_of(wheel.platform) in (pick.build.platform, None)
    )


def _wheel(link: Link, index: str) -> Wheel:
    return Wheel(link.wheel.project, os.path.basename(link.file), _at_home(link.url, index), link.sha256)


def comes_from(url: str, index: str, named: str) -> bool:
    """Whether a file is the one that was named, or lies on the host of the index."""
    return url.partition("#")[0] == named or is_on_host_of(url, index)
