"""A request → a lock: the pick, what it needs in its environment, every file with its hash."""

from __future__ import annotations

import os
from contextlib import closing

from torchpick.environment import requirements
from torchpick.environment.requirements import Requirements
from torchpick.errors import UsageError
from torchpick.index.host import Host, shown
from torchpick.index.remote_text import fetcher
from torchpick.install import agreeing
from torchpick.install.lock import family, judging, pylock, resolution
from torchpick.install.lock.family import Want
from torchpick.install.lock.ground import Ground, LockOrder, aim_of, installation_of, installer_of
from torchpick.model.lock import Lock, LockedPackage
from torchpick.model.machine import Machine, Note
from torchpick.model.noun import Noun
from torchpick.model.pick import Pick
from torchpick.session import Session


class Made(Noun):
    """A lock, its text, and what it came from."""

    pick: Pick
    lock: Lock
    text: str
    computed: tuple[str, ...]
    notes: tuple[Note, ...]


def make(session: Session, order: LockOrder) -> Made:
    """The lock for one machine; nothing is written."""
    # What is asked for stands in the order: a session's requirements are of torch's family alone.
    session = session.asking(session.request._replace(requirements=()))
    fetch = fetcher(session.environ, offline=session.offline)
    asked = requirements.read(order.given, session.environ, fetch)
    if not asked.wanted and not asked.opaque:
        order = order._replace(given=order.given._replace(words=("torch",)))
        asked = requirements.read(order.given, session.environ, fetch)
    _check(asked)
    machine, *others = session.machines
    if others:
        hint = "lock for one of them at a time, each in a file of its own: `-o pylock.NAME.toml`"
        raise UsageError(f"a lock is for one machine, and {len(others) + 1} were given", hint=hint)
    with closing(Host(offline=session.offline, report=session.report)) as host:
        return _made(Ground(session, order, asked), machine, host)


def _check(asked: Requirements) -> None:
    """A folder has no hash; a file or a URL of an archive has."""
    for each in asked.wanted:
        if each.editable or os.path.isdir(each.place):
            raise resolution.folder_refused(f"`{each.text}`")


def _made(ground: Ground, machine: Machine, host: Host) -> Made:
    aim = aim_of(machine, ground)
    installation = installation_of(ground, aim)
    pick = installation.pick()
    installer = installer_of(ground, installation)
    if strangers := installation.strangers:
        ground.session.report(agreeing.question(installer.name, strangers))
    job = judging.judged(installation, installer, pick, aim)
    pick, environ = job.pick, ground.session.environ
    ground.session.report(f"resolving for {aim.environment.label}")
    resolver = resolution.aimed(installer.resolver(job, for_lock=True), aim, pick.build)
    held, known = judging.versions(job), ground.session.knowledge.family
    want = Want(ground.asked, known, pick.build, pick, machine, job.place, ground.order.most, held)
    taken = family.resolve(want, aim, resolver, host, environ)
    notes = [*installer.notes, *installer.inherited.notes, *job.copies.notes, *job.notes, *taken.notes]
    packages = sorted((_public(each, notes) for each in taken.packages), key=lambda each: each.name)
    if not any(each.name == "torch" for each in packages):
        notes.append(Note("NO_TORCH", "nothing here needs torch, so the lock has none"))
    told = {"torch": pick.version, "backend": pick.build.backend}
    told |= {"index": shown(pick.index_url).url} if pick.index_url else {}
    lock = Lock(aim.environment, tuple(packages))
    return Made(pick, lock, pylock.text(lock, told), taken.computed, tuple(dict.fromkeys(notes)))


def _public(package: LockedPackage, notes: list[Note]) -> LockedPackage:
    """The package as a file that is passed around may hold it: no credentials in its URLs."""
    hidden = []

    def clean(url: str) -> str:
        found = shown(url)
        if found.had_credentials:
            hidden.append(found.url)
        return found.url

    made = package._replace(
        wheels=tuple(each._replace(url=clean(each.url)) for each in package.wheels),
        sdist=None if package.sdist is None else package.sdist._replace(url=clean(package.sdist.url)),
        archive=None if package.archive is None else package.archive._replace(url=clean(package.archive.url)),
        index_url=None if package.index_url is None else clean(package.index_url),
        vcs=None if package.vcs is None else {**package.vcs, "url": clean(package.vcs["url"])},
    )
    if hidden:
        host = hidden[0].split("/")[2]
        text = f"the credentials for {host} are not in the lock: who installs it needs them in netrc or a keyring"
        notes.append(Note("CREDENTIALS_LEFT_OUT", text))
    return made
