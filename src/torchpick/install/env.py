"""A request → the variables that hand the pick over to plain pip and uv, and a command that is run under them."""

from __future__ import annotations

import os
from collections.abc import Sequence

from torchpick.errors import UsageError
from torchpick.install import files
from torchpick.installers import links, own_settings, store, variables
from torchpick.installers.run import Command
from torchpick.installers.variables import Variables
from torchpick.knowledge.locations import cache_dir
from torchpick.model.machine import Note
from torchpick.model.pick import Pick
from torchpick.model.redaction import holds_secret
from torchpick.session import Session

# Where an image keeps what the variables name.
_IN_IMAGE = "/opt/torchpick"


# Tools whose projects read none of pip's or uv's variables.
_OTHERS = ("poetry", "pdm", "pixi", "conda", "mamba", "micromamba")
# What uv does in a project or for a script, where it reads no constraints from variables.
_OF_PROJECTS = ("sync", "lock", "add", "remove", "export", "run")


def variables_for(session: Session, shell: str) -> tuple[Pick, Variables, tuple[Note, ...]]:
    """The pick, the variables that hand it over, and what a person should know."""
    environ = session.environ
    pick = session.pick()
    links.check_settings(pick)
    store.check_private(cache_dir(environ))
    if shell == "dockerfile":
        _check_image(session, pick)
    read = files.listed(session, pick)
    if shell == "dockerfile":
        # An image has neither this computer's settings nor its cache, and its uv is not ours to ask.
        return pick, variables.of(pick, _IN_IMAGE, own_settings.OwnSettings(), read.files), read.notes
    runner = environ.get("RUNNER_TEMP") if shell == "github" else None
    place = store.folder(os.path.join(runner, "torchpick")) if runner else session.store
    own = session.own_settings(session.settings_prefix)
    found = variables.of(pick, place, own, read.files)
    return pick, found, (*own_settings.index_notes(own, ("pip", "uv")), *found.notes, *read.notes)


def command_of(session: Session, argv: Sequence[str]) -> tuple[Pick, Command]:
    """The pick, and the command as it is to be run; NoBuildError where no build runs."""
    pick, found, notes = variables_for(session, "sh")
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


def _check_image(session: Session, pick: Pick) -> None:
    """An image runs elsewhere: that this computer has no GPU says nothing of it."""
    request = session.request
    asked_for_cpu = request.cpu or request.allow_cpu or session.wish.backends
    if not (pick.machine.gpus or session.given_gpus or asked_for_cpu):
        hint = "name the GPU that the image is for, such as `--gpu t4 --driver 580`; `--cpu` makes one without"
        raise UsageError("there is no GPU here, and an image runs elsewhere", hint=hint)
