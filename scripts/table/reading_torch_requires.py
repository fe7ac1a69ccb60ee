"""What each torch wheel of the user's package index requires, into evidence/torch-requires.jsonl.

One line for all wheels of a release and platform that require the same; a wheel that has been read is not read again.
Nothing is installed and no wheel is fetched: the METADATA beside a wheel is read, else that in it, by ranges.

usage: scripts/read-torch-requires
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from email.parser import HeaderParser
from pathlib import Path

from packaging.version import Version

from scripts.table.measuring_packages import index_url
from torchpick.errors import TorchpickError
from torchpick.index import pages, wheelnames
from torchpick.index.client import Client
from torchpick.index.pages import ProjectFile
from torchpick.index.ranges import Archive, RemoteSource, metadata_of
from torchpick.model.versions import release_key

EVIDENCE = Path(__file__).parents[2] / "evidence" / "torch-requires.jsonl"
_OLDEST = "1.7.0"
Line = dict[str, object]
Group = tuple[str, str, tuple[str, ...]]


def main(words: Sequence[str]) -> int:
    """Read every release, and write the evidence anew."""
    if words:
        print("usage: scripts/read-torch-requires", file=sys.stderr)
        return 2
    groups = read_evidence(EVIDENCE) if EVIDENCE.exists() else {}
    known = {file for files in groups.values() for file in files}
    with Client() as client:
        page = client.get(f"{index_url()}/torch/", headers={"accept": "application/vnd.pypi.simple.v1+json, text/html"})
    links = pages.parse(page.body, str(page.url), page.headers.get("content-type", ""))
    new = [link for link in links if link.file not in known and _counts(link)]
    failed = 0
    with ThreadPoolExecutor(4) as pool:
        for link, requires in zip(new, pool.map(_tried, new), strict=True):
            if isinstance(requires, TorchpickError):
                failed += 1
                print(f"{link.file}: {requires}", file=sys.stderr)
                continue
            platform = wheelnames.platform_of(link.name.platform) or ""
            groups.setdefault((link.name.version, platform, requires), {})[link.file] = link.sha256 or ""
    EVIDENCE.write_text("".join(f"{json.dumps(line)}\n" for line in _lines(groups)), encoding="utf-8")
    print(f"{len(new) - failed} wheels read, {len(groups)} lines", file=sys.stderr)
    return 1 if failed else 0


def read_evidence(path: Path) -> dict[Group, dict[str, str]]:
    """What the wheels of one release and platform require → these wheels, each with its sha256."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(line["torch"], line["platform"], tuple(line["requires"])): line["files"] for line in lines}


def _lines(groups: dict[Group, dict[str, str]]) -> Iterable[Line]:
    for version, platform, requires in sorted(groups, key=lambda group: (release_key(group[0]), *group[1:])):
        files = groups[version, platform, requires]
        yield {"torch": version, "platform": platform, "files": dict(sorted(files.items())), "requires": [*requires]}


def _counts(link: ProjectFile) -> bool:
    """Whether it is of a release of the table, for a platform of it."""
    version = link.name.version
    released = not Version(version).is_prerelease and release_key(version) >= release_key(_OLDEST)
    return released and link.yanked is None and wheelnames.platform_of(link.name.platform) is not None


def _tried(link: ProjectFile) -> tuple[str, ...] | TorchpickError:
    try:
        with Client() as client:  # which is for one thread
            return _requires(link, client)
    except TorchpickError as error:
        return error


def _requires(link: ProjectFile, client: Client) -> tuple[str, ...]:
    """The Requires-Dist of a wheel; the sidecar is tried though the page of torch does not announce it."""
    answer = client.get(f"{link.url}.metadata", absent=True)
    text = answer.body.decode("utf-8", "replace") if answer.status == 200 else ""
    headers = HeaderParser().parsestr(text)
    if headers.get("Version", "").partition("+")[0] != link.name.version.partition("+")[0]:
        source = RemoteSource(link.url, client)
        try:
            headers = HeaderParser().parsestr(metadata_of(Archive(source)) or "")
        finally:
            source.close()
    return tuple(" ".join(line.split()) for line in headers.get_all("Requires-Dist", ()))
