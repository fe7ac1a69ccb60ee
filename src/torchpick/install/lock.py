"""A question → a lock: what is decided, what the resolver chose beside it, and the hash of every file (PEP 751)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import tomlkit
from packaging.pylock import Pylock, PylockValidationError, is_valid_pylock_path

from torchpick.environment.requirementfiles import located
from torchpick.environment.world import opened
from torchpick.errors import TorchpickError, WheelError
from torchpick.index import wheelnames
from torchpick.index.pages import file_of
from torchpick.index.projects import ProjectReader
from torchpick.install.asking import Order, TargetQuestion, folder_refused, name_environment, read_lock_question
from torchpick.install.env import check_vendor_alone
from torchpick.install.files import Hashes, open_host
from torchpick.install.handover import find_answer, hand_over, prove
from torchpick.install.job import Job
from torchpick.install.reporting import ReportedFile, ReportedPackage
from torchpick.model.address import Address, is_on_host_of, is_wheel_host, redacted
from torchpick.model.machine import Machine, Note
from torchpick.model.pick import Pick
from torchpick.model.versions import marker_facts, numbers
from torchpick.run import Run

_CHUNK = 1 << 20


def is_lock_name(path: str) -> bool:
    """Whether pip and uv take the file of this name for a lock."""
    return is_valid_pylock_path(Path(path))


class Lock(NamedTuple):
    """A lock, its text, and what it came from."""

    pick: Pick
    environment: str
    packages: tuple[ReportedPackage, ...]
    text: str
    notes: tuple[Note, ...]


def make_lock(run: Run, order: Order) -> Lock:
    """The lock for one machine; nothing is written."""
    question = read_lock_question(run, order)
    job = _job_for_lock(question)
    pick = job.pick
    run.report(f"resolving for {name_environment(pick.machine)}")
    reported = prove(question, job)
    with open_host(pick, offline=run.offline) as host:
        hashes = Hashes(pick, run.knowledge)
        locked = [with_hashes(package, job, host, hashes) for package in reported]
    notes = [*question.installer.notes, *job.notes]
    packages = sorted((without_credentials(package, notes) for package in locked), key=lambda package: package.name)
    if not any(package.name == "torch" for package in packages):
        notes.append(Note("NO_TORCH", "nothing here needs torch, so the lock has none"))
    text = lock_text(pick.machine, packages)
    return Lock(pick, lock_marker(pick.machine), tuple(packages), text, tuple(dict.fromkeys(notes)))


def _job_for_lock(question: TargetQuestion) -> Job:
    """The answer as a job for a resolution in an empty environment, each file of torch's family with its hash."""
    job, _ = hand_over(question, find_answer(question), pages=True)
    check_vendor_alone(job.pick)
    notes = tuple(note for note in job.notes if note.code != "UNHASHED")  # in a lock that is an error
    return job._replace(for_lock=True, notes=notes, files={name: hashed(url) for name, url in job.files.items()})


def hashed(address: Address) -> Address:
    """The address of a file of torch's family with its hash, which for one of this computer is that of its bytes."""
    return address if "#sha256=" in address else address.with_hash(f"sha256={_hash_of_bytes(address)}")


def with_hashes(package: ReportedPackage, job: Job, host: ProjectReader, hashes: Hashes) -> ReportedPackage:
    """The package, each file with its hash: of the table, else of the page that lists it; never a download's."""
    if package.source in ("directory", "vcs"):
        raise folder_refused(package.name)
    index = job.pick.index_url
    if package.name in job.files:  # its place is torchpick's choice, and not what the user asked for
        url, _, digest = job.files[package.name].partition("#sha256=")
        _, _, size = package.files[0]
        file, wheel = (Address(url), digest, size), wheelnames.parse(file_of(url))
        version = package.version if wheel is None else wheel.version
        index_url = index if is_on_host_of(url, index) else ""
        return package._replace(version=version, source="wheels", files=(file,), index_url=index_url)
    return package._replace(
        files=tuple(_with_hash(package.name, file, job.pick, host, hashes) for file in package.files)
    )


def _with_hash(name: str, file: ReportedFile, pick: Pick, host: ProjectReader, hashes: Hashes) -> ReportedFile:
    """The file with its hash; of what the user names on torch's index the resolver's word is that of a download."""
    url, sha256, size = file
    base = file_of(url)
    if pick.index_url and is_wheel_host(url, pick.wish.index_base.removeprefix("flat+")):
        sha256 = next((one.sha256 for one in host.wheels(name) or () if one.file == base), None)
    return url, hashes.checked(base, url, sha256) or _hash_of_bytes(url), size


def _hash_of_bytes(url: str) -> str:
    """The hash of a file for which no index gives one: only for one of this computer."""
    if url.startswith("file:"):
        path, digest = located(url), hashlib.sha256()
        try:
            with opened(path) as stream:
                while chunk := stream.read(_CHUNK):
                    digest.update(chunk)
        except OSError as error:
            raise WheelError(f"{path}: cannot be read: {error.strerror}", hint="check the path") from error
        return digest.hexdigest()
    hint = "name the file with its hash, `NAME @ URL#sha256=…`, or take it from an index that gives one, not offline"
    text = f"no index gives a sha256 for {redacted(url)}, and a lock needs it"
    raise WheelError(text, hint=hint, code="NO_HASH")


def without_credentials(package: ReportedPackage, notes: list[Note]) -> ReportedPackage:
    """The package as a file that is passed around may hold it."""
    urls = (*(url for url, _, _ in package.files), package.index_url)
    hidden = [_public(url) for url in urls if "@" in urlsplit(url).netloc]
    if hidden:
        host = hidden[0].split("/")[2]
        text = f"the credentials for {host} are not in the lock: who installs it needs them in netrc or a keyring"
        notes.append(Note("CREDENTIALS_LEFT_OUT", text))
    public = tuple((Address(_public(url)), sha256, size) for url, sha256, size in package.files)
    return package._replace(files=public, index_url=_public(package.index_url))


def _public(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="").geturl()


# The file.


def lock_marker(machine: Machine) -> str:
    """What PEP 508 can say of the environment that a lock is for."""
    facts = marker_facts(machine.python.version, platform=machine.platform.name)
    names = ("sys_platform", "platform_machine", "python_version")
    return " and ".join(f"{name} == '{facts[name]}'" for name in names)


def lock_text(machine: Machine, packages: Iterable[ReportedPackage]) -> str:
    """The pylock.toml, checked by the packaging library."""
    major, minor = numbers(machine.python.version)[:2]
    content: dict[str, object] = {
        "lock-version": "1.0",
        "environments": [lock_marker(machine)],
        "requires-python": f">={major}.{minor},<{major}.{minor + 1}",
        "created-by": "torchpick",
        "packages": list(map(_package_table, packages)),
    }
    try:
        checked = Pylock.from_dict(content).to_dict()
    except PylockValidationError as error:
        hint = "the index gives what no lock can hold; leave that requirement out, or name its file"
        raise TorchpickError(f"the lock would not be one: {error}", hint=hint, code="LOCK") from error
    lines = [{name: _in_one_line(value) for name, value in package.items()} for package in checked["packages"]]
    return tomlkit.dumps({**checked, "packages": lines})


def _in_one_line(value: object) -> object:
    """A table or several in one line, so that a difference of two locks reads well."""
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        table.update(value)
        return table
    if isinstance(value, list):
        array = tomlkit.array()
        array.extend(map(_in_one_line, value))
        return array
    return value


def _package_table(package: ReportedPackage) -> dict[str, object]:
    table: dict[str, object] = {"name": package.name}
    if package.version:
        table["version"] = package.version
    if package.index_url:
        table["index"] = package.index_url
    files = [_file_table(file, named=package.source != "archive") for file in package.files]
    return {**table, package.source: files if package.source == "wheels" else files[0]}


def _file_table(file: ReportedFile, *, named: bool) -> dict[str, object]:
    # An empty table is refused by the check above: no file goes without a hash.
    url, sha256, size = file
    table: dict[str, object] = {"url": url, "hashes": {"sha256": sha256} if sha256 else {}}
    if named:  # pip 26.1 does not take `%2B` in a URL for the plus that the file's name has
        table["name"] = file_of(url)
    return table if size is None else {**table, "size": size}
