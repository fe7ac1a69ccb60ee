"""How long `torchpick install NAME --dry-run` takes beside the installers themselves, each time with empty caches.

    python benchmarks/install_package.py [NAME]

The default index is the user's own and live; a stand-in on loopback plays the wheel host for both sides, so that the
downloads of torch do not count. With uv the rival is `uv pip compile NAME`; with pip it is `pip install --dry-run` of
the answer's pins. NAME is vllm unless given, for an A100 with driver 535. Interleaved rounds (ROUNDS).
The aim: at most 1.5 x. Beside them `torchpick plan NAME`, whose aim is one second.
"""

from __future__ import annotations

import json
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
_COLD = 'new=$(mktemp -d) && UV_CACHE_DIR=$new/uv TORCHPICK_CACHE_DIR=$new/ours "$@" && rm -rf "$new"'


def cold(command: list[str]) -> list[str]:
    """The command with caches of its own that are empty (pip's is switched off)."""
    return ["sh", "-c", _COLD, "sh", *command]


def compared(name: str, folder: Path, environ: Mapping[str, str]) -> None:
    programs = interleaved.environment("uv") / "bin"
    uv, torchpick = str(programs / "uv"), str(programs / "torchpick")
    target = folder / "target"
    subprocess.run([uv, "venv", "--quiet", "--seed", str(target)], check=True, env=environ)
    python = str(target / "bin" / "python")
    (folder / "needs.txt").write_text(f"{name}\n", encoding="utf-8")
    install = [torchpick, "install", name, "--dry-run", "--python", python, *GPU, "--quiet", "--installer"]
    plan = [torchpick, "plan", name, *GPU, "--python", python, "--quiet"]
    answer = json.loads(subprocess.run([*plan, "--json"], env=environ, stdout=subprocess.PIPE, check=True).stdout)
    pins, pages = answer["stack"]["requirements"], ["--extra-index-url", answer["stack"]["index_url"]]
    commands = {
        "uv pip compile": [uv, "pip", "compile", "--quiet", "--python", python, str(folder / "needs.txt")],
        "torchpick install, uv": [*install, "uv"],
        "pip install --dry-run": [python, "-m", "pip", "install", "--quiet", "--dry-run", *pages, *pins],
        "torchpick install, pip": [*install, "pip"],
        "torchpick plan": plan,
    }
    for command in commands.values():  # one that fails would be quick
        subprocess.run(cold(command), env=environ, stdout=subprocess.DEVNULL, check=True)
    times = interleaved.medians({who: cold(command) for who, command in commands.items()}, ROUNDS, environ)
    for tool, rival in (("uv", "uv pip compile"), ("pip", "pip install --dry-run")):
        print(interleaved.table({who: times[who] for who in (rival, f"torchpick install, {tool}")}, rival))
    print(f"torchpick plan {name}: {times['torchpick plan']:.2f} s (aim: 1)")


def main(words: list[str]) -> int:
    with TemporaryDirectory(prefix="torchpick-bench-") as place:
        folder = Path(place)
        authority = Authority.make(folder, (WHEEL_HOST, FILE_HOST))
        site = wheelhost.stocked(f"cp{sys.version_info[0]}{sys.version_info[1]}")
        with Loopback({WHEEL_HOST: site, FILE_HOST: site}, authority.tls, leads_on=True).running() as server:
            compared(words[0] if words else "vllm", folder, variables(folder, server, authority))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
