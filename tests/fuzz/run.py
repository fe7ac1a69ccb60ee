"""Fuzz every reader with so many inputs, made of good ones by random changes.

    python -m tests.fuzz.run --cases 1000000 [--seed N] [--jobs N] [TARGET...]

Prints how many inputs each reader was given, and every foreign exception with the input that raised it. The fuzzer that
watches coverage (fuzz_wheels.py) finds deeper; this one needs nothing but Python.
"""

from __future__ import annotations

import argparse
import random
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


def fuzzed(target: str, cases: int, seed: int) -> Outcome:
    draw = random.Random(f"{target} {seed}")  # noqa: S311 # a fuzzer's draw, which can be repeated
    good = [data for data in seeds(target) if len(data) < 60_000]
    read = TARGETS[target]
    findings: list[Finding] = []
    accepted = 0
    for _ in range(cases):
        data = changed(draw, draw.choice(good), good)
        began = time.monotonic()
        try:
            read(data)
            accepted += 1
        except EXPECTED:
            pass
        except Exception as error:  # this is what is looked for
            findings.append(Finding(target, f"{type(error).__name__}: {str(error)[:200]}", data))
        if time.monotonic() - began > _SLOW_S:
            findings.append(Finding(target, f"took {time.monotonic() - began:.1f} s", data))
    return Outcome(target, cases, accepted, findings)


def run(cases: int, seed: int, jobs: int, targets: Sequence[str]) -> Iterator[Outcome]:
    """One outcome after another, as they come."""
    weights = {target: _WEIGHTS.get(target, 1.0) for target in targets}
    share = cases / sum(weights.values())
    work = [(target, max(1, round(share * weight)), seed) for target, weight in weights.items()]
    if jobs == 1:
        yield from (fuzzed(*one) for one in work)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(fuzzed, *zip(*work, strict=True))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Fuzz every reader of bytes from outside.")
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("targets", nargs="*", default=[], metavar="TARGET")
    args = parser.parse_args(arguments)
    outcomes = []
    for outcome in run(args.cases, args.seed, args.jobs, args.targets or list(TARGETS)):
        outcomes.append(outcome)
        print(
            f"{outcome.target:20}{outcome.cases:10,} cases {outcome.accepted:10,} read {len(outcome.findings):6} foreign"  # noqa: E501
        )
        for finding in outcome.findings[:_MOST_SHOWN]:
            print(f"    {finding.error}\n    {finding.data[:300]!r}")
    foreign = sum(len(outcome.findings) for outcome in outcomes)
    print(
        f"{sum(outcome.cases for outcome in outcomes):,} cases over {len(outcomes)} readers, {foreign} foreign exceptions"  # noqa: E501
    )
    return 1 if foreign else 0


if __name__ == "__main__":
    raise SystemExit(main())
