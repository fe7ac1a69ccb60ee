"""Where things are: the shipped table, on disk or in the one-file program, a newer torchpick-data, the cache."""

from __future__ import annotations

import os
import sys

from torchpick.errors import CompatError, TorchpickError
from torchpick.model.build import WHEEL_HOST
from torchpick.model.fields import Fields, ShapeError, loads
from torchpick.model.noun import Noun
from torchpick.model.table import is_day

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# The importer of a program that runs from a zip archive knows the archive and reads from it; no other has it.
_LOADER = globals().get("__loader__")
ARCHIVE: str | None = getattr(_LOADER, "archive", None)

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def compat_dir(environ: Mapping[str, str]) -> str:
    """TORCHPICK_COMPAT_DIR, else a newer torchpick-data, else the table that came with torchpick."""
    given = environ.get("TORCHPICK_COMPAT_DIR")
    if given:
        if not os.path.isdir(given):
            hint = "unset TORCHPICK_COMPAT_DIR, or point it at a folder of compat files"
            raise CompatError("there is no such folder", file=given, path="", hint=hint)
        return given
    data = data_package.look()
    return shipped_dir() if data is None or data.folder is None else data.folder


def data_ignored(environ: Mapping[str, str]) -> str | None:
    """Why an installed torchpick-data does not answer; None where it does or where there is none."""
    data = None if environ.get("TORCHPICK_COMPAT_DIR") else data_package.look()
    return None if data is None else data.ignored


def shipped_dir() -> str:
    """The table that came with torchpick: beside the package (a wheel), else in the checkout (an editable install)."""
    checkout = os.path.dirname(os.path.dirname(_PACKAGE))
    for folder in (os.path.join(_PACKAGE, "compat"), os.path.join(checkout, "compat")):
        if is_folder(folder):
            return folder
    raise TorchpickError("the compat table is missing from this installation", hint="reinstall torchpick-cli")


class DataPackage:
    """The distribution torchpick-data, in the folder that torchpick is installed in; looked at once, by one stat."""

    __slots__ = ("_beside", "_looked", "_table")

    def __init__(self, beside: str) -> None:
        self._beside = beside
        self._looked = False
        self._table: DataTable | None = None

    def look(self) -> DataTable | None:
        """Its table, or why it is not taken; None where it is not installed."""
        if not self._looked:
            self._looked = True
            if os.path.isdir(self._beside):
                self._table = judged(self._beside, read(os.path.join(shipped_dir(), "date.json")))
        return self._table


def cache_dir(environ: Mapping[str, str], platform: str = sys.platform) -> str:
    """TORCHPICK_CACHE_DIR, else torchpick's folder in the platform's own cache folder. It may not exist yet."""
    given = environ.get("TORCHPICK_CACHE_DIR")
    if given:
        return os.path.abspath(given)
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


def _is_inside(path: str) -> bool:
    return ARCHIVE is not None and path.startswith(ARCHIVE + os.sep)


def is_folder(path: str) -> bool:
    return bool(names(path)) if _is_inside(path) else os.path.isdir(path)


def is_file(path: str) -> bool:
    if not _is_inside(path):
        return os.path.isfile(path)
    try:
        read(path)
    except OSError:
        return False
    return True


def read(path: str, most: int = -1) -> bytes:
    """The file's bytes, `most` of them at the most; OSError where it cannot be read."""
    if _is_inside(path) and _LOADER is not None:
        data: bytes = _LOADER.get_data(path)
        return data if most < 0 else data[:most]
    with open(path, "rb") as stream:
        return stream.read(most)


def names(folder: str) -> list[str]:
    """The names of the files right inside a folder, in order."""
    if not _is_inside(folder):
        return sorted(os.listdir(folder))
    listing = getattr(_LOADER, "names", None)  # the single-file selector lists what it carries itself
    if listing is not None:
        return [str(name) for name in listing(folder)]
    from zipfile import ZipFile

    start = folder[len(str(ARCHIVE)) + 1 :].replace(os.sep, "/") + "/"
    with ZipFile(str(ARCHIVE)) as archive:
        inside = [name[len(start) :] for name in archive.namelist() if name.startswith(start)]
    return sorted(name for name in inside if name and "/" not in name)


data_package = DataPackage(os.path.join(os.path.dirname(_PACKAGE), "torchpick_data"))

SCHEMA = 1
# Beside the table in the package: its date, and every file with its size.
CONTENTS = "contents.json"
_REMEDY = "install a newer one, or uninstall it"


class DataTable(Noun):
    """The folder of its table where that is taken, or why it is not; neither where there is none or it is no newer."""

    folder: str | None = None
    ignored: str | None = None


def judged(package: str, own_date: bytes) -> DataTable:
    """Hold the package against the `date.json` of the table that came with torchpick."""
    folder = os.path.join(package, "compat")
    try:
        contents = _read(os.path.join(package, CONTENTS))
        if contents.number("schema") != SCHEMA:
            return _ignored(f"is ignored: its schema is {contents.number('schema')}, not {SCHEMA}")
        date = contents.text("date")
        if not is_day(date):
            raise contents.fail("date", "must be a date such as 2026-11-22")
        own = Fields(loads(own_date)).text("date")
        if date < own:
            return _ignored(f"of {date} is ignored: torchpick came with a table of {own}")
        _check(folder, contents.object("files"))
    except OSError as error:
        return _ignored(f"is ignored, as it is damaged ({os.path.basename(str(error.filename))}: {error.strerror})")
    except ShapeError as error:
        return _ignored(f"is ignored, as it is damaged ({error})")
    return DataTable(folder) if date > own else DataTable()


def _ignored(why: str) -> DataTable:
    return DataTable(ignored=f"torchpick-data {why}; {_REMEDY}")


def _read(file: str) -> Fields:
    with open(file, "rb") as stream:
        return Fields(loads(stream.read()))


def _check(folder: str, sizes: Fields) -> None:
    """Hold every file against its size; to read them all would cost more than the answer."""
    for name in sizes.names():
        size = os.stat(os.path.join(folder, *name.split("/"))).st_size
        if size != sizes.number(name):
            raise sizes.fail(name, f"has {size} bytes instead of {sizes.number(name)}")
