"""A question → a lock: what is decided, what the resolver found beside it, and the hash of every file."""

from __future__ import annotations

from contextlib import closing

from torchpick.errors import WheelError
from torchpick.index import wheelnames
from torchpick.index.host_pages import Host, sha256_of, shown
from torchpick.index.listing import file_of
from torchpick.install import handover
from torchpick.install.asking import Order
from torchpick.install.hashes import Hashes
from torchpick.install.learn import learn
from torchpick.install.lock import ground, pylock
from torchpick.install.lock.pylock import LockedPackage
from torchpick.installers import links
from torchpick.installers.job import Job
from torchpick.installers.reporting import Item, ReportedFile
from torchpick.model.address import Address
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
    job = _job(question, learn(question))
    session.report(f"resolving for {ground.label(job.pick.machine)}")
    items = handover.proved(question, job)
    with closing(Host(job.pick.index_url, flat=job.pick.is_flat, offline=session.offline)) as host:
        hashes = LockHashes(job, host, Hashes(job.pick, session.knowledge))
        packages = [hashes.locked(item) for item in items]
    notes = [*question.installer.notes, *job.notes]
    packages = sorted((public(each, notes) for each in packages), key=lambda each: each.name)
    if not any(each.name == "torch" for each in packages):
        notes.append(Note("NO_TORCH", "nothing here needs torch, so the lock has none"))
    environment = pylock.marker(job.pick.machine)
    given = {"torch": job.pick.version, "backend": job.pick.build.backend}
    given |= {"index": shown(job.pick.index_url).url} if job.pick.index_url else {}
    text = pylock.text(job.pick.machine, packages, given)
    return Made(job.pick, environment, tuple(packages), text, tuple(dict.fromkeys(notes)))


def _job(question: ground.LockQuestion, learnt: handover.Learnt) -> Job:
    """The answer as a job for a resolution in an empty environment, each file of torch's family with its hash."""
    job, _ = handover.handed_over(question, learnt, pages=True)
    links.check_settings(job.pick)
    notes = tuple(note for note in job.notes if note.code != "UNHASHED")  # in a lock that is an error
    return job._replace(for_lock=True, notes=notes, files={name: hashed(url) for name, url in job.files.items()})


def hashed(address: Address) -> Address:
    """The address of a file of torch's family with its hash, which for one of this computer is that of its bytes."""
    return address if "#sha256=" in address else address.with_hash(f"sha256={_of_bytes(address)}")


class LockHashes:
    """Where the hash of each file is known from: the table, else the page that lists it; never a download."""

    def __init__(self, job: Job, host: Host, known: Hashes) -> None:
        self.job, self.host, self.known = job, host, known

    def locked(self, item: Item) -> LockedPackage:
        """A package of the resolution, each of its files with its hash."""
        if item.source == "directory":
            raise ground.folder_refused(item.name)
        if item.name in self.job.files:  # its place is torchpick's choice, and not what the user asked for
            url, _, digest = self.job.files[item.name].partition("#sha256=")
            address, wheel = Address(url), wheelnames.parse(file_of(url))
            version = item.version if wheel is None else wheel.version
            file = ReportedFile(address, digest, item.files[0].size)
            index = self.job.pick.index_url if is_on_host_of(address, self.job.pick.index_url) else ""
            return LockedPackage(item.name, version, "wheels", (file,), index_url=index)
        files = tuple(self._complete(item.name, each) for each in item.files if item.source != "vcs")
        vcs = {**item.vcs, "url": item.url} if item.source == "vcs" else {}
        return LockedPackage(item.name, item.version, item.source, files, vcs)

    def _complete(self, name: str, file: ReportedFile) -> ReportedFile:
        """The file with its hash; of what the user names on torch's index the resolver's word is that of a download."""
        pick = self.job.pick
        wheel = links.Wheel(name, file_of(file.url), file.url, file.sha256)
        if pick.index_url and is_wheel_host(file.url, pick.wish.index_base.removeprefix("flat+")):
            listed = self.host.links(name)
            wheel = wheel._replace(sha256=next((each.sha256 for each in listed if each.file == wheel.file), None))
        return file._replace(sha256=self.known.checked(wheel).sha256 or _of_bytes(file.url))


def _of_bytes(url: str) -> str:
    """The hash of a file for which no index gives one: only for one of this computer."""
    if url.startswith("file:"):
        return sha256_of(url)
    hint = "name the file with its hash, `NAME @ URL#sha256=…`, or take it from an index that gives one, not offline"
    text = f"no index gives a sha256 for {redacted(url)}, and a lock needs it"
    raise WheelError(text, hint=hint, code="NO_HASH")


def public(package: LockedPackage, notes: list[Note]) -> LockedPackage:
    """The package as a file that is passed around may hold it: no credentials in its URLs."""
    hidden = []

    def clean(url: str) -> str:
        found = shown(url)
        if found.had_credentials:
            hidden.append(found.url)
        return found.url

    made = package._replace(
        files=tuple(each._replace(url=Address(clean(each.url))) for each in package.files),
        index_url=clean(package.index_url),
        vcs={key: clean(value) if key == "url" else value for key, value in package.vcs.items()},
    )
    if hidden:
        host = hidden[0].split("/")[2]
        text = f"the credentials for {host} are not in the lock: who installs it needs them in netrc or a keyring"
        notes.append(Note("CREDENTIALS_LEFT_OUT", text))
    return made
