"""Which wheel of a version is read, and what is known of it as one line of evidence. Pure.

The line is that of evidence/packages.jsonl, which scripts/build-packages makes compat/packages from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from email.parser import HeaderParser

from packaging.version import Version

from torchpick.index import wheelnames
from torchpick.index.listing import Link
from torchpick.model.noun import Noun
from torchpick.wheels.library import Library, texts
from torchpick.wheels.reading import WHOLE, Reading

Line = dict[str, object]

# What says which CUDA is linked, and whether torch is.
TELLS = re.compile(r"lib(torch|c10|cu[a-z]|nv|nccl|npp)")
# One wheel of a version is read, for this Python where there is one; its libraries are built from the same kernels.
_PYTHONS = ("cp312", "py3", "cp310", "cp311", "cp39", "cp38")


class SurveyWheel(Noun):
    """One version of a project on one platform: the wheel to read, and what its page says of all of them."""

    link: Link
    pythons: tuple[str, ...]
    platforms: tuple[str, ...]


def wanted(links: Iterable[Link], version: str, platform: str = "linux-x86_64") -> SurveyWheel | None:
    """The wheel of this version for the platform (or for any), CPython 3.12 first; None where there is none."""
    return _one([link for link in links if Version(link.wheel.version) == Version(version)], platform)


def _one(mine: Sequence[Link], platform: str) -> SurveyWheel | None:
    """The same among the wheels of one version."""
    here = [link for link in mine if wheelnames.platform_of(link.wheel.platform) == platform or _of_any(link)]
    if not here:
        return None
    platforms = {"any" if _of_any(link) else wheelnames.platform_of(link.wheel.platform) for link in mine}
    best = min(here, key=lambda link: (_order(link), link.file))
    return SurveyWheel(
        best, tuple(sorted({_python(link) for link in here})), tuple(sorted(name for name in platforms if name))
    )


def _of_any(link: Link) -> bool:
    return link.wheel.platform == "any"


def of_versions(links: Iterable[Link], platform: str) -> tuple[SurveyWheel, ...]:
    """The wheel to read of each version for the platform, the newest version first."""
    versions: dict[tuple[str, Version], list[Link]] = {}
    for link in links:
        if link.yanked is None:
            versions.setdefault((link.wheel.project, Version(link.wheel.version)), []).append(link)
    found = (_one(versions[key], platform) for key in sorted(versions, reverse=True))
    return tuple(one for one in found if one is not None)


def _python(link: Link) -> str:
    """`cp312`; `cp38+` for one that every later CPython loads (abi3, py3)."""
    wheel = link.wheel
    if wheel.abi == "abi3":
        return f"{wheel.python}+"
    if wheel.abi == "none":
        return "any"
    return f"{wheel.python}t" if wheel.abi.endswith("t") else wheel.python


def _order(link: Link) -> tuple[bool, bool, int]:
    """A wheel of this platform before one for any, the usual CPython before the free-threaded one."""
    python = link.wheel.python.partition(".")[0]
    place = _PYTHONS.index(python) if python in _PYTHONS else len(_PYTHONS)
    return _of_any(link), link.wheel.abi.endswith("t"), place


def line(wheel: SurveyWheel, reading: Reading) -> Line:
    """What is known of the wheel, as one line of evidence; `code` is there where all of it was read."""
    link = wheel.link
    headers = HeaderParser().parsestr(reading.metadata or "")
    whole = reading.depth == WHOLE and reading.complete
    code = [code_of(one) for one in reading.libraries if one.holds_code]
    return {
        "file": link.file,
        "sha256": link.sha256,
        "project": link.wheel.project,
        "version": link.wheel.version,
        "requires_python": headers.get("Requires-Python"),
        "requires": headers.get_all("Requires-Dist") or [],
        "pythons": list(wheel.pythons),
        "platforms": list(wheel.platforms),
        "glibc": wheelnames.glibc_of(link.wheel.platform),
        "needed": [name for name in reading.needed if TELLS.match(name)],
        "libraries_unread": reading.unread,
        **({"code": code} if whole else {}),
        "uploaded": link.uploaded,
        "yanked": link.yanked is not None,
        "size": reading.size,
        "bytes_read": reading.bytes_read,
        "requests": reading.requests,
    }


def code_of(one: Library) -> Line:
    return {"path": one.path, "modules": one.code.total, "sass": texts(one.sass), "ptx": texts(one.ptx)}
