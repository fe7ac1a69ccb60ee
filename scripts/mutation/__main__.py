"""Change the code in small ways and see whether the tests notice: `scripts/mutate --help`."""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from scripts.mutation import mapping, mutants, running
from scripts.mutation.mutants import Mutant


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/mutate",
        description="Change the code in small ways and see whether the tests notice. Without --module: the lines that "
        "differ from where the branch began.",
    )
    parser.add_argument(
        "--module", action="append", type=Path, default=[], metavar="PATH", help="all of this module, or of this folder"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="only N of all the mutants, drawn by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--base", help="the commit that changed lines are counted from")
    parser.add_argument("--tests", nargs="+", help="the tests to run instead of the module's own")
    parser.add_argument("--quick", action="store_true", help="without the tests that start processes")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 4))
    parser.add_argument("--timeout", type=float, help="seconds for one mutant; four times what the tests take")
    parser.add_argument("--least", type=float, default=0.0, metavar="PERCENT", help="fail where fewer are killed")
    parser.add_argument(
        "--rooms", nargs="*", metavar="ROOM",
        help="draw so many of each room, and fail below 75 %% (90 %% in decide, doctor and install); the rooms that "
        "differ from --base where none is named, and all of them where --base is empty",
    )  # fmt: skip
    args = parser.parse_args(arguments)
    if args.rooms is not None:
        return _rooms(args.rooms or mapping.rooms(args.base), sys.argv[1:] if arguments is None else arguments)
    lines = dict.fromkeys(mapping.modules(args.module)) or mapping.changed_lines(args.base)
    total = dead = slow = 0
    chosen = _chosen(lines, args.sample, args.seed)
    part = "not long and not process and not network" if args.quick else "not long"
    with TemporaryDirectory(prefix="torchpick-mutants-") as folder:
        workshop = running.Workshop(Path.cwd(), Path(folder), args.jobs if chosen else 0, [*chosen], part)
        try:
            for path, mutations in chosen.items():
                began = time.monotonic()
                killed = 0
                for verdict in workshop.verdicts(path, mutations, args.tests or mapping.tests_of(path), args.timeout):
                    killed += verdict.killed
                    slow += verdict.word == "too slow"
                    if not verdict.killed:
                        what = f"alive, tried with {verdict.tried} tests" if verdict.tried else "run by no test"
                        print(f"{path}:{verdict.mutant.line}: {verdict.mutant.change}: {what}", flush=True)
                spent, ratio = time.monotonic() - began, killed / len(mutations)
                print(f"{path}: {killed} of {len(mutations)} killed ({ratio:.0%}) in {spent:.0f} s", flush=True)
                total, dead = total + len(mutations), dead + killed
        finally:
            workshop.close()
    if not total:
        print("nothing to change", file=sys.stderr)
        return 0
    print(f"{dead} of {total} mutants killed ({dead / total:.1%}), {slow} of them because they took too long")
    return 1 if dead * 100 < total * args.least else 0


# What is noticed at least, of a hundred.
_LEAST = {"decide": 90, "doctor": 90, "install": 90}


def _rooms(rooms: Sequence[str], words: Sequence[str]) -> int:
    """Each room by itself, with the other words of the command line."""
    place = words.index("--rooms")
    rest = [*words[:place], *(word for word in words[place + 1 :] if word not in rooms)]
    failed = []
    for room in rooms:
        print(f"== {room}", flush=True)
        if main([*rest, "--module", f"src/torchpick/{room}", "--least", str(_LEAST.get(room, 75))]):
            failed.append(room)
    print(f"too few were noticed in: {', '.join(failed)}" if failed else "enough were noticed in every room")
    return 1 if failed else 0


def _chosen(lines: Mapping[Path, set[int] | None], sample: int | None, seed: int) -> dict[Path, list[Mutant]]:
    """The mutants of each module: on these lines, or everywhere; with `sample` only so many of them all."""
    mutations = [
        (path, mutant)
        for path, wanted in sorted(lines.items())
        for mutant in mutants.of(path.read_text())
        if wanted is None or mutant.line in wanted
    ]
    if sample is not None and sample < len(mutations):
        draw = random.Random(seed)  # noqa: S311 # a draw that can be repeated
        mutations = [mutations[place] for place in sorted(draw.sample(range(len(mutations)), sample))]
    chosen: dict[Path, list[Mutant]] = {}
    for path, mutant in mutations:
        chosen.setdefault(path, []).append(mutant)
    return chosen


if __name__ == "__main__":
    raise SystemExit(main())
