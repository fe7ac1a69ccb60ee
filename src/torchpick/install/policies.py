"""What of the user's words and settings binds the choice of files, constraints aside; each with its place.

Pre-releases, wheels alone or sources alone, cooldowns, no dependencies, overrides: on the command line, behind `--`, in
a requirements file, in the variables and files of the installer that will do the work.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

from torchpick.decide.answer import Answer
from torchpick.decide.demands import PackageDemand, are_compatible, required
from torchpick.environment import requirements
from torchpick.environment.requirements import Requested, Requirements
from torchpick.environment.toolsettings import Setting, UvFile
from torchpick.errors import TorchpickError, UsageError
from torchpick.index.projectfiles import FileRules, LeftOutReason, LeftOutVersion, ProjectCandidates
from torchpick.index.wheelnames import parsed_version
from torchpick.install.user_settings import UserSettings, requirements_under
from torchpick.model.machine import Note
from torchpick.model.package import PackageFacts
from torchpick.model.versions import normal, some_of

ALL = ":all:"
_NONE = ":none:"
# Options with a value, and switches, as pip and uv know them on the command line and in requirements files.
_VALUED = (
    "--only-binary", "--no-binary", "--prerelease", "--exclude-newer", "--exclude-newer-package", "--uploaded-prior-to",
    "--no-build-package", "--no-binary-package", "--all-releases",
)  # fmt: skip
_SWITCHES = ("--pre", "--no-build", "--no-deps")
_PIP = ("pre", "all-releases", "only-binary", "no-binary", "uploaded-prior-to", "no-deps")
_UV = (
    "prerelease", "no-build", "no-build-package", "only-binary", "no-binary", "no-binary-package", "exclude-newer",
    "exclude-newer-package", "no-deps",
)  # fmt: skip
_UV_VARIABLES = {
    "UV_PRERELEASE": "prerelease",
    "UV_EXCLUDE_NEWER": "exclude-newer",
}


class Rule(NamedTuple):
    """What holds, and the place that says so, as a note names it."""

    value: str
    place: str


class Policies(NamedTuple):
    """The keys of mappings are projects, or `:all:` for all that are not among them."""

    pre: Rule | None = None
    only_binary: Mapping[str, Rule] = {}
    no_binary: Mapping[str, Rule] = {}
    uploaded_before: Mapping[str, Rule] = {}  # the value is a moment in UTC
    no_deps: Rule | None = None
    overrides: tuple[Requested, ...] = ()

    def of_binary(self, project: str) -> Rule | None:
        """Who takes wheels alone."""
        return _of(self.only_binary, project, self.no_binary)

    def of_source(self, project: str) -> Rule | None:
        """Who takes sources alone."""
        return _of(self.no_binary, project, self.only_binary)

    def cooldown(self, project: str) -> Rule | None:
        """Who leaves out what is too new."""
        return self.uploaded_before.get(project) or self.uploaded_before.get(ALL)

    def rules(self, project: str) -> FileRules:
        """What holds for the files of a project."""
        cooldown = self.cooldown(project)
        return FileRules(
            only_binary=self.of_binary(project) is not None,
            no_binary=self.of_source(project) is not None,
            uploaded_before=cooldown and cooldown.value,
        )

    def left_out(self, project: str, found: ProjectCandidates) -> tuple[LeftOutVersion, ...]:
        """The versions that these rules leave out."""
        return tuple(each for each in found.left_out if self._says(project, each.reason) is not None)

    def _says(self, project: str, reason: LeftOutReason) -> Rule | None:
        if reason is LeftOutReason.TOO_NEW:
            return self.cooldown(project)
        return self.of_binary(project) if reason is LeftOutReason.ONLY_SOURCE else None

    def specifiers(self, holds: Callable[[str], bool]) -> dict[str, tuple[str, ...]]:
        """What the overrides whose marker holds say of each project; nothing where it is left out."""
        found: dict[str, tuple[str, ...]] = {}
        for each in self.overrides:
            more = (each.specifier,) if holds(each.marker) else ()
            found[each.name] = (*found.get(each.name, ()), *more)
        return found

    def notes(
        self,
        answer: Answer,
        packages: Mapping[str, PackageFacts],
        left_out: Mapping[str, tuple[LeftOutVersion, ...]],
    ) -> Iterator[Note]:
        """What these rules changed of an answer, each with its place."""
        for each in (each for each in answer.environment.packages if each.name in left_out):
            wanted = [demand for demand in answer.question.wanted if demand.name == each.name]
            yield from self._of_project(each.name, each.version, left_out[each.name], wanted)
        taken = {**answer.taken, **(answer.pick.build.pins if answer.pick.ok else {})}
        rows = [
            row
            for name, version in answer.judged.items()
            if name in packages
            for row in packages[name].versions
            if row.version == version
        ]
        asked = [(f"`{demand.text}`", demand) for demand in answer.question.wanted]
        asked += [
            (f"{demand.text} of {row.who}", demand)
            for row in (rows if self.overrides else ())
            for demand in required(row.requires, answer.pick.machine, (), row.who)
        ]
        yield from self._of_overrides(asked, taken)
        if self.no_deps is not None and any(row.requires for row in rows):
            names = some_of([row.who for row in rows])
            yield Note("CONSTRAINED", f"{self.no_deps.place}: what {names} requires was left out")

    def _of_project(
        self, project: str, version: str, left_out: Iterable[LeftOutVersion], wanted: Sequence[PackageDemand]
    ) -> Iterator[Note]:
        """What these rules changed of a project of which this version is taken."""
        taken = parsed_version(version)
        for left in left_out:
            rule = self._says(project, left.reason)
            newer = parsed_version(left.version)
            usual = self.pre is not None or not newer.is_prerelease
            if rule is not None and newer > taken and usual and all(each.admits(left.version) for each in wanted):
                verb = "was" if left.reason is LeftOutReason.TOO_NEW else "has"
                text = f"bound by {rule.place}: {project} {left.version} {verb} {left.text}"
                yield Note("CONSTRAINED", text)
                break
        if self.pre is not None and taken.is_prerelease and all(each.admits("0") for each in wanted):
            yield Note("CONSTRAINED", f"{project} {version} is a pre-release, as {self.pre.place} takes them")
        if (source := self.of_source(project)) is not None:
            yield Note("CONSTRAINED", f"{project} {version} is built from source, as {source.place} says")

    def _of_overrides(self, asked: Iterable[tuple[str, PackageDemand]], taken: Mapping[str, str]) -> Iterator[Note]:
        """Which overrides took the place of what the versions that are taken do not meet."""
        for each in self.overrides:
            mine = [(who, demand) for who, demand in asked if demand.name == each.name]
            version = taken.get(each.name)
            instead = PackageDemand(each.name, each.specifier)
            for who, demand in mine:
                if not (demand.admits(version) if version else are_compatible([demand, instead])):
                    yield Note("CONSTRAINED", f"`{each.text}` in {each.where} takes the place of {who}")
                    break


def _of(mine: Mapping[str, Rule], project: str, others: Mapping[str, Rule]) -> Rule | None:
    """What is said of a project by name is stronger than what is said of all."""
    return mine.get(project) or (None if project in others else mine.get(ALL))


def read_policies(
    own: UserSettings,
    installer: str | None,
    asked: Requirements,
    passed_on: Sequence[str],
) -> Policies:
    """All that holds; without an installer the variables of both count."""
    said: list[Setting] = []
    if installer in ("pip", None):
        said += [own.pip[name] for name in _PIP if name in own.pip]
    if installer in ("uv", None):
        said += [each for name in _UV if (each := _of_uv(own.uv_files, name)) is not None]
        said += [
            Setting(name, (own.environ[variable],), variable)
            for variable, name in _UV_VARIABLES.items()
            if own.environ.get(variable)
        ]
    said += _of_files(asked)
    said += _of_words(passed_on)
    return _folded(said)._replace(overrides=tuple(_overrides(own, installer)))


def _of_uv(files: Iterable[UvFile], name: str) -> Setting | None:
    """A key of uv's: the first file that sets it wins."""
    for file in files:
        for scope in file.scopes:
            value = scope.get(name)
            if isinstance(value, dict):
                return Setting(name, tuple(f"{key}={one}" for key, one in value.items()), file.path)
            if value is not None:
                words = value if isinstance(value, list) else [value]
                return Setting(name, tuple(map(str, words)), file.path)
    return None


def _of_files(asked: Requirements) -> Iterator[Setting]:
    for (path, _), entries in asked.sources.items():
        for entry in entries:
            if entry.option in ("--pre", "--only-binary", "--no-binary", "--all-releases"):
                yield Setting(entry.option[2:], (entry.value or "true",), f"{path} line {entry.first}")


def _of_words(words: Sequence[str]) -> Iterator[Setting]:
    """Those of an installer's own command line; `--pre` and the like have no value."""
    rest = iter(words)
    for word in rest:
        name, mark, value = word.partition("=")
        if name in _VALUED:
            value = value if mark else next(rest, "")
            yield Setting(name[2:], (value,), f"`{name} {value}`")
        elif word in _SWITCHES:
            yield Setting(word[2:], ("true",), f"`{word}`")


class _Formats:
    """Which projects come as wheels alone and which as sources alone, as pip's FormatControl keeps them."""

    def __init__(self) -> None:
        self.only: dict[str, Rule] = {}
        self.no: dict[str, Rule] = {}

    def say(self, mine: dict[str, Rule], other: dict[str, Rule], words: Iterable[str], place: str) -> None:
        for name in [part.strip() for word in words for part in word.split(",")]:
            if name == ALL:
                mine.clear()
                other.clear()
                mine[ALL] = Rule(ALL, place)
            elif name == _NONE:
                mine.clear()
            elif name:
                other.pop(normal(name), None)
                mine[normal(name)] = Rule(name, place)


def _folded(said: Iterable[Setting]) -> Policies:
    """What holds in the end."""
    formats = _Formats()
    cooldowns: dict[str, Rule] = {}
    pre = no_deps = None
    for each in said:
        place = each.source if each.source.startswith("`") else f"{each.name} in {each.source}"
        if each.name == "pre":
            pre = Rule("", place) if each.is_on else None
        elif each.name in ("prerelease", "all-releases"):
            pre = Rule("", place) if {"allow", ALL} & {*each.words} else pre if each.name != "prerelease" else None
        elif each.name == "no-deps":
            no_deps = Rule("", place) if each.is_on else None
        elif each.name in ("no-build", "no-binary", "no-build-package", "no-binary-package", "only-binary"):
            words = _names(each)
            if each.name in ("no-build", "no-build-package", "only-binary"):
                formats.say(formats.only, formats.no, words, place)
            else:
                formats.say(formats.no, formats.only, words, place)
        elif each.name == "exclude-newer-package":
            for word in each.words:
                project, _, text = word.partition("=")
                cooldowns[normal(project)] = Rule(_moment(text, place, whole_day=True), place)
        else:
            text = " ".join(each.words)
            cooldowns[ALL] = Rule(_moment(text, place, whole_day=each.name == "exclude-newer"), place)
    return Policies(pre, formats.only, formats.no, cooldowns, no_deps)


def _names(setting: Setting) -> tuple[str, ...]:
    """Of a switch that is on, all; of one that is off, none."""
    if len(setting.words) == 1 and setting.words[0].lower() in ("true", "false"):
        return (ALL,) if setting.is_on else ()
    return setting.words


_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_ISO_SPAN = re.compile(r"P(?:(\d{1,5})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,8})M)?)?", re.IGNORECASE)
_SPAN = re.compile(r"(\d{1,6})\s*(w|weeks?|d|days?|h|hours?|hrs?|m|mins?|minutes?)(?:\s+ago)?", re.IGNORECASE)
_UNITS = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes"}


def _moment(text: str, place: str, *, whole_day: bool) -> str:
    """The moment in UTC that a date, a moment or a span means; a day counts whole for uv, and not at all for pip."""
    text = text.strip()
    try:
        if _DAY.fullmatch(text):
            day = datetime.fromisoformat(text) + timedelta(days=1 if whole_day else 0)
            return _utc(day.astimezone())
        if (match := _ISO_SPAN.fullmatch(text)) is not None and any(match.groups()):
            weeks, days, hours, minutes = (int(part or 0) for part in match.groups())
            return _before(timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes))
        if (match := _SPAN.fullmatch(text)) is not None:
            return _before(timedelta(**{_UNITS[match[2][0].lower()]: int(match[1])}))
        return _utc(datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", text)).astimezone())
    except (ValueError, OverflowError) as error:
        hint = "such as 2026-01-31, 2026-01-31T12:00:00Z or P7D"
        raise UsageError(f"{place} has `{text[:60]}`, which is neither a date nor a span of time", hint=hint) from error


def _before(span: timedelta) -> str:
    return _utc(datetime.now(timezone.utc) - span)


def _utc(moment: datetime) -> str:
    return moment.astimezone(timezone.utc).isoformat(timespec="seconds").removesuffix("+00:00") + "Z"


def _overrides(own: UserSettings, installer: str | None) -> Iterator[Requested]:
    """Uv's overrides, which take the place of whatever anybody requires; a file that is not there uv will miss."""
    if installer == "pip":
        return
    with suppress(TorchpickError):
        paths = own.environ.get("UV_OVERRIDE", "").split()
        yield from requirements.limits(paths, "UV_OVERRIDE", own.environ, own.fetch)
    for file in own.uv_files:
        yield from requirements_under(file, "override-dependencies")
