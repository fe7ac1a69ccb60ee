"""Wheels of a resolution that the table does not know, read by ranges: METADATA, what they link, code per library.

What is read of all of them together is bounded, in bytes, in number and in time. Each wheel is read once ever: its
reading is kept by its sha256, and `torchpick inspect` and `survey` find it there too.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from torchpick.environment.targets import Target
from torchpick.errors import TorchpickError
from torchpick.index import places
from torchpick.index.client import Client
from torchpick.index.listing import Link
from torchpick.index.user_index import IndexTarget, UserIndex
from torchpick.knowledge.packages import package_of
from torchpick.knowledge.places import cache_dir
from torchpick.model.fields import Fields, ShapeError
from torchpick.model.machine import Platform
from torchpick.model.noun import Noun
from torchpick.model.package import Package, PackageFacts, WheelRule
from torchpick.wheels import packaged, shelf, surveyed, thing
from torchpick.wheels.packaged import Around, Row
from torchpick.wheels.reading import WHOLE, Reading
from torchpick.wheels.readings import Readings
from torchpick.wheels.surveyed import SurveyWheel
from torchpick.wheels.thing import How
from torchpick.wheels.wheel import Allowance, headers_of

# Of all wheels of one resolution together; where one has more, its smaller libraries tell what it links, and the
# beginning of its main ones most of what they were built for. A project of the table is worth several others.
MOST_BYTES = 60_000_000
_WORTH = 4
_MOST_KEPT = 1 << 20
_SCHEMA = 1  # raised where wheels are read for more or other things than before
MOST_WHEELS = 8
MOST_SECONDS = 120.0
_AT_ONCE = 4


class Watcher(Noun):
    """Who hears that wheels are read, and of each byte that comes."""

    talk: Callable[[str], None] = lambda _: None
    report: Callable[[int], None] = lambda _: None


class ReadPackages(Noun):
    """What was read, and what could not be."""

    packages: tuple[Package, ...] = ()
    lacking: tuple[str, ...] = ()


class FoundWheel(Noun):
    """A version of a project that the table does not have: the wheel that an installer would take, and the rule."""

    name: str
    version: str
    rule: WheelRule | None  # None: the table does not have the project
    wheel: SurveyWheel | None = None

    @property
    def plain(self) -> bool:
        """Whether its wheel is for every platform, so that it holds no code."""
        return self.wheel is not None and self.wheel.link.wheel.platform == "any"

    @property
    def compiled(self) -> bool:
        return self.wheel is not None and not self.plain

    @property
    def worth(self) -> int:
        return 1 if self.rule is None else _WORTH

    def allowance(self, shares: int) -> Allowance:
        """Its part of the bytes, where so many shares are given out."""
        return Allowance(MOST_BYTES * self.worth // max(shares, 1), "" if self.rule is None else self.rule.main)


class UnreadWheels:
    """Reads for one target, from the user's own index."""

    def __init__(
        self, target: Target, platform: Platform, environ: Mapping[str, str], watcher: Watcher | None = None
    ) -> None:
        self.environ, self.watcher = environ, watcher or Watcher()
        self.aim = IndexTarget(target.tag, platform, target.full_version)
        self.python = target.python

    def packages(self, wanted: Mapping[str, str], known: Mapping[str, PackageFacts]) -> ReadPackages:
        """The packages at these versions, as far as they can be read.

        A wheel for every platform holds no code; of a project that the table does not have it says nothing new.
        """
        if not wanted:
            return ReadPackages()
        from concurrent.futures import ThreadPoolExecutor

        try:
            self.places = places.of_user(self.environ, self.python)
        except TorchpickError:
            return ReadPackages(lacking=tuple(wanted))
        asked = [FoundWheel(name, wanted[name], known[name].rule if name in known else None) for name in wanted]
        rows = {each.name: self._kept(each) for each in asked}
        torch = known.get("torch")
        around = Around(known, {} if torch is None else {own.version: own.cuda for own in torch.versions})
        over = threading.Event()
        pool = ThreadPoolExecutor(_AT_ONCE)
        try:
            found = list(pool.map(self._found, [each for each in asked if rows[each.name] is None]))
            for each in found:
                if each.plain and each.rule is None:
                    rows[each.name] = {}
            compiled = [each for each in found if each.compiled][:MOST_WHEELS]
            todo = [*(each for each in found if each.plain and each.rule is not None), *compiled]
            self._say(compiled)
            shares, how = sum(each.worth for each in compiled), self._how(over)
            made = pool.map(lambda each: self._row(each, how._replace(allowance=each.allowance(shares)), around), todo)
            rows |= {each.name: row for each, row in zip(todo, made, strict=True)}
        finally:
            over.set()
            pool.shutdown(cancel_futures=True)
        for each in found:
            self._keep(each, rows[each.name])
        packages = (package_of(name, Fields(row)) for name, row in rows.items() if row)
        return ReadPackages(tuple(packages), tuple(name for name, row in rows.items() if row is None))

    def _index(self, client: Client) -> UserIndex:
        return UserIndex(self.places, client)

    def _found(self, asked: FoundWheel) -> FoundWheel:
        """The same with its wheel, where there is one."""
        try:
            with Client(environ=self.environ) as client:
                candidates = self._index(client).candidates(asked.name, f"=={asked.version}", self.aim)
        except (TorchpickError, ValueError):
            return asked
        links = [each.link for each in candidates]
        wheel = surveyed.wanted(links, asked.version, self.aim.platform.name) if links else None
        return asked if wheel is None else asked._replace(wheel=wheel._replace(link=links[0]))

    def _say(self, compiled: list[FoundWheel]) -> None:
        names = [f"{each.name} {each.version}" for each in compiled]
        if names:
            verb = "were" if len(names) > 1 else "was"
            self.watcher.talk(f"reading which GPUs and which CUDA {', '.join(names)} {verb} built for")

    def _how(self, over: threading.Event) -> How:
        deadline = time.monotonic() + MOST_SECONDS

        def report(size: int) -> None:
            if over.is_set() or time.monotonic() > deadline:
                raise TorchpickError("the wheel was given up", hint="run the command again")
            self.watcher.report(size)

        return How(report=report, readings=Readings(cache_dir(self.environ)))

    def _row(self, found: FoundWheel, how: How, around: Around) -> Row | None:
        """The version as the table has it; None where its wheel or its METADATA cannot be read."""
        if found.wheel is None:
            return None
        link = found.wheel.link
        try:
            text = None if found.compiled else self._beside(link)
            if text is None:
                reading = thing.read(f"{link.url}#sha256={link.sha256}" if link.sha256 else link.url, how)
            else:
                headers = headers_of(text)
                reading = Reading(
                    link.file, WHOLE, complete=True, size=0, bytes_read=0, requests=0, file=link.file, metadata=headers
                )
            return None if reading.metadata is None else of_reading(found.wheel, found.rule, reading, around)
        except (TorchpickError, ValueError):
            return None

    def _beside(self, link: Link) -> str | None:
        """The METADATA beside a wheel; None where the index has none."""
        with Client(environ=self.environ) as client:
            return self._index(client).metadata(link)

    # What was made of a wheel is kept too: so the next run asks the index for none of these pages.
    def _file(self, asked: FoundWheel) -> Path:
        rule = None if asked.rule is None else asked.rule.to_json()
        aim = self.aim.tag, self.aim.platform.name
        key = json.dumps([_SCHEMA, self.places.base, asked.name, asked.version, aim, rule])
        return Path(cache_dir(self.environ)) / "packages" / f"{sha256(key.encode()).hexdigest()}.json"

    def _kept(self, asked: FoundWheel) -> Row | None:
        with suppress(ShapeError, ValueError):
            row = Fields(shelf.read(self._file(asked))).object("row")
            if row.names():
                package_of(asked.name, row)  # a damaged one counts as none
            return {name: row.raw(name) for name in row.names()}
        return None

    def _keep(self, found: FoundWheel, row: Row | None) -> None:
        if row is not None:
            with suppress(TorchpickError):
                shelf.write(self._file(found), {"row": row}, _MOST_KEPT)


def of_reading(wheel: SurveyWheel, rule: WheelRule | None, reading: Reading, around: Around) -> Row | None:
    """A reading as a version of the table; None where too little of it was read to judge it."""
    held = [one for one in reading.libraries if one.holds_code]
    code = [{**surveyed.code_of(one), "whole": one.complete} for one in held]
    row = packaged.version({**surveyed.line(wheel, reading), "code": code}, rule or WheelRule(), around)
    libraries = row["code"] or []
    if rule is None:
        return {**row, "code": _as_one(str(wheel.link.wheel.project), libraries, all_read=not reading.unread)}
    decisive = rule.per_cuda or not rule.main or any(each["main"] for each in libraries)
    return row if not reading.unread or (decisive and (row["cuda"] or rule.per_cuda)) else None


def _as_one(name: str, code: list[Row], *, all_read: bool) -> list[Row]:
    """Which libraries of an unknown project decide nobody knows: all of them together must support the GPU."""
    if not code:
        return []
    arches = dict.fromkeys(arch for each in code for arch in each["arches"].split())
    whole = all_read and all(each.get("whole", True) for each in code)
    union = {"path": f"{name}/{name}", "main": True, "cuda": None, "arches": " ".join(arches), "whole": whole}
    return [union, *({**each, "main": False} for each in code)]
