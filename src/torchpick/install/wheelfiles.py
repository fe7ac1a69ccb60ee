"""The very files of torch's family: torch's name stands in the table, the others are read on their projects' pages."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing, suppress

from torchpick.decide.requested import named
from torchpick.errors import InstallerError, NetworkError, TorchpickError
from torchpick.index import host_pages
from torchpick.index.host_pages import Host
from torchpick.index.listing import Link
from torchpick.installers import jobs, links
from torchpick.installers.jobs import Job
from torchpick.installers.links import Wheel
from torchpick.model.build import is_wheel_host
from torchpick.model.machine import Platform
from torchpick.model.pick import Pick


def triton(job: Job) -> dict[str, str]:
    """The triton that a CUDA build brings, as far as the table knows it: several places of the user's may have it."""
    build = job.pick.build
    version = build.libraries.get("triton") if build.family == "cuda" and build.platform.startswith("linux") else None
    if version is None or not job.moves_torch or job.no_deps or job.target.installed.get("triton") == version:
        return {}
    if not job.pick.index_url or (job.offline and not _is_folder(job.pick)):
        return {}
    return {"triton": f"=={version}" if version[:1].isdigit() else version}


def asks(job: Job) -> bool:
    """Whether a page is read for this run: of whatever but torch itself, whose file's name is mostly certain."""
    return any(name != "torch" or _certain(job) is None for name in _wanted(job))


def _wanted(job: Job) -> dict[str, str]:
    """What of the family this run may install and the user names no file of, each with its specifier."""
    given = {each.name for each in job.asked.wanted if each.place}
    wanted = {name: f"=={job.pins[name]}" for name in jobs.concerned(job) if not jobs.stays(job, name)}
    wanted |= {named(text): text[len(named(text)) :] for text in job.pick.wish.others}
    return {name: specifier for name, specifier in wanted.items() if name not in given}


def addresses(
    job: Job, platform: Platform, environ: Mapping[str, str], more: Mapping[str, str] = {}, *, alone: bool = False
) -> dict[str, str]:
    """The address of each file of the family that this run may install, with its hash where that is known.

    Offline nothing is read but a mirror that is a folder. What is installed at the very build stays as it is. A build
    of the default index has no place of its own: the user's own index is asked. An installer that finds the family
    `alone` only needs to know what has to be of one version. `more` is what torch itself may bring.
    """
    pick, index = job.pick, job.pick.index_url
    if not index or (job.offline and not _is_folder(pick)):
        return {}
    given = {each.name for each in job.asked.wanted if each.place}
    wanted = _wanted(job)
    others = {name: specifier for name, specifier in wanted.items() if name in job.related}
    wanted = {name: specifier for name, specifier in wanted.items() if name not in others and not alone}
    found: dict[str, str] = {}
    if (torch := _certain(job)) is not None and "torch" in wanted:
        found["torch"] = torch.url + (f"#sha256={torch.sha256}" if torch.sha256 else "")
    place = host_pages.Place(job.target.tag, platform)
    with closing(Host(offline=False)) as host:
        if (
            pick.build.family in ("rocm", "xpu")
            and job.moves_torch
            and not job.no_deps
            and torch is not None
            and not alone
        ):
            wanted = {**host_pages.triton_of(torch.url, host_pages.read), **wanted}
        for name, specifier in wanted.items():
            if name not in found:
                found[name] = _newest(job, name, specifier, place, host)
        for name, specifier in more.items():
            # A host that lacks it leaves it to the user's own index; of one that does not answer the installer tells.
            with suppress(InstallerError, NetworkError):
                found.setdefault(name, _newest(job, name, specifier, place, host))
        for name, version in job.related.items():
            if name not in given and job.target.installed.get(name, "").partition("+")[0] != version:
                address = _on_host(job, name, version, place, host) or _on_own_index(job, name, version, place, environ)
                if address is None and name in others and not alone:
                    address = _newest(job, name, others[name], place, host)
                found |= {} if address is None else {name: address}
    return {name: _at_home(url, index) for name, url in found.items()}


def _at_home(url: str, index: str) -> str:
    """The same file on the mirror: a copied page may still lead to the wheel host, which is not asked then."""
    if is_wheel_host(index) or not is_wheel_host(url):
        return url
    return f"{index}/{url.rpartition('/')[2]}"


def _newest(job: Job, name: str, specifier: str, place: host_pages.Place, host: Host) -> str:
    """The newest file of a project on its page of the wheel host."""
    index, flat = job.pick.index_url, _is_flat(job.pick)
    page = index if flat else links.project_page(index, name)
    return host_pages.best(name, specifier, host.links(index, name, flat=flat) or (), page, place)


def _on_host(job: Job, name: str, version: str, place: host_pages.Place, host: Host) -> str | None:
    """The wheel host's build of this version for torch's backend, where it has one."""
    index = job.pick.index_url
    try:
        listed = host.links(index, name, flat=_is_flat(job.pick)) or ()
    except NetworkError:
        return None  # the installer says what is wrong with it
    mine = [link for link in listed if link.wheel.version.partition("+")[0] == version]
    try:
        return host_pages.best(name, f"=={version}", mine, index, place)
    except InstallerError:
        return None


def _on_own_index(job: Job, name: str, version: str, place: host_pages.Place, environ: Mapping[str, str]) -> str | None:
    """The wheel of this version on the user's own index, which the table judged; offline nothing is asked."""
    if job.offline:
        return None
    from torchpick.index import index_places
    from torchpick.index.client import Client
    from torchpick.index.user_index import IndexTarget, UserIndex

    target = IndexTarget(place.tag, place.platform, job.target.full_version)
    try:
        with Client(environ=environ) as client:
            index = UserIndex(index_places.of_user(environ, job.target.python), client)
            found = index.candidates(name, f"=={version}", target)
    except TorchpickError:
        return None
    link = found[0].link if found else None
    return None if link is None else link.url + (f"#sha256={link.sha256}" if link.sha256 else "")


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


def companions_on_pages(pick: Pick, names: Mapping[str, str], *, offline: bool) -> dict[str, tuple[Wheel, ...]]:
    """The files of these versions for every Python, by project; none for one whose page was read and lacks them."""
    if not pick.index_url or _is_flat(pick) or (offline and not _is_folder(pick)):
        return {}
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
