"""What a project file should hold, as a value: the same is printed, written and checked. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.model.noun import Noun


class Extra(Noun):
    """An extra or a dependency group: its requirements, and whom it supports in lines of a comment.

    `backend` is empty where the extra is a range that the default index satisfies.
    """

    name: str
    requirements: tuple[str, ...]
    comment: tuple[str, ...]
    backend: str = ""


class Index(Noun):
    """A wheel index by the name that sources refer to."""

    name: str
    url: str


class OwnExtra(Noun):
    """An extra or group of the author's that narrows torch or a companion; None is a requirement by URL."""

    name: str
    group: bool
    ranges: Mapping[str, str | None]


class PackageVersion(Noun):
    """What one version of a package asks of torch, and the CUDA major that it links beside torch, if any."""

    torch: str
    cuda: str | None


class NeededPackage(Noun):
    """A package that the project needs, and its versions that are known, newest first."""

    name: str
    versions: tuple[PackageVersion, ...]


class Plan(Noun):
    """`tool` is empty for a library; `sources` maps a package to (index, extra) pairs.

    `apart` are the author's own extras and groups, each with those of the plan that it cannot go together with.
    `classic` is a Poetry file without a [project] table, and `kept` what it says of a package itself.
    `builds_with_torch` are packages that are built from source against the torch of the environment, `doubles` those
    that would overwrite a package of the project, since they install the same module.
    """

    extras: tuple[Extra, ...]
    tool: str = ""
    groups: bool = False
    indexes: tuple[Index, ...] = ()
    sources: Mapping[str, tuple[tuple[str, str], ...]] = {}
    apart: tuple[tuple[OwnExtra, tuple[str, ...]], ...] = ()
    classic: bool = False
    kept: Mapping[str, object] = {}
    builds_with_torch: tuple[str, ...] = ()
    doubles: tuple[str, ...] = ()


class Project(Noun):
    """What a project says of itself, as far as torch is concerned.

    `needs` are the names that it depends on, `always` those of them that it needs on every machine.
    `limit` is what uv's constraints allow of torch, which hold in a checkout alone.
    """

    name: str = "mylib"
    torch: str = ""
    companions: tuple[str, ...] = ()
    requires_python: str = ""
    tool: str = ""
    packaged: bool = True
    needs: tuple[str, ...] = ()
    always: tuple[str, ...] = ()
    limit: str = ""
    packages: tuple[NeededPackage, ...] = ()
    own: tuple[OwnExtra, ...] = ()
    classic: bool = False
    kept: Mapping[str, object] = {}
    builds_with_torch: tuple[str, ...] = ()
    doubles: tuple[str, ...] = ()
