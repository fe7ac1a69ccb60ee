"""What changes in the texts on the day of the first release, done at once: how to install torchpick, and its address.

Use: scripts/say-published OWNER/NAME, the project's own place on GitHub. It writes nothing where a text is not as it
expects; git takes it back.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = "python -m pip install torchpick-cli"
# What stands for the project's own address, in two parts: who replaces it everywhere leaves this.
_ADDRESS = "github.com/" + "example/torchpick"
# File → what it says before the first release, and what from then on. The address stands for itself everywhere.
TEXTS: dict[str, tuple[tuple[str, str], ...]] = {
    "src/torchpick/model/__init__.py": (
        ("It is not yet published, so from a checkout; tests", "tests"),
        ('"python -m pip install ."', f'"{NAMED}"'),
    ),
    "README.md": (
        (
            f"$ git clone https://{_ADDRESS}\n…\n$ cd torchpick\n$ scripts/start\n…\n",
            f"$ {NAMED}\n…\n$ torchpick\n…\n",
        ),
        (
            "`scripts/start` makes an environment and answers for this machine; after `. .venv/bin/activate` the",
            "It answers for this machine (`uvx --from torchpick-cli torchpick` without an environment); the",
        ),
        (
            "torchpick is not published yet, and **the `torchpick` on",
            "It is called `torchpick-cli`. **The `torchpick` on",
        ),
        ("one.** This one will be called `torchpick-cli` there.", "one.**"),
    ),
    "docs/users.md": (
        ("In a checkout of torchpick, with Python 3.10 or newer:", "With Python 3.10 or newer:"),
        ("$ python -m pip install .\n", f"$ {NAMED}\n"),
        ("Do not install it by name: it is not published yet, and the name", "Do not install the other one: the name"),
    ),
    "docs/windows.md": (
        (
            "From a checkout of torchpick ([`git clone`](../README.md#run-it)), with the Python launcher `py`:",
            "With the Python launcher `py`:",
        ),
        ("Activate.ps1\npython -m pip install .\n", f"Activate.ps1\n{NAMED}\n"),
        ("activate.bat\npython -m pip install .\n", f"activate.bat\n{NAMED}\n"),
    ),
    "docs/notebooks.md": (
        (
            "in Jupyter, with a checkout of torchpick ([`git clone`](../README.md#run-it)) in the working\nfolder:",
            "in Jupyter:",
        ),
        ("%pip install --quiet ./torchpick\n", "%pip install --quiet torchpick-cli\n"),
    ),
}
# They speak of that address.
_KEEP = ("CONTRIBUTING.md", "tests/")


def main(words: Sequence[str]) -> int:
    if len(words) != 1 or not re.fullmatch(r"[\w-]+/[\w.-]+", words[0]):
        print("error: the project's own place is needed: scripts/say-published OWNER/NAME", file=sys.stderr)
        return 2
    texts = turned(ROOT, words[0])
    if faults := [name for name, text in texts.items() if text is None]:
        print(f"error: not as expected, see scripts/shipping/published.py: {', '.join(faults)}", file=sys.stderr)
        return 1
    for name, text in texts.items():
        (ROOT / name).write_text(text or "", encoding="utf-8")
        print(name)
    return 0


def turned(root: Path, place: str) -> dict[str, str | None]:
    """The files that change with their texts to come; None for one that is not as it was expected."""
    found: dict[str, str | None] = {}
    for name in sorted({*TEXTS, *_addressed(root)}):
        text: str | None = (root / name).read_text(encoding="utf-8")
        for before, after in TEXTS.get(name, ()):
            text = text.replace(before, after) if text is not None and text.count(before) == 1 else None
        found[name] = None if text is None else text.replace(_ADDRESS, f"github.com/{place}")
    return found


def _addressed(root: Path) -> list[str]:
    """The tracked files that lead to the project."""
    line = ["git", "grep", "-lIF", _ADDRESS]
    listed = subprocess.run(line, cwd=root, capture_output=True, text=True, check=False)
    return [name for name in listed.stdout.splitlines() if not name.startswith(_KEEP)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
