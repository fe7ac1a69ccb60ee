"""The torch that is installed: it stays where it runs here and nobody asks for another."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchpick.environment import targets
from torchpick.environment.targets import Target
from torchpick.model.build import DEFAULT_INDEX, Build
from torchpick.model.pick import Pick
from torchpick.session import Session

# A release as the table has them; what somebody built themselves is no build of it.
_RELEASE = re.compile(r"\d+(\.\d+)*(\+[a-z0-9.]+)?")


def pick(session: Session, target: Target, texts: tuple[str, ...]) -> Pick | None:
    """The installed build, where it runs here and meets what is asked; None where another has to be picked."""
    installed = target.installed.get("torch", "")
    if not _RELEASE.fullmatch(installed):
        return None
    request = session.request._replace(requirements=(*texts, f"torch=={installed}"))
    for asking in _sources(session.asking(request), installed):
        found = asking.weighed()
        if found.ok and found.version == installed and _is(found.build, target):
            return found
    return None


def _sources(session: Session, installed: str) -> Iterator[Session]:
    """The wheel host; then, for a version without a label, the default index, where no backend is asked for."""
    yield session
    if "+" in installed or session.wish.backends or session.wish.channel != "stable":
        return
    own = session.asking(session.request._replace(backends=(DEFAULT_INDEX,)))
    builds = (build for shelf in own.table.builds.values() for build in shelf)
    if any(build.backend == DEFAULT_INDEX and build.version == installed for build in builds):
        yield own


def _is(build: Build, target: Target) -> bool:
    """Whether this build is the installed one: without a label its CUDA is compared, as conda's torch has another."""
    return "+" in build.version or targets.cuda_of(target) == build.cuda
