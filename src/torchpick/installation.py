"""A request and an environment → the command that installs the pick there. Here question and install are composed."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Mapping

from torchpick import question, shipped
from torchpick.detection import interpreter
from torchpick.detection.world import World
from torchpick.errors import InstallerError, NoBuildError, UsageError
from torchpick.install import (
    choice,
    configured,
    copies,
    environment,
    inherited,
    pinplaces,
    pip,
    plan,
    requirements,
    settings,
    store,
    tools,
    uv,
)
from torchpick.install.choice import Chosen
from torchpick.install.command import Command
from torchpick.install.plan import Job
from torchpick.install.requirements import Asked, Given
from torchpick.install.settings import Setting
from torchpick.model.machine import Machine, Python
from torchpick.model.noun import Noun
from torchpick.model.table import Table
from torchpick.model.verdict import Pick
from torchpick.places import cache_dir
from torchpick.request import Request
from torchpick.requirements import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.install.reporting import Item


# A release as the table has them; what somebody built themselves is no build of it.
_VERSION = re.compile(r"\d+(\.\d+)*(\+[a-z0-9.]+)?")


class Order(Noun):
    """What `torchpick install` was told, beside the question that decides."""

    request: Request
    given: Given
    installer: str = "auto"
    upgrade: bool = False
    no_deps: bool = False
    passed_on: tuple[str, ...] = ()


class Scene(Noun):
    """What was found before anything is decided: the machine, the target, the requirements, the user's own settings."""

    machine: Machine
    table: Table
    asked: Asked
    family: tuple[str, ...]
    target: environment.Target
    place: str
    applies: Mapping[str, bool]
    pip_files: Mapping[str, Setting]
    pip_settings: Mapping[str, Setting]
    uv_files: tuple[configured.UvFile, ...]


def look(order: Order, environ: Mapping[str, str], tell: question.Tell = None) -> Scene:
    """Read what there is; raises where an installation could only fail."""
    request = order.request
    _check_place(request, environ)
    asked = requirements.read(order.given, environ)
    if not asked.wanted and not asked.opaque:
        raise UsageError("nothing to install is named", hint="such as `torchpick install torch torchvision`")
    rules = shipped.rules(environ)
    (machine,) = question.machines_of(request, environ, rules, tell)
    found = _target(machine.python, request, environ)
    environment.check(found, order.passed_on)
    home = os.path.expanduser("~")
    files = configured.pip(environ, found.prefix, home)
    return Scene(
        machine=machine,
        table=question.table_of((machine,), environ, rules, request.channel),
        asked=asked,
        family=shipped.family(environ),
        target=found,
        place=store.folder(cache_dir(environ)),
        applies=_applies(asked, found),
        pip_files=files,
        pip_settings={**files, **settings.strongest(settings.pip_of_environ(environ))},
        uv_files=tuple(configured.uv(environ, home, os.getcwd())),
    )


def _check_place(request: Request, environ: Mapping[str, str]) -> None:
    """Packages are installed on this computer, whatever machine is told."""
    told = {
        "--platform": request.platform,
        "TORCHPICK_PLATFORM": environ.get("TORCHPICK_PLATFORM"),
        "--machine": request.machine,
    }
    here = interpreter.own(World.here()).platform.name
    for name, value in told.items():
        if value and value != here:
            hint = "`torchpick url` and `torchpick env --shell dockerfile` answer for machines elsewhere"
            raise UsageError(f"`{name}` tells of another machine, and packages are installed on this one", hint=hint)


def _target(python: Python, request: Request, environ: Mapping[str, str]) -> environment.Target:
    """The environment of the target interpreter; a version that was told must be the target's own."""
    found = python
    if python.executable is None:
        hint = "name the interpreter with `--python PATH`; `torchpick url --python` answers for any version"
        if request.python is None:
            raise InstallerError(f"there is no Python to install for: {python.source}", hint=hint, code="NO_TARGET")
        found = interpreter.choose(None, World.here(), time.monotonic() + environment.ASK_S).python
        if found.executable is None or found.tag != python.tag:
            message = f"`--python {request.python}` is not the target's: {found.source} is {found.version}"
            raise UsageError(message, hint=hint)
    program = str(found.executable)
    prefix = os.path.dirname(os.path.dirname(os.path.abspath(program)))
    tool = interpreter.tool_environment(prefix)
    return environment.read(program, found.version, free_threaded=found.free_threaded, environ=environ, tool=tool)


def _applies(asked: Asked, found: environment.Target) -> dict[str, bool]:
    """Which markers hold in the target environment; without markers the packaging library is not loaded."""
    texts = requirements.markers(asked)
    if not texts:
        return {}
    from packaging.markers import InvalidMarker, Marker

    full = found.full_version or ""
    if not full.startswith(f"{found.version}."):
        full = f"{found.version}.0"
    facts = {"python_version": found.version, "python_full_version": full, "extra": ""}
    answers = {}
    for text in texts:
        try:
            answers[text] = Marker(text).evaluate(facts)
        except (InvalidMarker, KeyError, ValueError):
            answers[text] = True  # the installer will say what is wrong with it
    return answers


def decide(order: Order, scene: Scene, environ: Mapping[str, str], *, everything: bool = True) -> Pick:
    """The pick for what was asked, in the target's Python; NoBuildError where nothing runs.

    An installed torch that runs here stays where nobody asks for another. Without `everything` only as many builds are
    judged as the pick itself takes.
    """
    texts = requirements.of_family(scene.asked, scene.family, scene.applies)
    installed = scene.target.installed.get("torch", "")
    asked_for = {each.name for each in scene.asked.wanted}
    if _VERSION.fullmatch(installed) and not order.upgrade and "torch" not in asked_for:
        kept = _weighed(order, scene, (*texts, f"torch=={installed}"), environ, everything=everything)
        if kept.ok and kept.version == installed:
            return kept
    return question.decided(_weighed(order, scene, texts, environ, everything=everything))


def _weighed(
    order: Order, scene: Scene, texts: tuple[str, ...], environ: Mapping[str, str], *, everything: bool = True
) -> Pick:
    """The answer for these requirements on the machine as it was found."""
    wish = question.wish_of(order.request._replace(requirements=texts), environ)
    return question.weighed((scene.machine,), wish, scene.table, environ, everything=everything)


def installer(order: Order, scene: Scene, environ: Mapping[str, str]) -> Chosen:
    """Which installer does the work."""
    found = tools.uv(environ) if order.installer != "pip" else None
    uv_settings = [
        *settings.uv_of_environ(environ),
        *(each for file in scene.uv_files for each in settings.uv_of_table(file.table, file.path)),
    ]
    return choice.choose(
        order.installer,
        scene.target,
        found,
        lambda: tools.pip(scene.target, *(tools.beside() if scene.target.pip is None else (None, None))),
        inherited.own_places(scene.pip_settings.values()),
        inherited.own_places(uv_settings),
    )


class Tool(Noun):
    """The installer that does the work, and what the user's settings mean to it."""

    chosen: Chosen
    dropped: inherited.Inherited
    clean: copies.Copies
    cooldown: Setting | None


def tool(order: Order, scene: Scene, environ: Mapping[str, str]) -> Tool:
    """Choose the installer and read what it would inherit."""
    chosen = installer(order, scene, environ)
    clean = copies.without_wheel_indexes(scene.asked, scene.place)
    if chosen.uv is not None:
        dropped = inherited.of_uv(environ, scene.uv_files)
        return Tool(chosen, dropped, clean, settings.uv_cooldown(environ, (each.table for each in scene.uv_files)))
    dropped = inherited.of_pip(scene.pip_settings, environ, scene.pip_files)
    dropped = _without_our_own(dropped, scene)
    return Tool(chosen, dropped, clean, scene.pip_settings.get("uploaded-prior-to"))


def _without_our_own(dropped: inherited.Inherited, scene: Scene) -> inherited.Inherited:
    """Constraints of an earlier `torchpick env` or `pin` must not bind this decision."""
    said = scene.pip_settings.get("constraint")
    places = (scene.place, pinplaces.of(scene.target.prefix, sys.platform).store)
    words = said.words if said is not None else ()
    kept = [word for word in words if not any(store.is_ours(word, place) for place in places)]
    if len(kept) == len(words):
        return dropped
    return dropped._replace(set={**dropped.set, "PIP_CONSTRAINT": " ".join(kept) or " "})


def job_of(order: Order, scene: Scene, pick: Pick, environ: Mapping[str, str]) -> Job:
    made = Job(
        asked=scene.asked,
        pick=pick,
        target=scene.target,
        place=scene.place,
        applies=scene.applies,
        upgrade=order.upgrade,
        no_deps=order.no_deps,
        offline=order.request.offline or bool(environ.get("TORCHPICK_OFFLINE")),
        passed_on=order.passed_on,
        cuda_installed=environment.cuda_of(scene.target) if "+" not in pick.version else None,
    )
    plan.check(made)
    return made


def with_relatives(job: Job, tool: Tool, scene: Scene) -> Job:
    """The job with the addresses of what else of the family is asked for or needed, where the installer cannot tell.

    uv asks its own backend's pages alone. Pip, and a uv that does not know the backend, would look at every index.
    """
    if tool.chosen.uv is not None and uv.knows(tool.chosen.uv, job):
        return job
    build, index = job.pick.build, job.pick.index_url
    if not job.pick.wish.others and build.family not in ("rocm", "xpu"):
        return job
    from torchpick import relatives
    from torchpick.install import links

    wanted = {named(each): each[len(named(each)) :] for each in job.pick.wish.others}
    if build.family in ("rocm", "xpu") and job.moves_torch and not job.no_deps:
        wheels = links.wheels(build, "torch", job.pick.version, job.target.tag, index)
        if wheels:
            wanted = {**relatives.triton_of(wheels[0].url, relatives.read), **wanted}
    place = relatives.Place(job.target.tag, scene.machine.platform)
    flat = job.pick.wish.index_base.startswith("flat+")
    found = {}
    for name, specifier in wanted.items():
        page = index if flat else links.project_page(index, name)
        found[name] = relatives.find(name, specifier, page, place, relatives.read)
    return job._replace(relatives=found)


def command(job: Job, tool: Tool, environ: Mapping[str, str]) -> Command:
    """The exact command for the pick; nothing is started or written."""
    chosen = tool.chosen
    if chosen.uv is not None:
        made = uv.command(job, chosen.uv, tool.dropped, tool.clean, environ, cooldown=tool.cooldown is not None)
    else:
        made = pip.command(job, chosen.its_pip, tool.dropped, tool.clean, tool.cooldown)
    return made._replace(notes=(*chosen.notes, *made.notes))


def report(job: Job, tool: Tool, made: Command, environ: Mapping[str, str]) -> tuple[Item, ...]:
    """What the command would take from where, by the installer's own resolver."""
    from torchpick.install import reporting

    uv_ = tool.chosen.uv
    asked = pip.reporter(made) if uv_ is None else uv.reporter(job, uv_, tool.dropped, tool.clean, environ)
    return reporting.of(asked, environ)


def strangers(order: Order, scene: Scene) -> tuple[str, ...]:
    """What may need a torch of its own, by name; empty where every requirement is of the family."""
    if order.no_deps or scene.asked.hashed:
        return ()
    return (*(each.text for each in requirements.outsiders(scene.asked, scene.family)), *scene.asked.opaque)


def narrowed(order: Order, scene: Scene, job: Job, tool: Tool, environ: Mapping[str, str]) -> Job:
    """The job with what the other requirements need of torch; it asks the installer's resolver."""
    from torchpick.install import needs

    chosen = tool.chosen
    if chosen.uv is not None:
        resolver = uv.resolver(job, chosen.uv, tool.dropped, tool.clean, environ)
    else:
        resolver = pip.resolver(job, chosen.its_pip, tool.dropped, tool.clean)
    texts = requirements.of_family(scene.asked, scene.family, scene.applies)
    everything = _weighed(order, scene, texts, environ)
    mine = [each for each in everything.considered if scene.target.tag in each.build.pythons]
    builds = [each.build for each in mine]
    runnable = [each.build for each in mine if each.ok]
    learnt = needs.learn(resolver, builds, runnable, job.pick.build, scene.place, environ)
    if learnt.conflict:
        raise conflict(learnt.conflict, everything)
    pick = job.pick
    if learnt.torch is not None:
        pick = question.decided(_weighed(order, scene, (*texts, f"torch=={learnt.torch}"), environ))
    return job._replace(pick=pick, needs=learnt.needs)


def conflict(asks: tuple[str, ...], everything: Pick) -> NoBuildError:
    runs = list(dict.fromkeys(each.build.torch for each in everything.considered if each.ok))
    hint = f"torch {runs[-1]} to {runs[0]} has builds that run here (`torchpick list`); ask for what needs one of these"
    message = f"no torch that runs here suits every requirement: {'; '.join(asks)}"
    return NoBuildError(message, pick=everything._replace(verdicts=()), hint=hint)
