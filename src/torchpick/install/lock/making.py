"""A request → locks: the pick, what it needs on each environment, every file with its hash."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import closing
from itertools import islice

from torchpick.environment import requirements
from torchpick.environment.requirements import Requirements
from torchpick.errors import UsageError
from torchpick.index.host import Host, shown
from torchpick.index.remote_text import fetcher
from torchpick.index.source import Tell
from torchpick.install import agreeing
from torchpick.install.lock import family, pylock, resolution, spots
from torchpick.install.lock.family import Listener, Want
from torchpick.install.lock.ground import Ground, LockOrder, aims_of, installation_of, installer_of, kind_of
from torchpick.install.lock.merging import merged
from torchpick.install.sought import Watcher
from torchpick.model.lock import Lock, LockedPackage, Part
from torchpick.model.machine import Machine, Note
from torchpick.model.noun import Noun
from torchpick.model.pick import Pick
from torchpick.session import Session

# A file for each machine, at some 100 kB.
_MOST_EACH = 10_000


class Made(Noun):
    """One lock: its names among several (none where it is the only one), its text, and what it came from."""

    names: tuple[str, ...]
    pick: Pick
    lock: Lock
    text: str
    computed: tuple[str, ...]
    notes: tuple[Note, ...]


def make(session: Session, order: LockOrder, listener: Listener) -> list[Made]:
    """One lock for all the machines, or one for each; nothing is written."""
    # What is asked for stands in the order: a session's requirements are of torch's family alone.
    session = session.asking(session.request._replace(requirements=()))
    fetch = fetcher(session.environ, offline=session.offline)
    asked = requirements.read(order.given, session.environ, fetch)
    if not asked.wanted and not asked.opaque:
        order = order._replace(given=order.given._replace(words=("torch",)))
        asked = requirements.read(order.given, session.environ, fetch)
    _check(asked)
    machines = session.machines
    ground = Ground(session, order, asked)
    with closing(Host(offline=session.offline)) as host:
        if not order.each:
            return [_one(ground, machines, host, listener)]
        hosts = _hosts(session, machines)
        called = iter(names([name for own in hosts for name in own]))
        known: dict[object, Made] = {}
        found = []
        for machine, own in zip(machines, hosts, strict=True):
            key = kind_of(machine)
            if key not in known:
                known[key] = _one(ground, (machine,), host, listener)
            pick = known[key].pick._replace(machines=(machine._replace(name=own[0]),))
            found.append(known[key]._replace(names=tuple(islice(called, len(own))), pick=pick))
        return found


def _hosts(session: Session, machines: Iterable[Machine]) -> list[list[str | None]]:
    """The names of each kind of machine; of those that have none, one."""
    if session.request.machine is None:
        return [[machine.name] for machine in machines]
    crowds = session.fleet.crowds
    if (count := sum(crowd.hosts.count for crowd in crowds)) > _MOST_EACH:
        hint = "leave out `--each` for one lock, or lock for a part of the file"
        raise UsageError(
            f"no more than {_MOST_EACH} locks are written at once, and there are {count} machines", hint=hint
        )
    found: list[list[str | None]] = []
    for crowd in crowds:
        own = [*crowd.hosts.names]
        found.append([*own, *([None] if crowd.hosts.count > len(own) else [])])
    return found


def _check(asked: Requirements) -> None:
    """A folder has no hash; a file or a URL of an archive has."""
    for each in asked.wanted:
        if each.editable or os.path.isdir(each.place):
            raise resolution.folder_refused(f"`{each.text}`")


def names(hosts: Iterable[str | None]) -> list[str]:
    """A name for each host that a lock's file can bear: no dot in it, none twice."""
    found: dict[str, str] = {}  # by their lower case: some file systems know no other
    for place, host in enumerate(hosts, 1):
        plain = re.sub(r"[^A-Za-z0-9_-]+", "-", host or "").strip("-")[:80] or f"machine-{place}"
        name, number = plain, place
        while name.lower() in found:
            name, number = f"{plain}-{number}", number + 1
        found[name.lower()] = name
    return [*found.values()]


def _one(ground: Ground, machines: tuple[Machine, ...], host: Host, listener: Listener) -> Made:
    aims = aims_of(machines, ground)
    installation = installation_of(ground, aims)
    pick = spots.picked(installation, machines)
    installer = installer_of(ground, installation)
    if strangers := installation.strangers:
        listener.say(agreeing.question(installer.name, strangers))
    installation.reader.watcher = _watcher(listener)
    agreed = spots.agreed(installation, installer, pick, aims)
    pick = agreed.pick
    job = installation.job(pick)._replace(added=agreed.added)
    parts: list[Part] = []
    computed: list[str] = []
    notes = [*installer.notes, *installer.inherited.notes, *job.copies.notes, *agreed.notes]
    family_ = ground.session.knowledge.family
    for place, aim in aims:
        build = pick.verdicts[place].build
        aim_ = aim._replace(macos=spots.macos_of(build))
        listener.say(f"resolving for {aim.environment.label}")
        resolver = resolution.aimed(installer.resolver(job, for_lock=True), aim_)
        want = Want(
            ground.asked,
            family_,
            build,
            pick,
            machines[place],
            job.place,
            ground.order.most,
            agreed.held[aim.environment],
        )
        taken = family.resolve(want, aim_, resolver, host, ground.session.environ, listener)
        parts.append(Part(aim.environment, tuple(_public(each, notes) for each in taken.packages)))
        computed += [each for each in taken.computed if each not in computed]
        notes += taken.notes
    lock = merged(parts)
    if not any(entry.package.name == "torch" for entry in lock.entries):
        notes.append(Note("NO_TORCH", "nothing here needs torch, so the lock has none"))
    told = {"torch": pick.version, "backend": pick.build.backend}
    told |= {"index": shown(pick.index_url).url} if pick.index_url else {}
    notes = list(dict.fromkeys(notes))
    return Made((), pick, lock, pylock.text(lock, told), tuple(computed), tuple(notes))


def _watcher(listener: Listener) -> Watcher:
    """The listener as one who hears that wheels are read."""
    tells: list[Tell] = []

    def talk(text: str) -> None:
        listener.say(text)
        tells[:] = [listener.progress("read")]

    def report(size: int) -> None:
        for tell in tells:
            tell(size)

    return Watcher(talk, report)


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
