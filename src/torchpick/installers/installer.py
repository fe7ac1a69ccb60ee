"""What torchpick needs of an installer; pip and uv implement it."""

from __future__ import annotations

from typing import Protocol

from torchpick.environment.inherited import Inherited
from torchpick.installers.command import Command
from torchpick.installers.jobs import Job
from torchpick.model.machine import Note


class Installer(Protocol):
    """A chosen installer, with what the user's own settings mean for it. Nothing here starts it."""

    @property
    def name(self) -> str:
        """`pip` or `uv`."""
        raise NotImplementedError

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes on the choice."""
        raise NotImplementedError

    @property
    def inherited(self) -> Inherited:
        """What it would take from the user's settings, and what of that is left out."""
        raise NotImplementedError

    def alone(self, job: Job) -> bool:
        """Whether no other index or page of the user's could supply torch's family by itself."""
        raise NotImplementedError

    def shared(self, job: Job) -> bool:
        """Whether an index or a page stands beside the user's own index, so that either may supply a file."""
        raise NotImplementedError

    def command(self, job: Job) -> Command:
        """The installation."""
        raise NotImplementedError

    def resolver(self, job: Job) -> Command:
        """A resolution of the user's own words, in which nothing is installed."""
        raise NotImplementedError

    def reporter(self, job: Job) -> Command:
        """The installation as a report of what it would take from where."""
        raise NotImplementedError
