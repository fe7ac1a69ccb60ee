"""A request → the variables that hand the pick over to plain pip and uv. Here question and install are composed."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from torchpick import question, shipped
from torchpick.install import configured, inherited, settings, store, tools, variables
from torchpick.model.machine import Note, Python
from torchpick.model.verdict import Pick
from torchpick.places import cache_dir
from torchpick.request import Request

# Where an image keeps what the variables name.
_IN_IMAGE = "/opt/torchpick"


def variables_for(
    request: Request, environ: Mapping[str, str], shell: str, tell: question.Tell = None
) -> tuple[Pick, variables.Variables, tuple[Note, ...]]:
    """The pick, the variables that hand it over, and what was left out of the user's own settings."""
    pick = question.chosen(request, environ, tell=tell)
    driver = pick.machine.driver
    spoken = None if driver is None else driver.cuda or shipped.rules(environ).drivers.speaks(driver)
    if shell == "dockerfile":
        # An image has neither this computer's settings nor its cache, and its uv is not ours to ask.
        place = os.path.join(os.sep, "torchpick")
        return pick, variables.moved(variables.of(pick, place, variables.Around(), spoken), _IN_IMAGE), ()
    runner = environ.get("RUNNER_TEMP") if shell == "github" else None
    place = store.folder(os.path.join(runner, "torchpick") if runner else cache_dir(environ))
    around = _around(environ, place, pick)
    notes = (*around.dropped_pip.notes, *around.dropped_uv.notes, *_triton(pick))
    return pick, variables.of(pick, place, around, spoken), notes


def _triton(pick: Pick) -> tuple[Note, ...]:
    """What no variable can keep apart for pip."""
    if pick.build.family not in ("rocm", "xpu"):
        return ()
    text = "pip takes the triton of this build from your own index; `torchpick install` takes it from the wheel host"
    return (Note("TRITON_UNPINNED", text),)


def _around(environ: Mapping[str, str], place: str, pick: Pick) -> variables.Around:
    home = os.path.expanduser("~")
    files = configured.pip(environ, _prefix(pick.machine.python), home)
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
        uv_knows=found is None or tools.knows(found, pick.build.backend),
        uv_cooldown=settings.uv_cooldown(environ, tables) is not None,
    )


def _comma(environ: Mapping[str, str], dropped: inherited.Inherited) -> list[str]:
    if "UV_FIND_LINKS" in dropped.unset:
        return []
    said = dropped.set.get("UV_FIND_LINKS", environ.get("UV_FIND_LINKS", ""))
    return [part for part in said.split(",") if part.strip()]


def _prefix(python: Python) -> str:
    """The environment of the target, whose own pip.conf counts."""
    program = python.executable
    return sys.prefix if program is None else os.path.dirname(os.path.dirname(os.path.abspath(program)))
