"""The very files of torch's family, each with its hash: what the table lacks is read on their projects' pages."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing, suppress
from typing import NamedTuple
from urllib.parse import urlsplit

from torchpick.environment.requirementfiles import is_word
from torchpick.environment.world import content
from torchpick.errors import InstallerError, NetworkError
from torchpick.install.command import StoredFile, record_path, store_folder, write_files
from torchpick.install.hashes import Hashes, Wheel, check_mirror, fits_pick, hashed_address, project_page, torch_wheels
from torchpick.install.job import Job, family_to_install, keeps_installed, vendor_requirements
from torchpick.install.question import find_prefix, read_settings
from torchpick.knowledge.compat import Knowledge
from torchpick.knowledge.locations import cache_dir
from torchpick.model.address import Address, is_sha256
from torchpick.model.machine import Note, Platform
from torchpick.model.pick import Pick
from torchpick.model.redaction import redacted
from torchpick.run import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.index.pages import Link
    from torchpick.index.user_index import Host


# The wheel host and the other names its files are on.
PYTORCH = ".pytorch.org"
# How long it is believed that a page has nothing for this Python, and that it cannot be reached.
_DAY_S, _HOUR_S = 86400, 3600
_MOST_RECORD = 16 << 20


def with_addresses(job: Job, installer: str, platform: Platform, knowledge: Knowledge, *, pages: bool) -> Job:
    """The job with the address of each file of the family that it may install, with its hash where that is known.

    Without `pages` nothing is read, and what is known without a look is named. What is installed at the very build
    stays as it is. A build of the default index has no place of its own: the user's own index supplies it. Offline pip
    fetches no address, and has only what lies in folders of the user's.
    """
    pick = job.pick
    out_of_reach = job.offline and not _is_folder(pick)
    if not pick.index_url or vendor_requirements(job) or (out_of_reach and installer == "pip"):
        return job
    check_mirror(job.own, pick.index_url, job.passed_on)
    wanted = [name for name in family_to_install(job) if not keeps_installed(job, name)]
    hashes = Hashes(pick, knowledge)
    found = _certain(job, hashes) if "torch" in wanted else []
    passed_over: list[Note] = []
    if pages and not out_of_reach:
        with _host(pick) as host:
            try:
                found = _Pages(job, platform, host, hashes).files(wanted, knowledge.family)
            except NetworkError as error:
                if pick.build.vendor is not None:
                    raise  # no mirror stands for a vendor's index
                hint = "`--index-base URL` names a mirror, `--backend default` takes the torch of your own index"
                raise type(error)(error.message, hint=f"{error.hint}; {hint}") from error
            passed_over = host.notes()
    hashed = {wheel.name for wheel in found if wheel.sha256}
    if pages or out_of_reach:
        notes = hashes.notes(found)
    else:
        notes = _of_pages(pick, [name for name in wanted if name not in hashed])
    files = {wheel.name: hashed_address(wheel) for wheel in found}
    return job._replace(files={**job.files, **files}, notes=(*job.notes, *notes, *passed_over))


def _of_pages(pick: Pick, names: Sequence[str]) -> list[Note]:
    """Where the hashes come from that are not known yet."""
    pages = dict.fromkeys(redacted(project_page(pick, name)) for name in names)
    text = f"the sha256 of {' and '.join(names)} is read on {' and '.join(pages)} when it is installed"
    return [Note("HASH_OF_PAGE", text)] if names else []


def _host(pick: Pick) -> closing[Host]:
    from torchpick.index.user_index import Host

    return closing(Host(pick.index_url, flat=pick.is_flat))


class _Pages:
    """The pages of the family's projects on the wheel host, or on the mirror that stands for it."""

    def __init__(self, job: Job, platform: Platform, host: Host, hashes: Hashes) -> None:
        self.job, self.host, self.hashes = job, host, hashes
        from torchpick.index import user_index
        from torchpick.index.projectfiles import IndexTarget

        self.reading = user_index
        self.place = IndexTarget(job.target.tag, platform)

    def files(self, wanted: Sequence[str], family: Collection[str]) -> list[Wheel]:
        """The files of these members, of the triton that torch brings, and of what else of the family was judged."""
        job = self.job
        found = [self._best(name, f"=={job.family[name]}") for name in wanted]
        others = dict(self._tritons(next((wheel.url for wheel in found if wheel.name == "torch"), None)))
        judged = {name: version for name, version in job.pins.items() if name in family and name not in job.placed}
        others |= {name: f"=={version}" for name, version in judged.items()}
        for name, specifier in others.items():
            there = job.target.installed.get(name, "")
            if specifier.removeprefix("==") not in (there, there.partition("+")[0]):
                # A host that lacks it leaves it to the user's own index; of one that does not answer the installer
                # tells.
                with suppress(InstallerError, NetworkError):
                    found.append(self._best(name, specifier))
        return found

    def _best(self, name: str, specifier: str) -> Wheel:
        """The file of a project; an error where its page does not have it."""
        pick = self.job.pick
        try:
            link = self.reading.best(name, specifier, self.host.links(name), project_page(pick, name), self.place)
        except InstallerError as error:
            message = "; ".join((error.message, *self.host.refused(name)[:1]))
            raise InstallerError(message, hint=error.hint, code=error.code) from error
        return self.hashes.checked(_wheel(link, pick.index_url))

    def _tritons(self, torch: str | None) -> Mapping[str, str]:
        """The triton that the build brings, with its specifier: several places of the user's may have it."""
        job, build = self.job, self.job.pick.build
        if not job.moves_torch or job.no_deps:
            return {}
        if build.family in ("rocm", "xpu"):
            return {} if torch is None else self.host.tritons(torch)
        version = build.libraries.get("triton")
        return {"triton": f"=={version}" if version[:1].isdigit() else version} if version else {}


def _at_home(url: Address, index: str) -> Address:
    """The same file on the mirror: a copied page may still lead to the wheel host, which is not asked then."""
    ours = (urlsplit(index).hostname or "").endswith(PYTORCH)
    theirs = (urlsplit(url).hostname or "").endswith(PYTORCH)
    return url if ours or not theirs else Address(f"{index.rstrip('/')}/{url.rpartition('/')[2]}")


def _certain(job: Job, hashes: Hashes) -> list[Wheel]:
    """Torch's one file where its name is known without a look: on the wheel host and on mirrors of its layout."""
    if job.pick.is_flat or _is_folder(job.pick):
        return []
    found = torch_wheels(job.pick.build, job.target.tag, job.pick.index_url)
    return [*map(hashes.known, found)] if len(found) == 1 else []


def _is_folder(pick: Pick) -> bool:
    return pick.index_url.startswith("file:")


def host_of(url: str) -> str:
    """The host that a file comes from, or the folder."""
    parts = urlsplit(url)
    return parts.hostname or (parts.path.rpartition("/")[0] if parts.scheme in ("", "file") else url)


class ListedFiles(NamedTuple):
    """The files of a pick for every Python, by project, and what a person should know of them.

    A project whose page could not be read is not among them: the installer is given the page, and says what is wrong.
    """

    files: Mapping[str, tuple[Wheel, ...]] = {}
    notes: tuple[Note, ...] = ()


def list_files(run: Run, pick: Pick) -> ListedFiles:
    """What the pages of torch and its companions have of this very build, each read once and kept."""
    if not pick.index_url:
        return ListedFiles()
    check_mirror(read_settings(run, find_prefix(run)), pick.index_url)
    hashes = Hashes(pick, run.knowledge)
    found: dict[str, tuple[Wheel, ...]] = {}
    is_folder, is_down = _is_folder(pick), False
    folder = store_folder(cache_dir(run.environ))
    with _host(pick) as host:
        for name, version in {**pick.build.pins, **_tritons(pick)}.items():
            record = record_path(folder, project_page(pick, name), name, version, pick.build.platform)
            is_known, wheels = (False, None) if is_folder else _kept(record, pick)
            if not is_known and (is_folder or not run.offline):
                wheels = None if is_down else _read(host, name, version, pick)
                is_down = wheels is None
                write_files([StoredFile(record, json.dumps([time.time(), wheels]), private=True)])
            if wheels is None and name == "torch":
                wheels = _of_table(pick, hashes) or None
            if wheels is not None:
                found[name] = tuple(map(hashes.checked, wheels))
        passed_over = host.notes()
    here = (wheel for name in pick.build.pins for wheel in filter(fits_pick(pick), found.get(name, ())))
    return ListedFiles(found, (*hashes.notes(here), *passed_over))


def _tritons(pick: Pick) -> Mapping[str, str]:
    """The triton of a build with its version, which is empty where torch alone says it."""
    family, version = pick.build.family, pick.build.libraries.get("triton", "")
    if family in ("rocm", "xpu"):
        return {f"triton-{family}": "", f"pytorch-triton-{family}": ""}
    return {"triton": version} if version[:1].isdigit() else {}


def _of_table(pick: Pick, hashes: Hashes) -> list[Wheel]:
    """Torch's files whose name and hash are known without a page."""
    build = pick.build
    if pick.is_flat:
        return []
    named = (wheel for tag in build.pythons for wheel in torch_wheels(build, tag, pick.index_url))
    mine = [wheel for wheel in map(hashes.known, named) if wheel.sha256]
    return mine if any(map(fits_pick(pick), mine)) else []


def _read(host: Host, name: str, version: str, pick: Pick) -> list[Wheel] | None:
    """The files of a project on its page; None where that cannot be reached."""
    try:
        return [_wheel(link, pick.index_url) for link in host.links(name) if _is(link, version, pick)]
    except NetworkError:
        return None


def _kept(record: str, pick: Pick) -> tuple[bool, list[Wheel] | None]:
    """Whether an earlier run still knows of a page, and the files of it, None where it could not be reached."""
    try:
        read_at, rows = json.loads(content(record, _MOST_RECORD))
        age = time.time() - read_at
        if rows is None:
            return age < _HOUR_S, None
        wheels = [_recorded(*row) for row in rows]
    except (OSError, ValueError, TypeError, AttributeError):
        return False, None
    return (True, wheels) if age < _DAY_S or any(map(fits_pick(pick), wheels)) else (False, None)


def _recorded(name: str, file: str, url: str, sha256: str | None, other_hash: str | None = None) -> Wheel:
    """A file of a record; a ValueError where it is not what a page can have said."""
    if not (is_word(name) and is_word(file.replace("+", ".")) and (sha256 is None or is_sha256(sha256))):
        raise ValueError("no file has these values")
    wheel = Wheel(name, file, Address(url), sha256, other_hash)
    wheel.url.with_hash(other_hash)  # raises where it is none
    return wheel


def _is(link: Link, version: str, pick: Pick) -> bool:
    from torchpick.index.wheelnames import platform_of

    wheel = link.wheel
    return version in ("", wheel.version) and platform_of(wheel.platform) in (pick.build.platform, None)


def _wheel(link: Link, index: str) -> Wheel:
    return Wheel(link.wheel.project, link.file, _at_home(link.url, index), link.sha256, link.other_hash)
