"""How long `torchpick plan NAME` and `install NAME --dry-run` take beside installers, with empty caches and with full.

    python benchmarks/install_package.py [NAME …]

The default index is the user's own and live; a stand-in on loopback plays the wheel host for all of them, so that the
downloads of torch do not count. The rivals resolve the same name: `uv pip compile NAME`, `pip install --dry-run NAME`.
NAME is vllm, which the table knows, and lerobot, which it does not, unless given, for an A100 with driver 535.
Interleaved rounds (ROUNDS); WITHOUT_PIP=1 leaves pip out, which takes a minute where nothing is kept.
The aims, on an idle machine: a known name 0.3 s, an unknown one with 60 projects 3 s, and 0.5 s once its pages are
kept; `install --dry-run` 0.2 s more.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import interleaved
from tests.fakes.indexes import FILE_HOST, WHEEL_HOST
from tests.fakes.loopback import Authority, Loopback
from tests.world import wheelhost
from tests.world.__main__ import variables

ROUNDS = int(os.environ.get("ROUNDS", "5"))
GPU = ("--gpu", "a100", "--driver", "535.183.01")
_CACHES = "UV_CACHE_DIR=$new/uv PIP_CACHE_DIR=$new/pip TORCHPICK_CACHE_DIR=$new/ours"
_COLD = f'new=$(mktemp -d) && {_CACHES} "$@"; status=$?; rm -rf "$new"; exit $status'
_WARM = f'new=$1 && shift && {_CACHES} exec "$@"'


def cold(command: list[str]) -> list[str]:
    """The command with caches of its own that are empty."""
    return ["sh", "-c", _COLD, "sh", *command]


def compared(name: str, folder: Path, environ: Mapping[str, str], programs: Path) -> None:
    uv, torchpick, python = str(programs / "uv"), str(programs / "torchpick"), str(folder / "target" / "bin" / "python")
    if not (folder / "target").exists():
        subprocess.run([uv, "venv", "--quiet", "--seed", str(folder / "target")], check=True, env=environ)
    needs = folder / f"{name}.txt"
    needs.write_text(f"{name}\n", encoding="utf-8")
    ours = [name, *GPU, "--python", python, "--quiet"]
    rivals = {"uv pip compile": [uv, "pip", "compile", "--quiet", "--python", python, str(needs)]}
    if not os.environ.get("WITHOUT_PIP"):
        rivals["pip install --dry-run"] = [python, "-m", "pip", "install", "--quiet", "--dry-run", name]
    commands = {
        **rivals,
        "torchpick plan": [torchpick, "plan", *ours],
        "torchpick install --dry-run": [torchpick, "install", *ours, "--dry-run", "--installer", "uv"],
    }
    for command in commands.values():  # one that fails would be quick
        subprocess.run(cold(command), env=environ, stdout=subprocess.DEVNULL, check=True)
    kept = str(folder / "kept")
    lines = {f"{who}, nothing kept": cold(command) for who, command in commands.items()}
    lines |= {f"{who}, kept": ["sh", "-c", _WARM, "sh", kept, *command] for who, command in commands.items()}
    for processor in (False, True):
        times = interleaved.medians(lines, ROUNDS, environ, processor=processor)
        print(f"{name}, {'processor time' if processor else 'by the clock'}")
        for state in ("nothing kept", "kept"):
            part = {who: value for who, value in times.items() if who.endswith(f", {state}")}
            print(interleaved.table(part, f"uv pip compile, {state}"))
            print(f"torchpick plan, {state}: {part[f'torchpick plan, {state}']:.2f} s")


def main(words: list[str]) -> int:
    with TemporaryDirectory(prefix="torchpick-bench-") as place:
        folder = Path(place)
        authority = Authority.make(folder, (WHEEL_HOST, FILE_HOST))
        site = wheelhost.stocked(f"cp{sys.version_info[0]}{sys.version_info[1]}")
        with Loopback({WHEEL_HOST: site, FILE_HOST: site}, authority.tls, leads_on=True).running() as server:
            environ, programs = variables(folder, server, authority), interleaved.environment("uv") / "bin"
            for name in words or ["vllm", "lerobot"]:
                compared(name, folder, environ, programs)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
