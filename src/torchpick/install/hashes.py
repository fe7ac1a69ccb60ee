"""What makes a file of torch's family the one that is meant: a place that can be trusted, and its hash."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import ip_address
from itertools import pairwise
from urllib.parse import urlsplit

from torchpick.environment import toml
from torchpick.errors import IntegrityError, UsageError
from torchpick.installers import links
from torchpick.installers.links import Wheel
from torchpick.installers.own_settings import OwnSettings
from torchpick.knowledge.compat import Knowledge
from torchpick.model.build import is_wheel_host
from torchpick.model.machine import Note
from torchpick.model.pick import Pick
from torchpick.model.redaction import redacted


def check_mirror(own: OwnSettings, index_url: str, passed_on: Sequence[str] = ()) -> None:
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
        digest = links.measured(self._build, wheel.file) or self._witnessed.get(wheel.file)
        return wheel._replace(sha256=digest or wheel.sha256)

    def checked(self, wheel: Wheel) -> Wheel:
        """The file of a page with the hash that it must have; raises where its page and the table disagree.

        The wheel host may have replaced a file since others saw it; a mirror has nothing of its own to say.
        """
        known = self.known(wheel)
        if wheel.sha256 in (None, known.sha256):
            return known
        was_read = links.measured(self._build, wheel.file) is not None
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
