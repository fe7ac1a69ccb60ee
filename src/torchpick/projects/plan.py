"""What a project file should hold, as a value: the same is printed, written and checked. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.model.noun import Noun


class Extra(Noun):
    """An extra or a dependency group: its requirements, and whom it serves in lines of a comment.

    `backend` is empty where the extra is a range that the default index serves.
    """

    name: str
    requirements: tuple[str, ...]
    comment: tuple[str, ...]
    backend: str = ""


class Index(Noun):
    """A wheel index by the name that sources refer to."""

    name: str
    url: str


class Plan(Noun):
    """`tool` is empty for a library; `sources` maps a package to (index, extra) pairs."""

    extras: tuple[Extra, ...]
    tool: str = ""
    groups: bool = False
    indexes: tuple[Index, ...] = ()
    sources: Mapping[str, tuple[tuple[str, str], ...]] = {}


class Project(Noun):
    """What a project says of itself, as far as torch is concerned."""

    name: str = "mylib"
    torch: str = ""
    companions: tuple[str, ...] = ()
    requires_python: str = ""
    tool: str = ""
    packaged: bool = True
