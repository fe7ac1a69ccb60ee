"""Torch's family in a resolution: from the wheel host alone, and each file of it with its hash."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Protocol

from torchpick import relatives
from torchpick.errors import InstallerError, IntegrityError
from torchpick.install import links, store
from torchpick.install.command import Command
from torchpick.install.plan import TRITONS
from torchpick.install.requirements import Asked
from torchpick.locking import resolution
from torchpick.locking.host import Host, Tell, file_of
from torchpick.locking.resolution import Aim
from torchpick.model.build import Build
from torchpick.model.lock import File, Package
from torchpick.model.machine import Machine, Note, Platform
from torchpick.model.noun import Noun
from torchpick.model.specifiers import admits
from torchpick.model.verdict import Pick, companions
from torchpick.wheels import web
from torchpick.wheels.listing import Link

# A member of the family may bring another one; three turns were never needed.
_ROUNDS = 5


class Listener(Protocol):
    """Who hears what takes long."""

    def say(self, text: str) -> None: ...

    def progress(self, name: str) -> Tell: ...


class Want(Noun):
    """What is resolved, beside the environment."""

    asked: Asked
    family: tuple[str, ...]
    build: Build
    pick: Pick
    machine: Machine
    place: str
    most: int

    @property
    def pins(self) -> dict[str, str]:
        return {"torch": self.build.version, **companions(self.build)}


class Taken(Noun):
    """The packages of one environment; `computed` are the files whose hash was counted from their bytes."""

    packages: tuple[Package, ...]
    computed: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


def resolve(  # noqa: PLR0913 # facts of the run, each from another place
    want: Want, aim: Aim, resolver: Command, host: Host, environ: Mapping[str, str], listener: Listener
) -> Taken:
    """The packages of this environment, torch's family from the wheel host."""
    work = _Work(want, aim, host, listener)
    for name, version in want.pins.items():
        work.pin(name, version)
    if want.build.family in ("rocm", "xpu"):
        for name in TRITONS:  # no other index has the triton that these builds require by its exact version
            work.links[name] = tuple(work.usable(name) or ())
    found: tuple[Package, ...] = ()
    for _ in range(_ROUNDS):
        limits = work.limits()
        if resolver.installer == "uv":
            members = resolution.versions(resolver, limits, environ)
        else:
            found = resolution.packages(resolver, limits, environ)
            members = {each.name: each.version or "" for each in found if each.archive is None and each.vcs is None}
        work.needed = members
        if not work.strays():
            break
    work.check()
    work.hash_family()
    if resolver.installer == "uv":
        found = resolution.packages(resolver, work.limits(), environ)
    return Taken(tuple(work.finished(each) for each in found), tuple(work.computed), tuple(work.notes))


class _Work:
    """One environment's resolution while it goes on."""

    def __init__(self, want: Want, aim: Aim, host: Host, listener: Listener) -> None:
        self.want, self.aim, self.host, self.listener = want, aim, host, listener
        self.index = want.build.index_url(want.pick.wish.index_base, want.pick.wish.channel)
        self.flat = want.pick.wish.index_base.startswith("flat+")
        glibc = aim.glibc or want.machine.platform.glibc
        platform = Platform.parse(aim.environment.platform, glibc)
        self.suits = relatives.Place(want.machine.python.tag, platform)
        self.pins: dict[str, str] = {}
        self.links: dict[str, tuple[Link, ...]] = {}
        self.needed: Mapping[str, str] = {}
        self.computed: list[str] = []
        self.notes: list[Note] = []

    def usable(self, name: str) -> list[Link] | None:
        """The wheels of a project on the wheel host that this environment can take; None where it has no page."""
        found = self.host.links(self.index, name, flat=self.flat)
        return None if found is None else [link for link in found if relatives.suits(link, self.suits)]

    def pin(self, name: str, version: str) -> None:
        """Hold the name to this version, by the wheels of the host."""
        self.pins[name] = version
        self.links[name] = tuple(link for link in self.usable(name) or () if link.wheel.version == version)

    def limits(self) -> tuple[store.File, ...]:
        """The page of links and the constraints as they stand."""
        page = store.file(self.want.place, "lock", ".html", page_of(self.links.values()), private=True)
        pins = "".join(f"{name}=={version}\n" for name, version in self.pins.items())
        return page, store.file(self.want.place, "constraints", ".txt", pins)

    def strays(self) -> bool:
        """Pin the members of the family that came from elsewhere; whether another resolution is due."""
        again = False
        for name, version in self.needed.items():
            if name not in self.want.family or name in self.pins:
                continue
            there = self.usable(name)
            if not there:
                if there is not None:
                    label = self.aim.environment.label
                    text = f"the wheel host has no {name} for {label}, so it comes from your own index"
                    self.notes.append(Note("FAMILY_FROM_INDEX", text))
                continue
            chosen = self._chosen(name, version, there)
            self.pin(name, chosen)
            again = again or chosen != version
        return again

    def _chosen(self, name: str, version: str, there: Iterable[Link]) -> str:
        """The same version; the same release under the host's label; else the newest that was asked for."""
        versions = sorted({link.wheel.version for link in there}, key=relatives.order, reverse=True)
        if version in versions:
            return version
        same = [each for each in versions if each.partition("+")[0] == version.partition("+")[0]]
        asked = [each.specifier for each in self.want.asked.wanted if each.name == name]
        fitting = [each for each in versions if all(admits(text)(each) for text in asked)]
        if not fitting:
            where = web.redacted(self.index)
            hint = f"leave {name} out, or ask for one of these"
            raise InstallerError(
                f"{where} has no {name}{asked[0] if asked else ''} for {self.aim.environment.label}: it has "
                f"{', '.join(versions[:5])}",
                hint=hint,
                code="NOT_ON_PAGE",
            )
        return next((each for each in same if each in fitting), fitting[0])

    def check(self) -> None:
        """What is pinned and needed must lie on the host."""
        for name in self.pins:
            if name in self.needed and not self.links[name]:
                there = self.host.links(self.index, name, flat=self.flat)
                said = "has no page of it" if there is None else "has no such wheel"
                hint = "`torchpick refresh` reads what the wheel index holds now; `--index-base URL` names a mirror"
                raise InstallerError(
                    f"{name} {self.pins[name]} for {self.aim.environment.label}: {web.redacted(self.index)} {said}",
                    hint=hint,
                    code="NOT_ON_PAGE",
                )

    def hash_family(self) -> None:
        """Every file of the family that is needed gets its hash: the page's, the table's, or its bytes'."""
        build, tag = self.want.build, self.want.machine.python.tag
        known = links.wheels(build, "torch", build.version, tag, self.index) or ()
        measured = {each.file: each.sha256 for each in known if each.sha256 is not None}
        for name in self.pins:
            if name in self.needed:
                self.links[name] = tuple(self._hashed(link, measured.get(link.file)) for link in self.links[name])

    def _hashed(self, link: Link, measured: str | None) -> Link:
        if link.sha256 is not None and measured is not None and link.sha256 != measured:
            raise IntegrityError(
                f"{link.file}: the index says sha256 {link.sha256}, the wheel that was read had {measured}",
                hint="somebody changed the file or the page: do not install it, and compare with another source",
            )
        return link._replace(sha256=link.sha256 or measured or self._computed(link.url))

    def _computed(self, url: str) -> str:
        name = file_of(url)
        if not url.startswith("file:") and self.want.most:
            self.listener.say(f"the index tells no sha256 of {name}, so it is downloaded to compute it")
        digest = self.host.sha256(url, self.want.most, self.listener.progress(name))
        self.computed.append(name)
        return digest

    def finished(self, package: Package) -> Package:
        """The package with the host's own files, where it is of the family, and with every hash."""
        if package.archive is not None:
            return package._replace(archive=self._complete(package.archive))
        if package.name in self.pins:
            files = tuple(File(link.url, link.sha256, link.size) for link in self.links[package.name])
            return package._replace(wheels=files, sdist=None, index_url=self.index)
        return package._replace(
            wheels=tuple(map(self._complete, package.wheels)),
            sdist=None if package.sdist is None else self._complete(package.sdist),
        )

    def _complete(self, file: File) -> File:
        return file if file.sha256 is not None else file._replace(sha256=self._computed(file.url))


def page_of(shelves: Iterable[Iterable[Link]]) -> str:
    """One page for `--find-links`; with the mark of a metadata file pip asks for that and not for the wheel."""
    lines = []
    for link in (each for shelf in shelves for each in shelf):
        href = escape(link.url + (f"#sha256={link.sha256}" if link.sha256 else ""))
        told = "" if link.metadata is None else f"sha256={link.metadata}" if link.metadata else "true"
        mark = f' data-core-metadata="{told}" data-dist-info-metadata="{told}"' if told else ""
        lines.append(f'<a href="{href}"{mark}>{escape(link.file)}</a><br/>\n')
    return f"<!DOCTYPE html>\n<html>\n<body>\n{''.join(lines)}</body>\n</html>\n"
