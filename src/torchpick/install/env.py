"""A request → the variables that hand the pick over to plain pip and uv: of a shell, of a command, of an image."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from urllib import parse

from torchpick.environment.requirementfiles import file_of, not_below, requirement
from torchpick.environment.toolsettings import UV_PLACES
from torchpick.errors import UsageError
from torchpick.install.command import Command, StoredFile, check_private_store, store_folder, stored_file
from torchpick.install.files import list_files
from torchpick.install.hashes import Wheel, check_vendor_alone, fits_pick, hashed_address, links_page, project_page
from torchpick.install.job import exact_specifier
from torchpick.install.question import find_prefix, pick_build, read_settings, read_wish
from torchpick.install.user_settings import UserSettings, note_indexes
from torchpick.knowledge.locations import cache_dir
from torchpick.model.fields import written
from torchpick.model.machine import Note
from torchpick.model.pick import Pick
from torchpick.model.redaction import holds_secret
from torchpick.run import Run

# Where an image keeps what the variables name.
_IN_IMAGE = "/opt/torchpick"


# Tools whose projects read none of pip's or uv's variables.
_OTHERS = ("poetry", "pdm", "pixi", "conda", "mamba", "micromamba")
# What uv does in a project or for a script, where it reads no constraints from variables.
_OF_PROJECTS = ("sync", "lock", "add", "remove", "export", "run")


def variables_for(run: Run, shell: str) -> tuple[Pick, Variables, tuple[Note, ...]]:
    """The pick, the variables that hand it over, and what a person should know."""
    environ = run.environ
    pick = pick_build(run)
    check_vendor_alone(pick)
    check_private_store(cache_dir(environ))
    if shell == "dockerfile":
        _check_image(run, pick)
    read = list_files(run, pick)
    if shell == "dockerfile":
        # An image has neither this computer's settings nor its cache, and its uv is not ours to ask.
        return pick, variables_of(pick, _IN_IMAGE, UserSettings(), read.files), read.notes
    runner = environ.get("RUNNER_TEMP") if shell == "github" else None
    place = store_folder(os.path.join(runner, "torchpick")) if runner else store_folder(cache_dir(run.environ))
    own = read_settings(run, find_prefix(run))
    found = variables_of(pick, place, own, read.files)
    return pick, found, (*note_indexes(own, ("pip", "uv")), *found.notes, *read.notes)


def command_of(run: Run, argv: Sequence[str]) -> tuple[Pick, Command]:
    """The pick, and the command as it is to be run; NoBuildError where no build runs."""
    pick, found, notes = variables_for(run, "sh")
    command = Command(argv[0], tuple(argv), found.set, found.unset, found.files, (*notes, *_untaken(argv)))
    return pick, command


def _untaken(argv: Sequence[str]) -> tuple[Note, ...]:
    """What takes torch from a file of its own."""
    name = os.path.basename(argv[0]).lower().removesuffix(".exe")
    if name in _OTHERS:
        text = f"{name} reads none of these variables: `torchpick url` says which build to name there"
        return (Note("NOT_TAKEN", text),)
    if name != "uv" or len(argv) < 2 or argv[1] not in _OF_PROJECTS:
        return ()
    with_more = any(word.startswith("--with") for word in argv)
    if "--no-project" in argv and not with_more:
        return ()
    text = f"`uv {argv[1]}` takes torch as its project, script or `--with` says, not by variables"
    return (Note("NOT_TAKEN", f"{text}: `torchpick pin` writes the pick into a project or a script"),)


def password_notes(lines: str, *, image: bool) -> tuple[Note, ...]:
    """What to do about a password in these lines, which pip and uv need as it is."""
    if not holds_secret(lines):
        return ()
    text = "these lines hold a password: keep them out of logs, or give it by netrc or a keyring"
    in_image = "the image will hold a password: give it to the build as a secret instead"
    return (Note("PASSWORD_PRINTED", in_image if image else text),)


def _check_image(run: Run, pick: Pick) -> None:
    """An image runs elsewhere: that this computer has no GPU says nothing of it."""
    request = run.request
    asked_for_cpu = request.cpu or request.allow_cpu or read_wish(run).backends
    if not (pick.machine.gpus or run.has_given_gpus or asked_for_cpu):
        hint = "name the GPU that the image is for, such as `--gpu t4 --driver 580`; `--cpu` makes one without"
        raise UsageError("there is no GPU here, and an image runs elsewhere", hint=hint)


# Settings that name places which may have the very version, or make pip reject a page of links, as it has no dates.
_BESIDE = (
    *("index-url", "extra-index-url", "find-links", "uploaded-prior-to", "default-index", "index"),
    *UV_PLACES,
)
_OTHER_PLACES = Note(
    "OTHER_PLACES",
    "your settings name indexes, and one with torch in this very version could supply it; `torchpick install` names "
    "the very files",
)


class Variables(NamedTuple):
    """The variables to set and to take away, the files that their values name, and what a person should know."""

    set: Mapping[str, str] = {}
    unset: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    files: tuple[StoredFile, ...] = ()

    def to_json(self) -> dict[str, object]:
        return {**written(self, "set", "unset"), "files": {each.path: each.content for each in self.files}}


def variables_of(pick: Pick, place: str, own: UserSettings, read: Mapping[str, Sequence[Wheel]] = {}) -> Variables:
    """What hands the pick over, beside the user's own settings, which must not get lost behind it.

    `read` are the files of torch's family as their pages have them, for every Python.
    """
    pins, on_host = pick.build.pins, bool(pick.index_url)
    changed: dict[str, str] = {}
    wheels = [wheel for mine in read.values() for wheel in mine]
    files = [stored_file(place, "links", ".html", links_page(wheels))] if wheels else []
    unread = [name for name in pins if on_host and name not in read]
    pages = [*(file_url(each.path) for each in files), *dict.fromkeys(project_page(pick, name) for name in unread)]
    # Where the user's places may have the very version, an address alone says which file is meant; without any none is
    # named, as pip reads the file again for whatever requires torch.
    others = (word for each in (*own.pip.values(), *own.uv_places) if each.name in _BESIDE for word in each.words)
    # So may another index of a CUDA build without a local label.
    unlabelled = "+" not in pick.build.version and pick.build.family != "cpu"
    exact = on_host and (unlabelled or bool(not_below(others, place)))
    triton = {"triton": pick.build.libraries["triton"]} if exact and "triton" in read else {}
    limits = {**pins, **triton}
    lines = (_limit(pick, name, version, read.get(name, ()) if exact else ()) for name, version in limits.items())
    files.append(stored_file(place, "constraints", ".txt", file_of(lines)))
    ours, uv_limits = file_url(files[-1].path), own.environ.get("UV_CONSTRAINT", "").split()
    changed["PIP_CONSTRAINT"] = " ".join((ours, *not_below(own.pip_words("constraint"), place)))
    changed["UV_CONSTRAINT"] = " ".join((ours, *not_below(uv_limits, place)))
    said = own.pip_words("find-links")
    kept = not_below(said, place)
    if pages or len(kept) != len(said):  # a blank: an empty variable would let the configuration file speak again
        changed["PIP_FIND_LINKS"] = " ".join((*pages, *kept)) or " "
    uv_links = own.environ.get("UV_FIND_LINKS", "")
    if for_uv := (*pages, *not_below(filter(str.strip, uv_links.split(",")), place)):
        changed["UV_FIND_LINKS"] = ",".join(for_uv)
    unset = () if for_uv or not uv_links else ("UV_FIND_LINKS",)
    return Variables(changed, unset, (_OTHER_PLACES,) if exact and unread else (), tuple(files))


def _limit(pick: Pick, name: str, version: str, wheels: Iterable[Wheel]) -> str:
    """The one version; with files, the very one for the machine's Python."""
    mine = next(filter(fits_pick(pick), wheels), None)
    if mine is None:
        return requirement(name, exact_specifier(version))
    return requirement(name, address=hashed_address(mine))


def file_url(path: str) -> str:
    """A path as a URL: pip and uv split these variables at blanks, whatever the quoting."""
    plain = path.replace("\\", "/")
    return "file://" + parse.quote(plain if plain.startswith("/") else f"/{plain}", safe="/:")
