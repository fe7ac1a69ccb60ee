"""One question, or several about a machine, asked until nothing is lacking: pages, METADATA, GPU code of wheels."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from typing import TypeVar, cast

from packaging.version import InvalidVersion

from torchpick.decide.answer import Answer
from torchpick.decide.demands import PackageDemand, fitting
from torchpick.decide.searchfacts import Needs
from torchpick.environment import distributions
from torchpick.errors import InstallerError, TorchpickError
from torchpick.index import index_places
from torchpick.index.pages import ProjectFile
from torchpick.index.projectfiles import (
    IndexTarget,
    LeftOutReason,
    LeftOutVersion,
    candidates,
    suits_python,
)
from torchpick.index.projects import LIMIT_CODE, ProjectReader
from torchpick.index.wheelnames import normal_version, parsed_version
from torchpick.install.asking import TargetQuestion
from torchpick.install.places import check_fit, facts_of, index_order_notes, unread_notes, with_more_indexes
from torchpick.model.address import is_wheel_host
from torchpick.model.build import TRIO
from torchpick.model.machine import Note
from torchpick.model.metadata import Metadata
from torchpick.model.package import Catalog, Package, PackageFacts, Stage, within

T = TypeVar("T")

# 4 to 9 rounds were seen, and twice as many where versions have to be tried.
MOST_ROUNDS = 24
# CUDA wheels are read for these alone.
_READABLE = ("linux-x86_64", "windows-x86_64")
# Why a version is left out that only the user's own rules keep away.
_BY_POLICY = (LeftOutReason.TOO_NEW, LeftOutReason.ONLY_SOURCE)


class Learner:
    """One question or several in a target, asked until nothing is lacking, of the indexes that its settings name."""

    def __init__(self, question: TargetQuestion) -> None:
        self._question, self._run, self._policies = question, question.run, question.policies
        machine, installed = question.machine, question.target.installed
        self.target = IndexTarget(machine.python.tag, machine.platform, question.target.python.exact)
        self.sizes: dict[tuple[str, str], int | None] = {}
        self._left_out: dict[str, tuple[LeftOutVersion, ...]] = {}
        self._indexes: Mapping[str, tuple[str, ...]] = {}
        table = self._run.read_catalog(machine)
        self._table = table.packages
        self._learnt: dict[str, PackageFacts] = {}
        self._files: dict[tuple[str, str], ProjectFile] = {}
        self._misses: dict[str, int] = {}
        self._code_lacking: dict[tuple[str, str], str] = {}
        self._wheels_read = 0
        self._as_of: float | None = None  # when the oldest page that could not be asked for again was read
        self.catalog = table._replace(
            packages=ChainMap(self._learnt, cast("MutableMapping[str, PackageFacts]", self._table)),
            may_learn=True,
            pre=bool(self._policies.pre),
            no_deps=bool(self._policies.no_deps),
            overrides=self._policies.specifiers(question.holds),
            installed={} if question.order.upgrade or question.elsewhere else normal_versions(installed),
        )
        for project in question.placed:  # each is the one candidate of its project
            if project.file is not None:
                check_fit(project.file, self.target, project.source)
                self._files[project.name, project.file.version] = project.file
            if (facts := facts_of(project, self._table.get(project.name))) is not None:
                self._learnt[project.name] = facts

    def answer(self, ask: Callable[[Catalog], Answer | Needs]) -> Answer:
        if not self._learnt and isinstance(first := ask(self.catalog), Answer):  # of torch's family: no index is needed
            return first
        environ, report, offline = self._run.environ, self._run.report, self._run.offline
        indexes = self._read_indexes()
        with ProjectReader(indexes, environ, report, target=self.target, offline=offline) as reader:
            for _ in range(MOST_ROUNDS):
                answer = ask(self.catalog)
                if isinstance(answer, Answer):
                    self._as_of = reader.as_of
                    if len(indexes.indexes) > 1 and not offline:
                        named = (demand.name for demand in answer.question.wanted if demand.name not in TRIO)
                        self._indexes = reader.indexes_with((*named, *answer.judged))
                    return answer
                self._learn(reader, answer)
        hint = "name fewer packages at a time, or versions of them"
        text = f"what is asked for was not known after {MOST_ROUNDS} rounds of questions to your index"
        raise InstallerError(text, hint=hint, code="ROUNDS")

    def _read_indexes(self) -> index_places.IndexPlaces:
        """The user's own, those of requirements files, and those that the installer is given."""
        question = self._question
        try:
            places = index_places.of_user(self._run.environ, question.target.program, question.binding)
        except TorchpickError:
            if not self._run.offline:
                raise
            places = index_places.IndexPlaces(())
        return with_more_indexes(places, question.requirements, question.order.passed_on)

    def _learn(self, reader: ProjectReader, needs: Needs) -> None:
        roots = {**needs.roots, **dict(self.catalog.roots)}
        self.catalog = self.catalog._replace(roots=tuple(roots.items()))
        new = [name for name in needs.pages if name not in self._learnt]
        for name, files in reader.pages(new).items() if new else ():
            self._learnt[name] = self._of_page(name, _within_limits(files))
        pairs = dict.fromkeys((*self._newest(needs.pages), *self._ahead(needs.metadata)))
        pair_of = {self._files[pair]: pair for pair in pairs if pair in self._files}
        for file, metadata in reader.metadata([*pair_of]).items() if pair_of else ():
            self._replace(self._described(*pair_of[file], file, _within_limits(metadata)))
        if needs.code:
            self._read_code(needs.code)

    def _newest(self, pages: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """The version of each project that will be read next."""
        for name, specifier in pages.items():
            facts = self._learnt[name]
            rows = fitting(facts.versions, [PackageDemand(name, specifier)], pre=self.catalog.pre)
            there = self.catalog.installed.get(name)
            for row in sorted(rows, key=lambda row: row.version != there)[:1]:
                if row.stage is Stage.LISTED:
                    yield name, row.version

    def _ahead(self, needs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Of a project that was asked before also the next 1, 2, 4, 8 … versions: none of the newer ones did."""
        for name, version in needs:
            listed = [row.version for row in self.catalog.packages[name].versions if row.stage is Stage.LISTED]
            start, more = listed.index(version), self._misses.get(name, 1)
            self._misses[name] = 2 * more
            yield from ((name, other) for other in listed[start : start + 1 + more])

    def _of_page(self, name: str, files: Sequence[ProjectFile] | TorchpickError | None) -> PackageFacts:
        """What is known of a project once its page was looked at: an index's version is one like the table's."""
        facts = self._table.get(name) or PackageFacts(name, (), in_table=False)
        if isinstance(files, TorchpickError):
            return facts._replace(unlisted=files.message)
        if files is None:
            rows = [row for row in facts.versions if row.place or facts.source_only is not None]
            return facts._replace(versions=tuple(rows), listed=True, unlisted="it is not on your index")
        chosen, left_out = candidates(files, self.target, self._policies.rules(name))
        self._left_out[name] = tuple(left for left in left_out if left.reason in _BY_POLICY)
        self.sizes |= {(name, file.version): file.size for file in chosen}
        listed = {file.version for file in files} - {left.version for left in self._left_out[name]}
        rows = [row for row in facts.versions if row.place or normal_version(row.version) in listed]
        in_table = {normal_version(row.version) for row in rows}
        withdrawn = (left.file for left in left_out if left.reason is LeftOutReason.YANKED)
        fresh: list[Package] = []
        for file in (*chosen, *withdrawn):
            if file is not None and file.version not in in_table:
                self._files[name, file.version] = file
                fresh.append(_listed(name, file))
        installed = self._installed_version(name)
        if installed is not None and installed.version not in in_table:
            rows.append(installed)
        if facts.source_only is None:
            rows = sorted((*rows, *fresh), key=lambda row: parsed_version(row.version), reverse=True)
        else:  # what is to be built with torch in place comes after the wheels of it that were seen elsewhere
            rows += fresh
        why = "" if rows or not files else f"your index has no file of it for {self.target}"
        newer = _newer_than(rows[0].version, left_out) if rows else None
        return facts._replace(versions=tuple(rows), listed=True, unlisted=why, newer=newer)

    def _installed_version(self, name: str) -> Package | None:
        """By its own metadata; which GPUs its libraries are for is not read."""
        version = self.catalog.installed.get(name)
        distribution = None if version is None else distributions.find_installed(name, self._question.target.packages)
        if distribution is None or version is None:
            return None
        code = None if distributions.libraries(distribution) else ()
        return Package(name, version, requires=distribution.requires, code=code, stage=Stage.READ)

    def _described(self, name: str, version: str, file: ProjectFile, metadata: Metadata | TorchpickError) -> Package:
        facts = self.catalog.packages[name]
        row = next(row for row in facts.versions if row.version == version)
        compiled = file.name.is_wheel and file.name.platform != "any"
        readable = self.target.platform.name in _READABLE
        stage = Stage.DESCRIBED if compiled and readable else Stage.READ
        row = row._replace(stage=stage, code=None if compiled and not readable else ())
        if isinstance(metadata, TorchpickError):
            return row._replace(undescribed=metadata.message)
        if (line := metadata.unreadable) is not None:
            return row._replace(undescribed=f"its METADATA has `{line}`, which is not a valid requirement")
        rule = facts.rule
        return row._replace(
            requires=(*metadata.requires, *within(rule.beyond, version)),
            requires_python="" if suits_python(metadata.requires_python, self.target) else metadata.requires_python,
            links_torch=bool(rule.links_torch),
            optional=rule.optional,
            jit=next(within(rule.jit, version), None),
            guessed=metadata.guessed,
        )

    def _read_code(self, needs: Iterable[tuple[str, str]]) -> None:
        from torchpick.install.unread import read_wheels  # the readers of wheels, which few questions need

        run, packages = self._run, self.catalog.packages
        files = [self._files[pair] for pair in needs]
        read = read_wheels(files, packages, self.target.platform.name, run.environ, run.report, self._wheels_read)
        self._wheels_read += len(files)
        for (name, version), row in zip(needs, read, strict=True):
            before = next(row for row in packages[name].versions if row.version == version)
            if isinstance(row, str):
                self._code_lacking[name, version] = row
                self._replace(before._replace(stage=Stage.READ, code=None))
            else:
                self._replace(
                    row._replace(
                        requires=before.requires,
                        version=version,
                        pythons=before.pythons,
                        platforms=before.platforms,
                        glibc=None,
                    )
                )

    def _replace(self, package: Package) -> None:
        facts = self.catalog.packages[package.name]
        versions = (package if row.version == package.version else row for row in facts.versions)
        self._learnt[package.name] = facts._replace(versions=tuple(versions))

    # What is said of the answer.

    def undescribed(self, answer: Answer) -> list[str]:
        """The projects of which nobody but the installer can know what they require."""
        taken = [row.name for row in self._taken(answer) if row.undescribed]
        named = [demand.name for demand in answer.question.wanted if self._is_hidden(demand.name)]
        return [*dict.fromkeys((*taken, *named))]

    def _taken(self, answer: Answer) -> Iterator[Package]:
        """The versions in an answer, those too that are plain as far as is known."""
        packages = self.catalog.packages
        for pin in answer.environment.packages:
            rows = packages[pin.name].versions if pin.name in packages and pin.name not in TRIO else ()
            yield from (row for row in rows if row.version == pin.version)

    def _is_hidden(self, name: str) -> bool:
        """Whether an index did not show the page of a project that the table does not have."""
        facts = self._learnt.get(name)
        return facts is not None and not facts.in_table and not facts.listed

    def on_wheel_indexes(self) -> tuple[str, ...]:
        """The projects of the answer that a PyTorch wheel index among the user's own has too."""
        base = self._run.index_base
        return tuple(name for name, urls in self._indexes.items() if any(is_wheel_host(url, base) for url in urls))

    def check_named(self, answer: Answer, hidden: Collection[str]) -> None:
        """Raise where the index has nothing of what is named, or no version that is asked for.

        What is `hidden` is known to the installer alone.
        """
        for demand in answer.question.wanted:
            facts = self.catalog.packages.get(demand.name)
            if demand.by or facts is None or facts.in_table or demand.name in {*TRIO, *hidden}:
                continue
            if not facts.versions:
                hint = "check its name, and the connection to your index"
                raise InstallerError(f"{demand.name}: {facts.unlisted}", hint=hint, code="NOT_FOUND")
            if not fitting(facts.versions, [demand], pre=self.catalog.pre):
                newest = facts.versions[0].version
                text = f"no version of {demand.name} for {self.target} is within `{demand.text}`"
                raise InstallerError(text, hint=f"the newest is {newest}", code="NOT_FOUND")

    def notes(self, answer: Answer) -> Iterator[Note]:
        """What was not read or not judged: it is named, never approved in silence."""
        yield from unread_notes(self._question.requirements, self._question.placed)
        packages = self.catalog.packages
        judged = {name: version for name, version in answer.judged.items() if name in packages}
        for row in self._taken(answer):
            if row.undescribed:
                yield Note("PACKAGE_UNREAD", f"what {row.who} requires is not known: {row.undescribed}")
            elif row.guessed:
                text = f"what {row.who} requires is taken from its egg-info, and building it may change that"
                yield Note("METADATA_GUESSED", text)
            elif (file := self._files.get((row.name, row.version))) is not None and not file.name.is_wheel:
                yield Note("BUILT_FROM_SOURCE", f"{row.who} has no wheel, and is built where it is installed")
            if why := self._code_lacking.get((row.name, row.version)):
                yield Note("PACKAGE_UNREAD", f"no wheel of {row.who} was read: {why}")
        for demand in answer.question.wanted:
            if self._is_hidden(demand.name):
                why = self._learnt[demand.name].unlisted
                yield Note("PACKAGE_UNREAD", f"what {demand.name} requires is known to the installer alone: {why}")
        yield from self._policies.notes(answer, packages, self._left_out)
        yield from index_order_notes(self._indexes, self._question.binding)
        stale = sorted(name for name in judged if packages[name].unlisted and not packages[name].listed)
        why = "nothing is looked up with `--offline`" if self._run.offline else "your index was not reached"
        if self._as_of is not None:
            read = datetime.fromtimestamp(self._as_of, tz=timezone.utc).date()
            yield Note("AS_OF", f"what your index has is as of {read}; {why}")
        if stale:
            day = f"as of {answer.pick.table_date}" if answer.pick.table_date else "as the table has them"
            yield Note("AS_OF", f"{', '.join(stale)}: {day}; {why}")


def _newer_than(version: str, left_out: Iterable[LeftOutVersion]) -> tuple[str, str] | None:
    """The first version that was left out though it is newer, with what is said of it."""
    newest = parsed_version(version)
    for left in left_out:
        other = parsed_version(left.version)
        if other > newest and not other.is_prerelease:
            return left.version, left.text
    return None


def _within_limits(value: T) -> T:
    """What was read; a bound on all that is read for a question ends it."""
    if isinstance(value, TorchpickError) and value.code == LIMIT_CODE:
        raise value
    return value


def _listed(name: str, file: ProjectFile) -> Package:
    return Package(
        name,
        file.version,
        yanked=file.yanked is not None,
        file=file.file,
        sha256=file.sha256,
        stage=Stage.LISTED,
    )


def normal_versions(installed: Mapping[str, str]) -> dict[str, str]:
    """The versions as PEP 440 spells them, without what it does not allow."""
    found = {}
    for name, version in installed.items():
        with suppress(InvalidVersion):
            found[name] = normal_version(version)
    return found
