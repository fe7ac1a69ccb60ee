"""Where things are: the shipped table, on disk or in the one-file program, and the cache."""

from __future__ import annotations

import os
import sys

from torchpick.environment.world import content
from torchpick.errors import CompatError, TorchpickError
from torchpick.model.address import WHEEL_HOST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# The importer of a program that runs from a zip archive knows the archive and reads from it; no other has it.
ARCHIVE: str | None = getattr(globals().get("__loader__"), "archive", None)
# The largest file of ours is under a tenth of this.
_MOST_BYTES = 16 << 20

# As the importer spells it: of `./torchpick.pyz` it knows no other path to what is inside.
PACKAGE = os.path.dirname(os.path.dirname(__file__))


def compat_dir(environ: Mapping[str, str]) -> str:
    """TORCHPICK_COMPAT_DIR, else the table that came with torchpick."""
    folder = environ.get("TORCHPICK_COMPAT_DIR")
    if folder:
        if not os.path.isdir(folder):
            hint = "unset TORCHPICK_COMPAT_DIR, or point it at a folder of compat files"
            raise CompatError("there is no such folder", file=folder, path="", hint=hint)
        return folder
    return shipped_dir()


def shipped_dir() -> str:
    """The table that came with torchpick: beside the package (a wheel), else in the checkout (an editable install)."""
    checkout = os.path.dirname(os.path.dirname(PACKAGE))
    for folder in (os.path.join(PACKAGE, "compat"), os.path.join(checkout, "compat")):
        if ARCHIVE is not None or os.path.isdir(folder):
            return folder
    raise TorchpickError("the compat table is missing from this installation", hint="reinstall torchpick-cli")


def cache_dir(environ: Mapping[str, str], platform: str = sys.platform) -> str:
    """TORCHPICK_CACHE_DIR, else torchpick's folder in the platform's own cache folder. It may not exist yet."""
    folder = environ.get("TORCHPICK_CACHE_DIR")
    if folder:
        return os.path.abspath(folder)
    home = os.path.expanduser("~")
    if platform == "win32":
        base = environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
        return os.path.join(base, "torchpick", "Cache")
    if platform == "darwin":
        return os.path.join(home, "Library", "Caches", "torchpick")
    base = environ.get("XDG_CACHE_HOME") or ""
    return os.path.join(base if os.path.isabs(base) else os.path.join(home, ".cache"), "torchpick")


def base_key(base: str) -> str:
    """What distinguishes the rows of one index from those of another in the cache; nothing for the wheel host's own."""
    base = base.rstrip("/")
    if base == WHEEL_HOST:
        return ""
    from hashlib import sha256

    return sha256(base.encode()).hexdigest()[:16] + "-"


def table_file(cache: str, base: str, channel: str, platform: str) -> str:
    """Where a refresh from this base keeps its rows: a mirror's are no answer about another index."""
    return os.path.join(cache, "table", f"{base_key(base)}{channel}-{platform}.json")


def text_of_ours(*path: str) -> str:
    """A text that is part of the package, by its folders and its name."""
    return read(os.path.join(PACKAGE, *path)).decode()


def read(path: str) -> bytes:
    """The file's bytes; OSError where it cannot be read."""
    if ARCHIVE is None or not path.startswith(PACKAGE):
        return content(path, _MOST_BYTES)
    data: bytes = __loader__.get_data(path)  # type: ignore[name-defined]  # which every module has
    return data
