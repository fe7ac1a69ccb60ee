"""Torch's family in a resolution: from the wheel host alone, and each file of it with its hash.

A build of the default index has no place of its own: its family is pinned, and comes from the user's own index.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from torchpick.environment.requirements import Requirements
from torchpick.errors import InstallerError, IntegrityError
from torchpick.index import names, torch_family
from torchpick.index.host import Host, file_of, shown
from torchpick.index.listing import Link
from torchpick.install.lock import resolution
from torchpick.install.lock.resolution import Aim
from torchpick.installers import links, store
from torchpick.installers.command import Command
from torchpick.installers.jobs import TRITONS
from torchpick.model.build import Build
from torchpick.model.lock import LockedPackage, LockFile
from torchpick.model.machine import Machine, Note, Platform
from torchpick.model.noun import Noun
from torchpick.model.pick import Pick
from torchpick.model.redaction import redacted
from torchpick.model.versions import admits
from torchpick.model.wheelhost import is_wheel_host

# A member of the family may bring another one; three turns were never needed.
_ROUNDS = 5
# What torch requires of its family by an exact version; for ROCm and XPU no other index has it.
_BRINGS = {"cuda": ("triton",), "rocm": TRITONS, "xpu": TRITONS}


class Want(Noun):
    """What is resolved, beside the environment; `held` are the versions that were judged beside torch."""

    asked: Requirements
    family: tuple[str, ...]
    build: Build
    pick: Pick
    machine: Machine
    place: str
    most: int
    held: Mapping[str, str] = {}

    @property
    def pins(self) -> dict[str, str]:
        return self.build.pins


class Taken(Noun):
    """The packages of one environment; `computed` are the files whose hash was counted from their bytes."""

    packages: tuple[LockedPackage, ...]
    computed: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


def resolve(want: Want, aim: Aim, resolver: Command, host: Host, environ: Mapping[str, str]) -> Taken:
    """The packages of this environment, torch's family from the wheel host."""
    work = _Work(want, aim, host)
    for name, version in want.pins.items():
        work.pin(name, version)
    for name in _BRINGS.get(want.build.family, ()):
        work.links[name] = tuple(work.usable(name) or ())
    work.check({each.name for each in want.asked.wanted})
    found: tuple[LockedPackage, ...] = ()
    members: dict[str, str] = {}
    for _ in range(_ROUNDS):
        limits = work.limits()
        if resolver.installer == "uv":
            came = resolution.versions(resolver, limits, environ)
            mine = {name: work.pins[name] for name, url in came.places.items() if work.holds(name, url)}
            members = {**came.versions, **mine}
        else:
            found = resolution.packages(resolver, limits, environ)
            members = {each.name: each.version or "" for each in found if not work.foreign(each)}
        work.needed = members
        if not work.strays():
            break
    work.check(members)
    work.hash_family()
    if resolver.installer == "uv":
        found = resolution.packages(resolver, work.limits(), environ)
    return Taken(tuple(work.finished(each) for each in found), tuple(work.computed), tuple(work.notes))


class _Work:
    """One environment's resolution while it goes on."""

    def __init__(self, want: Want, aim: Aim, host: Host) -> None:
        self.want, self.aim, self.host = want, aim, host
        self.index = want.build.index_url(want.pick.wish.index_base, want.pick.wish.channel)
        self.flat = want.pick.wish.index_base.startswith("flat+")
        glibc = aim.glibc or want.machine.platform.glibc
        platform = Platform.parse(aim.environment.platform, glibc)
        self.suits = torch_family.Place(want.machine.python.tag, platform)
        self.pins: dict[str, str] = {}
        self.links: dict[str, tuple[Link, ...]] = {}
        self.needed: Mapping[str, str] = {}
        self.computed: list[str] = []
        self.notes: list[Note] = []

    def usable(self, name: str) -> list[Link] | None:
        """The wheels of a project on the wheel host that this environment can take; None where it has no page."""
        if not self.index:
            return None
        found = self.host.links(self.index, name, flat=self.flat)
        return None if found is None else [link for link in found if torch_family.suits(link, self.suits)]

    def pin(self, name: str, version: str) -> None:
        """Hold the name to this version, by the wheels of the host."""
        self.pins[name] = version
        self.links[name] = tuple(link for link in self.usable(name) or () if link.wheel.version == version)

    def limits(self) -> tuple[store.StoredFile, ...]:
        """The page of links and the constraints as they stand."""
        page = store.file(self.want.place, "lock", ".html", page_of(self.links.values()), private=True)
        lines = [self._limit(name, version) for name, version in {**self.want.held, **self.pins}.items()]
        limits = "".join(f"{line}\n" for line in lines)  # with addresses, as an index told them
        return page, store.file(self.want.place, "constraints", ".txt", limits, private=True)

    def _limit(self, name: str, version: str) -> str:
        """The exact version; without a label another index may hold it as another build, so the very file is named."""
        found = self.links.get(name, ())
        if "+" in version or len(found) != 1 or name not in self.want.pins:
            return f"{name}=={version}"
        return f"{name} @ {found[0].url}" + (f"#sha256={found[0].sha256}" if found[0].sha256 else "")

    def strays(self) -> bool:
        """Pin the members of the family that came from elsewhere; whether another resolution is due."""
        again = False
        for name, version in self.needed.items():
            if name not in self.want.family or name in self.pins:
                continue
            there = self.usable(name)
            what = name
            if there and name in self.want.held:
                what = f"{name} {version}"
                there = [link for link in there if link.wheel.version.partition("+")[0] == version.partition("+")[0]]
            if not there:
                if there is not None:
                    label = self.aim.environment.label
                    text = f"the wheel host has no {what} for {label}, so it comes from your own index"
                    self.notes.append(Note("FAMILY_FROM_INDEX", text))
                continue
            chosen = self._chosen(name, version, there)
            self.pin(name, chosen)
            again = again or chosen != version
        return again

    def _chosen(self, name: str, version: str, there: Iterable[Link]) -> str:
        """The same version; the same release under the host's label; else the newest that was asked for."""
        versions = sorted({link.wheel.version for link in there}, key=torch_family.order, reverse=True)
        if version in versions:
            return version
        same = [each for each in versions if each.partition("+")[0] == version.partition("+")[0]]
        asked = [each.specifier for each in self.want.asked.wanted if each.name == name]
        fitting = [each for each in versions if all(admits(text)(each) for text in asked)]
        if not fitting:
            where = redacted(self.index)
            hint = f"leave {name} out, or ask for one of these"
            raise InstallerError(
                f"{where} has no {name}{asked[0] if asked else ''} for {self.aim.environment.label}: it has "
                f"{', '.join(versions[:5])}",
                hint=hint,
                code="NOT_ON_PAGE",
            )
        return next((each for each in same if each in fitting), fitting[0])

    def check(self, wanted: Iterable[str]) -> None:
        """What is pinned and needed must lie on the host."""
        if not self.index:
            return
        for name in wanted:
            if name not in self.pins or self.links[name] or self._placed(name):
                continue
            there = self.usable(name)
            if there is None:
                said = "has no page of it"
            else:
                known = sorted({link.wheel.version for link in there}, key=torch_family.order)[-5:]
                said = f"has no such wheel, but {', '.join(known) or 'none for this Python'}"
            hint = "`torchpick refresh` reads what the wheel index holds now; `--index-base URL` names a mirror"
            raise InstallerError(
                f"{name} {self.pins[name]} for {self.aim.environment.label}: {redacted(self.index)} {said}",
                hint=hint,
                code="NOT_ON_PAGE",
            )

    def _placed(self, name: str) -> bool:
        """Whether the user says where to take it from."""
        return any(each.name == name and each.place for each in self.want.asked.wanted)

    def hash_family(self) -> None:
        """Every file of the family that is needed gets its hash: the page's, the table's, or its bytes'."""
        build, tag = self.want.build, self.want.machine.python.tag
        known = links.wheels(build, "torch", build.version, tag, self.index) or ()
        measured = {each.file: each.sha256 for each in known if each.sha256 is not None}
        for name in self.pins:
            if name in self.needed:
                self.links[name] = tuple(self._hashed(link, measured.get(link.file)) for link in self.links[name])

    def _hashed(self, link: Link, measured: str | None) -> Link:
        _check_hash(link.file, link.sha256, measured)
        return link._replace(sha256=link.sha256 or measured or self._computed(link.url))

    def _computed(self, url: str) -> str:
        digest = self.host.sha256(url, self.want.most)
        self.computed.append(file_of(url))
        return digest

    def foreign(self, package: LockedPackage) -> bool:
        """Whether it is taken from a place that the user named."""
        if package.archive is not None:
            return not self.holds(package.name, package.archive.url)
        return package.vcs is not None

    def holds(self, name: str, url: str) -> bool:
        """Whether the place is one of the host's own files that the name may come from."""
        return name in self.pins and shown(url).url in [shown(link.url).url for link in self.links[name]]

    def finished(self, package: LockedPackage) -> LockedPackage:
        """The package with the host's own files, where it is of the family, and with every hash."""
        if self.foreign(package):
            archive = package.archive
            return package if archive is None else package._replace(archive=self._complete(self._told(archive)))
        if self.index and package.name in self.pins:
            version, package = self.pins[package.name], package._replace(archive=None)
            package = package._replace(version=version)
            files = tuple(LockFile(link.url, link.sha256, link.size) for link in self.links[package.name])
            return package._replace(wheels=files, sdist=None, index_url=self.index)
        package = package._replace(
            wheels=tuple(map(self._complete, package.wheels)),
            sdist=None if package.sdist is None else self._complete(package.sdist),
        )
        for file in package.wheels if package.name == "torch" else ():
            _check_hash(file.name, file.sha256, links.measured(self.want.build, file.name))
        return package

    def _told(self, file: LockFile) -> LockFile:
        """A file of the wheel host under another of its names (they hold the same bytes), with the page's hash."""
        wheel = names.parse(file_of(file.url))
        if (
            file.sha256 is not None
            or wheel is None
            or wheel.project not in self.pins
            or not is_wheel_host(file.url, self.want.pick.wish.index_base)
        ):
            return file
        there = self.host.links(self.index, wheel.project, flat=self.flat) or ()
        return file._replace(sha256=next((link.sha256 for link in there if link.file == file_of(file.url)), None))

    def _complete(self, file: LockFile) -> LockFile:
        return file if file.sha256 is not None else file._replace(sha256=self._computed(file.url))


def _check_hash(file: str, found: str | None, measured: str | None) -> None:
    """Refuse a file of torch's that has another content than the one that was read for the table."""
    if found is not None and measured is not None and found != measured:
        raise IntegrityError(
            f"{file}: the index says sha256 {found}, the wheel that was read had {measured}",
            hint="somebody changed the file or the page: do not install it, and compare with another source",
        )


def page_of(shelves: Iterable[Iterable[Link]]) -> str:
    """One page for `--find-links`; with the mark of a metadata file pip asks for that and not for the wheel."""
    lines = []
    for link in (each for shelf in shelves for each in shelf):
        href = escape(link.url + (f"#sha256={link.sha256}" if link.sha256 else ""))
        told = "" if link.metadata is None else f"sha256={link.metadata}" if link.metadata else "true"
        mark = f' data-core-metadata="{told}" data-dist-info-metadata="{told}"' if told else ""
        lines.append(f'<a href="{href}"{mark}>{escape(link.file)}</a><br/>\n')
    return f"<!DOCTYPE html>\n<html>\n<body>\n{''.join(lines)}</body>\n</html>\n"
