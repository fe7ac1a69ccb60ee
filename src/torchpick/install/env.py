"""A request → the variables that hand the pick over to plain pip and uv."""

from __future__ import annotations

import os
import sys

from torchpick.environment import world
from torchpick.errors import UsageError
from torchpick.install import files
from torchpick.installers import own_settings, store, tools, variables
from torchpick.model.machine import Note, Python
from torchpick.model.pick import Pick
from torchpick.model.redaction import holds_secret
from torchpick.session import Session

# Where an image keeps what the variables name.
_IN_IMAGE = "/opt/torchpick"


def variables_for(session: Session, shell: str) -> tuple[Pick, variables.Variables, tuple[Note, ...]]:
    """The pick, the variables that hand it over, and what was left out of the user's own settings."""
    environ = session.environ
    pick = session.pick()
    if shell == "dockerfile":
        _check_image(session, pick)
    read = files.companions_on_pages(pick, pick.build.companion_pins, offline=session.offline)
    if shell == "dockerfile":
        # An image has neither this computer's settings nor its cache, and its uv is not ours to ask.
        found = variables.of(pick, os.sep, variables.UserSettings(), read)
        return pick, variables.moved(found, _IN_IMAGE), ()
    runner = environ.get("RUNNER_TEMP") if shell == "github" else None
    place = store.folder(os.path.join(runner, "torchpick")) if runner else session.store
    around = _around(session, place, pick)
    notes = (*around.for_pip.notes, *around.for_uv.notes, *_triton(pick))
    found = variables.of(pick, place, around, read)
    return pick, found, (*notes, *found.notes)


def password_notes(lines: str, *, image: bool) -> tuple[Note, ...]:
    """What to do about a password in these lines, which pip and uv need as it is."""
    if not holds_secret(lines):
        return ()
    text = "these lines hold a password: keep them out of logs, or give it by netrc or a keyring"
    in_image = "the image will hold a password: give it to the build as a secret instead"
    return (Note("PASSWORD_PRINTED", in_image if image else text),)


def _check_image(session: Session, pick: Pick) -> None:
    """An image runs elsewhere: that this computer has no GPU says nothing of it."""
    request = session.request
    asked_for_cpu = request.cpu or request.allow_cpu or session.wish.backends
    if not (pick.machine.gpus or session.given_gpus or asked_for_cpu):
        hint = "name the GPU that the image is for, such as `--gpu t4 --driver 580`; `--cpu` makes one without"
        raise UsageError("there is no GPU here, and an image runs elsewhere", hint=hint)


def _triton(pick: Pick) -> tuple[Note, ...]:
    """What no variable can keep apart for pip."""
    if pick.build.family not in ("rocm", "xpu"):
        return ()
    text = "pip takes the triton of this build from your own index; `torchpick install` takes it from the wheel host"
    return (Note("TRITON_UNPINNED", text),)


def _around(session: Session, place: str, pick: Pick) -> variables.UserSettings:
    own = session.own_settings(_prefix(pick.machine.python))
    for_uv = own_settings.for_uv(own, pick.build.backend)
    hidden = "UV_FIND_LINKS" in for_uv.unset
    links = for_uv.set.get("UV_FIND_LINKS", "" if hidden else session.environ.get("UV_FIND_LINKS", "")).split(",")
    return variables.UserSettings(
        pip=own.pip,
        for_pip=own_settings.for_pip(own),
        for_uv=for_uv,
        uv_constraints=store.not_ours(session.environ.get("UV_CONSTRAINT", "").split(), place),
        uv_links=store.not_ours((link for link in links if link.strip()), place),
        uv_linked=any(said.name in ("find-links", "UV_FIND_LINKS") for said in own.uv_places),
        uv_knows=tools.knows(session.uv, pick.build.backend),
        uv_cooldown=own.uv_cooldown is not None,
    )


def _prefix(python: Python) -> str:
    """The environment of the target, whose own pip.conf counts."""
    program = python.executable
    return sys.prefix if program is None else world.prefix_of(program)
