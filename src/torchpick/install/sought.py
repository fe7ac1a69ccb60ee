"""What is sought of wheels that the table does not know, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.model.noun import Noun
from torchpick.model.package import Package


class SoughtWheels(Noun):
    """Projects with their specifiers, some with the URL or path that is asked for instead of an index.

    With `pure` what a wheel without code needs is sought too, of a project that the table does not have.
    """

    wanted: Mapping[str, str]
    placed: Mapping[str, str] = {}
    pure: bool = False


class ReadPackages(Noun):
    """What was read, and what could not be, with the reason."""

    packages: tuple[Package, ...] = ()
    lacking: Mapping[str, str] = {}
