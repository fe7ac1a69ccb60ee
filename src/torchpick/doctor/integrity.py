"""Which of the files that an installer recorded are gone: whole folders are looked at, not file after file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from torchpick.environment import distributions
from torchpick.environment.distributions import Distribution
from torchpick.model.noun import Noun

# What an import needs. Headers, stubs, licences and data are taken out of images on purpose.
_CODE = re.compile(r"\.(?:py|so(?:\.[0-9]+)*|dll|pyd|dylib)$", re.IGNORECASE)
_SPARE = re.compile(r"(?:^|/)(?:tests?|testing|include|share|examples?|benchmarks?|docs?)/")
# torch 2.9.1 records code in some 900 folders; beyond so many a project is sampled.
MOST_FOLDERS = 4000
_MOST_SHOWN = 50


def gone(one: Distribution) -> tuple[str, ...]:
    """Recorded code that is not there: a folder that is gone is named once, with a slash behind it."""
    if any(fault.startswith("RECORD") for fault in one.faults):
        return ()
    wanted: dict[str, set[str]] = {}
    for path in distributions.files(one):
        if _CODE.search(path) and not _SPARE.search(path) and not path.startswith(("/", "..")):
            folder, _, name = path.rpartition("/")
            wanted.setdefault(folder, set()).add(name)
    found: dict[str, None] = {}
    for folder in _sample(sorted(wanted, key=lambda folder: (folder.count("/"), folder))):
        if any(folder.startswith(name) for name in found if name.endswith("/")):
            continue
        here = _listed(os.path.join(one.folder, folder))
        if here.is_gone:
            found[_topmost(one.folder, folder) + "/"] = None
        if here.is_gone or not here.is_readable:
            continue
        # A source may have been compiled and left out (`compileall -b`).
        found |= dict.fromkeys(
            f"{folder}/{name}" if folder else name
            for name in sorted(wanted[folder] - here.names)
            if not (name.endswith(".py") and f"{name}c" in here.names)
        )
    return tuple(found)[:_MOST_SHOWN]


def _sample(folders: list[str]) -> Iterable[str]:
    if len(folders) <= MOST_FOLDERS:
        return folders
    half = MOST_FOLDERS // 2
    rest = folders[half:]
    return [*folders[:half], *rest[:: len(rest) // half + 1]]


class FolderNames(Noun):
    """The names in a folder. `is_gone`: it is not there; one that may not be read is not gone, and has no names."""

    names: frozenset[str] = frozenset()
    is_gone: bool = False
    is_readable: bool = True


def _listed(folder: str) -> FolderNames:
    try:
        return FolderNames(frozenset(os.listdir(folder)))
    except (FileNotFoundError, NotADirectoryError):
        return FolderNames(is_gone=True)
    except OSError:
        return FolderNames(is_readable=False)


def _topmost(site: str, folder: str) -> str:
    """The first folder on the way that is gone."""
    parts = folder.split("/")
    for count in range(1, len(parts)):
        if not os.path.isdir(os.path.join(site, *parts[:count])):
            return "/".join(parts[:count])
    return folder
