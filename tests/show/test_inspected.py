"""What `inspect` shows of each kind of reading, as a page and as JSON: `inspected.json` has it word for word.

See `tests/recorded.py`.
"""

from __future__ import annotations

from pathlib import Path

from tests import recorded
from tests.wheels.test_verdict import JUDGES, READINGS
from torchpick.cli import inspect as inspected
from torchpick.model.fields import plain
from torchpick.wheels.judging import Inspection, judge_reading
from torchpick.wheels.readings import FLAGS, SAMPLE, WHOLE, Reading

FILE = Path(__file__).with_name("inspected.json")


def named(reading: Reading, version: str | None = "1.0") -> Reading:
    return reading._replace(name="pkg", version=version, file="pkg-1.0-py3-none-any.whl", sha256="ab" * 32)


SHOWN: dict[str, Reading] = {
    "linalg": named(READINGS["linalg"])._replace(size=12_345_678, bytes_read=1_234_567, requests=3),
    "two libraries": READINGS["two libraries"]._replace(file="lib.so", notes=("a note", "a\nb")),
    "for one generation": named(READINGS["for one generation"], None),
    "a library per CUDA": READINGS["a library per CUDA"]._replace(size=50, bytes_read=500, requests=1),
    "loaded by itself": READINGS["loaded by itself"], "a copy beside its own": READINGS["a copy beside its own"],
    "a sample": READINGS["a sample"]._replace(depth=SAMPLE, size=0, bytes_read=10, requests=2),
    "a compiler": READINGS["a compiler"]._replace(depth=FLAGS), "nothing": READINGS["nothing"]._replace(depth=WHOLE),
    "nothing so far": READINGS["nothing so far"]._replace(depth=SAMPLE),
    "torch": named(READINGS["torch"])._replace(depth=FLAGS), "an AMD torch": READINGS["an AMD torch"],
}  # fmt: skip
GPUS = ("sm_52", "sm_75", "sm_120 behind CUDA 13.2", "gfx1100", "refused by its driver")


def shown() -> dict[str, object]:
    now: dict[str, object] = {}
    for name, reading in SHOWN.items():
        verdicts = tuple(judge_reading(reading, JUDGES[gpu]) for gpu in GPUS)
        pages: dict[str, object] = {
            "page": inspected.page(reading, verdicts, None).splitlines(),
            "narrow": inspected.page(reading, verdicts[:2], 50, lambda line: f"*{line}*").splitlines(),
            "json": plain(Inspection(reading, verdicts[:3]).to_dict()),
            "verdict without a GPU": Inspection(reading, ()).to_dict()["verdict"],
        }
        now[name] = pages
    return now


test_each_kind_of_reading_is_shown_as_it_was = recorded.table(FILE, shown)
