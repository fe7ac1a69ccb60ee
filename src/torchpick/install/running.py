"""A command under the variables of `env`, and a note where it takes torch from something else."""

from __future__ import annotations

import os
from collections.abc import Sequence

from torchpick.environment import distributions
from torchpick.environment.world import upwards
from torchpick.install import env
from torchpick.installers.command import Command
from torchpick.model.machine import Note
from torchpick.model.pick import Pick
from torchpick.session import Session

# Tools whose projects read none of pip's or uv's variables.
_OTHERS = ("poetry", "pdm", "pixi", "conda", "mamba", "micromamba")
# What uv does in a project or for a script, where it reads no constraints from variables.
_OF_PROJECTS = ("sync", "lock", "add", "remove", "export", "run")


def prepared(session: Session, argv: Sequence[str]) -> tuple[Pick, Command]:
    """The pick, and the command as it is to be run; NoBuildError where no build runs."""
    pick, found, notes = env.variables_for(session, "sh")
    command = Command(argv[0], tuple(argv), found.set, found.unset, found.files, (*notes, *_untaken(argv)))
    return pick, command


def _untaken(argv: Sequence[str]) -> tuple[Note, ...]:
    """What takes torch from a file of its own, unless `pin` or `extras` wrote it there."""
    name = os.path.basename(argv[0]).lower().removesuffix(".exe")
    if name in _OTHERS:
        text = f"{name} reads none of these variables: `torchpick extras --for app` writes what its projects take"
        return (Note("NOT_TAKEN", text),)
    if name != "uv" or len(argv) < 2 or argv[1] not in _OF_PROJECTS:
        return ()
    with_more = any(word.startswith("--with") for word in argv)
    if "--no-project" in argv and not with_more:
        return ()
    projects = (os.path.join(folder, "pyproject.toml") for folder in upwards(os.getcwd()))
    files = [*filter(os.path.isfile, projects)][:1] + [word for word in argv[2:] if word.endswith(".py")]
    if not with_more and any("torchpick" in distributions.text(file) for file in files):
        return ()
    text = f"`uv {argv[1]}` takes torch as its project, script or `--with` says, not by variables"
    return (Note("NOT_TAKEN", f"{text}: `torchpick pin` writes the pick into a project or a script"),)
