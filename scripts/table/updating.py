"""Bring compat/ up to the live indexes: what `torchpick refresh` does for a user's cache, for the readable files.

The reader is the same (torchpick/wheels/refresh.py). What the wheel host, the vendors' indexes and, for the rows of
`default`, the user's own index list is compared with the table; a release that has a file is completed, a row that was
declared becomes measured when its wheel is read, a file that is gone is marked. Each wheel is written as soon as it is
read, so that a run that is cut short goes on there. What torch and its companions require is read on the user's own
index, into evidence/, and what follows from all of it is written anew. With `--most 0` pages alone are read, and a
build that the table lacks is named and not written: it comes with its wheel.

usage: scripts/update-compat [--index-base URL] [--release X.Y.Z] [--declared N] [--most N] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from scripts.shipping import timeline
from scripts.table import companions, index, layout, packages, reading_companions, rows, torch_requires
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
EVIDENCE = COMPAT.parent / "evidence"
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
    parser.add_argument("--most", type=int, default=refresh.MOST_WHEELS, metavar="N", help="read N wheels at the most")
    parser.add_argument("--out", type=Path, default=COMPAT)
    parser.add_argument("--evidence", type=Path, default=EVIDENCE)
    args = parser.parse_args(argv)
    failed, done = update(args, lambda news: print(news, file=sys.stderr) if isinstance(news, str) else None)
    for text in failed:
        print(f"error: {text}", file=sys.stderr)
    for line in done:
        print(line)
    return 1 if failed else 0


def update(args: argparse.Namespace, report: Report) -> tuple[list[str], list[str]]:
    """What failed, and what was done, a line each."""
    found: list[Refreshed] = []
    failed: list[str] = []
    host, places = ReadableTable(args.out, args.index_base, new=args.most > 0), index_places.of_user(os.environ)
    backends = sorted({build.backend for build in host.builds()})
    sources = [(host, refresh.places(args.index_base, "stable", backends))]
    if places.base is not None:
        sources.append((ReadableTable(args.out, places.base, DEFAULT_INDEX, new=args.most > 0), (places,)))
    for store, where in sources:
        table = {build.key: build for build in store.builds()}
        for forced, most in ((False, args.most), (True, args.declared))[: 1 + bool(args.declared)]:
            job = RefreshJob(store, where, _reads(table, args.release, forced), forced, not forced, most)
            try:
                found.append(refresh.refresh_table(job, table, report))
            except TorchpickError as error:
                failed.append(f"{error.message}\n\nhint: {error.hint}")
                break
            table |= store.changed
    if not found:
        return failed, []
    done = refresh.add_up(found)
    failed += [f"{sample.file}: {error.message}" for (_, sample), error in done.failures]
    failed += [f"contradiction: {text}" for text in done.contradictions]
    news = [*_said(done), *host.mark_gone(done.gone), *host.move_vendors(done.moved)]
    try:
        reading_companions.renew(args.evidence / "companions.json")
        if args.most or any(store.changed for store, _ in sources[1:]):  # also what an earlier run could not read
            failed += torch_requires.renew(args.evidence / "torch-requires.jsonl")
    except TorchpickError as error:
        failed.append(f"what torch and its companions require was not read: {error.message}")
    if done.gone or done.moved or any(store.changed for store, _ in sources):
        dates = layout.read(args.evidence / "dates.json")
        dates["read"]["the indexes' pages"] = day()
        layout.write(args.evidence / "dates.json", dates)
    write_what_follows(args.out, args.evidence)
    return failed, news


def write_what_follows(compat: Path, evidence: Path) -> None:
    """All that is made of the rows and of the evidence."""
    layout.write(compat / "companions.json", companions.built(compat, evidence / "companions.json"))
    requires = torch_requires.read_evidence(evidence / "torch-requires.jsonl")
    layout.write(compat / "requires.json", torch_requires.build(requires))
    for name, value in packages.build(packages.read_evidence(evidence / "packages.jsonl"), compat).items():
        layout.write(compat / "packages" / f"{name}.json", value)
    index.renew(compat, evidence)
    if compat == COMPAT:
        timeline.PICTURE.write_text(timeline.svg(), encoding="utf-8")


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
    yield from (f"unread: {build.version} {build.platform}" for build, _ in done.unread)
    yield from (f"note: {note}" for note in done.notes)
    yield f"read {done.bytes_read / 1e6:.1f} MB in {done.requests} requests"


class ReadableTable:
    """The readable files as what a refresh fills; `changed` holds the rows that it wrote, and `new` ones only if so."""

    def __init__(self, folder: Path, base: str, channel: str = "stable", *, new: bool) -> None:
        self.folder, self.base, self.channel, self.new = folder, base, channel, new
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

    def write(self, platforms: Iterable[str], rows: Mapping[BuildKey, Build], listed: Iterable[BuildKey]) -> None:  # noqa: ARG002
        """Carry into the files what differs from what was written before."""
        known = rows.keys() if self.new else {build.key for build in self.builds()}
        new = {key: rows[key] for key in rows.keys() & known if self.changed.get(key) != rows[key]}
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
