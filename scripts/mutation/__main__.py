"""Change the code in small ways and see whether the tests notice: `scripts/mutate --help`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from scripts.mutation import drawing, mapping, running
from scripts.mutation.mutants import Mutant
from scripts.mutation.running import Verdict, Workshop


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/mutate",
        description="Change the code in small ways and see whether the tests notice. Without --module: the lines that "
        "differ from where the branch began. What nobody can notice is left out: scripts/mutation/equivalent.json.",
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
    rooms = None if args.rooms is None else args.rooms or mapping.rooms(args.base)
    chosen = _of_rooms(rooms, args.sample, args.seed) if rooms else {}
    if rooms is None:
        lines = dict.fromkeys(mapping.modules(args.module)) or mapping.changed_lines(args.base)
        chosen = drawing.drawn(lines, args.sample, args.seed)
    if not chosen:
        print("nothing to change", file=sys.stderr)
        return 0
    part = "not long and not process and not network" if args.quick else "not long"
    # One look at what all the tests run is less than one for each room.
    tests = args.tests or ([] if rooms is None else ["tests"])
    with TemporaryDirectory(prefix="torchpick-mutants-") as folder:
        workshop = running.Workshop(Path.cwd(), Path(folder), args.jobs, [*chosen], part)
        try:
            verdicts = {
                path: _verdicts(workshop, path, mutations, tests, args.timeout) for path, mutations in chosen.items()
            }
        finally:
            workshop.close()
    every = [verdict for each in verdicts.values() for verdict in each]
    slow = sum(verdict.word == "too slow" for verdict in every)
    print(f"{_count(every)}, {slow} of them because they took too long")
    if rooms is None:
        return 1 if _is_less(every, args.least) else 0
    few = []
    for room in rooms:
        of_room = [verdict for path, each in verdicts.items() if room in path.parts for verdict in each]
        print(f"{room}: {_count(of_room)}")
        few += [room] if _is_less(of_room, _LEAST.get(room, 75)) else []
    print(f"too few were noticed in: {', '.join(few)}" if few else "enough were noticed in every room")
    return 1 if few else 0


def _verdicts(
    workshop: Workshop, path: Path, mutations: Sequence[Mutant], tests: Sequence[str], most_s: float | None
) -> list[Verdict]:
    """Those of one module; what no test noticed is printed as it is found."""
    began = time.monotonic()
    found = []
    for verdict in workshop.verdicts(path, mutations, tests or mapping.tests_of(path), most_s):
        found.append(verdict)
        if not verdict.killed:
            what = f"alive, tried with {verdict.tried} tests" if verdict.tried else "run by no test"
            print(f"{path}:{verdict.mutant.line}: {verdict.mutant.change}: {what}", flush=True)
    print(f"{path}: {_count(found)} in {time.monotonic() - began:.0f} s", flush=True)
    return found


def _count(verdicts: Sequence[Verdict]) -> str:
    killed = sum(verdict.killed for verdict in verdicts)
    return f"{killed} of {len(verdicts)} mutants killed ({killed / max(len(verdicts), 1):.0%})"


def _is_less(verdicts: Sequence[Verdict], least: float) -> bool:
    return sum(verdict.killed for verdict in verdicts) * 100 < len(verdicts) * least


# What is noticed at least, of a hundred.
_LEAST = {"decide": 90, "doctor": 90, "install": 90}


def _of_rooms(rooms: Sequence[str], sample: int | None, seed: int) -> dict[Path, list[Mutant]]:
    """So many of each room."""
    folders = {room: dict.fromkeys(mapping.modules([Path("src/torchpick", room)])) for room in rooms}
    return {path: each for lines in folders.values() for path, each in drawing.drawn(lines, sample, seed).items()}


if __name__ == "__main__":
    raise SystemExit(main())
