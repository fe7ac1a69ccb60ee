"""Fuzz every reader with so many inputs, made of good ones by random changes.

    python -m tests.fuzz.run --cases 1000000 [--seed N] [--jobs N] [TARGET...]

Prints how many inputs each reader was given, and foreign exceptions with the inputs that raised them; an interrupt ends
it with what was tried so far. The fuzzer that watches coverage (fuzz_wheels.py) finds deeper; this one needs Python
alone.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "src")]

from tests.fuzz.targets import EXPECTED, TARGETS, seeds  # noqa: E402

_SLOW_S = 2.0
_MOST_SHOWN = 5
_AT_ONCE = 2_000  # so many of one reader, before another may have its turn and an interrupt is heard
# What readers stumble over.
_PIECES = (
    b"9" * 5000, b"1." * 2000, b"-1", b"1e999", b"NaN", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r\n", b"\n", b"\\\n", b"[", b"{" * 200,  # noqa: E501
    b"[" * 2000, b'"', b"'", b"${HOME}", b"%00", b"%s", "\u2028\u0660\u00b2\uff11".encode(), b"\xed\xa0\x80", b"://", b"@", b"#", b";",  # noqa: E501
    b"=", b"--", b"null", b"true", b"{}", b"18446744073709551616", b"\x80", b" " * 300, b"../" * 50, b"\t", b"[tool.uv]",  # noqa: E501
)  # fmt: skip
# The readers of whole files cost a hundred times what those of a line do.
_WEIGHTS = {"archive": 0.2, "library": 0.2, "project": 0.3, "uv-toml": 0.6, "gpu": 0.5, "resolved": 0.5, "log": 0.5}


class Finding(NamedTuple):
    target: str
    error: str
    data: bytes


class Outcome(NamedTuple):
    target: str
    cases: int
    accepted: int
    findings: list[Finding]


def changed(draw: random.Random, seed: bytes, others: Sequence[bytes]) -> bytes:
    """The input with one to six random changes."""
    data = bytearray(seed)
    for _ in range(draw.choice((1, 1, 1, 2, 3, 6))):
        place = draw.randrange(len(data) + 1)
        match draw.randrange(7):
            case 0 if data:
                data[place % len(data)] ^= 1 << draw.randrange(8)
            case 1:
                data[place:place] = draw.choice(_PIECES)
            case 2:
                del data[place : place + draw.choice((1, 1, 2, 8, 64, 4096))]
            case 3:
                data[place:place] = data[draw.randrange(len(data) + 1) :][: draw.choice((1, 4, 16, 256))]
            case 4:
                data[place : place + draw.choice((1, 4, 8))] = draw.choice(_PIECES)
            case 5:
                other = draw.choice(others)
                data[place:] = other[draw.randrange(len(other) + 1) :]
            case _:
                data[place:place] = draw.randbytes(draw.choice((1, 2, 4)))
    return bytes(data[:60_000])


def fuzzed(target: str, cases: int, seed: str) -> Outcome:
    draw = random.Random(f"{target} {seed}")  # noqa: S311 # a fuzzer's draw, which can be repeated
    good = [data for data in seeds(target) if len(data) < 60_000]
    read = TARGETS[target]
    findings: list[Finding] = []
    accepted = 0
    for _ in range(cases):
        data = changed(draw, draw.choice(good), good)
        began = time.process_time()  # the reader's own: other processes take their share of a clock
        try:
            read(data)
            accepted += 1
        except EXPECTED:
            pass
        except Exception as error:  # this is what is looked for
            findings.append(Finding(target, f"{type(error).__name__}: {str(error)[:200]}", data))
        if (spent := time.process_time() - began) > _SLOW_S:
            findings.append(Finding(target, f"took {spent:.1f} s", data))
    return Outcome(target, cases, accepted, findings)


def run(cases: int, seed: int, jobs: int, targets: Sequence[str]) -> Iterator[Outcome]:
    """One outcome after another, several of each target, as they come."""
    weights = {target: _WEIGHTS.get(target, 1.0) for target in targets}
    share = cases / sum(weights.values())
    work = [
        (target, min(_AT_ONCE, number - begun), f"{seed}.{begun}")
        for target, number in ((target, max(1, round(share * weight))) for target, weight in weights.items())
        for begun in range(0, number, _AT_ONCE)
    ]
    if jobs == 1:
        yield from (fuzzed(*one) for one in work)
        return
    # An interrupt is for the one who prints the counts.
    with ProcessPoolExecutor(jobs, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)) as pool:
        yield from pool.map(fuzzed, *zip(*work, strict=True))


def together(outcomes: Sequence[Outcome]) -> Outcome:
    """Several outcomes of one target as one."""
    findings = [finding for outcome in outcomes for finding in outcome.findings]
    cases = sum(outcome.cases for outcome in outcomes)
    return Outcome(outcomes[0].target, cases, sum(outcome.accepted for outcome in outcomes), findings)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Fuzz every reader of bytes from outside.")
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("targets", nargs="*", default=[], metavar="TARGET")
    args = parser.parse_args(arguments)
    totals: list[Outcome] = []
    interrupted = False
    parts: list[Outcome] = []
    try:
        for part in run(args.cases, args.seed, args.jobs, args.targets or list(TARGETS)):
            if parts and parts[0].target != part.target:
                totals.append(_printed(parts))
                parts = []
            parts.append(part)
    except KeyboardInterrupt:
        interrupted = True
    if parts:
        totals.append(_printed(parts))
    foreign = sum(len(total.findings) for total in totals)
    ended = "interrupted after " if interrupted else ""
    cases = sum(total.cases for total in totals)
    print(f"{ended}{cases:,} cases over {len(totals)} readers, {foreign} foreign exceptions")
    return 130 if interrupted else 1 if foreign else 0


def _printed(parts: Sequence[Outcome]) -> Outcome:
    """What became of a target, after it was printed."""
    total = together(parts)
    counts = f"{total.cases:10,} cases {total.accepted:10,} read {len(total.findings):6} foreign"
    print(f"{total.target:20}{counts}", flush=True)
    for finding in total.findings[:_MOST_SHOWN]:
        print(f"    {finding.error}\n    {finding.data[:300]!r}")
    return total


if __name__ == "__main__":
    raise SystemExit(main())
