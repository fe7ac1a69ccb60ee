"""Where the wheels of a pick are, and a page of links to them that pip and every uv read alike. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from torchpick.errors import InstallerError
from torchpick.model.address import Address
from torchpick.model.build import Build
from torchpick.model.noun import Noun
from torchpick.model.pick import Pick
from torchpick.model.pythons import python_order
from torchpick.model.versions import release_key


class Wheel(Noun):
    """One wheel file on the wheel host or a mirror of it."""

    name: str
    file: str
    url: Address
    sha256: str | None = None
    other_hash: str | None = None  # of its page, where that has no sha256


def wheels(build: Build, tag: str, index_url: str) -> list[Wheel]:
    """The wheels of torch for a Python (`cp312`), where their names are known.

    Torch's tags stand in the table. Those of its companions do not, and differ from release to release (torchvision
    0.21.0 is linux_x86_64 where torch 2.6.0+cu126 is manylinux_2_28_x86_64; torchvision 0.29.2 is py3-none): their
    names are read on their pages.
    """
    found = []
    for platform in build.tags if tag in build.pythons else ():
        file = f"torch-{build.version}-{tag.rstrip('t')}-{_abi(build, tag)}-{platform}.whl"
        found.append(Wheel("torch", file, Address(f"{index_url}/{file.replace('+', '%2B')}")))
    return found


def suits(pick: Pick) -> Callable[[Wheel], bool]:
    """Whether a file is for the Python and the platform of a pick."""
    from torchpick.index import wheelnames

    machine = pick.machine

    def judge(wheel: Wheel) -> bool:
        name = wheelnames.parse(wheel.file)
        return name is not None and wheelnames.rank(name, machine.python.tag, machine.platform) is not None

    return judge


def address(wheel: Wheel) -> Address:
    """Where it lies, with its hash where that is known."""
    return wheel.url.with_hash(f"sha256={wheel.sha256}" if wheel.sha256 else wheel.other_hash)


def _abi(build: Build, tag: str) -> str:
    """The ABI tag: that of the Python, but `none` for torch on macOS up to 2.10 (file names on the default index)."""
    order = python_order(tag)[1]
    if order < 38:
        return f"{tag}m"
    old = release_key(build.torch) < release_key("2.11")
    if build.platform.startswith("macos") and old and not tag.endswith("t"):
        return tag if order >= 314 else "none"
    return tag


def measured(build: Build, file: str) -> str | None:
    """The hash where this very file was read."""
    if build.evidence.kind != "measured" or file not in build.evidence.ref.replace("%2B", "+"):
        return None
    match = re.search(r"\b[0-9a-f]{64}\b", build.evidence.ref)
    return match[0] if match else None


def page(found: Iterable[Wheel]) -> str:
    """One HTML page for `--find-links`. No date: uv needs none on such a page, and pip reads none in HTML."""
    body = "\n".join(f'<a href="{_escaped(address(each))}">{_escaped(each.file)}</a><br/>' for each in found)
    return f"<!DOCTYPE html>\n<html>\n<body>\n{body}\n</body>\n</html>\n"


def _escaped(text: str) -> str:
    """For an attribute or a text; html.escape would load every entity there is."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def uv_index(pick: Pick) -> dict[str, object] | None:
    """The index of the pick as uv's settings have one: for the projects alone that name it; None for the user's own."""
    if not pick.index_url:
        return None
    if pick.is_flat:
        return {"name": "pytorch-mirror", "url": pick.index_url, "format": "flat", "explicit": True}
    return {"name": f"pytorch-{pick.build.backend}", "url": pick.index_url, "explicit": True}


def check_settings(pick: Pick) -> None:
    """Refuse a build that takes all it needs from its vendor's index: no setting says so of some packages alone."""
    vendor = pick.build.vendor
    if vendor is not None and vendor.alone:
        raise InstallerError(
            f"torch {pick.version} takes what it requires from {vendor.url} alone, which settings and locks cannot say",
            hint="`torchpick install torch` installs it from there, and all else from your own indexes",
            code="VENDOR_ALONE",
        )


def page_of(pick: Pick, name: str) -> str:
    """The page that has a project's files: its own, or the one that a flat mirror has for all."""
    return pick.index_url if pick.is_flat else f"{pick.index_url}/{name}/"
