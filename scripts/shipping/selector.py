"""torchpick_select.py: table.json and a reader of it, as one Python file for other installers to carry."""

from __future__ import annotations

import argparse
import base64
import hashlib
import zlib
from collections.abc import Sequence
from pathlib import Path

from scripts.shipping import data
from torchpick.model import VERSION

ROOT = Path(__file__).parents[2]
_MAIN = Path(__file__).with_name("selector_main.py")
_PLACE = '_HELD = ""\n'
_COLUMNS = 110


def build() -> str:
    """The text of the file; the same for the same checkout."""
    table = data.table_json().encode()
    packed = base64.b85encode(zlib.compress(table, 9)).decode()
    lines = "\n".join(packed[start : start + _COLUMNS] for start in range(0, len(packed), _COLUMNS))
    head = (
        "#!/usr/bin/env python3\n"
        f"# torchpick {VERSION}, https://github.com/example/torchpick: made by scripts/build-selector of table.json\n"
        f"# sha256 {hashlib.sha256(table).hexdigest()}\n"
    )
    before, place, after = _MAIN.read_text(encoding="utf-8").partition(_PLACE)
    if not place:
        raise ValueError(f"{_MAIN.name} has no place for the table")
    return f'{head}{before}_HELD = """\n{lines}\n"""\n{after}'


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="example: scripts/build-selector -o torchpick_select.py"
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=ROOT / "dist" / "torchpick_select.py", help="the file to write"
    )
    args = parser.parse_args(words)
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(build(), encoding="utf-8")
    args.output.chmod(0o755)
    print(f"{args.output}: {args.output.stat().st_size} bytes")
    return 0
