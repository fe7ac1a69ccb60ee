"""Coverage-guided fuzzing of everything that reads bytes from outside.

    python tests/fuzz/fuzz_wheels.py TARGET CORPUS [libFuzzer options]

TARGET is a name in tests/fuzz/targets.py; CORPUS a folder, which begins with good inputs. A finding is any exception
outside torchpick's own tree, too much memory, or too long for one input (-rss_limit_mb, -timeout). Needs atheris;
tests/fuzz/test_fuzz.py runs targets for a few seconds, and tests/fuzz/run.py fuzzes without coverage where it is not.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "src")]

with atheris.instrument_imports(include=["torchpick"]):  # pyright: ignore[reportAttributeAccessIssue]
    from tests.fuzz.targets import EXPECTED, TARGETS, seeds


def main() -> None:
    target, corpus = sys.argv.pop(1), Path(sys.argv[1])
    corpus.mkdir(parents=True, exist_ok=True)
    for place, seed in enumerate(seeds(target)):
        (corpus / f"seed-{place}").write_bytes(seed)

    def once(data: bytes) -> None:
        try:
            TARGETS[target](data)
        except EXPECTED:
            return

    atheris.Setup(sys.argv, once)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
