"""How long a cold `torchpick url` takes, in bare interpreters, beside its rival torchruntime; its files and its memory.

    python benchmarks/start.py

The aim: at most 2.4 bare interpreters of processor time, 3 with a specifier, a GPU's name or a constraints file,
60 files more than `python -c pass` opens, less than `torchruntime --help`, under 40 MiB.
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import interleaved

# What the commands of older pips import before the program begins.
_OLD = "import re, sys; from torchpick.cli import main; sys.exit(main())"


def main() -> None:
    folder = interleaved.environment("torchruntime==2.24.0")
    try:
        told = ["--gpu", "sm_61", "--driver", "580.95.05"]
        torchpick = str(folder / "bin" / "torchpick")
        url = [torchpick, "url", *told]
        limits = folder / "limits.txt"
        limits.write_text("torch<2.13\n", encoding="utf-8")
        commands = {
            "python -c pass": [str(folder / "bin" / "python"), "-c", "pass"],
            "torchpick url --gpu --driver": url,
            "the same with a specifier": [*url, "torch<2.12"],
            "the same with a GPU's name": [torchpick, "url", "--gpu", "GTX 1080 Ti", "--driver", "580.95.05"],
            "the same with a constraint": ["env", f"PIP_CONSTRAINT={limits}", *url],
            "url, from a command that pip < 25.2 wrote": [str(folder / "bin" / "python"), "-c", _OLD, *url[1:]],
            "torchpick list --json": [torchpick, "list", "--json", *told],
            "torchruntime --help": [str(folder / "bin" / "torchruntime"), "--help"],
        }
        print(interleaved.table(interleaved.medians(commands, processor=True), "python -c pass"))
        for name, words in (("torchpick url", told), ("the same with a specifier", [*told, "torch<2.12"])):
            print(f"{f'files opened by {name}':<44}{interleaved.opened(folder, ['url', *words]):6d}")
        print(f"{'peak memory of torchpick url':<44}{interleaved.peak_mebibytes(url):6.1f} MiB")
    finally:
        shutil.rmtree(folder)
    print(f"{'a decision, table loaded':<44}{decision():6.2f} ms")


def decision() -> float:
    """The best of fifty decisions that judge every build of the platform, in milliseconds."""
    from torchpick.decide import several
    from torchpick.install.question import answer_request
    from torchpick.model.pick import Request
    from torchpick.run import start_run

    run = start_run(Request(gpus=("sm_61",), driver="580.95.05", platform="linux-x86_64", python="3.12"))
    pick, table = answer_request(run).pick, run.read_table()
    best = float("inf")
    for _ in range(50):
        start = time.perf_counter()
        several.pick(pick.machines, table, pick.wish)
        best = min(best, time.perf_counter() - start)
    return best * 1000


if __name__ == "__main__":
    main()
