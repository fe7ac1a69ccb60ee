"""How long `torchpick install NAME --dry-run` takes beside `uv pip compile NAME`, and what it reads of unknown wheels.

    python benchmarks/install_package.py [NAME [NAME==VERSION]]

Both ask your own index with warm caches, in interleaved rounds (ROUNDS); NAME is vllm unless given. The second one,
vllm==0.27.0, is one that the table lacks, and is asked for once with an empty cache. The aims: at most 2 x the time of
`uv pip compile`, and at most 60 MB read.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import interleaved

ROUNDS = int(os.environ.get("ROUNDS", "5"))
GPU = ("--gpu", "a100", "--driver", "580.95.05", "--installer", "uv", "--quiet")


def read_of(torchpick: list[str], spec: str, cache: Path) -> tuple[float, list[str]]:
    """Megabytes that one run read of wheels, and the wheels."""
    env = {**os.environ, "TORCHPICK_CACHE_DIR": str(cache)}
    subprocess.run([*torchpick, spec, *GPU], env=env, stdout=subprocess.DEVNULL, check=True)
    readings = [json.loads(path.read_text(encoding="utf-8"))["reading"] for path in (cache / "readings").glob("*.json")]
    return sum(each["bytes_read"] for each in readings) / 1e6, [each["file"] for each in readings]


def main(words: list[str]) -> int:
    name = words[0] if words else "vllm"
    unknown = words[1] if len(words) > 1 else "vllm==0.27.0"
    folder = interleaved.environment("uv")
    with tempfile.TemporaryDirectory() as place:
        target, needs = Path(place) / "venv", Path(place) / "needs.txt"
        subprocess.run([str(folder / "bin" / "uv"), "venv", "--quiet", str(target)], check=True)
        python = str(target / "bin" / "python")
        needs.write_text(f"{name}\n", encoding="utf-8")
        torchpick = [str(folder / "bin" / "torchpick"), "install", "--dry-run", "--python", python]
        uv = [str(folder / "bin" / "uv"), "pip", "compile", "--quiet", "--python", python, str(needs)]
        for command in ([*torchpick, name, *GPU], uv):  # one that fails would be quick
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        times = interleaved.medians({"uv pip compile": uv, "torchpick": [*torchpick, name, *GPU]}, ROUNDS)
        print(f"{name}, a dry run (aim: 2 x)")
        print(interleaved.table(times, "uv pip compile"))
        megabytes, files = read_of(torchpick, unknown, Path(place) / "cache")
        print(f"{unknown}, unknown to the table: {megabytes:.1f} MB read of {len(files)} wheels (aim: 60 MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
