"""Whether the table of an installed torchpick-data may answer: whole, of our schema, and newer than our own."""

from __future__ import annotations

import os

from torchpick.decide.freshness import is_day
from torchpick.model.fields import Fields, ShapeError, loads
from torchpick.model.noun import Noun

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
