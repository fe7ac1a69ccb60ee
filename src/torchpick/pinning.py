"""A request → settings in the environment's own files, and back. Here question and install are composed."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping

from torchpick import installation, journal, question, rewrite, shipped
from torchpick.emit import activation
from torchpick.errors import TorchpickError
from torchpick.install import configured, pinplaces, pipconf, settings, store, tools, variables
from torchpick.install.environment import Target
from torchpick.install.pinplaces import Places
from torchpick.install.requirements import Given
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.verdict import Pick, companions
from torchpick.projects import editing
from torchpick.projects.settings import UNPINNED, Entry, Wanted
from torchpick.projects.settings import pin as pin_settings
from torchpick.request import Request

# pip's options that are ours to say in a pinned environment.
_PIP_OPTIONS = {"PIP_FIND_LINKS": "find-links", "PIP_CONSTRAINT": "constraint"}


class Pinned(Noun):
    """The pick, the files that were touched, and what a person should know."""

    pick: Pick
    touched: tuple[str, ...]
    notes: tuple[Note, ...]


def pin(request: Request, environ: Mapping[str, str], project: str | None, tell: question.Tell = None) -> Pinned:
    """Hold the environment to the pick. `project` is a pyproject.toml; None means the environment's own, empty none."""
    order = installation.Order(request._replace(requirements=()), Given(("torch",)))
    scene = installation.look(order, environ, tell)
    pick = _decided(request, scene, environ)
    places = pinplaces.of(scene.target.prefix, sys.platform)
    file = _project(scene.target, project)
    if file is not None:  # whatever speaks against it must do so before anything is touched
        _project_change(file, pick, _variables(pick, places, scene.target, environ)[0])
    unpin(scene.target.prefix, project)
    found, notes = _variables(pick, places, scene.target, environ)
    changes = [_pip_change(places, found)]
    if file is not None:
        changes.append(_project_change(file, pick, found))
    elif scene.target.conda is not None:
        changes += _conda_changes(places, found)
    else:
        text = 'uv keeps no settings for one environment: `eval "$(torchpick env)"` gives them to `uv pip` in a shell'
        notes.append(Note("UV_NOT_PINNED", text))
    _make(places.store)
    store.keep(found.files)
    journal.write(places.journal, changes)
    for change in changes:
        _make(os.path.dirname(change.file))
        rewrite.write(rewrite.read(change.file), change.after)
    return Pinned(pick, tuple(change.file for change in changes), (*notes, *_hidden(environ)))


def _decided(request: Request, scene: installation.Scene, environ: Mapping[str, str]) -> Pick:
    """An installed torch that runs here is what is held, unless another is asked for."""
    installed = scene.target.installed.get("torch")
    asked = question.wish_of(request, environ)
    if installed and not asked.torch:
        kept = question.wish_of(request._replace(requirements=(*request.requirements, f"torch=={installed}")), environ)
        found = question.weighed((scene.machine,), kept, scene.table, environ)
        if found.ok and found.version == installed:
            return found
    return question.decided(question.weighed((scene.machine,), asked, scene.table, environ))


def _variables(
    pick: Pick, places: Places, target: Target, environ: Mapping[str, str]
) -> tuple[variables.Variables, list[Note]]:
    """What `env` would set, with its files in the environment; without what this shell alone says."""
    driver = pick.machine.driver
    spoken = None if driver is None else driver.cuda or shipped.rules(environ).drivers.speaks(driver)
    files = configured.pip(environ, target.prefix, os.path.expanduser("~"))
    found = tools.uv(environ)
    around = variables.Around(
        pip=files,
        uv_knows=found is None or tools.knows(found, pick.build.backend),
    )
    notes = []
    for name in ("index-url", "extra-index-url"):
        for url in files[name].words if name in files else ():
            if settings.is_wheel_index(url):
                text = f"{files[name].source} names a PyTorch wheel index, from which pip takes other packages too"
                notes.append(Note("INDEX_STAYS", f"{text}: {settings.redacted(url)}"))
    return variables.of(pick, places.store, around, spoken), notes


def _pip_change(places: Places, found: variables.Variables) -> journal.Change:
    there = rewrite.read(places.pip)
    options = {option: tuple(found.set[name].split()) for name, option in _PIP_OPTIONS.items() if name in found.set}
    return journal.Change(places.pip, there.text if there.exists else None, pipconf.pinned(there.text, options))


def _project(target: Target, told: str | None) -> str | None:
    if told == "":
        return None
    file = told or pinplaces.project_of(target.prefix, sys.platform)
    if file is None or (told is None and not os.path.isfile(file)):
        return None
    if not os.path.isfile(file):
        raise TorchpickError(f"there is no {file}", hint="name the project's file: `--project pyproject.toml`")
    return os.path.abspath(file)


def _project_change(file: str, pick: Pick, found: variables.Variables) -> journal.Change:
    there = rewrite.read(file)
    after, clashes = editing.merged(there.text, _wanted(pick, found))
    if clashes:
        said = "; ".join(f"{each.where} is {each.theirs}" for each in clashes)
        hint = "`--no-project` leaves it alone; `torchpick label` chooses among extras that a project has"
        raise TorchpickError(f"{file} says otherwise: {said}", hint=hint, code="CLASH")
    return journal.Change(file, there.text, after)


def _wanted(pick: Pick, found: variables.Variables) -> Wanted:
    pins = {"torch": pick.version, **companions(pick.build)}
    backend = found.set.get("UV_TORCH_BACKEND")
    links = found.set.get("UV_FIND_LINKS", "").split(",")[0]
    url = f"{pick.wish.index_base.rstrip('/')}/{pick.build.backend}"
    index = {"name": f"pytorch-{pick.build.backend}", "url": url, "explicit": True}
    if pick.wish.index_base.startswith("flat+"):
        index = {"name": "pytorch-mirror", "url": pick.index_url, "format": "flat", "explicit": True}
    return pin_settings(pins, backend, Entry(("tool", "uv", "index"), index), None if backend else links)


def _conda_changes(places: Places, found: variables.Variables) -> list[journal.Change]:
    changed = {name: value for name, value in found.set.items() if name.startswith(("UV_", "NV_"))}
    made = []
    for name, text in activation.scripts(changed, ("UV_CONSTRAINT", "UV_FIND_LINKS")).items():
        made.append(journal.Change(os.path.join(places.conda, *name.split("/")), None, text))
    return made


def _hidden(environ: Mapping[str, str]) -> list[Note]:
    """Variables that are stronger than the files just written."""
    names = [name for name in _PIP_OPTIONS if environ.get(name)]
    text = "{} is set in this shell and hides what was written: unset it"
    return [Note("HIDDEN", text.format(name)) for name in names]


def _make(folder: str) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        hint = "name an environment of yours with `--python PATH`"
        raise TorchpickError(f"cannot write in {folder}: {error.strerror}", hint=hint) from error


def unpin(prefix: str, project: str | None) -> tuple[str, ...]:
    """Put everything back as it was before it was pinned; returns the files that were touched."""
    places = pinplaces.of(prefix, sys.platform)
    entries = journal.read(places.journal)
    touched = [each.file for each in entries if journal.put_back(each, _by_marks(places))]
    known = {each.file for each in entries}
    file = os.path.abspath(project) if project else pinplaces.project_of(prefix, sys.platform)
    others = (places.pip, *([file] if file and project != "" else []))
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
            return editing.merged(text, UNPINNED)[0] if UNPINNED.mark in text else text
        if file.startswith(places.conda):
            return ""
        return pipconf.without(pipconf.unpinned(text), variables.address(places.store))

    return restored


def _unmark(file: str, places: Places) -> bool:
    """Take ours out of a file that no journal tells of."""
    there = rewrite.read(file)
    if not there.exists:
        return False
    text = _by_marks(places)(file, there.text)
    if text != there.text:
        rewrite.write(there, text)
    return text != there.text


def _remove_empty(folder: str, prefix: str) -> None:
    """Folders that were made for the store and hold nothing now."""
    if folder != prefix and os.path.isdir(folder) and not os.listdir(folder):
        os.rmdir(folder)
