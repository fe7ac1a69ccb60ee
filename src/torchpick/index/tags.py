"""Which wheels a Python on a platform can take: its tags, the best first, from packaging. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product

from torchpick.index.names import WheelName
from torchpick.model.machine import Platform

# Newer than any C library that is out; what a machine of unknown age is taken for.
_NEWEST_GLIBC = 60
_NEWEST_MUSL = 9
_NEWEST_MACOS = (26, 0)
# PEP 513, 571 and 599: the old names, and the C library each stands for.
_OLD = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
_WINDOWS = {"x86_64": "win_amd64", "arm64": "win_arm64", "i686": "win32"}


def rank(wheel: WheelName, python: str, platform: Platform) -> int | None:
    """How well the wheel suits, 0 the best; None where that Python (`cp312`, `cp314t`) cannot take it."""
    known = _ranks(python, platform)
    tags = product(wheel.python.split("."), wheel.abi.split("."), wheel.platform.split("."))
    ranks = [known[text] for text in ("-".join(tag).lower() for tag in tags) if text in known]
    return min(ranks) if ranks else None


@lru_cache(maxsize=8)
def _ranks(python: str, platform: Platform) -> Mapping[str, int]:
    from packaging import tags

    version = version_of(python)
    platforms = list(_platforms(platform))
    if python.startswith("cp"):
        own = tags.cpython_tags(version, [_abi(python, version)], platforms)
    else:
        own = tags.generic_tags(python, [f"pypy{version[0]}{version[1]}_pp73"], platforms)
    found: dict[str, int] = {}
    for tag in (*own, *tags.compatible_tags(version, python.rstrip("t"), platforms)):
        found.setdefault(str(tag), len(found))
    return found


def version_of(python: str) -> tuple[int, int]:
    """`cp312` → (3, 12)."""
    digits = python.strip("abcdefghijklmnopqrstuvwxyz")
    return (int(digits[0]), int(digits[1:] or 0)) if digits.isdigit() else (3, 0)


def _abi(python: str, version: tuple[int, int]) -> str:
    return f"{python}m" if version < (3, 8) else python


def _platforms(platform: Platform) -> Iterator[str]:
    cpu = platform.cpu
    if platform.os == "windows":
        yield _WINDOWS.get(cpu, f"win_{cpu}")
    elif platform.os == "macos":
        from packaging.tags import mac_platforms

        yield from mac_platforms(_NEWEST_MACOS, cpu)
    else:
        yield f"linux_{cpu}"  # first, as with packaging: what was built for this machine
        if platform.libc == "musl":
            yield from (f"musllinux_1_{minor}_{cpu}" for minor in range(_NEWEST_MUSL, -1, -1))
        else:
            for minor in range(_minor(platform.glibc), 4, -1):
                yield f"manylinux_2_{minor}_{cpu}"
                if minor in _OLD and (cpu in ("x86_64", "i686") or minor == 17):
                    yield f"{_OLD[minor]}_{cpu}"


def _minor(glibc: str | None) -> int:
    """The minor version of glibc 2."""
    _, _, minor = (glibc or f"2.{_NEWEST_GLIBC}").partition(".")
    minor = minor.partition(".")[0]
    return min(int(minor), 999) if minor.isdigit() and len(minor) < 4 else _NEWEST_GLIBC
