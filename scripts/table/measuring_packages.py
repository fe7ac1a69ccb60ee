"""Read what CUDA packages ask for and link, into evidence/packages.jsonl.

Of each wheel METADATA and the NEEDED entries of its smaller libraries, by ranges: no wheel is fetched whole, and one
with larger libraries is known by what it asks for alone. `--whole` reads every library, and so which GPUs it was built
for; of wheels for Windows that is done in any case. One line per wheel, kept across runs.

usage: scripts/measure-packages [--platform NAME] [--whole] [--out FILE] [--new N] [NAME==VERSION …]

`--new N` reads the newest version of each package of the table that was not read yet, N at the most; also of those that
people install beside torch and that have no code for GPUs, whose last wheels are in evidence/without-code.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from packaging.version import Version

from scripts.table.package_rules import RULES
from scripts.table.packages import platform_read
from torchpick.errors import TorchpickError
from torchpick.index import index_places, wheelnames
from torchpick.index.client import Client
from torchpick.index.pages import ProjectFile
from torchpick.index.projects import NO_LIMITS, ProjectReader
from torchpick.index.ranges import Archive, open_source
from torchpick.index.wheelnames import normal_version
from torchpick.model.fields import written
from torchpick.model.versions import normal
from torchpick.wheels import wheelfiles
from torchpick.wheels.readings import WHOLE
from torchpick.wheels.wheelfiles import SurveyWheel

_OUT = Path(__file__).parents[2] / "evidence" / "packages.jsonl"
_WITHOUT_CODE = "without-code.jsonl"
# Of a wheel's libraries so many packed bytes are read, the smallest first: what links torch shows in any of them.
# No library for Windows says what it links: only its code is read, and of all of them.
_WHOLE = 2 << 30
_MOST_PACKED = {"linux-x86_64": 12 << 20, "windows-x86_64": _WHOLE}


def read(wheel: SurveyWheel, client: Client, most: int) -> dict[str, object]:
    """One line of evidence; `most` bounds the packed bytes of its libraries."""
    link = wheel[0]
    with open_source(link.url, lambda: client) as source:
        reading = wheelfiles.read_wheel(Archive(source), link.file, most=most)
    found = wheelfiles.evidence_line(wheel, reading)
    if reading.depth == WHOLE:
        libraries = [one for one in reading.libraries if one.holds_code]
        found["code"] = [{**written(one, "path", "sass", "ptx"), "modules": one.code.total} for one in libraries]
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
    beside = args.out.with_name(_WITHOUT_CODE)
    without_code = {row["project"]: row for row in _rows(beside)}
    known = {(row["project"], row["version"], platform_read(row)) for row in (*_rows(args.out), *without_code.values())}
    jobs, unread = _jobs(args, known, without_code)
    failed = len(unread)
    for text in unread:
        print(text, file=sys.stderr)
    most = _WHOLE if args.whole else _MOST_PACKED[args.platform]
    with args.out.open("a", encoding="utf-8") as out, ThreadPoolExecutor(4) as pool:
        rows = pool.map(lambda job: _tried(_WHOLE if job[0].project in without_code else most, job), jobs)
        for wheel, row in zip(jobs, rows, strict=True):
            if isinstance(row, TorchpickError):
                failed += 1
                print(f"{wheel[0].file}: {row}", file=sys.stderr)
                continue
            print(f"{wheel[0].file}: {row['bytes_read']} bytes", file=sys.stderr)
            if row["project"] not in without_code:
                out.write(json.dumps(row) + "\n")
                out.flush()
            elif row["code"]:
                failed += 1
                print(f"{wheel[0].file}: has code for GPUs now, so that it needs a rule", file=sys.stderr)
            else:
                without_code[row["project"]] = {key: row[key] for key in without_code[row["project"]]}
    beside.write_text("".join(f"{json.dumps(row)}\n" for row in without_code.values()), encoding="utf-8")
    return 1 if failed else 0


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def _jobs(
    args: argparse.Namespace, known: Collection[tuple[str, str, str]], without_code: Iterable[str]
) -> tuple[list[SurveyWheel], list[str]]:
    """The wheels to read, and the pages that could not be: of the named versions, and with `--new` of the newest."""
    todo = {(normal(name), version) for name, _, version in (text.partition("==") for text in args.versions)}
    todo -= {(name, version) for name, version, platform in known if platform == args.platform}
    ours = [*(name for name, rule in RULES.items() if rule.refused is None), *without_code] if args.new else []
    names = dict.fromkeys((*(name for name, _ in todo), *ours))
    with ProjectReader(index_places.of_user(os.environ), os.environ, anew=True, limits=NO_LIMITS) as index:
        read = index.pages(names)
    unread = [f"{name}: {page}" for name, page in read.items() if isinstance(page, TorchpickError)]
    pages = {name: page if isinstance(page, tuple) else () for name, page in read.items()}
    new = _new(pages, known, args.platform)[: args.new]
    jobs = []
    for name, version in (*sorted(todo), *new):
        links = [link for link in pages[name] if link.version == normal_version(version)]
        wheel = wheelfiles.wheel_to_read(links, args.platform)
        if wheel is None:
            print(f"{name}=={version}: no wheel for {args.platform} on the index", file=sys.stderr)
        else:
            jobs.append(wheel)
    return jobs, unread


def _new(
    pages: Mapping[str, tuple[ProjectFile, ...]], known: Collection[tuple[str, str, str]], platform: str
) -> list[tuple[str, str]]:
    """The newest final version of each package for the platform, where none of that or a later one was read."""
    found = []
    for name, links in pages.items():
        platforms = ("any", platform)
        here = [
            link for link in links if (wheelnames.platform_of(link.name.platform) or link.name.platform) in platforms
        ]
        versions = [Version(link.name.version) for link in here if link.yanked is None]
        final = [version for version in versions if not (version.is_prerelease or version.local)]
        newest = max(final, default=None)
        read = [Version(version) for project, version, _ in known if project == name]
        if newest is not None and all(version < newest for version in read):
            found.append((name, str(newest)))
    return found


def _tried(most: int, wheel: SurveyWheel) -> dict[str, object] | TorchpickError:
    try:
        with Client() as client:
            return read(wheel, client, most)
    except TorchpickError as error:
        return error
