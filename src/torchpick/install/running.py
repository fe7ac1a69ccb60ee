"""A command under the variables of `env`, and what uv must be given besides, as it reads fewer of them in a project."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from torchpick.environment import distributions
from torchpick.environment.world import upwards
from torchpick.install import env
from torchpick.installers.command import Command
from torchpick.installers.variables import Variables
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.pick import Pick
from torchpick.model.versions import named
from torchpick.session import Session

# Tools whose projects read none of pip's or uv's variables.
_OTHERS = ("poetry", "pdm", "pixi", "conda", "mamba", "micromamba")
_OF_PROJECTS = ("sync", "lock", "add", "remove", "export")


class Prepared(Noun):
    """The pick and the command that takes it."""

    pick: Pick
    command: Command


def prepared(session: Session, argv: Sequence[str]) -> Prepared:
    """The command as it is to be run; NoBuildError where no build runs."""
    pick, found, notes = env.variables_for(session, "sh")
    words, changed, said = _for_uv(tuple(argv), pick, found, session.environ)
    command = Command(argv[0], words, changed, found.unset, found.files, (*notes, *said))
    return Prepared(pick, command)


def _program(word: str) -> str:
    return os.path.basename(word).lower().removesuffix(".exe")


def _for_uv(
    argv: tuple[str, ...], pick: Pick, found: Variables, environ: Mapping[str, str]
) -> tuple[tuple[str, ...], Mapping[str, str], tuple[Note, ...]]:
    name = _program(argv[0])
    if name in _OTHERS:
        text = f"{name} reads none of these variables: `torchpick extras --for app` writes what its projects take"
        return argv, found.set, (Note("NOT_TAKEN", text),)
    if name != "uv" or len(argv) < 2:
        return argv, found.set, ()
    if argv[1] in _OF_PROJECTS:
        return argv, found.set, tuple(_project_notes(f"uv {argv[1]}"))
    if argv[1] != "run":
        return argv, found.set, ()
    words, pinned = _with_pins(argv, pick.build.pins)
    if pinned:
        return words, {**found.set, **_links(found, environ)}, ()
    return argv, found.set, tuple(_run_notes(argv))


def _with_pins(argv: tuple[str, ...], pins: Mapping[str, str]) -> tuple[tuple[str, ...], bool]:
    """`uv run --with torch` with torch by its exact build: uv applies no constraints there (tried with 0.13.8)."""
    words = list(argv)
    pinned = False
    for place, word in enumerate(words[:-1] if "--" not in words else words[: words.index("--")]):
        flag, mark, value = word.partition("=")
        if flag != "--with":
            continue
        told = value if mark else words[place + 1]
        exact = ",".join(f"{named(one)}=={pins[named(one)]}" if named(one) in pins else one for one in told.split(","))
        if exact != told:
            pinned = True
            words[place if mark else place + 1] = f"{flag}={exact}" if mark else exact
    return tuple(words), pinned


def _links(found: Variables, environ: Mapping[str, str]) -> dict[str, str]:
    """Where `uv run` finds these builds: it knows no backend, but reads links."""
    links = found.set.get("UV_FIND_LINKS", ",".join(found.set.get("PIP_FIND_LINKS", "").split()))
    words = [*links.split(","), *environ.get("UV_FIND_LINKS", "").split(",")]
    return {"UV_FIND_LINKS": ",".join(dict.fromkeys(word for word in words if word))}


def _run_notes(argv: tuple[str, ...]) -> list[Note]:
    script = next((word for word in argv[2:] if not word.startswith("-") and word.endswith(".py")), None)
    text = distributions.text(script) if script is not None else ""
    if "# /// script" in text:
        pinned = "torchpick pin" in text
        said = f"uv takes what a script needs from the script alone: `torchpick pin {script}` writes the pick into it"
        return [] if pinned else [Note("NOT_TAKEN", said)]
    if any(word.partition("=")[0] in ("--with", "--with-requirements", "--with-editable") for word in argv):
        said = "uv applies no constraints to `--with`: add `--with torch`, and torchpick names the build"
        return [Note("NOT_TAKEN", said)]
    return _project_notes("uv run") if "--no-project" not in argv and _project_above() is not None else []


def _project_notes(command: str) -> list[Note]:
    """What a project says of torch, unless `pin` or `extras` wrote it."""
    file = _project_above()
    if file is not None and "torchpick" in distributions.text(file):
        return []
    hint = "`torchpick pin` writes the pick into the project, `torchpick extras` one extra for each backend"
    text = f"`{command}` takes torch as {file or 'the project'} says, not by variables: {hint}"
    return [Note("NOT_TAKEN", text)]


def _project_above() -> str | None:
    """The project that uv would take from here."""
    files = (os.path.join(folder, "pyproject.toml") for folder in upwards(os.getcwd()))
    return next(filter(os.path.isfile, files), None)
