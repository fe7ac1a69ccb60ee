"""Wheels that the table does not know, read by ranges: METADATA, what they link, code per library.

What is read of all that is asked for at once is bounded, in bytes, in number and in time. Each wheel is read once ever:
its reading is kept by its sha256, and `torchpick inspect` and `survey` find it there too.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from torchpick.errors import TorchpickError
from torchpick.index import index_places, wheelnames
from torchpick.index.client import Client
from torchpick.index.host_pages import file_of
from torchpick.index.index_places import IndexPlaces
from torchpick.index.listing import Link
from torchpick.index.user_index import IndexTarget, SeenPages, UserIndex
from torchpick.install.sought import ReadPackages, SoughtWheels
from torchpick.knowledge.locations import cache_dir
from torchpick.knowledge.packages import package_of
from torchpick.model.fields import Fields, ShapeError
from torchpick.model.noun import Noun
from torchpick.model.package import PackageFacts, WheelRule
from torchpick.model.pythons import python_name
from torchpick.wheels import packaged, shelf, thing
from torchpick.wheels.packaged import Around, Row, SurveyWheel
from torchpick.wheels.readings import WHOLE, Allowance, Reading, Readings
from torchpick.wheels.thing import How
from torchpick.wheels.wheel import headers_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.errors import Report

# Of all wheels of one resolution together; where one has more, its smaller libraries tell what it links, and the
# beginning of its main ones most of what they were built for. A project of the table is worth several others.
MOST_BYTES = 60_000_000
_WORTH = 4
_MOST_KEPT = 1 << 20
_SCHEMA = 3  # raised where wheels are read for more or other things than before
MOST_WHEELS = 8
MOST_SECONDS = 120.0
_AT_ONCE = 4
_EXACT = re.compile(r"==\s*([^,*=\s]+)")


class FoundWheel(Noun):
    """A version that the table does not have: the wheel that an installer would take, or why there is none."""

    name: str
    specifier: str
    rule: WheelRule | None  # None: the table does not have the project
    version: str = ""  # empty until it is found
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

    @property
    def worth(self) -> int:
        return 1 if self.rule is None else _WORTH

    def allowance(self, shares: int) -> Allowance:
        """Its part of the bytes, where so many shares are given out."""
        return Allowance(MOST_BYTES * self.worth // max(shares, 1), "" if self.rule is None else self.rule.main)


class UnreadWheels:
    """Reads in one run, from the user's own index, each page of it once; `python` is whose settings name it."""

    def __init__(self, python: str | None, environ: Mapping[str, str], report: Report) -> None:
        self.environ, self._report, self._python = environ, report, python
        self._seen = SeenPages()

    def packages(self, sought: SoughtWheels, known: Mapping[str, PackageFacts], aim: IndexTarget) -> ReadPackages:
        """The newest version of each within its specifier that this Python can take, as far as it can be read."""
        from concurrent.futures import ThreadPoolExecutor

        wanted, placed, pure = sought
        lacking: dict[str, str] = {}
        try:
            self._places  # noqa: B018 # read before there are threads
        except TorchpickError as error:
            lacking = {name: error.message for name in wanted if name not in placed}
            wanted = {name: specifier for name, specifier in wanted.items() if name in placed}
        asked = [_asked(name, specifier, known, placed.get(name, "")) for name, specifier in wanted.items()]
        rows: dict[str, Row | None] = {each.name: self._kept(each, aim, pure=pure) for each in asked}
        torch = known.get("torch")
        around = Around(known, {} if torch is None else {own.version: own.cuda for own in torch.versions})
        over = threading.Event()
        pool = ThreadPoolExecutor(_AT_ONCE)
        try:
            lost = [each for each in asked if rows[each.name] is None]
            found = list(pool.map(lambda each: self._found(each, aim), lost))
            rows |= {each.name: self._kept(each, aim, pure=pure) for each in found}
            left = [each for each in found if rows[each.name] is None]
            silent = [each for each in left if each.plain and each.rule is None and not pure]
            results: dict[str, Row | str] = {each.name: {} for each in silent}
            compiled = [each for each in left if each.compiled][:MOST_WHEELS]
            todo = [*(each for each in left if each.plain and each not in silent), *compiled]
            self._say(compiled)
            shares, how = sum(each.worth for each in compiled), self._how(over)
            made = pool.map(lambda each: self._row(each, how._replace(allowance=each.allowance(shares)), around), todo)
            results |= {each.name: result for each, result in zip(todo, made, strict=True)}
        finally:
            over.set()
            pool.shutdown(cancel_futures=True)
        for each in left:
            result = results.get(each.name, each.why or f"no more than {MOST_WHEELS} wheels are read at once")
            if isinstance(result, str):
                lacking[each.name] = result
            else:
                rows[each.name] = result
                self._keep(each, aim, result, pure=pure)
        return ReadPackages(tuple(package_of(name, Fields(row)) for name, row in rows.items() if row), lacking)

    @cached_property
    def _places(self) -> IndexPlaces:
        return index_places.of_user(self.environ, self._python)

    @contextmanager
    def _index(self) -> Iterator[UserIndex]:
        with Client(environ=self.environ) as client:
            yield UserIndex(self._places, client, self._seen)

    def _found(self, asked: FoundWheel, aim: IndexTarget) -> FoundWheel:
        """The same with its wheel, where there is one, and with the reason where there is none."""
        if asked.place:
            return _at_place(asked, aim)
        try:
            with self._index() as index:
                candidates = index.candidates(asked.name, asked.specifier, aim)
        except TorchpickError as error:
            return asked._replace(why=error.message)
        except ValueError:
            return asked._replace(why=f"`{asked.specifier}` is not a specifier of versions")
        links = [each.link for each in candidates]
        if not links:
            return asked._replace(why=f"your index has no wheel of it for {_for(aim)}")
        version = links[0].wheel.version
        wheel = packaged.wanted(links, version, aim.platform.name)
        if wheel is None:
            return asked._replace(why=f"your index has no wheel of it for {aim.platform.name}")
        return asked._replace(version=version, wheel=wheel._replace(link=links[0]))

    def _say(self, compiled: list[FoundWheel]) -> None:
        named = [f"{each.name} {each.version}" for each in compiled]
        if named:
            verb = "were" if len(named) > 1 else "was"
            self._report(f"reading which GPUs and which CUDA {', '.join(named)} {verb} built for")

    def _how(self, over: threading.Event) -> How:
        deadline = time.monotonic() + MOST_SECONDS

        def report(news: str | int) -> None:
            if over.is_set() or time.monotonic() > deadline:
                raise TorchpickError(f"it did not come within {MOST_SECONDS:.0f} seconds", hint="run the command again")
            self._report(news)

        return How(report=report, readings=Readings(cache_dir(self.environ)))

    def _row(self, found: FoundWheel, how: How, around: Around) -> Row | str:
        """The version as the table has it; where its wheel or its METADATA cannot be read, the reason."""
        if found.wheel is None:
            return found.why
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
            if reading.metadata is None:
                return "it has no METADATA"
            row = of_reading(found.wheel, found.rule, reading, around)
        except TorchpickError as error:
            return error.message
        except ValueError:
            return "its METADATA cannot be understood"
        return row if row is not None else "what is read of so large a wheel does not show it"

    def _beside(self, link: Link) -> str | None:
        """The METADATA beside a wheel; None where the index has none."""
        with self._index() as index:
            return index.metadata(link)

    # What was made of a wheel is kept too: so the next run asks the index for none of these pages.
    def _file(self, asked: FoundWheel, aim: IndexTarget, *, pure: bool) -> Path | None:
        if not asked.version or asked.place:
            return None
        rule = None if asked.rule is None else asked.rule.to_json()
        about = aim.tag, aim.platform.name, aim.platform.glibc, pure
        key = json.dumps([_SCHEMA, self._places.base, asked.name, asked.version, about, rule])
        return Path(cache_dir(self.environ)) / "packages" / f"{sha256(key.encode()).hexdigest()}.json"

    def _kept(self, asked: FoundWheel, aim: IndexTarget, *, pure: bool) -> Row | None:
        if (file := self._file(asked, aim, pure=pure)) is None:
            return None
        with suppress(ShapeError, ValueError):
            row = Fields(shelf.read(file)).object("row")
            if row.names() and package_of(asked.name, row).version != asked.version:
                return None  # a damaged one counts as none
            return {name: row.raw(name) for name in row.names()}
        return None

    def _keep(self, found: FoundWheel, aim: IndexTarget, row: Row, *, pure: bool) -> None:
        if (file := self._file(found, aim, pure=pure)) is not None:
            with suppress(TorchpickError):
                shelf.write(file, {"row": row}, _MOST_KEPT)


def _asked(name: str, specifier: str, known: Mapping[str, PackageFacts], place: str) -> FoundWheel:
    exact = _EXACT.fullmatch(specifier)
    rule = known[name].rule if name in known else None
    return FoundWheel(name, specifier, rule, exact[1] if exact else "", place)


def _at_place(asked: FoundWheel, aim: IndexTarget) -> FoundWheel:
    """The wheel that a URL or a path leads to."""
    url = asked.place if "://" in asked.place else Path(asked.place).absolute().as_uri()
    address, _, fragment = url.partition("#")
    with suppress(ValueError):
        file = file_of(address)
        if (wheel := wheelnames.parse(file)) is not None:
            link = Link(file, address, wheel, thing.sha256_of(fragment))
            fits = wheelnames.rank(wheel, aim.tag, aim.platform) is not None
            found = packaged.wanted([link], wheel.version, aim.platform.name) if fits else None
            why = "" if found else f"{file} is not for {_for(aim)}"
            return asked._replace(version=wheel.version, wheel=found, why=why)
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
    row = packaged.version(line, rule or WheelRule(), around)
    libraries = row["code"] or []
    if rule is None:
        return {**row, "code": _as_one(str(wheel.link.wheel.project), libraries, all_read=not unread)}
    decisive = rule.per_cuda or not rule.main or any(each["main"] for each in libraries)
    return row if not unread or (decisive and (row["cuda"] or rule.per_cuda)) else None


def _as_one(name: str, code: list[Row], *, all_read: bool) -> list[Row] | None:
    """Which libraries of an unknown project decide nobody knows: all of them together must support the GPU."""
    if not code:
        return [] if all_read else None
    arches = dict.fromkeys(arch for each in code for arch in each["arches"].split())
    whole = all_read and all(each.get("whole", True) for each in code)
    union = {"path": f"{name}/{name}", "main": True, "cuda": None, "arches": " ".join(arches), "whole": whole}
    return [union, *({**each, "main": False} for each in code)]
