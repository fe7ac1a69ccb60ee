"""Ask the torchpick-data that is installed beside torchpick, as a torchpick whose own table is older and empty.

Of the same commit the two have the same date, and torchpick would answer out of its own table.

usage: python -m scripts.shipping.data_answers
"""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from torchpick import cli
from torchpick.knowledge import locations

QUESTION = (
    *("url", "--gpu", "GTX 1080 Ti", "--driver", "580.95.05"),
    *("--platform", "linux-x86_64", "--python", "3.12"),
)


def main() -> int:
    with TemporaryDirectory(prefix="torchpick-older-") as older, mock.patch.dict(os.environ) as environ:
        environ.pop("TORCHPICK_COMPAT_DIR", None)
        environ["TORCHPICK_CACHE_DIR"] = os.path.join(older, "cache")
        Path(older, "date.json").write_text('{"schema": 1, "date": "2000-01-01"}', encoding="utf-8")
        with mock.patch.object(locations, "shipped_dir", return_value=older):
            folder, ignored = locations.compat_dir(environ), locations.data_ignored(environ)
            if folder == older:
                print(f"error: {ignored or 'torchpick-data is not installed beside torchpick'}", file=sys.stderr)
                return 1
            with redirect_stdout(StringIO()) as printed:
                status = cli.main(list(QUESTION))
    print(f"{folder}: {printed.getvalue().strip()}")
    if status or "torch==2." not in printed.getvalue():
        print("error: the table does not answer", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
