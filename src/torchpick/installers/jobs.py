"""What both installers are given alike: pins, words, and what the state of the environment requires. Pure."""

from __future__ import annotations

import os
from collections.abc import Mapping

from torchpick.decide.requested import named
from torchpick.environment.requirements import Requested, Requirements
from torchpick.environment.targets import Target
from torchpick.installers import dashes, links, store
from torchpick.installers.copies import Copies
from torchpick.installers.store import StoredFile
from torchpick.model.build import COMPANIONS
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.pick import Pick

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.installers.reporting import Item

# What torch itself may pull in of its family; uv takes these from the wheel host too.
TRITONS = ("triton", "triton-rocm", "triton-xpu", "pytorch-triton", "pytorch-triton-rocm", "pytorch-triton-xpu")


class Job(Noun):
    """Everything that decides the command, beside the installer itself.

    `needs` is what of the family is needed by what is asked for. `files` are the addresses of the very files of the
    family, `held` the versions that other packages were found at while the pick was decided, `related` those of the
    rest of the family that go with the pick, and `added` what they need beside them. `taken` are the files that the
    last resolution before the command named, `left_out` packages that must not be installed whoever needs them.
    """

    asked: Requirements
    pick: Pick
    target: Target
    place: str
    applies: Mapping[str, bool] = {}
    upgrade: bool = False
    no_deps: bool = False
    offline: bool = False
    passed_on: tuple[str, ...] = ()
    cuda_installed: str | None = None
    needs: frozenset[str] = frozenset()
    files: Mapping[str, str] = {}
    held: Mapping[str, str] = {}
    related: Mapping[str, str] = {}
    added: tuple[str, ...] = ()
    taken: tuple[Item, ...] = ()
    left_out: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    copies: Copies = Copies()

    @property
    def pins(self) -> dict[str, str]:
        """Torch and every companion of the build, each to its exact version, asked for or not."""
        return self.pick.build.pins

    @property
    def moves_torch(self) -> bool:
        """Whether torch is part of this run, asked for or needed by what is."""
        return "torch" in self.needs or any(each.name == "torch" for each in self.asked.wanted)

    @property
    def labelled(self) -> bool:
        return "+" in self.pick.version


def constraints(job: Job) -> str:
    """Torch's family by its very files, so that no index is asked for it; the rest by the version it was found at."""
    lines = {name: f"{name}=={version}" for name, version in {**job.pins, **job.held}.items()}
    lines |= {name: f"{name} @ {url}" for name, url in sorted(job.files.items())}
    return "".join(f"{line}\n" for line in lines.values())


def names_places(job: Job) -> bool:
    """Whether this run names indexes or pages of its own, in its files or behind the dashes."""
    return dashes.names_places((*job.passed_on, *in_files(job)))


def in_files(job: Job) -> list[str]:
    """The options in the requirements files of this run."""
    return [line.option for file in job.asked.sources.values() for line in file.entries]


def concerned(job: Job) -> list[str]:
    """The pinned projects that this run may install."""
    wanted = {*job.needs, *brought(job), *(each.name for each in job.asked.wanted)}
    return [name for name in job.pins if name in wanted]


# Options of pip and uv that install again what is there.
_AGAIN = frozenset({"--force-reinstall", "--reinstall", "--reinstall-package", "--ignore-installed", "-I"})


def stays(job: Job, name: str) -> bool:
    """Whether the very build is installed: as an address it would be fetched again."""
    there = job.target.installed.get(name) == job.pins[name] and name not in reinstalled(job)
    return there and not any(word.partition("=")[0] in _AGAIN for word in job.passed_on)


def words(job: Job) -> list[str]:
    """The requirements of the command line, those of the pinned projects by their exact build."""
    found: list[str] = []
    for each in job.asked.wanted:
        if each.where:
            continue  # a line of a file, which is passed as it is
        if each.editable:
            found += ["-e", each.text]
        elif each.name in job.pins and not each.place:
            found.append(_pinned(each, job.pins[each.name]))
        else:
            found.append(each.text)
    return [*found, *(f"{name}=={job.pins[name]}" for name in brought(job)), *job.added]


def _pinned(each: Requested, version: str) -> str:
    extras = f"[{','.join(each.extras)}]" if each.extras else ""
    return f"{each.name}{extras}=={version}" + (f" ; {each.marker}" if each.marker else "")


def lines(job: Job) -> list[str]:
    """The words of the command line as lines of a requirements file."""
    rest = iter(words(job))
    return [f"-e {next(rest)}" if word == "-e" else word for word in rest]


def unpinned(job: Job, *, paths_as_given: bool = False) -> list[str]:
    """The requirements of the command line in the user's own words, as arguments or as lines of a file."""
    found: list[str] = []
    for each in job.asked.wanted:
        if each.where:
            continue
        if paths_as_given:
            found += ["-e", each.text] if each.editable else [each.text]
        else:
            text = os.path.abspath(each.text) if each.place == each.text and "://" not in each.text else each.text
            found.append(f"-e {text}" if each.editable else text)
    return [*found, *job.added]


def groups(job: Job) -> list[str]:
    """The dependency groups, as both installers take them."""
    return [word for group in job.asked.given.groups for word in ("--group", group)]


def brought(job: Job) -> list[str]:
    """Installed companions of another build, which torch's change would break: they are brought along."""
    asked_for = {each.name for each in job.asked.wanted}
    if not job.moves_torch or job.asked.hashed:
        return []
    there = job.target.installed
    return [
        name for name in COMPANIONS if name in there and name in job.pins and name not in asked_for
        and there[name] != job.pins[name]
    ]  # fmt: skip


def reinstalled(job: Job) -> list[str]:
    """The pinned projects of whose very version another build is installed, which no specifier can tell apart."""
    if job.labelled or not job.moves_torch:
        return []
    return [name for name in concerned(job) if _is_other_build(job, name)]


def _is_other_build(job: Job, name: str) -> bool:
    installed, wanted = job.target.installed.get(name, ""), job.pins[name]
    if installed != wanted:  # `==2.14.1` is content with 2.14.1+cpu
        return installed.partition("+")[0] == wanted
    return name == "torch" and job.cuda_installed != job.pick.build.cuda


def _asks_for(job: Job, name: str) -> bool:
    return any(each.name == name for each in job.asked.wanted)


def notes(job: Job) -> list[Note]:
    """What the state of the environment means for this run, in words."""
    found = [*job.notes]
    there, again = job.target.installed, reinstalled(job)
    for name, version in job.pins.items():
        concerned = _asks_for(job, name) or (name == "torch" and job.moves_torch)
        if name not in there or not concerned:
            continue
        if there[name] == version and name not in again:
            found.append(Note("ALREADY_THERE", f"{name} {version} is installed already"))
        else:
            found.append(Note("REPLACED", f"{name} {there[name]} is installed, {version} takes its place"))
    found += [
        Note("BROUGHT_ALONG", f"{name} {there[name]} is of another build, {job.pins[name]} takes its place")
        for name in brought(job)
    ]
    lost = [name for name in COMPANIONS if name in there and name not in job.pins]
    if lost and job.moves_torch and there.get("torch") != job.pick.version:
        stays = f"{lost[0]} {there[lost[0]]} stays and may fail"
        text = f"no {lost[0]} was published for torch {job.pick.build.torch}: {stays}"
        found.append(Note("COMPANION_STAYS", text))
    if job.target.conda == "base":
        found.append(Note("CONDA_BASE", f"this goes into conda's base environment, {job.target.prefix}"))
    return found


def page_file(place: str, found: list[links.Wheel]) -> StoredFile | None:
    """The page as a file."""
    return store.file(place, "links", ".html", links.page(found)) if found else None


def has_sources(job: Job) -> bool:
    """Whether a project's own `[tool.uv.sources]` may be read: they beat uv's `--torch-backend`."""
    local = any(each.editable or (each.place and not each.place.lower().endswith(".whl")) for each in job.asked.wanted)
    return local or bool(job.asked.opaque or job.asked.given.groups)


def kept_names(job: Job) -> list[str]:
    """The family as far as this run may meet it."""
    asked_for = {named(each) for each in job.pick.wish.others}
    return [*job.pins, *sorted(asked_for - set(job.pins)), *(name for name in TRITONS if name not in asked_for)]
