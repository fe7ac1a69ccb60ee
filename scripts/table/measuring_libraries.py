"""Read which GPUs the cuDNN and NCCL that torch pins were built for, into evidence/libraries.jsonl.

Of cuDNN the libraries that every model needs (ops, cnn) decide: its precompiled engines are chosen among. One line per
wheel, kept across runs.

usage: scripts/measure-libraries [--out FILE] [--only SUBSTRING]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from pathlib import Path

from scripts.table import layout
from torchpick.errors import TorchpickError
from torchpick.index import index_places, wheelnames
from torchpick.index.client import Client
from torchpick.index.pages import ProjectFile
from torchpick.index.projects import NO_LIMITS, ProjectReader
from torchpick.index.ranges import Archive, RemoteSource
from torchpick.model.arch import Arch
from torchpick.model.build import JIT, RUNS
from torchpick.model.fields import plain
from torchpick.model.versions import numbers
from torchpick.wheels import judging, librarycode, wheelfiles
from torchpick.wheels.judging import GpuCodeFit
from torchpick.wheels.librarycode import Library

_COMPAT = Path(__file__).parents[2] / "compat"
_DECIDES = re.compile(r"nvidia/(nccl|cudnn)/lib/lib(nccl|cudnn_(ops|cnn)(_infer)?)\.so[.\d]*")
# Every capability that a GPU of the table has and that a library may begin with.
_CAPABILITIES = tuple(f"sm_{n}" for n in (35, 37, 50, 52, 60, 61, 70, 75, 80, 86, 89, 90, 100, 103, 110, 120, 121))


def pins(compat: Path) -> set[tuple[str, str]]:
    """Project and version of what the builds of the table ask for."""
    found = set()
    for path in compat.glob("torch-*.json"):
        for build in layout.read(path)["builds"]:
            cuda, libraries = build.get("cuda"), build["libraries"]
            for name in ("cudnn", "nccl"):
                if cuda is not None and name in libraries and numbers(cuda)[0] >= 11:
                    found.add((f"nvidia-{name}-cu{numbers(cuda)[0]}", libraries[name]))
    return found


def served(libraries: list[Library]) -> list[str]:
    """Every capability that all of them serve, oldest first."""
    return [text for text in _CAPABILITIES if _serve(libraries, GpuCodeFit(Arch.parse(text)))]


def _serve(libraries: list[Library], gpu: GpuCodeFit) -> bool:
    words = [found.word for one in libraries if (found := judging.judge_library(one, gpu)) is not None]
    return bool(words) and all(word in (RUNS, JIT) for word in words)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=_COMPAT.parent / "evidence" / "libraries.jsonl")
    parser.add_argument("--only", default="", help="projects and versions that hold this")
    args = parser.parse_args(argv)
    known = set()
    if args.out.exists():
        known = {json.loads(line)["file"] for line in args.out.read_text(encoding="utf-8").splitlines()}
    failed = 0
    places = index_places.of_user(os.environ)
    with (
        Client() as client,
        ProjectReader(places, os.environ, anew=True, limits=NO_LIMITS) as index,
        args.out.open("a", encoding="utf-8") as out,
    ):
        for project, version in sorted(pins(_COMPAT)):
            if args.only not in f"{project}=={version}":
                continue
            link = _link(index.wheels(project) or (), version)
            if link is None:
                print(f"{project}=={version}: not on the index", file=sys.stderr)
                continue
            if link.file in known:
                continue
            began = time.monotonic()
            try:
                row = _read(link, RemoteSource(link.url, client))
            except TorchpickError as error:
                failed += 1
                print(f"{link.file}: {error}", file=sys.stderr)
                continue
            known.add(link.file)
            out.write(json.dumps(row) + "\n")
            out.flush()
            print(f"{link.file}: from {row['floor']}; {time.monotonic() - began:.1f} s", file=sys.stderr)
    return 1 if failed else 0


def _link(links: tuple[ProjectFile, ...], version: str) -> ProjectFile | None:
    """The wheel for Linux on x86_64; a pin may leave out the build number that the wheel has."""
    for link in links:
        same = link.name.version == version or link.name.version.startswith(f"{version}.")
        if same and wheelnames.platform_of(link.name.platform) == "linux-x86_64":
            return link
    return None


def _read(link: ProjectFile, source: RemoteSource) -> dict[str, object]:
    archive = Archive(source)
    found = []
    for member in sorted(archive.members(), key=lambda each: each.header_offset):
        if _DECIDES.fullmatch(member.filename):
            with wheelfiles.unpack(archive.stream(member), member.file_size) as buffer:
                found.append(librarycode.read_buffer(buffer, member.filename))
    source.close()
    serves = served(found)
    return {
        "file": link.file,
        "sha256": link.sha256,
        "project": link.name.project,
        "version": link.name.version,
        "floor": next(iter(serves), None),
        "serves": serves,
        "libraries": {
            one.path.rpartition("/")[2]: {
                "sass": plain(one.sass),
                "ptx": plain(one.ptx),
                "modules": one.code.total,
                "empty": one.code.empty,
            }
            for one in found
        },
        "size": source.size,
        "bytes_read": source.bytes_read,
        "requests": source.requests,
    }
