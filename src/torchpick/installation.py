"""A request and an environment → the command that installs the pick there. Here question and install are composed."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from torchpick import question, shipped
from torchpick.errors import NoBuildError, UsageError
from torchpick.install import (
    choice,
    configured,
    copies,
    environment,
    inherited,
    needs,
    pip,
    plan,
    reporting,
    requirements,
    settings,
    store,
    target,
    tools,
    uv,
    variables,
    verify,
)
from torchpick.install.choice import Chosen
from torchpick.install.command import Command
from torchpick.install.plan import Job
from torchpick.install.requirements import Asked, Given
from torchpick.install.settings import Setting
from torchpick.model.arch import Fit
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.verdict import Objection, Pick
from torchpick.places import cache_dir
from torchpick.request import Request


class Order(Noun):
    """What `torchpick install` was told, beside the question that decides."""

    request: Request
    given: Given
    installer: str = "auto"
    upgrade: bool = False
    no_deps: bool = False
    passed_on: tuple[str, ...] = ()


class Scene(Noun):
    """What was found before anything is decided: the requirements, the target, and the user's own settings."""

    asked: Asked
    family: tuple[str, ...]
    target: environment.Target
    place: str
    applies: Mapping[str, bool]
    pip_files: Mapping[str, Setting]
    pip_settings: Mapping[str, Setting]
    uv_files: tuple[configured.UvFile, ...]


def look(order: Order, environ: Mapping[str, str]) -> Scene:
    """Read what there is; raises where an installation could only fail."""
    request = order.request
    if request.platform is not None or request.machine is not None:
        flag = "--platform" if request.platform is not None else "--machine"
        hint = "`torchpick url` and `torchpick env --shell dockerfile` answer for machines elsewhere"
        raise UsageError(f"`{flag}` tells of another machine, and packages are installed on this one", hint=hint)
    python = target.python(request.python)
    found = environment.read(
        python.executable or "", python.version, free_threaded=python.free_threaded, environ=environ
    )
    environment.check(found, order.passed_on)
    asked = requirements.read(order.given, environ)
    if not asked.wanted and not asked.opaque:
        raise UsageError("nothing to install is named", hint="such as `torchpick install torch torchvision`")
    home = os.path.expanduser("~")
    files = configured.pip(environ, found.prefix, home)
    return Scene(
        asked=asked,
        family=shipped.family(environ),
        target=found,
        place=store.folder(cache_dir(environ)),
        applies=_applies(asked, found),
        pip_files=files,
        pip_settings={**files, **settings.strongest(settings.pip_of_environ(environ))},
        uv_files=tuple(configured.uv(environ, home, os.getcwd())),
    )


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


def decide(order: Order, scene: Scene, environ: Mapping[str, str]) -> Pick:
    """The pick for what was asked, in the target's Python; NoBuildError where nothing runs.

    An installed torch that runs here stays where nobody asks for another.
    """
    texts = requirements.of_family(scene.asked, scene.family, scene.applies)
    request = question_of(order, scene)
    installed = scene.target.installed.get("torch")
    if installed and not order.upgrade and "torch" not in {each.name for each in scene.asked.wanted}:
        kept = question.answer(request._replace(requirements=(*texts, f"torch=={installed}")), environ)
        if kept.ok and kept.version == installed:
            return kept
    return question.chosen(request._replace(requirements=texts), environ)


def question_of(order: Order, scene: Scene) -> Request:
    """The request as the decision takes it: for the target's Python."""
    python = f"{scene.target.version}{'t' if scene.target.free_threaded else ''}"
    own = target.python(None)
    same = (own.version, own.free_threaded) == (scene.target.version, scene.target.free_threaded)
    return order.request._replace(python=None if same else python)


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
    if said is None or not any(store.is_ours(word, scene.place) for word in said.words):
        return dropped
    kept = [word for word in said.words if not store.is_ours(word, scene.place)]
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


def command(job: Job, tool: Tool, environ: Mapping[str, str]) -> Command:
    """The exact command for the pick; nothing is started or written."""
    chosen = tool.chosen
    if chosen.uv is not None:
        made = uv.command(job, chosen.uv, tool.dropped, tool.clean, environ, cooldown=tool.cooldown is not None)
    else:
        made = pip.command(job, chosen.its_pip, tool.dropped, tool.clean, tool.cooldown)
    return made._replace(notes=(*chosen.notes, *made.notes))


def report(job: Job, tool: Tool, made: Command, environ: Mapping[str, str]) -> tuple[reporting.Item, ...]:
    """What the command would take from where, by the installer's own resolver."""
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
    chosen = tool.chosen
    if chosen.uv is not None:
        resolver = uv.resolver(job, chosen.uv, tool.dropped, tool.clean, environ)
    else:
        resolver = pip.resolver(job, chosen.its_pip, tool.dropped, tool.clean)
    texts = requirements.of_family(scene.asked, scene.family, scene.applies)
    asked = question_of(order, scene)
    everything = question.answer(asked._replace(requirements=texts), environ)
    mine = [each for each in everything.considered if scene.target.tag in each.build.pythons]
    builds = [each.build for each in mine]
    runnable = [each.build for each in mine if each.ok]
    learnt = needs.learn(resolver, builds, runnable, job.pick.build, scene.place, environ)
    if learnt.conflict:
        raise _conflict(learnt.conflict, everything)
    pick = job.pick
    if learnt.torch is not None:
        pick = question.chosen(asked._replace(requirements=(*texts, f"torch=={learnt.torch}")), environ)
    return job._replace(pick=pick, needs_torch=learnt.needs_torch)


def _conflict(asks: tuple[str, ...], everything: Pick) -> NoBuildError:
    runs = list(dict.fromkeys(each.build.torch for each in everything.considered if each.ok))
    hint = f"torch {runs[-1]} to {runs[0]} has builds that run here (`torchpick list`); ask for what needs one of these"
    message = f"no torch that runs here suits every requirement: {'; '.join(asks)}"
    return NoBuildError(message, pick=everything._replace(verdicts=()), hint=hint)


def verified(pick: Pick, target: environment.Target, environ: Mapping[str, str]) -> verify.Verified:
    """Run the kernels on each GPU that counts, with the torch that the target has now."""
    gpus = pick.machine.counted
    family = pick.build.family
    apple = any(gpu.vendor == "apple" for gpu in pick.machine.gpus)
    kind = "mps" if apple else "cuda" if family == "rocm" else family
    if family != "cpu" and not gpus and family != "xpu":
        kind = "cpu"  # nothing here that it was picked for
    slow = any(fit.fit is Fit.JIT for verdict in pick.verdicts for fit in verdict.fits)
    deadline = verify.JIT_DEADLINE_S if slow else verify.DEADLINE_S
    return verify.run(target.python, kind, gpus if kind in ("cuda", "xpu") else (), environ, deadline)


def why(ran: verify.Ran, found: verify.Verified, pick: Pick) -> Objection | None:
    """What the table says of the installed build on this GPU, where it says that it cannot run there."""
    for verdict in pick.considered:
        if verdict.build.version == found.torch:
            about = [each for each in verdict.objections if each.gpu == ran.gpu]
            return next(iter(about or verdict.objections), None)
    return None


# Where an image keeps what the variables name.
_IN_IMAGE = "/opt/torchpick"


def variables_for(
    request: Request, environ: Mapping[str, str], shell: str
) -> tuple[Pick, variables.Variables, tuple[Note, ...]]:
    """The pick, the variables that hand it over, and what was left out of the user's own settings."""
    pick = question.chosen(request, environ)
    driver = pick.machine.driver
    spoken = None if driver is None else driver.cuda or shipped.rules(environ).drivers.speaks(driver)
    if shell == "dockerfile":
        # An image has neither this computer's settings nor its cache, and its uv is not ours to ask.
        place = os.path.join(os.sep, "torchpick")
        return pick, variables.moved(variables.of(pick, place, variables.Around(), spoken), _IN_IMAGE), ()
    runner = environ.get("RUNNER_TEMP") if shell == "github" else None
    place = store.folder(os.path.join(runner, "torchpick") if runner else cache_dir(environ))
    around = _around(environ, place, pick)
    return pick, variables.of(pick, place, around, spoken), (*around.dropped_pip.notes, *around.dropped_uv.notes)


def _around(environ: Mapping[str, str], place: str, pick: Pick) -> variables.Around:
    home = os.path.expanduser("~")
    prefix = environ.get("VIRTUAL_ENV") or environ.get("CONDA_PREFIX") or sys.prefix
    files = configured.pip(environ, prefix, home)
    effective = {**files, **settings.strongest(settings.pip_of_environ(environ))}
    uv_files = configured.uv(environ, home, os.getcwd())
    dropped_uv = inherited.of_uv(environ, uv_files)
    if dropped_uv.uv_file is not None:
        text = "no variable can take a PyTorch wheel index out of uv's files: `torchpick install` does for a run"
        dropped_uv = dropped_uv._replace(notes=(*dropped_uv.notes, Note("INDEX_STAYS", text)))
    found = tools.uv(environ)
    tables = [each.table for each in uv_files]
    return variables.Around(
        pip=effective,
        dropped_pip=inherited.of_pip(effective, environ, files),
        dropped_uv=dropped_uv,
        uv_constraints=variables.dropped_words(environ.get("UV_CONSTRAINT", "").split(), place),
        uv_links=variables.dropped_words(_comma(environ, dropped_uv), place),
        uv_knows=found is None or ("torch-backend" in found.flags and pick.build.backend in found.backends),
        uv_cooldown=settings.uv_cooldown(environ, tables) is not None,
    )


def _comma(environ: Mapping[str, str], dropped: inherited.Inherited) -> list[str]:
    if "UV_FIND_LINKS" in dropped.unset:
        return []
    said = dropped.set.get("UV_FIND_LINKS", environ.get("UV_FIND_LINKS", ""))
    return [part for part in said.split(",") if part.strip()]
