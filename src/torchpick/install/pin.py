"""A request → settings in the environment's own files, and back."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from torchpick.decide.answer import decided
from torchpick.environment import interpreter, projectfile, rewrite, toolsettings
from torchpick.environment.distributions import Environment
from torchpick.environment.requirements import RequirementArgs, read_requirements
from torchpick.environment.rewrite import Text
from torchpick.environment.uvsources import MARKED_PLATFORMS, marker_of
from torchpick.environment.world import World, nearest_with, text_of, uv_project
from torchpick.errors import InstallerError, TorchpickError, UsageError
from torchpick.index.pages import ProjectFile
from torchpick.install.asking import Order, TargetQuestion, installed_torch, read_question
from torchpick.install.command import Command, write_files
from torchpick.install.env import check_vendor_alone, list_files, uv_index, variables_of
from torchpick.install.files import project_page
from torchpick.install.handover import find_answer
from torchpick.install.question import answer_request, collect_question, read_wish
from torchpick.install.user_settings import note_indexes, read_user_settings
from torchpick.model.build import DEFAULT_INDEX, TRIO
from torchpick.model.machine import Note, version_of
from torchpick.model.pick import Pick
from torchpick.model.versions import named
from torchpick.run import Run

# pip's options that are ours to say in a pinned environment.
_PIP_OPTIONS = {"PIP_FIND_LINKS": "find-links", "PIP_CONSTRAINT": "constraint"}
_NOT_FOR_UV = 'uv keeps no settings for one environment: `eval "$(torchpick env)"` gives them to `uv pip` in a shell'
_ANOTHER = "name an environment of yours with `--python PATH`"


def check_named(python: str | None) -> None:
    """Refuse where no environment is named or found: the one that torchpick happens to run in is not meant."""
    named = python is not None and version_of(python) is None
    if not named and interpreter.find_environment(World.here()) is None:
        hint = "activate one, make one (`python3 -m venv .venv`), or name its interpreter: `--python PATH`"
        if (project := uv_project(os.getcwd())) is not None:
            hint = f"{interpreter.making_of(project)} make it with this machine's torch, and need no pin"
        raise UsageError("no environment is active, and there is no .venv here or above", hint=hint, code="NO_TARGET")


Pinned = tuple[Pick, tuple[str, ...], list[Note]]


def pin(run: Run, project: str | None) -> Pinned:
    """Pin the environment to the pick: that, the files that were touched, and what a person should know.

    `project` is a pyproject.toml; None means the environment's own.
    """
    check_named(run.request.python)
    target = read_question(run, Order(RequirementArgs(("torch",)))).target
    prefix = target.prefix
    file = project_of(prefix, project)
    pick, project_notes = _decide(run, target, file)
    check_vendor_alone(pick)
    wheels, file_notes = list_files(run, pick)
    with _changing(prefix, project) as files:
        _take_out(files, prefix)
        variables, index_notes = _variables(run, pick, prefix, wheels)
        notes = [*project_notes, *index_notes, *file_notes]
        changes = [_pip_change(prefix, variables)]
        if file is not None:
            changes.append(_project_change(run, file, pick, wheels))
        else:
            notes.append(Note("UV_NOT_PINNED", _NOT_FOR_UV))
        rewrite.folder(toolsettings.store_of(prefix), _ANOTHER)
        write_files(variables.files, shared=True)
        for before, after in changes:
            rewrite.write_file(before, after)
    notes += [note for before, after in changes for note in rewrite.note_password(before, after)]
    return pick, tuple(before.file for before, _ in changes), notes


def _decide(run: Run, target: Environment, file: str | None) -> tuple[Pick, tuple[Note, ...]]:
    """What is pinned: an installed torch that runs here stays, unless another is asked for.

    What the project requires binds as in `plan`; where that cannot be read, what it says of torch itself does.
    """
    stays = installed_torch(read_wish(run.without_requirements()), target) if not read_wish(run).torch else None
    needs = projectfile.read_requirements(rewrite.read_file(file).text, file) if file is not None else ()
    typed, notes = run.request.requirements, tuple[Note, ...]()
    if any(named(word) not in TRIO for word in needs):
        order = Order(RequirementArgs((*typed, *needs)), only_planned=True)
        requirements = read_requirements(order.args, run.environ, run.fetch)
        planned = TargetQuestion(run.without_requirements(), order, requirements, target.emptied)
        planned.question = planned.question._replace(stays=stays)
        try:
            learnt = find_answer(planned)
        except InstallerError as error:
            notes = (Note("PROJECT_UNREAD", f"what {file} requires beside torch is not known: {error.message}"),)
        else:
            return learnt.answer.pick, learnt.notes
    words = (*typed, *(word for word in needs if named(word) in TRIO))
    question = collect_question(run.with_request(run.request._replace(requirements=words)))
    return decided(answer_request(run, question._replace(stays=stays)), run.knowledge.rules).pick, notes


def _variables(
    run: Run, pick: Pick, prefix: str, wheels: Mapping[str, Sequence[ProjectFile]]
) -> tuple[Command, tuple[Note, ...]]:
    """What `env` would set, with its files in the environment; without what this shell alone says."""
    # Read anew each time: what an earlier `pin` wrote is taken out in between.
    files = toolsettings.read_pip_settings(run.environ, prefix, os.path.expanduser("~"))
    settings = read_user_settings(run.environ, prefix, base=run.index_base)._replace(environ={}, pip=files)
    variables = variables_of(pick, toolsettings.store_of(prefix), settings, wheels)
    return variables, note_indexes(settings, ("pip",))


def _pip_change(prefix: str, variables: Command) -> tuple[Text, str]:
    before = rewrite.read_file(toolsettings.own_pip_file(prefix))
    options = {
        option: tuple(variables.set[name].split()) for name, option in _PIP_OPTIONS.items() if name in variables.set
    }
    return before, projectfile.pin_conf(before.text, options)


def project_of(prefix: str, named: str | None) -> str | None:
    file = named or toolsettings.project_of(prefix)
    if file is None or (named is None and not os.path.isfile(file)):
        return None
    if not os.path.isfile(file):
        raise TorchpickError(f"there is no {file}", hint="name the project's file: `--project pyproject.toml`")
    if os.path.isfile(os.path.join(os.path.dirname(file), "src", "torchpick", "__init__.py")):
        if named is None:
            return None
        raise UsageError(f"{file} is torchpick's own project", hint="name a project of yours")
    return os.path.abspath(file)


def _project_change(run: Run, file: str, pick: Pick, wheels: Mapping[str, Sequence[ProjectFile]]) -> tuple[Text, str]:
    before = rewrite.read_file(file)
    # A page that the host does not have ends uv's run.
    names = (name for name in dict.fromkeys((*pick.build.pins, *wheels)) if wheels.get(name, True))
    pages = [*dict.fromkeys(project_page(pick, name) for name in names if pick.index_url)]
    links = projectfile.ProjectSetting(("tool", "uv", "pip", "find-links"), pages) if pages else None
    wanted = projectfile.settings_of_pins(pick.build.pins, uv_index(pick), links, _marker(run, pick))
    return before, projectfile.add_settings(before.text, wanted, file)


def _marker(run: Run, pick: Pick) -> str:
    """Where the very build is published: what is committed holds on those platforms, and leaves the others alone."""
    build = pick.build
    if build.vendor is not None or build.platform not in MARKED_PLATFORMS:
        return ""
    default_index = build.backend == DEFAULT_INDEX
    table = run.knowledge.table(MARKED_PLATFORMS, run.request.channel, base=run.index_base, default_index=default_index)
    pins = build.torch, build.backend, build.pins
    return marker_of(
        platform
        for platform in MARKED_PLATFORMS
        if platform == build.platform or any((row.torch, row.backend, row.pins) == pins for row in table.of(platform))
    )


def unpin(prefix: str, project: str | None) -> tuple[str, ...]:
    """Take out whatever `pin` wrote; returns the files that were touched."""
    with _changing(prefix, project) as files:
        touched = _take_out(files, prefix)
    if os.path.isdir(store := toolsettings.store_of(prefix)):
        raise TorchpickError(f"cannot remove {store}", hint="nothing reads it any more: remove it yourself")
    return touched


def pinned_project(folder: str) -> str | None:
    """The pyproject.toml, in this folder or above, that holds a pin."""
    file = os.path.join(nearest_with(folder, "pyproject.toml") or folder, "pyproject.toml")
    text = text_of(file)
    return None if projectfile.remove_settings(text, projectfile.PIN) == text else file


@contextmanager
def _changing(prefix: str, project: str | None) -> Iterator[tuple[str, ...]]:
    """The files that may hold our lines: all are changed, and what they name, or none."""
    own = project_of(prefix, project)
    store = toolsettings.store_of(prefix)
    files = (toolsettings.own_pip_file(prefix), *((own,) if own else ()))
    before = rewrite.contents((*files, *_stored(store)))
    try:
        with rewrite.put_back_where_it_fails(before):
            yield files
    except BaseException:
        for file in {*_stored(store)} - {*before}:
            with suppress(OSError):
                os.unlink(file)
        if not _stored(store):
            _remove(store)
        raise


def _stored(store: str) -> list[str]:
    return [entry.path for entry in os.scandir(store) if entry.is_file()] if os.path.isdir(store) else []


def _take_out(files: Sequence[str], prefix: str) -> tuple[str, ...]:
    """Take our lines out of the environment's pip.conf and of the project, and then what they name.

    Nothing is written but what is there less the lines that carry our mark.
    """
    touched = tuple(filter(_unmark, files))
    _remove(toolsettings.store_of(prefix))
    return touched


def _remove(store: str) -> None:
    if os.path.isdir(store):
        shutil.rmtree(store, ignore_errors=True)
        with suppress(OSError):  # others keep files there, too
            os.rmdir(os.path.dirname(store))


def _unmark(file: str) -> bool:
    """Take ours out of a file; whether there was anything of ours."""
    before = rewrite.read_file(file)
    text = (
        projectfile.remove_settings(before.text, projectfile.PIN)
        if file.endswith(".toml")
        else projectfile.unpin_conf(before.text)
    )
    if text == before.text:
        return False
    if text.strip() or file.endswith(".toml"):
        rewrite.write_file(before, text)
    else:
        os.unlink(os.path.realpath(file))  # all of it was ours; a link to a file that was not there is somebody's own
    return True
