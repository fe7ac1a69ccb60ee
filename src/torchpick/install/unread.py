"""Packages that the table does not know: their wheels, read by ranges for METADATA, what they link, code per library.

What is read of all that is asked for at once is bounded, in bytes, in number and in time. Each wheel is read once ever:
its reading is kept by its sha256, and `torchpick inspect` finds it there too.
"""

from __future__ import annotations

import threading
import time
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import cast

from packaging.version import Version

from torchpick.errors import TorchpickError
from torchpick.index import index_places, wheelnames
from torchpick.index.listing import Link, file_of
from torchpick.index.user_index import IndexTarget, SeenPages, UserIndex
from torchpick.knowledge.locations import cache_dir
from torchpick.knowledge.packages import package_of
from torchpick.model.address import Address
from torchpick.model.noun import Noun
from torchpick.model.package import Package, PackageFacts, WheelRule
from torchpick.model.pythons import python_name
from torchpick.wheels import packaged, thing
from torchpick.wheels.packaged import Around, Row, SurveyWheel
from torchpick.wheels.readings import WHOLE, Allowance, Reading, Readings
from torchpick.wheels.thing import How
from torchpick.wheels.wheel import headers_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.errors import Report

# CUDA wheels are read for these alone.
READ = ("linux-x86_64", "windows-x86_64")
# Of all wheels of one resolution together; where one has more, its smaller libraries tell what it links, and the
# beginning of its main ones most of what they were built for.
MOST_BYTES = 60_000_000
MOST_WHEELS = 8
MOST_SECONDS = 120.0
_AT_ONCE = 4


class LearntPackages:
    """What is known of packages for one environment; it grows where wheels are read, and says what could not be."""

    def __init__(self, table: Mapping[str, PackageFacts], platform: str, reader: UnreadWheels | None) -> None:
        self.facts, self.readable = table, platform in READ
        self.lacking: dict[str, str] = {}
        self._reader = reader
        self._sought: set[tuple[str, str]] = set()

    def read(self, wanted: Mapping[str, str], placed: Mapping[str, str] = {}, *, pure: bool = False) -> bool:
        """Read the wheels of these projects, each by its specifier or at its place; whether anything was tried.

        A wheel without code says what it needs, which is news only where no installer's resolver was asked (`pure`).
        """
        sought = [pair for pair in wanted.items() if pair[0] not in self.lacking and pair not in self._sought]
        if not sought or not self.readable or self._reader is None:
            return False
        self._sought |= set(sought)
        asked = [
            FoundWheel(name, specifier, self.facts[name].rule if name in self.facts else None, placed.get(name, ""))
            for name, specifier in sought
        ]
        read, lacking = self._reader.packages(asked, self.facts, pure=pure)
        self.facts = _joined(self.facts, read) if read else self.facts
        self.lacking |= lacking
        return True


def _joined(table: Mapping[str, PackageFacts], read: Iterable[Package]) -> Mapping[str, PackageFacts]:
    """The packages of the table, of which none is read for it, and the versions that were read in this run."""
    grown: dict[str, PackageFacts] = {}
    for package in read:
        facts = grown.get(package.name) or table.get(package.name) or PackageFacts(package.name, ())
        others = (each for each in facts.versions if each.version != package.version)
        versions = sorted((package, *others), key=lambda each: Version(each.version), reverse=True)
        grown[package.name] = facts._replace(versions=tuple(versions))
    return ChainMap(grown, cast("MutableMapping[str, PackageFacts]", table))


class FoundWheel(Noun):
    """A version that the table does not have: the wheel that an installer would take, or why there is none."""

    name: str
    specifier: str
    rule: WheelRule | None  # None: the table does not have the project
    place: str = ""  # a URL or a path that is asked for instead of an index
    wheel: SurveyWheel | None = None
    why: str = ""

    @property
    def plain(self) -> bool:
        """Whether its wheel is for every platform, so that it holds no code."""
        return self.wheel is not None and self.wheel.link.wheel.platform == "any"

    @property
    def compiled(self) -> bool:
        return self.wheel is not None and not self.plain

    def allowance(self, shares: int) -> Allowance:
        """Its part of the bytes, where so many shares are given out."""
        return Allowance(MOST_BYTES // max(shares, 1), "" if self.rule is None else self.rule.main)


class UnreadWheels:
    """Reads in one run, from the user's own index, each page of it once; `python` is whose settings name it."""

    def __init__(self, environ: Mapping[str, str], report: Report, python: str | None, aim: IndexTarget) -> None:
        self._environ, self._report, self._python, self._aim = environ, report, python, aim
        self._seen = SeenPages()

    def packages(
        self, asked: Iterable[FoundWheel], known: Mapping[str, PackageFacts], *, pure: bool
    ) -> tuple[list[Package], dict[str, str]]:
        """The newest version of each that this Python can take; and of those that cannot be read, the reason."""
        torch = known.get("torch")
        around = Around(known, {} if torch is None else {own.version: own.cuda for own in torch.versions})
        over = threading.Event()
        pool = ThreadPoolExecutor(_AT_ONCE)
        try:
            found = list(pool.map(self._found, asked))
            compiled = [each for each in found if each.compiled]
            todo = compiled[:MOST_WHEELS]
            self._say(todo)
            shares, how = len(todo), self._how(over)
            todo += [each for each in found if each.plain and (pure or each.rule is not None)]
            made = pool.map(lambda each: self._row(each, how._replace(allowance=each.allowance(shares)), around), todo)
            rows = list(zip(todo, made, strict=True))
        finally:
            over.set()
            pool.shutdown(cancel_futures=True)
        lacking = {each.name: each.why for each in found if each.wheel is None}
        lacking |= {each.name: f"no more than {MOST_WHEELS} wheels are read at once" for each in compiled[MOST_WHEELS:]}
        lacking |= {each.name: row for each, row in rows if isinstance(row, str)}
        return [package_of(each.name, row) for each, row in rows if not isinstance(row, str)], lacking

    @cached_property
    def _places(self) -> index_places.IndexPlaces:
        return index_places.of_user(self._environ, self._python)

    @contextmanager
    def _index(self) -> Iterator[UserIndex]:
        from torchpick.index.client import Client

        with Client(environ=self._environ) as client:
            yield UserIndex(self._places, client, self._seen)

    def _found(self, asked: FoundWheel) -> FoundWheel:
        """The same with its wheel, where there is one, and with the reason where there is none."""
        aim = self._aim
        if asked.place:
            return at_place(asked, aim)
        try:
            with self._index() as index:
                links = index.candidates(asked.name, asked.specifier, aim)
                bad = index.refused(asked.name)
        except TorchpickError as error:
            return asked._replace(why=error.message)
        except ValueError:
            return asked._replace(why=f"`{asked.specifier}` is not a specifier of versions")
        wheel = packaged.wanted(links, links[0].wheel.version, aim.platform.name) if links else None
        if wheel is None:
            none = f"your index has no wheel of it for {_for(aim)}"
            return asked._replace(why="; ".join((none, *bad[:1])))
        return asked._replace(wheel=wheel._replace(link=links[0]))

    def _say(self, compiled: list[FoundWheel]) -> None:
        named = [f"{each.name} {each.wheel.link.wheel.version}" for each in compiled if each.wheel is not None]
        if named:
            verb = "were" if len(named) > 1 else "was"
            self._report(f"reading which GPUs and which CUDA {', '.join(named)} {verb} built for")

    def _how(self, over: threading.Event) -> How:
        deadline = time.monotonic() + MOST_SECONDS

        def report(news: str | int) -> None:
            if over.is_set() or time.monotonic() > deadline:
                raise TorchpickError(f"it did not come within {MOST_SECONDS:.0f} seconds", hint="run the command again")
            self._report(news)

        return How(report=report, readings=Readings(cache_dir(self._environ)))

    def _row(self, found: FoundWheel, how: How, around: Around) -> Row | str:
        """The version as the table has it; where its wheel or its METADATA cannot be read, the reason."""
        if found.wheel is None:
            return found.why
        link = found.wheel.link
        try:
            text = None if found.compiled else self._beside(link)
            if text is None:
                reading = thing.read(link.with_hash, how)
            else:
                headers = headers_of(text)
                reading = Reading(
                    link.file, WHOLE, complete=True, size=0, bytes_read=0, requests=0, file=link.file, metadata=headers
                )
            if reading.metadata is None:
                return "it has no METADATA"
            row = of_reading(found.wheel, found.rule, reading, around)
        except TorchpickError as error:
            return error.message
        except ValueError:
            return "its METADATA cannot be understood"
        return row or "what is read of so large a wheel does not show it"

    def _beside(self, link: Link) -> str | None:
        """The METADATA beside a wheel; None where the index has none."""
        with self._index() as index:
            return index.metadata(link)


def at_place(asked: FoundWheel, aim: IndexTarget) -> FoundWheel:
    """The wheel that a URL or a path leads to."""
    url = asked.place if "://" in asked.place else Path(asked.place).absolute().as_uri()
    address, _, fragment = url.partition("#")
    with suppress(ValueError):
        file = file_of(Address(address))
        if (wheel := wheelnames.parse(file)) is not None:
            link = Link(file, Address(address), wheel, thing.sha256_of(fragment))
            fits = wheelnames.rank(wheel, aim.tag, aim.platform) is not None
            found = packaged.wanted([link], wheel.version, aim.platform.name) if fits else None
            why = "" if found else f"{file} is not for {_for(aim)}"
            return asked._replace(wheel=found, why=why)
    return asked._replace(why="it is not taken from a wheel")


def _for(aim: IndexTarget) -> str:
    return f"{python_name(aim.tag)} on {aim.platform.name}"


def of_reading(wheel: SurveyWheel, rule: WheelRule | None, reading: Reading, around: Around) -> Row | None:
    """A reading as a version of the table; None where too little of it was read to judge it."""
    held = [one for one in reading.libraries if one.holds_code]
    code = [{**packaged.code_of(one), "whole": one.complete} for one in held]
    # What a library links stands at its end: one that was read in part has not told it.
    unread = reading.unread + (0 if reading.depth == WHOLE else sum(not one.complete for one in reading.libraries))
    line = {**packaged.line(wheel, reading), "libraries_unread": unread, "code": code}
    row = packaged.version(line, rule or WheelRule(extras=True), around)
    libraries = row["code"] or []
    if rule is None:
        return {**row, "code": as_one(str(wheel.link.wheel.project), libraries, all_read=not unread)}
    decisive = rule.per_cuda or not rule.main or any(each["main"] for each in libraries)
    return row if not unread or (decisive and (row["cuda"] or rule.per_cuda)) else None


def as_one(name: str, code: list[Row], *, all_read: bool) -> list[Row] | None:
    """Which libraries of an unknown project decide nobody knows: all of them together must support the GPU."""
    if not code:
        return [] if all_read else None
    arches = dict.fromkeys(arch for each in code for arch in each["arches"].split())
    whole = all_read and all(each.get("whole", True) for each in code)
    union = {"path": f"{name}/{name}", "main": True, "cuda": None, "arches": " ".join(arches), "whole": whole}
    return [union, *({**each, "main": False} for each in code)]
