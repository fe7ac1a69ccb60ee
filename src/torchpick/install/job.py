"""What both installers are given alike: an answer in a target, and what the state of the environment requires."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote_from_bytes

from torchpick.environment import projectfile, toolsettings
from torchpick.environment.distributions import Environment
from torchpick.environment.requirementfiles import argument, file_of, located, requirement
from torchpick.environment.requirements import Requirements
from torchpick.environment.world import checkout_of, is_same, nearest_with, text_of, uv_project
from torchpick.errors import InstallerError
from torchpick.install.command import Command, stored_file
from torchpick.install.user_settings import UserSettings
from torchpick.model.address import Address
from torchpick.model.build import COMPANIONS
from torchpick.model.machine import Machine, Note
from torchpick.model.pick import Pick
from torchpick.model.versions import some_of

# Options of pip and uv that install again what is there.
_AGAIN = frozenset({"--force-reinstall", "--reinstall", "--reinstall-package", "--ignore-installed", "-I"})


class Job(NamedTuple):
    """An answer, decided, for one target: all that a command is made of, the installer itself aside.

    `pins` are the packages that stand on torch, each by version. `needs` is what of torch's family the run brings,
    `files` the addresses of the family's very files, `pages` those of its other files, that are not read yet, `added`
    what is installed besides. `releases` are those of torch that an installer's own resolver may take, where it is
    asked and nothing else is bound.
    """

    requirements: Requirements
    pick: Pick
    target: Environment
    store: str
    settings: UserSettings = UserSettings()
    pins: Mapping[str, str] = {}
    needs: frozenset[str] = frozenset()
    files: Mapping[str, Address] = {}
    pages: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    releases: str = ""
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
        return frozenset(requested.name for requested in self.requirements.wanted)

    @property
    def placed(self) -> frozenset[str]:
        """The projects whose files the user named."""
        return frozenset(requested.name for requested in self.requirements.wanted if requested.place)

    @property
    def moves_torch(self) -> bool:
        """Whether torch is part of this run, asked for or needed by what is."""
        return "torch" in self.needs or "torch" in self.named

    @property
    def our_folders(self) -> tuple[str, str]:
        """The folders of files that torchpick writes, which bind nobody."""
        return self.store, toolsettings.store_of(self.target.prefix)

    @property
    def companions_to_move(self) -> list[str]:
        """Installed companions of another build, which torch's change would break."""
        if not self.moves_torch or self.requirements.hashed or self.releases:
            return []
        installed, family = self.target.installed, self.family
        others = (name for name in COMPANIONS if name in installed and name in family and name not in self.named)
        return [name for name in others if installed[name] != family[name]]

    @property
    def family_to_install(self) -> list[str]:
        """The members of the family that this run may install."""
        wanted = {*self.needs, *self.companions_to_move, *self.named}
        return [name for name in self.family if name in wanted and name not in self.placed]

    @property
    def family_to_reinstall(self) -> list[str]:
        """The members of whose very version another build is installed, which no specifier can tell apart."""
        if "+" in self.pick.version or not self.moves_torch:
            return []
        return [name for name in self.family_to_install if self._is_other_build(name)]

    def _is_other_build(self, name: str) -> bool:
        installed, wanted = self.target.installed.get(name, ""), self.family[name]
        if installed != wanted:  # `==2.14.1` is content with 2.14.1+cpu
            return installed.partition("+")[0] == wanted
        return name == "torch" and self.cuda_installed != self.pick.build.cuda

    def keeps_installed(self, name: str) -> bool:
        """Whether the very build is installed: as an address it would be fetched again."""
        is_there = self.target.installed.get(name) == self.family[name] and name not in self.family_to_reinstall
        return is_there and not any(word.partition("=")[0] in _AGAIN for word in self.passed_on)

    @property
    def from_vendor(self) -> list[str]:
        """Torch's family where a vendor's own index supplies it with all that it requires, which no other index has."""
        build = self.pick.build
        if build.vendor is None or not build.vendor.alone or self.releases:
            return []
        names = self.family_to_install
        return [requirement(name, f"=={self.family[name]}", extras=build.extras_of(name)) for name in names]

    @property
    def may_have_sources(self) -> bool:
        """Whether a project's own `[tool.uv.sources]` may be read: they beat an address that is given."""
        local = any(
            requested.place and not requested.place.lower().endswith(".whl") for requested in self.requirements.wanted
        )
        return local or bool(self.requirements.opaque or self.requirements.given.groups)


def exact_specifier(version: str) -> str:
    """The specifier of this very build: `==2.15.0` would be content with 2.15.0+cu126 of a wheel index."""
    return f"=={version}" if "+" in version else f"==={version}"


def constraints_file(job: Job) -> dict[str, str]:
    """Torch's family by its very files, so that no index is asked for it; what was judged by its version."""
    if job.releases:
        return stored_file(job.store, "limits", ".txt", file_of([requirement("torch", job.releases)]))
    lines = {name: requirement(name, f"=={version}") for name, version in job.pins.items()}
    lines |= {name: requirement(name, exact_specifier(version)) for name, version in job.family.items()}
    lines |= {name: requirement(name, address=url) for name, url in sorted(job.files.items())}
    text = file_of(line for name, line in lines.items() if name not in job.placed)
    return stored_file(job.store, "constraints", ".txt", text)


def requirement_words(job: Job) -> list[str]:
    """The requirements of the command line, those of the family by their exact build, and what is added."""
    words: list[str] = []
    for requested in job.requirements.wanted:
        name = requested.name
        if requested.where:
            continue  # a line of a file, which is passed as it is
        if requested.editable:
            words += ["-e", argument(requested.text)]
        elif name in job.family and not (requested.place or job.releases):
            extras = (*requested.extras, *job.pick.build.extras_of(name))
            words.append(requirement(name, f"=={job.family[name]}", extras=extras, marker=requested.marker))
        else:
            words.append(argument(requested.text))
    return [*words, *(requirement(name, f"=={job.family[name]}") for name in job.companions_to_move), *job.added]


def requirement_lines(job: Job) -> str:
    """The command line's requirements in the user's own words, as a requirements file."""
    lines, editables = list[str](), list[str]()
    for requested in job.requirements.wanted:
        if not requested.where:
            is_path = requested.place == requested.text and "://" not in requested.text
            text = os.path.abspath(requested.text) if is_path else requested.text
            (editables if requested.editable else lines).append(text)
    return file_of((*lines, *job.added), editables=editables)


def repeat_option(option: str, values: Iterable[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def file_url(path: str) -> str:
    """A path as a URL, and a URL as it is: pip and uv split their variables at blanks, whatever the quoting."""
    place = located(path)
    if "://" in place:
        return place.replace(" ", "%20")
    return f"file://{quote_from_bytes(os.fsencode(place))}" if place.startswith("/") else Path(place).as_uri()


def after_vendor(job: Job, command: Command, install: Callable[[Job, list[str]], Command]) -> Command:
    """After what has to come from a vendor's index; where torch's family alone is asked for there is nothing after."""
    family = job.from_vendor
    if not family:
        return command
    first = install(job, family)
    requirements = job.requirements
    more = any(
        requested.name not in job.family or requested.where or requested.place for requested in requirements.wanted
    )
    if more or requirements.opaque or requirements.given.groups or job.added:
        return command._replace(before=first)
    return first._replace(notes=command.notes)


def job_notes(job: Job) -> list[Note]:
    """What the state of the environment means for this run, in words."""
    notes, installed = [*job.notes], job.target.installed
    lost = [name for name in COMPANIONS if name in installed and name not in job.family]
    if lost and job.moves_torch and installed.get("torch") != job.pick.version:
        stays = f"{lost[0]} {installed[lost[0]]} stays and may fail"
        notes.append(Note("COMPANION_STAYS", f"no {lost[0]} is known for torch {job.pick.version}: {stays}"))
    if checkout_of(job.target.prefix) is not None:
        notes.append(Note("OWN_ENVIRONMENT", f"this goes into torchpick's own environment, {job.target.prefix}"))
    undone = find_undone(job.target.prefix, job.pick.version, job.settings.environ) if "torch" in job.needs else None
    if undone is not None:
        what, keeps, _ = undone
        notes.append(Note("LOCK_UNDOES", f"{what}: {keeps}"))
    return notes


# A torch in the environment of a project of uv's: whether the next sync leaves it, and what keeps it.

_MOST_LOCK = 64 << 20
# As uv writes it: the name first, and then the version.
_TORCH = re.compile(r'(?m)^name = "torch"\r?\nversion = "([^"]+)"')


def project_of_environment(prefix: str, environ: Mapping[str, str]) -> str | None:
    """The folder of the project for which uv keeps this environment, with a lock; None where there is none."""
    own = toolsettings.project_of(prefix)
    if own is not None and os.path.isfile(own) and os.path.isfile(os.path.join(os.path.dirname(own), "uv.lock")):
        return os.path.dirname(own)
    if named := environ.get("UV_PROJECT_ENVIRONMENT"):
        project = uv_project(os.getcwd())
        return project if project and is_same(os.path.join(project, named), prefix) else None
    return None


def find_undone(prefix: str, version: str, environ: Mapping[str, str]) -> tuple[str, str, tuple[str, ...]] | None:
    """What uv's next sync does to this torch, what keeps it, and the versions of the lock.

    Where it is one of these, the extra that is named chooses. None where it stays, or where uv keeps no project here.
    """
    folder = project_of_environment(prefix, environ)
    if folder is None:
        return None
    where = os.path.join(folder, "uv.lock")
    lock = text_of(where, _MOST_LOCK)
    locked = tuple(dict.fromkeys(_TORCH.findall(lock)))
    if locked and "\nconflicts = " in lock:
        what = f"{where} has torch {some_of(locked)}: plain `uv run` and `uv sync` take the one that no extra names"
        return what, "`torchpick run uv run …` and `torchpick run uv sync` take this machine's", locked
    if version in locked:
        return None
    if not locked:
        what = f"{where} has no torch, and the next `uv sync` takes {version} out"
        return what, f"`torchpick pin` and then `uv add torch` keep {version}", locked
    what = f"{where} has torch {some_of(locked)}, which the next `uv sync` or `uv run` brings back"
    return what, f"`torchpick pin` and then `uv sync` keep {version}", locked


# Torch among the constraints that `torchpick pin` wrote.
_PINNED = re.compile(rf'(?m)^constraint-dependencies = .*"torch==([^" ;]+).*# {projectfile.PIN}$')


def check_pin(version: str, folder: str) -> None:
    """Refuse where uv reads a pin of this project's to another torch, which it would not find a way around."""
    project = nearest_with(folder, "pyproject.toml")
    if project is None:
        return
    file = f"{project}/pyproject.toml"
    pinned = _PINNED.search(text_of(file))
    if pinned is not None and pinned[1] != version:
        raise InstallerError(
            f"{file} is pinned to torch {pinned[1]}, which uv obeys, and {version} runs here",
            hint="`torchpick pin` pins this machine's, `torchpick unpin` takes the pin out",
            code="PINNED",
        )
