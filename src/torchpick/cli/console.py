"""The terminal: whether it is one, how wide it is, and whether colour is wanted."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from torchpick.cli.arguments import Asked
    from torchpick.model.machine import Machine
    from torchpick.model.verdict import Pick, Verdict


def coloured(choice: str, stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """`--color` first, then NO_COLOR, then FORCE_COLOR, then whether the stream is a terminal."""
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and environ.get("TERM") != "dumb"


def tell(pick: Pick, args: Asked) -> None:
    """With --verbose: where each fact came from and what was weighed, on stderr."""
    if args.verbose:
        tell_of(pick.machines, pick.considered)


def tell_of(machines: Sequence[Machine], considered: Sequence[Verdict]) -> None:
    for machine in machines:
        for gpu in machine.gpus:
            _say(f"gpu {gpu.index}: {gpu.label}, from {gpu.source}")
        if machine.driver is not None:
            spoken = f", CUDA {machine.driver.cuda} from {machine.driver.cuda_source}" if machine.driver.cuda else ""
            _say(f"driver: {machine.driver.version} from {machine.driver.source}{spoken}")
        python = machine.python
        _say(f"python: {python.tag}, {python.source}{f', {python.executable}' if python.executable else ''}")
        for note in machine.notes:
            _say(f"{note.code}: {note.text}")
    if considered:
        served = sum(verdict.ok for verdict in considered)
        _say(f"weighed {len(considered)} builds, of which {served} run")


def _say(line: str) -> None:
    from torchpick.emit.text import plain

    print(f"torchpick: {plain(line)}", file=sys.stderr)


def waiting(sources: str) -> None:
    """Said once, where a look at the GPUs takes long and somebody is watching."""
    if sys.stderr.isatty():
        _say(f"waiting for the GPU driver ({sources}) …")


def bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m"


@lru_cache(maxsize=1)  # argparse asks at every flag it is given
def _columns() -> int | None:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except (OSError, ValueError):
        return None


def width(environ: Mapping[str, str] = os.environ) -> int | None:
    """The terminal's width for stdout, or None where the output goes elsewhere and may be as wide as it is."""
    told = environ.get("COLUMNS", "")
    if told.isascii() and told.isdigit() and int(told) > 0:
        return int(told)
    return _columns()
