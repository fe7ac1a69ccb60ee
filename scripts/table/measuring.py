"""Read what the torch wheels of the user's package index were built for, into evidence/torch.jsonl.

One line per wheel, kept across runs: a wheel that was read is not read again. One connection, newest release first, and
of each release and platform one wheel deep before the others by their flags alone.

usage: scripts/measure-wheels [--from 1.7.0] [--to 2.99] [--limit N] [--only SUBSTRING] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from torchpick.errors import TorchpickError
from torchpick.index import pages, wheelnames
from torchpick.index.client import Client
from torchpick.index.pages import Link
from torchpick.index.ranges import Archive, RemoteSource
from torchpick.model.fields import plain
from torchpick.model.versions import release_key
from torchpick.wheels import refresh, wheel
from torchpick.wheels.librarycode import texts
from torchpick.wheels.readings import Reading
from torchpick.wheels.wheel import WheelFacts

_OUT = Path(__file__).parents[2] / "evidence" / "torch.jsonl"


def index_url() -> str:
    """The index that pip would ask: configured, or pip's own default, which pip alone knows."""
    if url := os.environ.get("PIP_INDEX_URL"):  # no part of what `pip config get` says
        return url.rstrip("/")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True, check=False
    )
    if done.returncode == 0 and done.stdout.strip():
        return done.stdout.strip().rstrip("/")
    ask = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    return done.stdout.strip().rstrip("/")


def wanted(links: tuple[Link, ...], first: str, last: str, only: str) -> list[Link]:
    """The wheels of the releases between, for platforms that CUDA exists on; newest first."""
    found = []
    for link in links:
        try:
            key = release_key(link.wheel.version)
        except ValueError:
            continue
        platform = wheelnames.platform_of(link.wheel.platform)
        if platform is None or platform.startswith("macos") or only not in link.file:
            continue
        if release_key(first) <= key <= release_key(last):
            found.append((key, link))
    found.sort(key=lambda pair: pair[0], reverse=True)
    return [link for _, link in found]


def in_turn(links: list[Link]) -> list[tuple[Link, bool]]:
    """Each with whether it is read deep: one of each release and platform, before all the others."""
    seen: set[tuple[str, str]] = set()
    deep: list[Link] = []
    rest: list[Link] = []
    for link in links:
        kind = link.wheel.version, link.wheel.platform
        (rest if kind in seen else deep).append(link)
        seen.add(kind)
    return [(link, True) for link in deep] + [(link, False) for link in rest]


def _reading(archive: Archive, link: Link, *, deep: bool) -> Reading:
    return wheel.read_release(archive, link) if deep else wheel.read_wheel(archive, WheelFacts(link.file, link.file))


def _line(link: Link, reading: Reading) -> dict[str, object]:
    """One line of evidence."""
    name = link.wheel
    return {
        "file": link.file,
        "sha256": link.sha256,
        "torch": name.version.partition("+")[0],
        "version": reading.version,
        "platform": wheelnames.platform_of(name.platform),
        "tag": name.platform,
        "python": f"{name.python}-{name.abi}",
        "cuda": None if reading.torch is None else reading.torch.cuda,
        "arches": texts(reading.sass),
        "ptx": texts(reading.ptx),
        "libraries": {one.path.rpartition("/")[2]: plain(one.code.modules) for one in reading.libraries},
        "lacks": refresh.missing_arches(reading),
        "pins": refresh.pins(reading),
        "uploaded": link.uploaded,
        "yanked": link.yanked is not None,
        "size": reading.size,
        "bytes_read": reading.bytes_read,
        "requests": reading.requests,
    }


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="first", default="1.7.0")
    parser.add_argument("--to", dest="last", default="2.99")
    parser.add_argument("--only", default="", help="file names that hold this")
    parser.add_argument("--limit", type=int, default=100_000)
    parser.add_argument("--out", type=Path, default=_OUT)
    args = parser.parse_args(argv)
    known = set()
    if args.out.exists():
        known = {json.loads(line)["file"] for line in args.out.read_text(encoding="utf-8").splitlines()}
    failed = 0
    with Client() as client, args.out.open("a", encoding="utf-8") as out:
        page = client.get(f"{index_url()}/torch/", headers={"accept": "text/html"})
        links = pages.parse(page.body, str(page.url), page.headers.get("content-type", ""))
        todo = in_turn(wanted(links, args.first, args.last, args.only))
        todo = [(link, deep) for link, deep in todo if link.file not in known][: args.limit]
        for place, (link, deep) in enumerate(todo, 1):
            began = time.monotonic()
            try:
                source = RemoteSource(link.url, client)
                row = _line(link, _reading(Archive(source), link, deep=deep))
                source.close()
            except TorchpickError as error:
                failed += 1
                print(f"{place}/{len(todo)} {link.file}: {error}", file=sys.stderr)
                continue
            out.write(json.dumps(row) + "\n")
            out.flush()
            spent = time.monotonic() - began
            words = f"{row['arches']} {row['ptx']}; {row['bytes_read']} bytes"
            print(f"{place}/{len(todo)} {link.file}: {words}, {spent:.1f} s", file=sys.stderr)
    return 1 if failed else 0
