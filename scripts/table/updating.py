"""Write compat/torch-X.Y.Z.json for the releases of the live index that the table does not have, from their wheels.

One wheel of each backend and platform is read by ranges; a file that exists is never touched. What goes with a release
(torchvision, torchaudio) is the matter of scripts/read-companions, the indexes that of scripts/build-index.

usage: scripts/update-compat [--index-base URL] [--release X.Y.Z] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from packaging.version import Version

from scripts.table import layout
from torchpick.errors import TorchpickError
from torchpick.index import pages
from torchpick.index.client import Client
from torchpick.index.ranges import Archive, FileSource, RemoteSource, Source
from torchpick.model.address import WHEEL_HOST, redacted
from torchpick.model.build import Build, backend_order
from torchpick.model.versions import release_key
from torchpick.wheels import listed, refresh, wheel
from torchpick.wheels.listed import ListedBuild

_COMPAT = Path(__file__).parents[2] / "compat"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index-base", default=os.environ.get("TORCHPICK_INDEX_BASE", WHEEL_HOST))
    parser.add_argument("--release", help="this release alone")
    parser.add_argument("--out", type=Path, default=_COMPAT)
    args = parser.parse_args(argv)
    try:
        with Client() as client:
            found = _listed(args.index_base, client)
            for release in _new(found, args.out, args.release):
                rows = [_row(each, client) for each in found if each.build.torch == release]
                rows.sort(key=_place)
                path = args.out / f"torch-{release}.json"
                layout.write(path, {"schema": 1, "torch": release, "builds": rows})
                print(f"wrote {path.name}: {len(rows)} builds")
    except TorchpickError as error:
        print(f"error: {error}\n\nhint: {error.hint}", file=sys.stderr)
        return error.exit_status
    return 0


def _listed(base: str, client: Client) -> tuple[ListedBuild, ...]:
    links = pages.fetch(f"{base.rstrip('/')}/torch/", client)
    if links is None:
        raise TorchpickError(f"{redacted(base)} has no page of torch", hint="name the index with `--index-base URL`")
    return listed.list_builds(links)


def _new(found: tuple[ListedBuild, ...], out: Path, only: str | None) -> list[str]:
    """The releases without a file, oldest first; candidates wait for the release."""
    releases = {each.build.torch for each in found if not Version(each.build.torch).is_prerelease}
    wanted = releases if only is None else releases & {only}
    return sorted((each for each in wanted if not (out / f"torch-{each}.json").exists()), key=release_key)


def _row(found: ListedBuild, client: Client) -> dict[str, object]:
    """One readable row: measured where there is GPU code to read, else as it is listed."""
    build = found.build
    if build.arches is None:
        print(f"reading {found.sample.file}", file=sys.stderr)
        source = _open(found.sample.url, client)
        try:
            build = refresh.measured_row(found.sample, wheel.read_release(Archive(source), found.sample), build)
        finally:
            source.close()
    return _readable(build, found)


def _open(url: str, client: Client) -> Source:
    return FileSource(pages.local(url)) if url.startswith("file:") else RemoteSource(url, client)


def _readable(build: Build, found: ListedBuild) -> dict[str, object]:
    was_read = build.evidence.kind == "measured"
    digest = f" sha256:{found.sample.sha256}" if found.sample.sha256 else ""
    return {
        "backend": build.backend,
        "platform": build.platform,
        "version": build.version,
        "real": None,
        "cuda": build.cuda,
        "arches": None if build.arches is None else [str(arch) for arch in build.arches],
        "pythons": list(build.pythons),
        "tags": list(build.tags),
        "glibc": build.glibc,
        "libraries": dict(build.libraries),
        "lacks": {library: [str(arch) for arch in arches] for library, arches in build.lacks.items()},
        "published": True,
        "yanked": build.yanked,
        "evidence": {
            "kind": build.evidence.kind,
            "ref": build.evidence.ref if was_read else f"the wheel host's page for torch: {found.sample.file}{digest}",
            "confidence": "certain" if was_read else "high",
            "twin": None,
        },
        "notes": [],
    }


def _place(row: dict[str, object]) -> tuple[tuple[str, tuple[int, ...]], int]:
    return backend_order(str(row["backend"])), layout.PLATFORMS.index(str(row["platform"]))
