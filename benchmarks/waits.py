"""What people wait for beside `url`, in processor time of whole processes, each beside its aim.

    python benchmarks/waits.py [PYTHON]

PYTHON is that of an environment with torch (its wheel alone is enough), for `inspect torch`, which is shown beside a
search for the same bytes through libtorch_cuda.so. The aims, where a bare interpreter takes 10 ms: the page
1.5 s (4.4 before), `list vllm` 0.25 s (0.48), doctor of 400 packages 0.3 s, `torchpick.pick()` in a loop 9 ms (17),
`inspect torch` 1.4 times the search (2.8). `env` is shown as it is at the start of each shell, without a network.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import interleaved

PACKAGES = 400
LOOPS = 100
LOOP = "import torchpick\nfor _ in range({}): torchpick.pick(gpus=['sm_61'], driver='580.95.05')"
SEARCH = """
import mmap, sys
with open(sys.argv[1], "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
    place = data.find(b"\\x50\\xed\\x55\\xba")
    while place >= 0:
        place = data.find(b"\\x50\\xed\\x55\\xba", place + 4)
"""
GPU = ["--gpu", "a100", "--driver", "580.95.05"]


def packages(python: Path, count: int) -> None:
    """So many packages beside each other, each of which requires the five before it."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip())
    for number in range(count):
        folder = site / f"made_{number}-1.{number}.dist-info"
        folder.mkdir()
        requires = "".join(f"Requires-Dist: made-{before}>=1.0\n" for before in range(max(number - 5, 0), number))
        head = f"Metadata-Version: 2.4\nName: made-{number}\nVersion: 1.{number}\nRequires-Python: >=3.9\n{requires}\n"
        (folder / "METADATA").write_text(head + "It is long. " * 500, encoding="utf-8")
        names = [f"made_{number}/module_{each}.py,," for each in range(50)]
        (folder / "RECORD").write_text(
            "\n".join([*names, f"{folder.name}/METADATA,,", f"{folder.name}/RECORD,,"]), "utf-8"
        )
        (folder / "INSTALLER").write_text("pip\n", "utf-8")


def main() -> None:
    folder = interleaved.environment()
    try:
        python, torchpick = folder / "bin" / "python", str(folder / "bin" / "torchpick")
        full = folder / "full"
        subprocess.run([python, "-m", "venv", "--without-pip", full], check=True)
        packages(full / "bin" / "python", PACKAGES)
        commands = {
            "python -c pass": [str(python), "-c", "pass"],
            "torchpick matrix --html -": [torchpick, "matrix", "--html", "-"],
            "torchpick list vllm": [torchpick, "list", "vllm", *GPU],
            f"torchpick doctor, {PACKAGES} packages": [
                torchpick,
                "doctor",
                "--python",
                str(full / "bin" / "python"),
                *GPU,
            ],
            # From its second start, which asks no index any more: the round that is not counted is the first.
            "torchpick env, again": [torchpick, "env", *GPU],
            "one pick()": [str(python), "-c", LOOP.format(1)],
            f"{LOOPS + 1} times pick()": [str(python), "-c", LOOP.format(LOOPS + 1)],
        }
        if len(sys.argv) > 1:
            [library] = Path(sys.argv[1]).parents[1].glob("lib/python*/site-packages/torch/lib/libtorch_cuda.so")
            commands["a search through libtorch_cuda.so"] = [str(python), "-c", SEARCH, str(library)]
            commands["torchpick inspect torch"] = [torchpick, "inspect", "torch", "--python", sys.argv[1], *GPU]
        times = interleaved.medians(commands, 7, processor=True)
    finally:
        shutil.rmtree(folder)
    for name, seconds in times.items():
        print(f"{name:<44}{seconds * 1000:8.0f} ms {seconds / times['python -c pass']:7.1f} x")
    loop = (times[f"{LOOPS + 1} times pick()"] - times["one pick()"]) / LOOPS
    print(f"{'pick() in a loop':<44}{loop * 1000:8.1f} ms {loop / times['python -c pass']:7.2f} x")


if __name__ == "__main__":
    main()
