"""Where the wheels of a pick are, and what makes a file the one that is meant: a place to trust, and its hash."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from ipaddress import ip_address
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import urlsplit

from torchpick.environment import toml
from torchpick.errors import InstallerError, IntegrityError, UsageError
from torchpick.install.user_settings import UserSettings
from torchpick.knowledge.compat import Knowledge
from torchpick.model.address import Address
from torchpick.model.build import Build, is_wheel_host
from torchpick.model.machine import Note
from torchpick.model.pick import Pick
from torchpick.model.pythons import python_order
from torchpick.model.redaction import redacted
from torchpick.model.versions import release_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass


def check_mirror(own: UserSettings, index_url: str, passed_on: Sequence[str] = ()) -> None:
    """Refuse a mirror without TLS that nobody vouches for, as pip does with pages: an address it would just fetch."""
    parts = urlsplit(index_url)
    host = parts.hostname or ""
    if parts.scheme.lower() != "http" or _is_this_computer(host):
        return
    trusted = [*own.environ.get("UV_INSECURE_HOST", "").split()]
    trusted += own.pip_words("trusted-host")
    trusted += [str(each) for file in own.uv_files for each in toml.texts(file.table.get("allow-insecure-host"))]
    for word, following in pairwise((*passed_on, "")):
        option, mark, value = word.partition("=")
        trusted += [value if mark else following] if option in ("--trusted-host", "--allow-insecure-host") else []
    if not {host, f"{host}:{parts.port}", f"http://{host}", f"http://{host}:{parts.port}"} & {*map(str.lower, trusted)}:
        hint = f"use https, or say that you trust it: `export PIP_TRUSTED_HOST={host}` (uv: UV_INSECURE_HOST)"
        raise UsageError(f"{redacted(index_url)} is not secure: anybody on the way can change torch", hint=hint)


def _is_this_computer(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


class Hashes:
    """What the table knows of the files of a pick: the hash of a wheel that was read, or that public locks have."""

    def __init__(self, pick: Pick, knowledge: Knowledge) -> None:
        self._build = pick.build
        self._on_host = is_wheel_host(pick.index_url)
        # What is tested, and what a vendor builds, has the names of what is released, and other bytes.
        released = pick.wish.channel == "stable" and pick.build.vendor is None
        self._witnessed = knowledge.hashes_in_public_locks(pick.build.backend) if released else {}

    def known(self, wheel: Wheel) -> Wheel:
        """The file with the hash that the table has for it, if it has one."""
        digest = measured_hash(self._build, wheel.file) or self._witnessed.get(wheel.file)
        return wheel._replace(sha256=digest or wheel.sha256)

    def checked(self, wheel: Wheel) -> Wheel:
        """The file of a page with the hash that it must have; raises where its page and the table disagree.

        The wheel host may have replaced a file since others saw it; a mirror has nothing of its own to say.
        """
        known = self.known(wheel)
        if wheel.sha256 in (None, known.sha256):
            return known
        was_read = measured_hash(self._build, wheel.file) is not None
        if self._on_host and not was_read:
            return wheel
        before = "the wheel that was read had" if was_read else "public locks have"
        raise IntegrityError(
            f"{wheel.file}: its page says sha256 {wheel.sha256}, {before} {known.sha256} ({redacted(wheel.url)})",
            hint="somebody changed the file or the page: do not install it, and compare with another source",
        )

    def notes(self, wheels: Iterable[Wheel]) -> list[Note]:
        """What a person should know of files that were checked: those without a hash, and those that were replaced."""
        found = []
        for wheel in wheels:
            if wheel.sha256 is None and wheel.other_hash is None:
                text = f"{wheel.file} has no known sha256, so it is taken from {redacted(wheel.url)} unchecked"
                found.append(Note("UNHASHED", text))
            elif wheel.sha256 is not None and self.known(wheel) != wheel:
                text = f"{wheel.file} has another sha256 on the wheel host than in public locks: the host's is taken"
                found.append(Note("HASH_CHANGED", text))
        return found


class Wheel(NamedTuple):
    """One wheel file on the wheel host or a mirror of it."""

    name: str
    file: str
    url: Address
    sha256: str | None = None
    other_hash: str | None = None  # of its page, where that has no sha256


def torch_wheels(build: Build, tag: str, index_url: str) -> list[Wheel]:
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


def fits_pick(pick: Pick) -> Callable[[Wheel], bool]:
    """Whether a file is for the Python and the platform of a pick."""
    from torchpick.index import wheelnames

    machine = pick.machine

    def judge(wheel: Wheel) -> bool:
        name = wheelnames.parse(wheel.file)
        return name is not None and wheelnames.rank(name, machine.python.tag, machine.platform) is not None

    return judge


def hashed_address(wheel: Wheel) -> Address:
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


def measured_hash(build: Build, file: str) -> str | None:
    """The hash where this very file was read."""
    if build.evidence.kind != "measured" or file not in build.evidence.ref.replace("%2B", "+"):
        return None
    match = re.search(r"\b[0-9a-f]{64}\b", build.evidence.ref)
    return match[0] if match else None


def links_page(found: Iterable[Wheel]) -> str:
    """One HTML page for `--find-links`. No date: uv needs none on such a page, and pip reads none in HTML."""
    body = "\n".join(f'<a href="{_escaped(hashed_address(each))}">{_escaped(each.file)}</a><br/>' for each in found)
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


def check_vendor_alone(pick: Pick) -> None:
    """Refuse a build that takes all it needs from its vendor's index: no setting says so of some packages alone."""
    vendor = pick.build.vendor
    if vendor is not None and vendor.alone:
        raise InstallerError(
            f"torch {pick.version} takes what it requires from {vendor.url} alone, which settings and locks cannot say",
            hint="`torchpick install torch` installs it from there, and all else from your own indexes",
            code="VENDOR_ALONE",
        )


def project_page(pick: Pick, name: str) -> str:
    """The page that has a project's files: its own, or the one that a flat mirror has for all."""
    return pick.index_url if pick.is_flat else f"{pick.index_url}/{name}/"
