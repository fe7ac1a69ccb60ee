"""Read what CUDA packages ask for and link, into evidence/packages.jsonl.

Of each wheel METADATA and the NEEDED entries of its smaller libraries, by ranges: no wheel is fetched whole, and one
with larger libraries is known by what it asks for alone. `--whole` reads every library, and so which GPUs it was built
for; of wheels for Windows that is done in any case. One line per wheel, kept across runs.

usage: scripts/measure-packages [--platform NAME] [--whole] [--out FILE] [--new N] [NAME==VERSION …]

`--new N` reads the newest version of each package of the table that was not read yet, N at the most.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import sys
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from packaging.version import Version

from scripts.table.package_rules import RULES
from scripts.table.packages import platform_read
from torchpick.errors import TorchpickError
from torchpick.index import index_places, pages, wheelnames
from torchpick.index.client import Client
from torchpick.index.pages import ProjectFile
from torchpick.index.ranges import Archive, RemoteSource, metadata_of
from torchpick.wheels import fatbin, librarycode, wheelfiles
from torchpick.wheels.librarycode import Library
from torchpick.wheels.readings import WHOLE, Reading
from torchpick.wheels.wheelfiles import SurveyWheel

_OUT = Path(__file__).parents[2] / "evidence" / "packages.jsonl"
# Of a wheel's libraries so many packed bytes are read, the smallest first: what links torch shows in any of them.
# No library for Windows says what it links: only its code is read, and of all of them.
_WHOLE = 2 << 30
_MOST_PACKED = {"linux-x86_64": 12 << 20, "windows-x86_64": _WHOLE}


def index_url() -> str:
    """The index that pip would ask."""
    return index_places.of_user(os.environ).indexes[0].rstrip("/")


def read(wheel: SurveyWheel, client: Client, most: int) -> dict[str, object]:
    """One line of evidence; `most` bounds the packed bytes of its libraries."""
    link = wheel[0]
    source = RemoteSource(link.url, client)
    archive = Archive(source)
    metadata = metadata_of(archive)
    needed: set[str] = set()
    held: list[Library] = []
    left = most
    unread = 0
    for member in sorted(archive.members(), key=lambda each: each.compress_size):
        if not wheelnames.may_hold_code(member.filename):
            continue
        if member.compress_size > left:
            unread += 1
            continue
        left -= member.compress_size
        data = b"".join(archive.stream(member))
        needed.update(fatbin.read_links(data)[0])
        one = librarycode.read_buffer(data, member.filename)
        if one.holds_code:
            held.append(one)
    source.close()
    reading = Reading(
        target=link.file,
        depth=WHOLE,
        complete=not unread,
        size=source.size,
        bytes_read=source.bytes_read,
        requests=source.requests,
        libraries=tuple(held),
        needed=tuple(sorted(needed)),
        unread=unread,
        metadata=metadata,
    )
    found = wheelfiles.evidence_line(wheel, reading)
    if not unread:
        libraries = [one for one in reading.libraries if one.holds_code]
        found["code"] = [{**wheelfiles.code_line(one), "modules": one.code.total} for one in libraries]
    return {
        **found,
        "uploaded": wheel[0].uploaded,
        "size": reading.size,
        "bytes_read": reading.bytes_read,
        "requests": reading.requests,
    }


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=_OUT)
    parser.add_argument("--platform", choices=_MOST_PACKED, default="linux-x86_64")
    parser.add_argument("--whole", action="store_true", help="read every library, and the code of each")
    parser.add_argument("--new", type=int, default=0, metavar="N", help="read N new versions of the table's packages")
    parser.add_argument("versions", nargs="*", metavar="NAME==VERSION")
    args = parser.parse_args(argv)
    known = set()
    if args.out.exists():
        rows = [json.loads(line) for line in args.out.read_text(encoding="utf-8").splitlines()]
        known = {(row["project"], row["version"], platform_read(row)) for row in rows}
    index = index_url()
    with args.out.open("a", encoding="utf-8") as out, ThreadPoolExecutor(4) as pool:
        todo: dict[str, list[str]] = {}
        for text in args.versions:
            name, _, version = text.partition("==")
            if (name, version, args.platform) not in known:
                todo.setdefault(name, []).append(version)
        ours = [name for name, rule in RULES.items() if args.new and rule.refused is None]
        names = list(dict.fromkeys((*todo, *ours)))
        pages = dict(zip(names, pool.map(lambda name: _page(f"{index}/{name}/"), names), strict=True))
        for name, version in _new(pages, {(name, version) for name, version, _ in known})[: args.new]:
            todo.setdefault(name, []).append(version)
        jobs = []
        for name, versions in todo.items():
            for version in versions:
                wheel = wheelfiles.wheel_of_version(pages[name], version, args.platform)
                if wheel is None:
                    print(f"{name}=={version}: no wheel for {args.platform} on the index", file=sys.stderr)
                else:
                    jobs.append(wheel)
        failed = 0
        tried = functools.partial(_tried, _WHOLE if args.whole else _MOST_PACKED[args.platform])
        for wheel, row in zip(jobs, pool.map(tried, jobs), strict=True):
            if isinstance(row, TorchpickError):
                failed += 1
                print(f"{wheel[0].file}: {row}", file=sys.stderr)
                continue
            out.write(json.dumps(row) + "\n")
            out.flush()
            print(f"{wheel[0].file}: {row['bytes_read']} bytes", file=sys.stderr)
    return 1 if failed else 0


def _new(pages: Mapping[str, tuple[ProjectFile, ...]], known: Collection[tuple[str, str]]) -> list[tuple[str, str]]:
    """The newest final version of each package, where none of that or a later one was read."""
    found = []
    for name, links in pages.items():
        versions = [Version(link.name.version) for link in links if link.yanked is None]
        final = [version for version in versions if not (version.is_prerelease or version.local)]
        newest = max(final, default=None)
        read = [Version(version) for project, version in known if project == name]
        if newest is not None and all(version < newest for version in read):
            found.append((name, str(newest)))
    return found


def _page(url: str) -> tuple[ProjectFile, ...]:
    with Client() as client:  # which is for one thread
        return pages.fetch(url, client) or ()


def _tried(most: int, wheel: SurveyWheel) -> dict[str, object] | TorchpickError:
    try:
        with Client() as client:
            return read(wheel, client, most)
    except TorchpickError as error:
        return error
