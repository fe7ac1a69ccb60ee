"""A request → settings in the environment's own files, and back."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from torchpick.environment import (
    interpreter,
    journal,
    pipconf,
    projectfile,
    rewrite,
    settings_places,
    tomlmarks,
    turns,
)
from torchpick.environment.requirements import Given
from torchpick.environment.settings_places import Places
from torchpick.environment.targets import Target
from torchpick.environment.tomlmarks import PIN, ProjectSetting, ProjectSettings
from torchpick.environment.world import World
from torchpick.errors import TorchpickError, UsageError
from torchpick.install import plan, staying, wheelfiles
from torchpick.installers import activation, inherits, store, tools, uv, variables
from torchpick.installers.links import Wheel, uv_index
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.pick import Pick
from torchpick.model.pythons import version_of
from torchpick.model.redaction import redacted
from torchpick.model.wheelhost import is_wheel_host
from torchpick.session import Session

# pip's options that are ours to say in a pinned environment.
_PIP_OPTIONS = {"PIP_FIND_LINKS": "find-links", "PIP_CONSTRAINT": "constraint"}
_NOT_FOR_UV = 'uv keeps no settings for one environment: `eval "$(torchpick env)"` gives them to `uv pip` in a shell'
_ANOTHER = "name an environment of yours with `--python PATH`"


class Pinned(Noun):
    """The pick, the files that were touched, and what a person should know."""

    pick: Pick
    touched: tuple[str, ...]
    notes: tuple[Note, ...]


def check_named(python: str | None) -> None:
    """Refuse where no environment is named or found: the one that torchpick happens to run in is not meant."""
    named = python is not None and version_of(python) is None
    if not named and not interpreter.environments(World.here()):
        hint = "activate one, make one (`python3 -m venv .venv`), or name its interpreter: `--python PATH`"
        raise UsageError("no environment is active, and there is no .venv here or above", hint=hint, code="NO_TARGET")


def pin(session: Session, project: str | None) -> Pinned:
    """Pin the environment to the pick. `project` is a pyproject.toml; None means the environment's own, empty none."""
    check_named(session.request.python)
    target = plan.look(session, plan.Order(Given(("torch",)))).target
    pick = _decided(session, target)
    places = settings_places.of(target.prefix, sys.platform)
    file = _project(target, project)
    read = wheelfiles.companions_on_pages(pick, pick.build.companion_pins, offline=session.offline)
    if file is not None:  # whatever speaks against it must do so before anything is touched
        _project_change(file, pick, _variables(session, pick, places, target, read)[0])
    with turns.of_environment(target.prefix):
        _put_back(target.prefix, project)
        found, notes = _variables(session, pick, places, target, read)
        changes = [_pip_change(places, found)]
        if file is not None:
            changes.append(_project_change(file, pick, found))
        elif target.conda is not None:
            changes += _conda_changes(places, found)
        else:
            notes.append(Note("UV_NOT_PINNED", _NOT_FOR_UV))
        files = (*(each.path for each in found.files), places.journal, *(change.file for change in changes))
        made = _missing(target.prefix, files)
        rewrite.folder(places.store, _ANOTHER)
        store.keep(found.files)
        journal.write(places.journal, changes)
        for change in changes:
            rewrite.folder(os.path.dirname(change.file), _ANOTHER)
            rewrite.write(rewrite.read(change.file), change.after, change.mode)
        _hand_over(target.prefix, made)
    notes += [journal.password_told(change.file) for change in changes if change.tells_secret]
    return Pinned(pick, tuple(change.file for change in changes), (*notes, *_hidden(session.environ)))


def _missing(prefix: str, files: Iterable[str]) -> tuple[str, ...]:
    """Those of the files, and of the folders above them in the environment, that are not there yet."""
    found: dict[str, None] = {}
    for file in files:
        path = file
        while path.startswith(os.path.join(prefix, "")) and not os.path.lexists(path):
            found[path] = None
            path = os.path.dirname(path)
    return tuple(found)


def _hand_over(prefix: str, made: Iterable[str]) -> None:
    """What root makes in somebody's environment is theirs: they could neither read it nor take it out again."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return
    owner = os.stat(prefix)
    for path in made:
        with suppress(OSError):
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _decided(session: Session, target: Target) -> Pick:
    """An installed torch that runs here is what is pinned, unless another is asked for."""
    stays = None if session.wish.torch else staying.pick(session, target, tuple(session.request.requirements))
    return session.pick() if stays is None else stays


def _variables(
    session: Session, pick: Pick, places: Places, target: Target, read: Mapping[str, Sequence[Wheel]]
) -> tuple[variables.Variables, list[Note]]:
    """What `env` would set, with its files in the environment; without what this shell alone says."""
    # Read anew each time: what an earlier `pin` wrote is taken out in between.
    own = inherits.read(session.environ, target.prefix)
    files = own.pip_files
    around = variables.UserSettings(
        pip=files,
        uv_linked=uv.linked_in_files(own),
        uv_knows=tools.knows(session.uv, pick.build.backend),
    )
    notes = []
    for name in ("index-url", "extra-index-url"):
        for url in files[name].words if name in files else ():
            if is_wheel_host(url):
                text = f"{files[name].source} names a PyTorch wheel index, from which pip takes other packages too"
                notes.append(Note("INDEX_STAYS", f"{text}: {redacted(url)}"))
    found = variables.of(pick, places.store, around, session.spoken_cuda(pick), read)
    return found, [*notes, *found.notes]


def _pip_change(places: Places, found: variables.Variables) -> journal.FileChange:
    there = rewrite.read(places.pip)
    options = {option: tuple(found.set[name].split()) for name, option in _PIP_OPTIONS.items() if name in found.set}
    return journal.FileChange(places.pip, there.text if there.exists else None, pipconf.pinned(there.text, options))


def _project(target: Target, told: str | None) -> str | None:
    if told == "":
        return None
    file = told or settings_places.project_of(target.prefix, sys.platform)
    if file is None or (told is None and not os.path.isfile(file)):
        return None
    if not os.path.isfile(file):
        raise TorchpickError(f"there is no {file}", hint="name the project's file: `--project pyproject.toml`")
    if _is_our_checkout(file):
        if told is None:
            return None
        raise UsageError(f"{file} is the project that torchpick runs from", hint="name a project of yours")
    return os.path.abspath(file)


def _is_our_checkout(file: str) -> bool:
    """Whether torchpick itself runs from the sources of this project."""
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    folder = os.path.dirname(os.path.realpath(file))
    return here in (folder, os.path.join(folder, "src"))


def _project_change(file: str, pick: Pick, found: variables.Variables) -> journal.FileChange:
    there = rewrite.read(file)
    after, clashes = tomlmarks.merged(there.text, _wanted(pick, found))
    if clashes:
        said = "; ".join(f"{each.place} is {each.theirs} and would be {each.ours}" for each in clashes)
        hint = "write ours there by hand, or leave the file alone with `--no-project`"
        raise TorchpickError(f"{file} says otherwise: {said}", hint=hint, code="CLASH")
    return journal.FileChange(file, there.text, after)


def _wanted(pick: Pick, found: variables.Variables) -> ProjectSettings:
    pins = pick.build.pins
    backend = found.set.get("UV_TORCH_BACKEND")
    page = found.set.get("UV_FIND_LINKS", "").split(",")[0]
    links = ProjectSetting(("tool", "uv", "pip", "find-links"), [page]) if page and not backend else None
    return projectfile.pinned(pins, backend, uv_index(pick), links)


def _conda_changes(places: Places, found: variables.Variables) -> list[journal.FileChange]:
    changed = {name: value for name, value in found.set.items() if name.startswith(("UV_", "NV_"))}
    made = []
    for name, text in activation.scripts(changed, ("UV_CONSTRAINT", "UV_FIND_LINKS")).items():
        made.append(journal.FileChange(os.path.join(places.conda, *name.split("/")), None, text))
    return made


def _hidden(environ: Mapping[str, str]) -> list[Note]:
    """Variables that are stronger than the files just written."""
    names = [name for name in _PIP_OPTIONS if environ.get(name)]
    text = "{} is set in this shell and hides what was written: unset it"
    return [Note("HIDDEN", text.format(name)) for name in names]


def unpin(prefix: str, project: str | None) -> tuple[str, ...]:
    """Put everything back as it was before it was pinned; returns the files that were touched."""
    with turns.of_environment(prefix):
        return _put_back(prefix, project)


def _put_back(prefix: str, project: str | None) -> tuple[str, ...]:
    places = settings_places.of(prefix, sys.platform)
    entries = journal.read(places.journal)
    touched = [each.file for each in entries if journal.put_back(each, _by_marks(places))]
    known = {each.file for each in entries}
    file = os.path.abspath(project) if project else settings_places.project_of(prefix, sys.platform)
    others = (places.pip, *([file] if file and project != "" else []))
    for folder in {os.path.dirname(path) for path in (*known, *others)}:
        rewrite.clear(folder)
    touched += [each for each in others if each not in known and _unmark(each, places)]
    for name in ("activate.d", "deactivate.d", ""):
        _remove_empty(os.path.join(places.conda, name), prefix)
    if os.path.isdir(places.store):
        shutil.rmtree(places.store, ignore_errors=True)
        _remove_empty(os.path.dirname(places.store), prefix)
    return tuple(touched)


def _by_marks(places: Places) -> journal.Restore:
    def restored(file: str, text: str) -> str:
        if file.endswith(".toml"):
            return tomlmarks.without(text, PIN)
        if file.startswith(places.conda):
            return ""
        return pipconf.without(pipconf.unpinned(text), variables.address(places.store))

    return restored


def _unmark(file: str, places: Places) -> bool:
    """Take ours out of a file that no journal lists."""
    there = rewrite.read(file)
    if not there.exists:
        return False
    text = _by_marks(places)(file, there.text)
    if text == there.text:
        return False
    if file == places.pip and not text.strip():
        os.unlink(os.path.realpath(file))  # all of it was ours, as in a copy of an environment
    else:
        rewrite.write(there, text)
    return True


def _remove_empty(folder: str, prefix: str) -> None:
    """Folders that were made for the store and hold nothing now."""
    if folder != prefix and os.path.isdir(folder) and not os.listdir(folder):
        os.rmdir(folder)
