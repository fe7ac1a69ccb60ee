"""Where the installed family came from, as far as the environment itself shows: direct_url.json, RECORD, the table."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator
from urllib.parse import unquote, urlsplit

from torchpick.environment import distributions
from torchpick.environment.installed import Distribution, Environment
from torchpick.model.build import Build
from torchpick.model.finding import ERROR, Ailment, Finding
from torchpick.model.names import first_three
from torchpick.model.noun import Noun
from torchpick.model.redaction import redacted
from torchpick.model.wheelhost import is_on_host_of, is_wheel_host

# So much of a project is hashed: its Python code and small libraries. torch's largest library takes seconds.
_MOST_FILE = 1 << 20
_MOST_BYTES = 64 << 20
_MOST_SHOWN = 50
# What installers write themselves, after RECORD was made.
_WRITTEN = ("/RECORD", "/INSTALLER", "/REQUESTED", "/direct_url.json", "/uv_cache.json", "/uv_build.json")
_SHA256 = re.compile(r"\b[0-9a-f]{64}\b")


class RecordedOrigin(Noun):
    """What an installer wrote of where a project came from (PEP 610); `url` None where it wrote nothing."""

    url: str | None = None
    sha256: str | None = None
    is_source: bool = False


class Provenance(Noun):
    """What of the family is shown to be from the wheel host, and what is not."""

    shown: tuple[str, ...]
    findings: tuple[Finding, ...]


def of(here: Environment, family: Collection[str], base: str, builds: Iterable[Build]) -> Provenance:
    """Look at each installed project of the family; `base` is the wheel host or the mirror that stands for it."""
    references = " ".join(build.evidence.ref for build in builds)
    shown: list[str] = []
    findings: list[Finding] = []
    for one in here.named(""):
        if one.name not in family:
            continue
        origin = read(one)
        found = [*_of_origin(one, origin, base, references), *_changed(one)]
        findings += found
        if origin.url is not None and not any(finding.ailment is not Ailment.FILES_CHANGED for finding in found):
            how = f", sha256 {origin.sha256}" if origin.sha256 else ""
            shown.append(f"{one.label}: {redacted(origin.url)}{how}")
    return Provenance(tuple(shown), tuple(findings))


def read(one: Distribution) -> RecordedOrigin:
    """What direct_url.json says; nothing where it is not there or not of its form."""
    text = distributions.text(os.path.join(one.folder, one.info, "direct_url.json"))
    try:
        said = json.loads(text) if text else {}
    except ValueError:
        return RecordedOrigin()
    url = said.get("url") if isinstance(said, dict) else None
    if not isinstance(url, str):
        return RecordedOrigin()
    archive = said.get("archive_info")
    if not isinstance(archive, dict):
        return RecordedOrigin(url, is_source=True)
    hashes = archive.get("hashes")
    digest = hashes.get("sha256") if isinstance(hashes, dict) else None
    old = archive.get("hash")
    if digest is None and isinstance(old, str):
        digest = old.removeprefix("sha256=")
    return RecordedOrigin(url, digest if isinstance(digest, str) and _SHA256.fullmatch(digest) else None)


def _of_origin(one: Distribution, origin: RecordedOrigin, base: str, references: str) -> Iterator[Finding]:
    seen = {"package": one.label, "url": origin.url, "sha256": origin.sha256}
    if origin.url is None:
        text = f"{one.label} came through an index, and the installer wrote down neither which nor the file's hash"
        yield Finding(Ailment.ORIGIN_UNKNOWN, text, seen)
    elif origin.is_source:
        yield Finding(Ailment.ORIGIN_UNKNOWN, f"{one.label} was built from source: {origin.url}", seen)
    elif not (is_on_host_of(origin.url, base) and is_wheel_host(origin.url, base)):
        yield Finding(Ailment.ORIGIN_OTHER, f"{one.label} came from {origin.url}, which is not below {base}", seen)
    elif (known := _known(origin.url, references)) and origin.sha256 and known != origin.sha256:
        text = f"{one.label} is not the file of that name that the table knows: its sha256 is {origin.sha256}"
        yield Finding(Ailment.ORIGIN_OTHER, text, {**seen, "known": known}, weight=ERROR)


def _known(url: str, references: str) -> str | None:
    """The hash of that file, where it was read for the table."""
    file = unquote(urlsplit(url).path.rpartition("/")[2])
    references = references.replace("%2B", "+")
    at = references.find(file)
    match = _SHA256.search(references, at, at + len(file) + 200) if at >= 0 else None
    return match[0] if match else None


def _changed(one: Distribution) -> Iterator[Finding]:
    """Files that are not what their installer recorded; those that are gone are another finding."""
    changed = []
    left = _MOST_BYTES
    for recorded in distributions.hashes(one):
        if recorded.path.endswith(_WRITTEN) or recorded.path.startswith(("/", "..")):
            continue
        path = os.path.join(one.folder, *recorded.path.split("/"))
        try:
            size = os.path.getsize(path)
            if size > _MOST_FILE or left < size:
                differs = recorded.size is not None and size != recorded.size
            else:
                left -= size
                with open(path, "rb") as file:
                    differs = _digest(file.read(_MOST_FILE + 1)) != recorded.sha256
        except OSError:
            continue
        if differs:
            changed.append(recorded.path)
    if changed:
        text = f"{one.label} has files that are not as they were installed: {first_three(changed)}"
        yield Finding(Ailment.FILES_CHANGED, text, {"package": one.label, "files": changed[:_MOST_SHOWN]})


def _digest(data: bytes) -> str:
    """As RECORD has it: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
