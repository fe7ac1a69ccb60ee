"""A requirement → the wheel that the user's own index has for it; nothing is run, and nothing but a page is fetched."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import ExitStack

from torchpick.environment import interpreter
from torchpick.environment.world import World
from torchpick.errors import RequirementError, WheelError
from torchpick.model.machine import TIMEOUT_S, Platform
from torchpick.model.noun import Noun
from torchpick.model.pythons import python_name
from torchpick.model.redaction import redacted
from torchpick.model.requirement import parsed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.index.client import Client
    from torchpick.index.user_index import IndexTarget, UserIndex


# Python converts no more than 4,300 digits to a number, and no name or version has as many letters.
_LONGEST = 1000


class WheelTarget(Noun):
    """What the wheel is for; None is what the interpreter itself is."""

    python: str | None = None  # an interpreter's path
    version: str | None = None  # `3.12`
    platform: str | None = None  # one of the contract's names
    glibc: str | None = None


class Located(Noun):
    """`place` is where it was found, without secrets."""

    url: str
    file: str
    sha256: str | None
    place: str


class Asked(Noun):
    """A requirement's parts."""

    name: str
    specifier: str


def check(requirement: str) -> Asked:
    """Read a requirement; refuse what is not one, or more than a name and its versions."""
    hint = "write it as `name`, `name==1.2.3` or `name>=1.2`"
    shown = redacted(requirement[:200])
    if len(requirement) > _LONGEST:
        raise RequirementError(f"`{shown}…` is too long for a requirement", hint=hint)
    try:
        read = parsed(requirement)
    except ValueError as error:
        raise RequirementError(f"`{shown}` is neither a file nor a valid requirement", hint=hint) from error
    if read.url or read.marker or any(mark in requirement for mark in "\r\n;@"):
        raise RequirementError(f"`{shown}` has an address or a condition, which inspect does not support", hint=hint)
    return Asked(read.name, str(read.specifier))


def locate(
    requirement: str, wanted: WheelTarget, environ: Mapping[str, str] = os.environ, client: Client | None = None
) -> Located:
    """The newest wheel of the user's own index that meets the requirement and fits the target."""
    asked = check(requirement)
    from torchpick.index import places
    from torchpick.index.client import Client
    from torchpick.index.user_index import UserIndex

    target = target_of(wanted)
    with ExitStack() as stack:
        client = client or stack.enter_context(Client(environ=environ))
        index = UserIndex(places.of_user(environ, wanted.python), client)
        found = index.candidates(asked.name, asked.specifier, target)
        if not found:
            raise _failure(requirement, asked, target, index)
    link = found[0].link
    return Located(link.url, link.file, link.sha256, redacted(found[0].place))


def target_of(wanted: WheelTarget) -> IndexTarget:
    """The tags' Python and platform."""
    from torchpick.index.user_index import IndexTarget

    world = World.here()
    if wanted.version is None and wanted.python is None:
        here = interpreter.own(world)
    else:
        here = interpreter.choose(wanted.version or wanted.python, world, time.monotonic() + TIMEOUT_S)
    platform = here.platform if wanted.platform is None else Platform.parse(wanted.platform, wanted.glibc)
    if wanted.glibc is not None and platform.os == "linux":
        platform = platform._replace(glibc=wanted.glibc)
    return IndexTarget(here.python.tag, platform)


def _failure(requirement: str, asked: Asked, target: IndexTarget, index: UserIndex) -> WheelError:
    """Why there is none: no such project, no such version, or none for this Python."""
    places = (*index.places.indexes, *index.places.links)
    where = ", ".join(map(redacted, places)) or "no index at all"
    hint = f"that is from {index.places.source}'s settings; `PIP_INDEX_URL=URL` specifies another index"
    versions = index.versions(asked.name)
    if versions is None:
        return WheelError(f"`{requirement}`: {asked.name} is not on {where}", hint=hint, code="NOT_FOUND")
    from packaging.specifiers import SpecifierSet

    admitted = [version for version in versions if SpecifierSet(asked.specifier).contains(version, prereleases=True)]
    if not admitted:
        some = ", ".join(map(str, versions[:5])) or "no wheel at all"
        text = f"`{requirement}`: {where} has no such version, but {some}"
        return WheelError(text, hint=f"request one of these: `{asked.name}==VERSION`", code="NOT_FOUND")
    glibc = f" with glibc {target.platform.glibc}" if target.platform.glibc else ""
    aim = f"{python_name(target.tag)} on {target.platform.name}{glibc}"
    hint = "`--python 3.12`, `--platform` and `--glibc` specify another machine"
    return WheelError(f"`{requirement}`: {where} has no wheel of it for {aim}", hint=hint, code="NOT_FOUND")
