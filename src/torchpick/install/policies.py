"""What of the user's words and settings binds the choice of files, constraints aside; each with its place.

Pre-releases, wheels alone or sources alone, cooldowns, no dependencies, overrides: on the command line, behind `--`, in
a requirements file, in the variables and files of the installer that will do the work.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

from torchpick.decide.answer import Answer
from torchpick.decide.demands import PackageDemand, required
from torchpick.environment.requirements import Requested, Requirements
from torchpick.environment.toolsettings import Setting, uv_key
from torchpick.errors import UsageError
from torchpick.index.projectfiles import FileRules, LeftOutReason, LeftOutVersion
from torchpick.index.wheelnames import parsed_version
from torchpick.install.user_settings import UserSettings, limits_in, options_of, requirements_under
from torchpick.model.machine import Note
from torchpick.model.package import Package, PackageFacts
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
_UV_VARIABLES = {"UV_PRERELEASE": "prerelease", "UV_EXCLUDE_NEWER": "exclude-newer"}
_WHEELS_ALONE = ("no-build", "no-build-package", "only-binary")
_SOURCES_ALONE = ("no-binary", "no-binary-package")


class Policies(NamedTuple):
    """What holds, by the place that says so, as a note names it; empty where nothing does.

    The keys of mappings are projects, or `:all:` for all that are not among them.
    """

    pre: str = ""
    only_binary: Mapping[str, str] = {}
    no_binary: Mapping[str, str] = {}
    cooldowns: Mapping[str, tuple[str, str]] = {}  # the moment in UTC, and the place
    no_deps: str = ""
    overrides: tuple[Requested, ...] = ()

    def wheels_alone(self, project: str) -> str:
        return _stronger(self.only_binary, self.no_binary, project)

    def sources_alone(self, project: str) -> str:
        return _stronger(self.no_binary, self.only_binary, project)

    def cooldown(self, project: str) -> tuple[str, str]:
        """What is too new, and who leaves it out."""
        return self.cooldowns.get(project) or self.cooldowns.get(ALL) or ("", "")

    def rules(self, project: str) -> FileRules:
        """What holds for the files of a project."""
        too_new, _ = self.cooldown(project)
        return FileRules(
            only_binary=bool(self.wheels_alone(project)),
            no_binary=bool(self.sources_alone(project)),
            uploaded_before=too_new or None,
        )

    def specifiers(self, holds: Callable[[str], bool]) -> dict[str, tuple[str, ...]]:
        """What the overrides whose marker holds say of each project; nothing where it is left out."""
        specifiers: dict[str, tuple[str, ...]] = {}
        for override in self.overrides:
            more = (override.specifier,) if holds(override.marker) else ()
            specifiers[override.name] = (*specifiers.get(override.name, ()), *more)
        return specifiers

    def notes(
        self,
        answer: Answer,
        packages: Mapping[str, PackageFacts],
        left_out: Mapping[str, Sequence[LeftOutVersion]],
    ) -> Iterator[Note]:
        """What these rules changed of an answer, each with its place."""
        for package in answer.environment.packages:
            if package.name in left_out:
                demands = [demand for demand in answer.question.wanted if demand.name == package.name]
                yield from self._project_notes(package.name, package.version, left_out[package.name], demands)
        rows = [
            row
            for name, version in answer.judged.items()
            if name in packages
            for row in packages[name].versions
            if row.version == version
        ]
        yield from self._override_notes(answer, rows)
        if self.no_deps and any(row.requires for row in rows):
            names = some_of([row.who for row in rows])
            yield Note("CONSTRAINED", f"{self.no_deps}: what {names} requires was left out")

    def _project_notes(
        self, project: str, version: str, left_out: Iterable[LeftOutVersion], demands: Sequence[PackageDemand]
    ) -> Iterator[Note]:
        """What these rules changed of a project of which this version is taken."""
        taken, (_, cooldown) = parsed_version(version), self.cooldown(project)
        places = {
            LeftOutReason.TOO_NEW: (cooldown, "was"),
            LeftOutReason.ONLY_SOURCE: (self.wheels_alone(project), "has"),
        }
        for left in left_out:
            place, verb = places.get(left.reason, ("", ""))
            newer = parsed_version(left.version)
            usual = self.pre or not newer.is_prerelease
            if place and newer > taken and usual and all(demand.admits(left.version) for demand in demands):
                yield Note("CONSTRAINED", f"bound by {place}: {project} {left.version} {verb} {left.text}")
                break
        if self.pre and taken.is_prerelease and all(demand.admits("0") for demand in demands):
            yield Note("CONSTRAINED", f"{project} {version} is a pre-release, as {self.pre} takes them")
        if source := self.sources_alone(project):
            yield Note("CONSTRAINED", f"{project} {version} is built from source, as {source} says")

    def _override_notes(self, answer: Answer, rows: Iterable[Package]) -> Iterator[Note]:
        """Which overrides hold of the projects of an answer, and of what these require."""
        needs = [need for row in rows for need in required(row.requires, answer.pick.machine, (), row.who)]
        names = {demand.name for demand in (*answer.question.wanted, *needs)}
        for override in self.overrides:
            if override.name in names:
                text = f"`{override.text}` in {override.where} takes the place of whatever is required of it"
                yield Note("CONSTRAINED", text)


def _stronger(places: Mapping[str, str], others: Mapping[str, str], project: str) -> str:
    """What is said of a project by name is stronger than what is said of all."""
    return places.get(project) or ("" if project in others else places.get(ALL, ""))


def read_policies(own: UserSettings, installer: str | None, asked: Requirements, passed_on: Sequence[str]) -> Policies:
    """All that holds; without an installer the variables of both count."""
    settings: list[Setting] = []
    if installer in ("pip", None):
        settings += [own.pip[name] for name in _PIP if name in own.pip]
    if installer in ("uv", None):
        settings += [setting for name in _UV if (setting := uv_key(own.uv_files, name)) is not None]
        settings += [
            Setting(name, (own.environ[variable],), variable)
            for variable, name in _UV_VARIABLES.items()
            if own.environ.get(variable)
        ]
    settings += [
        Setting(line.option[2:], (line.value or "true",), f"{path} line {line.first}")
        for (path, _), lines in asked.sources.items()
        for line in lines
        if line.option in ("--pre", "--only-binary", "--no-binary", "--all-releases")
    ]
    for name, value in options_of(passed_on):
        if name in _VALUED:
            settings.append(Setting(name[2:], (value,), f"`{name} {value}`"))
        elif name in _SWITCHES:
            settings.append(Setting(name[2:], ("true",), f"`{name}`"))
    return _in_force(settings)._replace(overrides=tuple(_overrides(own, installer)))


def _in_force(settings: Iterable[Setting]) -> Policies:
    """What holds in the end: a later setting is stronger."""
    pre = no_deps = ""
    only_binary, no_binary = dict[str, str](), dict[str, str]()
    cooldowns: dict[str, tuple[str, str]] = {}
    for setting in settings:
        place = setting.source if setting.source.startswith("`") else f"{setting.name} in {setting.source}"
        if setting.name == "pre":
            pre = place if setting.is_on else ""
        elif setting.name in ("prerelease", "all-releases"):
            pre = place if {"allow", ALL} & {*setting.words} else pre if setting.name == "all-releases" else ""
        elif setting.name == "no-deps":
            no_deps = place if setting.is_on else ""
        elif setting.name in _WHEELS_ALONE:
            _set_format(only_binary, no_binary, setting, place)
        elif setting.name in _SOURCES_ALONE:
            _set_format(no_binary, only_binary, setting, place)
        elif setting.name == "exclude-newer-package":
            for word in setting.words:
                project, _, text = word.partition("=")
                cooldowns[normal(project)] = (_moment(text, place, whole_day=True), place)
        else:
            whole_day = setting.name == "exclude-newer"
            cooldowns[ALL] = (_moment(" ".join(setting.words), place, whole_day=whole_day), place)
    return Policies(pre, only_binary, no_binary, cooldowns, no_deps)


def _set_format(places: dict[str, str], others: dict[str, str], setting: Setting, place: str) -> None:
    """Which projects come as wheels alone, or as sources alone, as pip's FormatControl keeps them."""
    words = setting.words
    if len(words) == 1 and words[0].lower() in ("true", "false"):  # a switch
        words = (ALL,) if setting.is_on else ()
    for name in [part.strip() for word in words for part in word.split(",")]:
        if name in (ALL, _NONE):
            places.clear()
        if name == ALL:
            others.clear()
        if name and name != _NONE:
            project = name if name == ALL else normal(name)
            others.pop(project, None)
            places[project] = place


_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
# `P7D`, `PT36H`, `2 weeks`, `1 day 12 hours ago`.
_PART = r"T?(\d{1,6})\s*(w|d|h|m)(?:eeks?|ays?|ours?|rs?|ins?|inutes?)?\s*"
_SPAN = re.compile(rf"(?!P[^T]*M)P?(?:{_PART})+(?:ago)?", re.IGNORECASE)  # an M before the T is months
_UNITS = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes"}


def _moment(text: str, place: str, *, whole_day: bool) -> str:
    """The moment in UTC that a date, a moment or a span means; a day counts whole for uv, and not at all for pip."""
    text = text.strip()
    try:
        if _DAY.fullmatch(text):
            moment = datetime.fromisoformat(text) + timedelta(days=1 if whole_day else 0)
        elif _SPAN.fullmatch(text):
            parts = re.findall(_PART, text, re.IGNORECASE)
            spans = (timedelta(**{_UNITS[unit.lower()]: int(count)}) for count, unit in parts)
            moment = datetime.now(timezone.utc) - sum(spans, timedelta())
        else:
            moment = datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", text))
        utc = moment.astimezone(timezone.utc)
    except (ValueError, OverflowError) as error:
        hint = "such as 2026-01-31, 2026-01-31T12:00:00Z or P7D"
        raise UsageError(f"{place} has `{text[:60]}`, which is neither a date nor a span of time", hint=hint) from error
    return utc.isoformat(timespec="seconds").removesuffix("+00:00") + "Z"


def _overrides(own: UserSettings, installer: str | None) -> Iterator[Requested]:
    """Uv's overrides, which take the place of whatever anybody requires."""
    if installer == "pip":
        return
    yield from limits_in(own, own.uv_words("UV_OVERRIDE"), "UV_OVERRIDE")
    for file in own.uv_files:
        yield from requirements_under(file, "override-dependencies")
