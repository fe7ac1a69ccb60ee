"""Bring compat/ up to the live indexes: what `torchpick refresh` does for a user's cache, for the readable files.

The reader is the same (torchpick/wheels/refresh.py). What the wheel host, the vendors' indexes and, for the rows of
`default`, the user's own index list is compared with the table; a release that has a file is completed, a row that was
declared becomes measured when its wheel is read, a file that is gone is marked. Each wheel is written as soon as it is
read, so that a run that is cut short goes on there. What companions say of torch is read on the user's own index, into
evidence/companions.json.

usage: scripts/update-compat [--index-base URL] [--release X.Y.Z] [--declared N] [--most N] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from scripts.table import companions, layout, reading_companions, rows
from torchpick.cli.console import day
from torchpick.errors import TorchpickError
from torchpick.index import index_places
from torchpick.model.address import WHEEL_HOST
from torchpick.model.build import DEFAULT_INDEX, Build, BuildKey, backend_order
from torchpick.wheels import refresh
from torchpick.wheels.listed import LISTED
from torchpick.wheels.refresh import Refreshed, RefreshJob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.errors import Report

Row = dict[str, Any]
COMPAT = Path(__file__).parents[2] / "compat"
# More than this of the table is not gone at once: then it is the page that is damaged, and a person looks.
_MOST_GONE = 12
_GONE = "not on the index's page of "


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index-base", default=os.environ.get("TORCHPICK_INDEX_BASE", WHEEL_HOST))
    parser.add_argument("--release", help="this release alone")
    parser.add_argument(
        "--declared", type=int, default=0, metavar="N", help="read N wheels of rows that are declared too"
    )
    parser.add_argument("--most", type=int, default=60, metavar="N", help="read N wheels at the most")
    parser.add_argument("--out", type=Path, default=COMPAT)
    parser.add_argument("--evidence", type=Path, default=COMPAT.parent / "evidence" / "companions.json")
    args = parser.parse_args(argv)
    failed, done = update(args, lambda news: print(f"update-compat: {news}", file=sys.stderr))
    for text in failed:
        print(f"error: {text}", file=sys.stderr)
    for line in done:
        print(line)
    return 1 if failed else 0


def update(args: argparse.Namespace, report: Report) -> tuple[list[str], list[str]]:
    """What failed, and what was done, a line each."""
    found: list[Refreshed] = []
    failed: list[str] = []
    host, own = ReadableTable(args.out, args.index_base), index_places.of_user(os.environ)
    backends = sorted({build.backend for build in host.builds()})
    sources = [(host, refresh.places(args.index_base, "stable", backends))]
    if own.base is not None:
        sources.append((ReadableTable(args.out, own.base, DEFAULT_INDEX), (own,)))
    for store, places in sources:
        table = {build.key: build for build in store.builds()}
        for forced, most in ((False, args.most), (True, args.declared)):
            job = RefreshJob(store, places, _reads(table, args.release, forced), forced, not forced, most)
            try:
                found += [refresh.refresh_table(job, table, report)] if most else []
            except TorchpickError as error:
                failed.append(f"{error.message}\n\nhint: {error.hint}")
                break
            table |= store.changed
    if not found:
        return failed, []
    done = refresh.add_up(found)
    try:
        reading_companions.renew(args.evidence)
    except TorchpickError as error:
        failed.append(f"the companions were not read: {error.message}")
    layout.write(args.out / "companions.json", companions.built(args.out, args.evidence))
    failed += [f"{entry.sample.file}: {error.message}" for entry, error in done.failures]
    failed += [f"contradiction: {text}" for text in done.contradictions]
    return failed, [*_said(done), *host.mark_gone(done.gone), *host.move_vendors(done.moved)]


def _reads(table: Mapping[BuildKey, Build], release: str | None, forced: bool) -> Callable[[Build], bool]:
    """Which builds are read: those that nobody read, or, forced, those that were only declared."""

    def reads(build: Build) -> bool:
        row = table.get(build.key)
        if release not in (None, build.torch):
            return False
        if forced:
            return row is not None and row.vendor is None and row.evidence.kind != "measured"
        return row is None or row.arches is None or row.evidence.ref == LISTED or build.vendor is not None

    return reads


def _said(done: Refreshed) -> Iterator[str]:
    for word, builds in (("new", done.added), ("read", done.read)):
        yield from (f"{word}: {build.version} {build.backend} {build.platform}" for build in builds)
    yield from (f"unread: {entry.build.version} {entry.build.platform}" for entry in done.unread)
    yield from (f"note: {note}" for note in done.notes)
    yield f"read {done.bytes_read / 1e6:.1f} MB in {done.requests} requests"


class ReadableTable:
    """The readable files as what a refresh fills; `changed` holds the rows that it wrote."""

    def __init__(self, folder: Path, base: str, channel: str = "stable") -> None:
        self.folder, self.base, self.channel = folder, base, channel
        self.changed: dict[BuildKey, Build] = {}

    def builds(self) -> Iterator[Build]:
        """Every row of the wheel host and of vendors, or of the default index."""
        is_own = self.channel == DEFAULT_INDEX
        companions = rows.Companions(layout.read(self.folder / "companions.json"))
        for path in sorted(self.folder.glob("torch-*.json")):
            builds = rows.of_release(layout.read(path), companions)
            yield from (build for build in builds if (build.backend == DEFAULT_INDEX) is is_own)
        yield from () if is_own else rows.of_vendors(layout.read(self.folder / "vendors.json"))

    def rows(self) -> dict[BuildKey, Build]:
        """None beside the table's own, which are compared with the index."""
        return {}

    def locked(self, waits: Callable[[], None]) -> AbstractContextManager[object]:  # noqa: ARG002 # git is the lock
        return nullcontext()

    def write(self, platforms: Iterable[str], rows: Mapping[BuildKey, Build], listed: Iterable[BuildKey]) -> None:  # noqa: ARG002
        """Carry into the files what differs from what was written before."""
        new = {key: build for key, build in rows.items() if self.changed.get(key) != build}
        self.changed |= new
        for release in sorted({build.torch for build in new.values() if build.vendor is None}):
            self._carry(release, [build for build in new.values() if build.torch == release and build.vendor is None])
        if of_vendors := [build for build in new.values() if build.vendor is not None]:
            self._carry_vendors(of_vendors)

    def _carry(self, release: str, builds: Iterable[Build]) -> None:
        path = self.folder / f"torch-{release}.json"
        file: Row = layout.read(path) if path.exists() else {"schema": 1, "torch": release, "builds": []}
        for build in builds:
            old = next((row for row in file["builds"] if _is_of(row, build)), None)
            if old is None:
                file["builds"].append(_new_row(build))
            else:
                _change(old, build)
            if build.backend == DEFAULT_INDEX and build.evidence.kind == "measured":
                _name_twins(file["builds"], build)
        file["builds"].sort(key=_order)
        layout.write(path, file)

    def _carry_vendors(self, builds: Iterable[Build]) -> None:
        path = self.folder / "vendors.json"
        file: Row = layout.read(path)
        names = {row["url"]: row["name"] for row in file["indexes"]}
        for build in builds:
            name = names[build.vendor.url] if build.vendor else ""
            same = [row for row in file["builds"] if (row["index"], row["version"]) == (name, build.version)]
            for row in same:
                row["pythons"] = list(build.pythons)
            if not same:
                file["builds"].insert(next(n for n, row in enumerate(file["builds"]) if row["index"] == name), {
                    "index": name, "torch": build.torch, "version": build.version, "backend": build.backend,
                    "platforms": [build.platform], "cuda": build.cuda, "arches": list(map(str, build.arches or ())),
                    "pythons": list(build.pythons), "tags": list(build.tags), "companions": dict(build.companions),
                    "needs": list(build.vendor.needs) if build.vendor else [], "ref": build.evidence.ref,
                    "confidence": "certain" if build.evidence.kind == "measured" else "medium",
                    "notes": ["as the newest row before it, but for what the index's page and the wheel say"],
                })  # fmt: skip
            elif build.evidence.kind == "measured":
                same[0].update(arches=list(map(str, build.arches or ())), ref=build.evidence.ref, confidence="certain")
        layout.write(path, file)

    def mark_gone(self, gone: Iterable[Build]) -> Iterator[str]:
        """What is on the page no longer is not confirmed any more; vendors' rows are a person's matter."""
        lost = [build for build in gone if build.vendor is None]
        yield from (f"gone: {build.version} {build.backend} {build.platform}" for build in gone)
        if len(lost) > _MOST_GONE:
            yield f"{len(lost)} rows are on the page no longer, which is too many to be true: none is marked"
            return
        for build in lost:
            path = self.folder / f"torch-{build.torch}.json"
            file: Row = layout.read(path)
            row = next(row for row in file["builds"] if _is_of(row, build))
            row["published"] = None
            row["notes"] = [*_notes(row), f"{_GONE}{day()}, where it had been"]
            layout.write(path, file)

    def move_vendors(self, moved: Iterable[tuple[str, str]]) -> Iterator[str]:
        """The new address of a vendor's index whose old one leads there."""
        path = self.folder / "vendors.json"
        text = path.read_text("utf-8")
        for old, new in moved:
            text = text.replace(f'"url": "{old}"', f'"url": "{new}"')
            yield f"moved: {old} to {new}"
        path.write_text(text, "utf-8")


def _is_of(row: Row, build: Build) -> bool:
    return (row["platform"], row["version"], row["backend"]) == build.key


def _name_twins(listed: Iterable[Row], build: Build) -> None:
    """The wheel host's builds of the same CUDA and platform name the default index's wheel, which was read."""
    file, _, digest = build.evidence.ref.partition(" sha256:")
    for row in listed:
        is_twin = (row["platform"], row["cuda"]) == (build.platform, build.cuda) and row["evidence"]["twin"] is None
        if is_twin and digest and row["backend"].startswith("cu") and row["evidence"]["kind"] != "measured":
            row["evidence"]["twin"] = {"file": file, "sha256": digest}


def _notes(row: Row) -> list[str]:
    return [note for note in row["notes"] if not note.startswith(_GONE)]


def _order(row: Row) -> tuple[int, tuple[str, tuple[int, ...]], int]:
    backend = str(row["backend"])
    return backend == DEFAULT_INDEX, backend_order(backend), layout.PLATFORMS.index(str(row["platform"]))


def _change(row: Row, build: Build) -> None:
    """What the page says of a build, and where its wheel was read what that says."""
    row.update(pythons=list(build.pythons), tags=list(build.tags), glibc=build.glibc, published=True)
    row.update(yanked=build.yanked, notes=_notes(row))
    if build.evidence.kind == "measured" and row["evidence"]["kind"] != "measured":
        row.update(_code(build))
        row["notes"] = [note for note in row["notes"] if not note.startswith("lacks: ")]
        row["evidence"] |= {"kind": "measured", "ref": build.evidence.ref, "confidence": "certain"}


def _code(build: Build) -> Row:
    return {
        "cuda": build.cuda,
        "arches": None if build.arches is None else [str(arch) for arch in build.arches],
        "libraries": dict(build.libraries),
        "lacks": {library: [str(arch) for arch in arches] for library, arches in build.lacks.items()},
    }


def _host_of(build: Build) -> str:
    return "the default index" if build.backend == DEFAULT_INDEX else "the wheel host"


def _new_row(build: Build) -> Row:
    was_read = build.evidence.kind == "measured"
    return {
        "backend": build.backend,
        "platform": build.platform,
        "version": build.version,
        "real": None,
        **{key: _code(build)[key] for key in ("cuda", "arches")},
        "pythons": list(build.pythons),
        "tags": list(build.tags),
        "glibc": build.glibc,
        **{key: _code(build)[key] for key in ("libraries", "lacks")},
        "published": True,
        "yanked": build.yanked,
        "evidence": {
            "kind": build.evidence.kind,
            "ref": build.evidence.ref if was_read else f"{_host_of(build)}'s page for torch",
            "confidence": "certain" if was_read else "high",
            "twin": None,
        },
        "notes": [],
    }
