"""A question → a lock: what is decided, what the resolver found beside it, and the hash of every file."""

from __future__ import annotations

from contextlib import closing

from torchpick.errors import InstallerError, IntegrityError, WheelError
from torchpick.index import wheelnames
from torchpick.index.host_pages import Host, sha256_of, shown
from torchpick.index.listing import file_of
from torchpick.install import answering, handover
from torchpick.install.asking import Order
from torchpick.install.lock import ground, pylock
from torchpick.install.lock.ground import LockQuestion
from torchpick.install.lock.pylock import LockedPackage
from torchpick.installers import links
from torchpick.installers.job import Job
from torchpick.installers.reporting import Item, ReportedFile
from torchpick.model.build import is_on_host_of, is_wheel_host
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.pick import Pick
from torchpick.model.redaction import redacted
from torchpick.session import Session


class Made(Noun):
    """A lock, its text, and what it came from."""

    pick: Pick
    environment: str
    packages: tuple[LockedPackage, ...]
    text: str
    notes: tuple[Note, ...]


def make(session: Session, order: Order) -> Made:
    """The lock for one machine; nothing is written."""
    question = ground.look(session, order)
    with closing(Host(offline=session.offline)) as host:
        job = _decided(question, host)
        session.report(f"resolving for {ground.label(job.pick.machine)}")
        items = handover.proved(question, job)
        hashes = _Hashes(job, host)
        packages = [hashes.locked(item) for item in items]
    notes = [*question.installer.notes, *job.copies.notes, *job.notes]
    packages = sorted((_public(each, notes) for each in packages), key=lambda each: each.name)
    if not any(each.name == "torch" for each in packages):
        notes.append(Note("NO_TORCH", "nothing here needs torch, so the lock has none"))
    environment = pylock.marker(job.pick.machine)
    given = {"torch": job.pick.version, "backend": job.pick.build.backend}
    given |= {"index": shown(job.pick.index_url).url} if job.pick.index_url else {}
    text = pylock.text(job.pick.machine, packages, given)
    return Made(job.pick, environment, tuple(packages), text, tuple(dict.fromkeys(notes)))


def _decided(question: LockQuestion, host: Host) -> Job:
    """The answer as a job for a resolution in an empty environment, each file of torch's family with its hash."""
    job, _ = handover.handed_over(question, answering.learn(question), pages=True)
    hashes = _Hashes(job, host)
    return job._replace(for_lock=True, files={name: hashes.address(name, url) for name, url in job.files.items()})


class _Hashes:
    """Where the hash of each file is known from: the table, else the page that lists it; never a download."""

    def __init__(self, job: Job, host: Host) -> None:
        self.job, self.host = job, host

    def address(self, name: str, address: str) -> str:
        """The address of a file of torch's family with its hash."""
        url, _, digest = address.partition("#sha256=")
        return f"{url}#sha256={digest or self._listed(name, url)}"

    def locked(self, item: Item) -> LockedPackage:
        """A package of the resolution, each of its files with its hash."""
        if item.source == "directory":
            raise ground.folder_refused(item.name)
        address, digest = (*self.job.files.get(item.name, "").split("#sha256="), "")[:2]
        if address:  # its place is torchpick's choice, and not what the user asked for
            wheel = wheelnames.parse(file_of(address))
            version = item.version if wheel is None else wheel.version
            file = ReportedFile(address, digest, item.files[0].size)
            index = self.job.pick.index_url if is_on_host_of(address, self.job.pick.index_url) else ""
            return LockedPackage(item.name, version, "wheels", (file,), index_url=index)
        files = tuple(self._complete(item.name, each) for each in item.files if item.source != "vcs")
        vcs = {**item.vcs, "url": item.url} if item.source == "vcs" else {}
        return LockedPackage(item.name, item.version, item.source, files, vcs)

    def _complete(self, name: str, file: ReportedFile) -> ReportedFile:
        url = file.url
        wish = self.job.pick.wish
        is_theirs = self.job.pick.index_url and is_wheel_host(url, wish.index_base.removeprefix("flat+"))
        listed = self._listed(name, url) if is_theirs else file.sha256
        if listed is None:
            listed = _of_bytes(url)
        measured = links.measured(self.job.pick.build, file_of(url))
        if measured is not None and listed != measured:
            raise IntegrityError(
                f"{file_of(url)}: the index says sha256 {listed}, the wheel that was read had {measured}",
                hint="somebody changed the file or the page: do not install it, and compare with another source",
            )
        return file._replace(sha256=listed)

    def _listed(self, name: str, url: str) -> str:
        """The hash that the page of a project of torch's family gives for its file."""
        if url.startswith("file:"):
            return sha256_of(url)
        pick, file = self.job.pick, file_of(url)
        page = pick.index_url.removeprefix("flat+")
        found = self.host.links(page, name, flat=pick.wish.index_base.startswith("flat+"))
        link = next((each for each in found or () if each.file == file), None)
        if link is None:
            hint = "`torchpick refresh` reads what the wheel index holds now; `--index-base URL` names a mirror"
            raise InstallerError(f"{redacted(page)} does not list {file}", hint=hint, code="NOT_ON_PAGE")
        if link.sha256 is None:
            raise _no_hash(file, f"{redacted(page)}, which lists it,")
        return link.sha256


def _of_bytes(url: str) -> str:
    """The hash of a file that no index lists: of this computer alone."""
    if url.startswith("file:"):
        return sha256_of(url)
    raise _no_hash(file_of(url), redacted(url))


def _no_hash(file: str, place: str) -> WheelError:
    hint = "name the file with its hash, `NAME @ URL#sha256=…`, or take it from an index that gives one"
    return WheelError(f"{place} gives no sha256 for {file}, and a lock needs it", hint=hint, code="NO_HASH")


def _public(package: LockedPackage, notes: list[Note]) -> LockedPackage:
    """The package as a file that is passed around may hold it: no credentials in its URLs."""
    hidden = []

    def clean(url: str) -> str:
        found = shown(url)
        if found.had_credentials:
            hidden.append(found.url)
        return found.url

    made = package._replace(
        files=tuple(each._replace(url=clean(each.url)) for each in package.files),
        index_url=clean(package.index_url),
        vcs={key: clean(value) if key == "url" else value for key, value in package.vcs.items()},
    )
    if hidden:
        host = hidden[0].split("/")[2]
        text = f"the credentials for {host} are not in the lock: who installs it needs them in netrc or a keyring"
        notes.append(Note("CREDENTIALS_LEFT_OUT", text))
    return made
