"""The readable files of compat/ → compact indexes, one per platform, that a decision loads in a few milliseconds."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from scripts.table import layout
from scripts.table.layout import PLATFORMS
from torchpick.model.fields import Fields
from torchpick.model.versions import release_key

COMPAT = Path(__file__).parents[2] / "compat"
Row = dict[str, object]


class Pool:
    """Values that many rows share, each kept once; a row names its place."""

    def __init__(self) -> None:
        self.values: list[object] = []

    def place(self, value: object) -> int:
        if value not in self.values:
            self.values.append(value)
        return self.values.index(value)


def main(words: Sequence[str]) -> int:
    """Write compat/index/ anew from the readable files."""
    compat = Path(words[0]) if words else COMPAT
    for name, value in indexes(compat).items():
        layout.write_compact(compat / "index" / name, value)
        print(f"{name}: {(compat / 'index' / name).stat().st_size} bytes", file=sys.stderr)
    return 0


def indexes(compat: Path) -> dict[str, Row]:
    """Every index file by its name, as the readable files say."""
    releases = [Fields(layout.read(path), path.name) for path in compat.glob("torch-*.json")]
    releases.sort(key=lambda release: release_key(release.text("torch")), reverse=True)
    companions = Fields(layout.read(compat / "companions.json"), "companions.json")
    return {f"{platform}.json": _platform(platform, releases, companions) for platform in PLATFORMS}


def _platform(platform: str, releases: list[Fields], companions: Fields) -> Row:
    pairs = {pair.text("torch"): pair for pair in companions.objects("pairs")}
    arch_sets, python_sets, refs = Pool(), Pool(), Pool()
    rows: list[list[object]] = []
    for release in releases:
        torch = release.text("torch")
        for build in release.objects("builds"):
            # The default index's own wheels are never picked; whoever needs them reads the readable files.
            if build.text("platform") != platform or build.text("backend") == "default":
                continue
            evidence = build.object("evidence")
            twin = evidence.maybe_object("twin")
            pair = pairs.get(torch)
            rows.append(
                [
                    torch,
                    build.text("backend"),
                    build.text("version"),
                    build.maybe_text("cuda"),
                    arch_sets.place(build.raw("arches")),
                    python_sets.place(build.raw("pythons")),
                    build.raw("tags"),
                    build.maybe_text("glibc"),
                    build.raw("libraries"),
                    build.raw("lacks"),
                    build.maybe_flag("published"),
                    build.flag("yanked"),
                    {} if pair is None else _companions(companions, pair, torch, build.text("backend")),
                    "inferred" if pair is None else pair.text("basis"),
                    evidence.text("kind"),
                    refs.place(evidence.text("ref")),
                    None if twin is None else [twin.text("file"), twin.text("sha256")],
                ]
            )
    return {
        "schema": 1,
        "platform": platform,
        "arch_sets": arch_sets.values,
        "python_sets": python_sets.values,
        "refs": refs.values,
        "unlabelled": _unlabelled(companions, platform),
        "builds": rows,
    }


def _companions(companions: Fields, pair: Fields, torch: str, backend: str) -> Row:
    found: Row = {name: pair.maybe_text(name) for name in ("torchvision", "torchaudio")}
    for exception in companions.objects("exceptions"):
        if exception.text("torch") == torch and exception.text("backend") == backend:
            found.update({name: exception.maybe_text(name) for name in found if exception.has(name)})
    return found


def _unlabelled(companions: Fields, platform: str) -> Row:
    """Below which version a companion's wheel carries no local label on this platform."""
    found: dict[str, str] = {}
    for row in companions.objects("unlabelled"):
        name, before = row.text("name"), row.text("before")
        if row.text("platform") in ("*", platform) and release_key(before) > release_key(found.get(name, "0")):
            found[name] = before
    return {**found}
