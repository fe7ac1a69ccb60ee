"""A question → a lock: what is decided, what the resolver found beside it, and the hash of every file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing

from torchpick.errors import TorchpickError, WheelError
from torchpick.index import wheelnames
from torchpick.index.host_pages import Host, sha256_of, shown
from torchpick.index.listing import file_of
from torchpick.install.asking import LockQuestion, Order, folder_refused, name_environment, read_lock_question
from torchpick.install.handover import Learnt, find_answer, hand_over, prove
from torchpick.install.hashes import Hashes, Wheel, check_vendor_alone
from torchpick.install.job import Job
from torchpick.install.reporting import ReportedFile, ReportedPackage
from torchpick.model.address import Address
from torchpick.model.build import is_on_host_of, is_wheel_host
from torchpick.model.machine import Machine, Note
from torchpick.model.noun import Noun
from torchpick.model.pick import Pick
from torchpick.model.pythons import marker_facts
from torchpick.model.redaction import redacted
from torchpick.model.versions import numbers
from torchpick.session import Session


class Lock(Noun):
    """A lock, its text, and what it came from."""

    pick: Pick
    environment: str
    packages: tuple[LockedPackage, ...]
    text: str
    notes: tuple[Note, ...]


def make_lock(session: Session, order: Order) -> Lock:
    """The lock for one machine; nothing is written."""
    question = read_lock_question(session, order)
    job = _job_for_lock(question, find_answer(question))
    session.report(f"resolving for {name_environment(job.pick.machine)}")
    items = prove(question, job)
    with closing(Host(job.pick.index_url, flat=job.pick.is_flat, offline=session.offline)) as host:
        hashes = LockHashes(job, host, Hashes(job.pick, session.knowledge))
        packages = [hashes.locked(item) for item in items]
    notes = [*question.installer.notes, *job.notes]
    packages = sorted((public(each, notes) for each in packages), key=lambda each: each.name)
    if not any(each.name == "torch" for each in packages):
        notes.append(Note("NO_TORCH", "nothing here needs torch, so the lock has none"))
    environment = lock_marker(job.pick.machine)
    given = {"torch": job.pick.version, "backend": job.pick.build.backend}
    given |= {"index": shown(job.pick.index_url).url} if job.pick.index_url else {}
    text = pylock_text(job.pick.machine, packages, given)
    return Lock(job.pick, environment, tuple(packages), text, tuple(dict.fromkeys(notes)))


def _job_for_lock(question: LockQuestion, learnt: Learnt) -> Job:
    """The answer as a job for a resolution in an empty environment, each file of torch's family with its hash."""
    job, _ = hand_over(question, learnt, pages=True)
    check_vendor_alone(job.pick)
    notes = tuple(note for note in job.notes if note.code != "UNHASHED")  # in a lock that is an error
    return job._replace(for_lock=True, notes=notes, files={name: hashed(url) for name, url in job.files.items()})


def hashed(address: Address) -> Address:
    """The address of a file of torch's family with its hash, which for one of this computer is that of its bytes."""
    return address if "#sha256=" in address else address.with_hash(f"sha256={_of_bytes(address)}")


class LockHashes:
    """Where the hash of each file is known from: the table, else the page that lists it; never a download."""

    def __init__(self, job: Job, host: Host, known: Hashes) -> None:
        self.job, self.host, self.known = job, host, known

    def locked(self, item: ReportedPackage) -> LockedPackage:
        """A package of the resolution, each of its files with its hash."""
        if item.source == "directory":
            raise folder_refused(item.name)
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
        wheel = Wheel(name, file_of(file.url), file.url, file.sha256)
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


class LockedPackage(Noun):
    """A package at one version: files of an index, or the one place that was asked for."""

    name: str
    version: str
    source: str = "wheels"  # as `Item` has it
    files: tuple[ReportedFile, ...] = ()
    vcs: Mapping[str, str] = {}
    index_url: str = ""


def lock_marker(machine: Machine) -> str:
    """What PEP 508 can say of the environment that a lock is for."""
    known = marker_facts(machine.python.version, platform=machine.platform)
    told = ("sys_platform", "platform_machine", "python_version")
    return " and ".join(f"{name} == '{known[name]}'" for name in told)


def pylock_text(machine: Machine, packages: Iterable[LockedPackage], given: Mapping[str, object]) -> str:
    """The file; `given` is what `[tool.torchpick]` says of the pick."""
    import tomlkit
    from packaging.pylock import Pylock, PylockValidationError

    major, minor = numbers(machine.python.version)[:2]
    made: dict[str, object] = {
        "lock-version": "1.0",
        "environments": [lock_marker(machine)],
        "requires-python": f">={major}.{minor},<{major}.{minor + 1}",
        "created-by": "torchpick",
        "packages": list(map(_package_table, packages)),
        "tool": {"torchpick": dict(given)},
    }
    try:
        checked = Pylock.from_dict(made).to_dict()
    except PylockValidationError as error:
        hint = "the index gives what no lock can hold; leave that requirement out, or name its file"
        raise TorchpickError(f"the lock would not be one: {error}", hint=hint, code="LOCK") from error
    lines = [{name: _line(value) for name, value in package.items()} for package in checked["packages"]]
    return tomlkit.dumps({**checked, "packages": lines})


def _line(value: object) -> object:
    """A table or several in one line, so that a difference of two locks reads well."""
    import tomlkit

    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        table.update(value)
        return table
    if isinstance(value, list):
        array = tomlkit.array()
        array.extend(map(_line, value))
        return array
    return value


def _package_table(package: LockedPackage) -> dict[str, object]:
    value: dict[str, object] = {"name": package.name}
    if package.version:
        value["version"] = package.version
    if package.index_url:
        value["index"] = package.index_url
    if package.source == "vcs":
        return {**value, "vcs": dict(package.vcs)}
    files = [_file_table(each, named=package.source != "archive") for each in package.files]
    return {**value, package.source: files if package.source == "wheels" else files[0]}


def _file_table(file: ReportedFile, *, named: bool) -> dict[str, object]:
    # An empty table is refused by the check above: no file goes without a hash.
    value: dict[str, object] = {"url": file.url, "hashes": {"sha256": file.sha256} if file.sha256 else {}}
    if named:  # pip 26.1 does not take `%2B` in a URL for the plus that the file's name has
        value["name"] = file_of(file.url)
    return value if file.size is None else {**value, "size": file.size}
