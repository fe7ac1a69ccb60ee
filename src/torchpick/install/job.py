"""What both installers are given alike: an answer in a target, and what the state of the environment requires. Pure."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from torchpick.environment import toolsettings
from torchpick.environment.distributions import Environment
from torchpick.environment.requirementfiles import argument, file_of, requirement
from torchpick.environment.requirements import Requested, Requirements
from torchpick.install.command import Command, StoredFile, stored_file
from torchpick.install.user_settings import UserSettings
from torchpick.model.address import Address
from torchpick.model.build import COMPANIONS
from torchpick.model.machine import Machine, Note
from torchpick.model.pick import Pick

# Options of pip and uv that install again what is there.
_AGAIN = frozenset({"--force-reinstall", "--reinstall", "--reinstall-package", "--ignore-installed", "-I"})


class Job(NamedTuple):
    """An answer, decided, for one target: all that a command is made of, the installer itself aside.

    `pins` are the packages that stand on torch, each by version. `needs` is what of torch's family the run brings,
    `files` the addresses of the family's very files, `added` what is installed besides, `left_out` what must not be
    installed whoever needs it.
    """

    asked: Requirements
    pick: Pick
    target: Environment
    place: str
    own: UserSettings = UserSettings()
    pins: Mapping[str, str] = {}
    needs: frozenset[str] = frozenset()
    files: Mapping[str, Address] = {}
    added: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    upgrade: bool = False
    no_deps: bool = False
    offline: bool = False
    passed_on: tuple[str, ...] = ()
    cuda_installed: str | None = None
    elsewhere: Machine | None = None  # where the environment is not one of this computer
    for_lock: bool = False  # whether a report counts everything, also what is there, and by metadata alone
    notes: tuple[Note, ...] = ()

    @property
    def family(self) -> dict[str, str]:
        """Torch and every companion of the build, each to its exact version, asked for or not."""
        return self.pick.build.pins

    @property
    def named(self) -> frozenset[str]:
        """The projects that are asked for by name."""
        return frozenset(each.name for each in self.asked.wanted)

    @property
    def placed(self) -> frozenset[str]:
        """The projects whose files the user named."""
        return frozenset(each.name for each in self.asked.wanted if each.place)

    @property
    def moves_torch(self) -> bool:
        """Whether torch is part of this run, asked for or needed by what is."""
        return "torch" in self.needs or "torch" in self.named


def constraints_file(job: Job) -> StoredFile:
    """Torch's family by its very files, so that no index is asked for it; what was judged by its version."""
    lines = {name: requirement(name, f"=={version}") for name, version in job.pins.items()}
    lines |= {name: requirement(name, exact_specifier(version)) for name, version in job.family.items()}
    lines |= {name: requirement(name, address=url) for name, url in sorted(job.files.items())}
    text = file_of(line for name, line in lines.items() if name not in job.placed)
    return stored_file(job.place, "constraints", ".txt", text)


def exact_specifier(version: str) -> str:
    """The specifier of this very build: `==2.15.0` would be content with 2.15.0+cu126 of a wheel index."""
    return f"=={version}" if "+" in version else f"==={version}"


def our_folders(job: Job) -> tuple[str, str]:
    """The folders of files that torchpick writes, which bind nobody."""
    return job.place, toolsettings.store_of(job.target.prefix)


def family_to_install(job: Job) -> list[str]:
    """The members of the family that this run may install."""
    wanted = {*job.needs, *companions_to_move(job), *job.named}
    return [name for name in job.family if name in wanted and name not in job.placed]


def keeps_installed(job: Job, name: str) -> bool:
    """Whether the very build is installed: as an address it would be fetched again."""
    there = job.target.installed.get(name) == job.family[name] and name not in family_to_reinstall(job)
    return there and not any(word.partition("=")[0] in _AGAIN for word in job.passed_on)


def requirement_words(job: Job) -> list[str]:
    """The requirements of the command line, those of the family by their exact build, and what is added."""
    found: list[str] = []
    for each in job.asked.wanted:
        if each.where:
            continue  # a line of a file, which is passed as it is
        if each.editable:
            found += ["-e", argument(each.text)]
        elif each.name in job.family and not each.place:
            extras = job.pick.build.extras_of(each.name)
            found.append(_pinned(each._replace(extras=(*each.extras, *extras)), job.family[each.name]))
        else:
            found.append(argument(each.text))
    return [*found, *(requirement(name, f"=={job.family[name]}") for name in companions_to_move(job)), *job.added]


def _pinned(each: Requested, version: str) -> str:
    return requirement(each.name, f"=={version}", extras=each.extras, marker=each.marker)


def vendor_requirements(job: Job) -> list[str]:
    """Torch's family where a vendor's own index supplies it with all that it requires, which no other index has."""
    build = job.pick.build
    if build.vendor is None or not build.vendor.alone:
        return []
    return [requirement(name, f"=={job.family[name]}", extras=build.extras_of(name)) for name in family_to_install(job)]


def after_vendor(job: Job, command: Command, from_vendor: Callable[[Job, list[str]], Command]) -> Command:
    """After what has to come from a vendor's index; where torch's family alone is asked for there is nothing after."""
    asked, family = job.asked, vendor_requirements(job)
    if not family:
        return command
    first = from_vendor(job, family)
    more = any(each.name not in job.family or each.where or each.place for each in asked.wanted)
    if more or asked.opaque or asked.given.groups or job.added:
        return command._replace(before=first)
    return first._replace(notes=command.notes)


def requirement_lines(job: Job) -> str:
    """The command line's requirements in the user's own words, as a requirements file."""
    wanted, editables = list[str](), list[str]()
    for each in job.asked.wanted:
        if not each.where:
            text = os.path.abspath(each.text) if each.place == each.text and "://" not in each.text else each.text
            (editables if each.editable else wanted).append(text)
    return file_of((*wanted, *job.added), editables=editables)


def group_options(job: Job) -> list[str]:
    """The dependency groups, as both installers take them."""
    return repeat_option("--group", job.asked.given.groups)


def repeat_option(option: str, values: Iterable[str]) -> list[str]:
    """Each value behind its option."""
    return [word for value in values for word in (option, value)]


def companions_to_move(job: Job) -> list[str]:
    """Installed companions of another build, which torch's change would break: they are brought along."""
    if not job.moves_torch or job.asked.hashed:
        return []
    there, family = job.target.installed, job.family
    lost = (name for name in COMPANIONS if name in there and name in family and name not in job.named)
    return [name for name in lost if there[name] != family[name]]


def family_to_reinstall(job: Job) -> list[str]:
    """The members of the family of whose very version another build is installed, which no specifier can tell apart."""
    if "+" in job.pick.version or not job.moves_torch:
        return []
    return [name for name in family_to_install(job) if _is_other_build(job, name)]


def _is_other_build(job: Job, name: str) -> bool:
    installed, wanted = job.target.installed.get(name, ""), job.family[name]
    if installed != wanted:  # `==2.14.1` is content with 2.14.1+cpu
        return installed.partition("+")[0] == wanted
    return name == "torch" and job.cuda_installed != job.pick.build.cuda


def job_notes(job: Job) -> list[Note]:
    """What the state of the environment means for this run, in words."""
    found = [*job.notes]
    there, again = job.target.installed, family_to_reinstall(job)
    for name, version in job.family.items():
        if name not in there or not (name in job.named or (name == "torch" and job.moves_torch)):
            continue
        if there[name] == version and name not in again:
            found.append(Note("ALREADY_THERE", f"{name} {version} is installed already"))
        else:
            found.append(Note("REPLACED", f"{name} {there[name]} is installed, {version} takes its place"))
    found += [
        Note("BROUGHT_ALONG", f"{name} {there[name]} is of another build, {job.family[name]} takes its place")
        for name in companions_to_move(job)
    ]
    lost = [name for name in COMPANIONS if name in there and name not in job.family]
    if lost and job.moves_torch and there.get("torch") != job.pick.version:
        kept = f"{lost[0]} {there[lost[0]]} stays and may fail"
        text = f"no {lost[0]} is known for torch {job.pick.version}: {kept}"
        found.append(Note("COMPANION_STAYS", text))
    if job.target.is_conda_base:
        found.append(Note("CONDA_BASE", f"this goes into conda's base environment, {job.target.prefix}"))
    return found


def has_sources(job: Job) -> bool:
    """Whether a project's own `[tool.uv.sources]` may be read: they beat an address that is given."""
    local = any(each.editable or (each.place and not each.place.lower().endswith(".whl")) for each in job.asked.wanted)
    return local or bool(job.asked.opaque or job.asked.given.groups)
