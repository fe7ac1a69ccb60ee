"""Which build of a package has code for which GPU, from the table as it is shipped."""

from __future__ import annotations

from torchpick.decide import packagefit
from torchpick.knowledge.packages import READ_PLATFORM, KnownPackages
from torchpick.model.arch import Arch
from torchpick.model.verdict import JIT, NOT, RUNS

GPUS = tuple(map(Arch.parse, ("sm_61", "sm_75", "sm_90", "sm_120")))


def test_the_newest_and_the_last_one_for_an_older_gpu() -> None:
    known = KnownPackages({}, READ_PLATFORM)
    found = packagefit.gpu_rows(known.values(), GPUS)

    xformers = {row.version: row.words for row in found if row.name == "xformers"}
    assert xformers["0.0.35"] == (NOT, RUNS, RUNS, JIT)
    pascal = [version for version, words in xformers.items() if words[0] != NOT]
    assert pascal[:1] == ["0.0.30"], "the last version with code for Pascal"
    assert next(row for row in found if row.name == "bitsandbytes").words[0] == RUNS
    assert all(len(row.words) == len(GPUS) for row in found)
