"""The very files of torch's family: where they are, and that each is the one that is meant.

What the table lacks is read on their projects' pages.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import urlsplit

from torchpick.environment import toml
from torchpick.errors import InstallerError, IntegrityError, NetworkError, TorchpickError, UsageError
from torchpick.index import wheelnames
from torchpick.index.pages import ProjectFile
from torchpick.index.wheelnames import FileName
from torchpick.install.job import Job
from torchpick.install.user_settings import UserSettings, options_of
from torchpick.knowledge.compat import Knowledge
from torchpick.model.address import Address, is_wheel_host, redacted
from torchpick.model.build import Build, python_number
from torchpick.model.machine import Note
from torchpick.model.pick import Pick
from torchpick.model.versions import named, parsed, release_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.index.projects import ProjectReader

# The wheel host and the other names its files are on.
PYTORCH = ".pytorch.org"


def fits(link: ProjectFile, pick: Pick) -> bool:
    """Whether a wheel is for the Python and the platform of a pick."""
    return wheelnames.rank(link.name, pick.machine.python.tag, pick.machine.platform) is not None


def torch_wheels(build: Build, tag: str, index_url: str) -> list[ProjectFile]:
    """The wheels of torch for a Python (`cp312`), where their names are known.

    Torch's tags stand in the table. Those of its companions do not, and differ from release to release (torchvision
    0.21.0 is linux_x86_64 where torch 2.6.0+cu126 is manylinux_2_28_x86_64; torchvision 0.29.2 is py3-none): their
    names are read on their pages.
    """
    platforms = build.tags if tag in build.pythons else ()
    names = [FileName("torch", build.version, tag.rstrip("t"), _abi(build, tag), platform) for platform in platforms]
    files = [f"{'-'.join(name)}.whl" for name in names]
    urls = [Address(f"{index_url}/{file.replace('+', '%2B')}") for file in files]
    return [*map(ProjectFile, files, urls, names)]


def _abi(build: Build, tag: str) -> str:
    """The ABI tag: that of the Python, but `none` for torch on macOS up to 2.10 (file names on the default index)."""
    order = python_number(tag)
    if order < 38:
        return f"{tag}m"
    old = release_key(build.torch) < release_key("2.11")
    return "none" if build.platform.startswith("macos") and old and not tag.endswith("t") and order < 314 else tag


def project_page(pick: Pick, name: str) -> str:
    """The page that has a project's files: its own, or the one that a flat mirror has for all."""
    return pick.index_url if pick.is_flat else f"{pick.index_url}/{name}/"


def host_of(url: str) -> str:
    """The host that a file comes from, or the folder."""
    parts = urlsplit(url)
    return parts.hostname or (parts.path.rpartition("/")[0] if parts.scheme in ("", "file") else url)


# A place that can be trusted, and the hash that a file must have.


def check_mirror(settings: UserSettings, index_url: str, passed_on: Sequence[str] = ()) -> None:
    """Refuse a mirror without TLS that nobody vouches for, as pip does with pages: an address it would just fetch."""
    parts = urlsplit(index_url)
    host = parts.hostname or ""
    if parts.scheme.lower() != "http" or _is_this_computer(host):
        return
    trusted = [*settings.uv_words("UV_INSECURE_HOST"), *settings.pip_words("trusted-host")]
    trusted += [str(text) for _, table in settings.uv_files for text in toml.texts(table.get("allow-insecure-host"))]
    trusted += [
        value for option, value in options_of(passed_on) if option in ("--trusted-host", "--allow-insecure-host")
    ]
    if not {host, f"{host}:{parts.port}", f"http://{host}", f"http://{host}:{parts.port}"} & {*map(str.lower, trusted)}:
        hint = f"use https, or say that you trust it: `export PIP_TRUSTED_HOST={host}` (uv: UV_INSECURE_HOST)"
        raise UsageError(f"{redacted(index_url)} is not secure: anybody on the way can change torch", hint=hint)


def _is_this_computer(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def measured_hash(build: Build, file: str) -> str | None:
    """The hash where this very file was read."""
    if build.evidence.kind != "measured" or file not in build.evidence.ref.replace("%2B", "+"):
        return None
    match = re.search(r"\b[0-9a-f]{64}\b", build.evidence.ref)
    return match[0] if match else None


class Hashes:
    """What the table knows of the files of a pick: the hash of a wheel that was read, or that public locks have."""

    def __init__(self, pick: Pick, knowledge: Knowledge) -> None:
        self._build = pick.build
        self._on_host = is_wheel_host(pick.index_url)
        # What is tested, and what a vendor builds, has the names of what is released, and other bytes.
        released = pick.wish.channel == "stable" and pick.build.vendor is None
        self._in_public_locks = knowledge.hashes_in_public_locks(pick.build.backend) if released else {}

    def expected(self, file: str) -> str | None:
        """The hash that the table has for a file, if it has one."""
        return measured_hash(self._build, file) or self._in_public_locks.get(file)

    def check(self, link: ProjectFile) -> ProjectFile:
        """The file, of a page or of none, with the hash that it must have."""
        digest = self.checked(link.file, link.url, link.sha256)
        return link if digest is None else link._replace(hash=f"sha256={digest}")

    def checked(self, file: str, url: str, sha256: str | None) -> str | None:
        """The hash that a file must have; raises where its page and the table disagree.

        The wheel host may have replaced a file since others saw it; a mirror has nothing of its own to say.
        """
        expected = self.expected(file)
        if expected is None or sha256 in (None, expected):
            return expected or sha256
        was_read = measured_hash(self._build, file) is not None
        if self._on_host and not was_read:
            return sha256
        before = "the wheel that was read had" if was_read else "public locks have"
        raise IntegrityError(
            f"{file}: its page says sha256 {sha256}, {before} {expected} ({redacted(url)})",
            hint="somebody changed the file or the page: do not install it, and compare with another source",
        )

    def notes(self, links: Iterable[ProjectFile]) -> list[Note]:
        """What a person should know of files that were checked: those without a hash, and those that were replaced."""
        notes = []
        for link in links:
            if link.hash is None:
                text = f"{link.file} has no known sha256, so it is taken from {redacted(link.url)} unchecked"
                notes.append(Note("UNHASHED", text))
            elif link.sha256 is not None and self.expected(link.file) not in (None, link.sha256):
                text = f"{link.file} has another sha256 on the wheel host than in public locks: the host's is taken"
                notes.append(Note("HASH_CHANGED", text))
        return notes


# The files of one target.


def with_addresses(job: Job, installer: str, knowledge: Knowledge, *, pages: bool) -> Job:
    """The job with the address of each file of the family that it may install, with its hash where that is known.

    Without `pages` nothing is read but a vendor's, and what is known without a look is named. What is installed at the
    very build stays as it is. A build of the default index has no place of its own: the user's own index supplies it.
    Offline pip fetches no address, and has only what lies in folders of the user's.
    """
    pick = job.pick
    out_of_reach = job.offline and not is_folder_index(pick)
    if not pick.index_url or job.from_vendor or (out_of_reach and installer == "pip"):
        return job
    check_mirror(job.settings, pick.index_url, job.passed_on)
    names = [name for name in job.family_to_install if not job.keeps_installed(name)]
    hashes = Hashes(pick, knowledge)
    pages = pages or pick.build.vendor is not None  # whose file may not be there, and has no known name
    if pages and not out_of_reach:
        with open_host(pick) as host:
            try:
                wheels = _read_pages(job, names, host, hashes, knowledge.family)
            except NetworkError as error:
                if pick.build.vendor is not None:
                    raise  # no mirror stands for a vendor's index
                hint = "`--index-base URL` names a mirror, `--backend default` takes the torch of your own index"
                raise type(error)(error.message, hint=f"{error.hint}; {hint}") from error
    else:
        # Torch's one file where its name is known without a look: on the wheel host and on mirrors of its layout.
        by_name = (
            []
            if pick.is_flat or is_folder_index(pick)
            else torch_wheels(pick.build, job.target.python.tag, pick.index_url)
        )
        wheels = [*map(hashes.check, by_name)] if len(by_name) == 1 and "torch" in names else []
    files = {link.project: link.with_hash for link in wheels}
    if pages or out_of_reach:
        return job._replace(files={**job.files, **files}, notes=(*job.notes, *hashes.notes(wheels)))
    # A command that is only shown finds there what has no address yet.
    unread = dict.fromkeys(project_page(pick, name) for name in names if name not in files)
    hashed = {link.project for link in wheels if link.sha256}
    notes = _page_notes(pick, [name for name in names if name not in hashed])
    return job._replace(files={**job.files, **files}, pages=(*unread,), notes=(*job.notes, *notes))


def _page_notes(pick: Pick, names: Sequence[str]) -> list[Note]:
    """Where the hashes come from that are not known yet."""
    pages = dict.fromkeys(redacted(project_page(pick, name)) for name in names)
    text = f"the sha256 of {' and '.join(names)} is read on {' and '.join(pages)} when it is installed"
    return [Note("HASH_OF_PAGE", text)] if names else []


def open_host(pick: Pick, *, offline: bool = False) -> ProjectReader:
    """The wheel host, or its mirror. A flat one is a single page for every project.

    Of a folder the wheels that lie in it count as well as those of the projects' own.
    """
    from torchpick.index.index_places import IndexPlaces
    from torchpick.index.projects import ProjectReader

    index = pick.index_url
    links = (index,) if pick.is_flat or is_folder_index(pick) else ()
    return ProjectReader(IndexPlaces(() if pick.is_flat else (index,), links), os.environ, offline=offline, anew=True)


def _read_pages(
    job: Job, names: Sequence[str], host: ProjectReader, hashes: Hashes, family: Collection[str]
) -> list[ProjectFile]:
    """The files of these members, of the triton that torch brings, and of what else of the family was judged."""
    wheels = [best_wheel(job.pick, host, hashes, name, f"=={job.family[name]}") for name in names]
    urls = {link.project: link.url for link in wheels}
    others = dict(_triton_to_install(job, host, urls.get("torch")))
    judged = {name: version for name, version in job.pins.items() if name in family and name not in job.placed}
    others |= {name: f"=={version}" for name, version in judged.items()}
    for name, specifier in others.items():
        installed = job.target.installed.get(name, "")
        if specifier.removeprefix("==") not in (installed, installed.partition("+")[0]):
            # A host that lacks it leaves it to the user's own index; of one that does not answer the installer tells.
            with suppress(InstallerError, NetworkError):
                wheels.append(best_wheel(job.pick, host, hashes, name, specifier))
    return wheels


def best_wheel(pick: Pick, host: ProjectReader, hashes: Hashes, name: str, specifier: str) -> ProjectFile:
    """The file of a project for the machine; an error where its page does not have it, or there is no such page."""
    from torchpick.index.projectfiles import IndexTarget  # with packaging, which a refusal does without

    hint = f"`--index-base URL` names a mirror, `torchpick refresh` reads what the index has; or leave {name} out"
    if pick.build.vendor is not None:  # no mirror stands for a vendor's index
        hint = f"`torchpick refresh` reads what it has now; `torch<{pick.build.torch}` takes an older one"
    target = IndexTarget(pick.machine.python.tag, pick.machine.platform)
    file = host.best_wheel(name, specifier, target, hint)
    return hashes.check(on_mirror(file, pick.index_url))


def _triton_to_install(job: Job, host: ProjectReader, torch: Address | None) -> Mapping[str, str]:
    """The triton that the build brings, with its specifier: several places of the user's may have it."""
    build = job.pick.build
    if not job.moves_torch or job.no_deps:
        return {}
    if build.family in ("rocm", "xpu"):
        return {} if torch is None else _tritons_of(torch, host)
    version = build.libraries.get("triton")
    return {"triton": f"=={version}" if version[:1].isdigit() else version} if version else {}


def _tritons_of(torch: Address, host: ProjectReader) -> Mapping[str, str]:
    """The triton that a torch wheel requires and its specifier."""
    from torchpick.index.projectfiles import file_at

    file = file_at(torch)._replace(metadata="")
    metadata = host.metadata([file])[file]
    if isinstance(metadata, TorchpickError):
        raise metadata
    tritons: dict[str, str] = {}
    for line in metadata.requires:
        with suppress(ValueError):  # the installer has its own opinion of such a line
            if "triton" in named(line):
                triton = parsed(line)
                tritons[triton.name] = str(triton.specifier)
    return tritons


def on_mirror(file: ProjectFile, index: str) -> ProjectFile:
    """A file of a page; on a mirror there, as a copied page may still lead to the wheel host, which is not asked."""
    is_mirror = not (urlsplit(index).hostname or "").endswith(PYTORCH)
    if is_mirror and (urlsplit(file.url).hostname or "").endswith(PYTORCH):
        return file._replace(url=Address(f"{index.rstrip('/')}/{file.url.rpartition('/')[2]}"))
    return file


def is_folder_index(pick: Pick) -> bool:
    return pick.index_url.startswith("file:")
