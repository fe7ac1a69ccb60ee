"""How far a library or a package supports a GPU: the words that `inspect` prints and `doctor` judges by."""

from __future__ import annotations

RUNS = "runs"
JIT = "runs by JIT"
PARTLY = "partly"
NOT = "will not run"
NO_CODE = "no GPU code"
COMPILES = "compiles at run time"
# Only a part was read, and it shows neither. It is null in JSON.
UNKNOWN = "not known"

# What `--json` may say; the schema lists them.
VERDICTS = (RUNS, JIT, PARTLY, NOT, NO_CODE, COMPILES)
# The worst first: what several GPUs make of one reading.
WORST_FIRST = (NOT, PARTLY, UNKNOWN, JIT, RUNS, COMPILES, NO_CODE)
FAILS = (PARTLY, NOT)
