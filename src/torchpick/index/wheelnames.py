"""What file names say: wheels, which Pythons and platforms they are for, libraries, compilers. Pure."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import product
from math import prod
from typing import NamedTuple

from torchpick.model.machine import Platform
from torchpick.model.versions import check_bounds, normal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packaging.version import Version


# No longer than the names that file systems have, and no path.
_MOST_NAME = 255
_SDIST = re.compile(r"([A-Za-z0-9][A-Za-z0-9_.+!-]{0,240})-([A-Za-z0-9_.+!]{1,240})\.(?:tar\.gz|zip)")
_PART = "([A-Za-z0-9_.!+]+)"
_WHEEL = re.compile(rf"([A-Za-z0-9][A-Za-z0-9_.]*)-{_PART}(?:-[0-9][A-Za-z0-9_.]*)?-{_PART}-{_PART}-{_PART}\.whl")
# More tags than any wheel was made for.
_MOST_TAGS = 256
_CODE = re.compile(r"\.(so(\.\d+)*|dll|pyd|cubin|fatbin)$", re.IGNORECASE)
# What turns source into GPU code on the user's machine: NVIDIA's assembler beside triton, bindings of NVRTC in cupy
# and numba, NVVM. The name of the file is the evidence, and it is shown.
_COMPILER = re.compile(
    r"(^|/)(ptxas(\.exe)?|(lib)?_?nvrtc[^/]*\.(so|pyd|dll|py|pyx)[.\d]*|(lib)?nvvm[^/]*\.(so|dll)[.\d]*)$"
)


class FileName(NamedTuple):
    """The parts of a file's name, `+` and project spelled as PEP 440 and 503 do; that of an sdist has no tags."""

    project: str
    version: str
    python: str = ""
    abi: str = ""
    platform: str = ""

    @property
    def is_wheel(self) -> bool:
        return self.python != ""


def parse_file(file: str) -> FileName | None:
    """The parts of the name of a wheel or an sdist; None for any other."""
    match = None if file.endswith(".whl") else _SDIST.fullmatch(file)
    if match is None:
        return parse(file)
    with suppress(ValueError):
        parsed_version(match[2])
        return FileName(normal(match[1]), match[2])
    return None


def parse(file: str) -> FileName | None:
    """The parts of a wheel's name; None if it is not one."""
    match = _WHEEL.fullmatch(file)
    if match is None or len(file) > _MOST_NAME:
        return None
    name, text, *tags = match.groups()
    if "__" in name or prod(tag.count(".") + 1 for tag in tags) > _MOST_TAGS:
        return None
    # `_` may part a pre-release (`1.0_rc1`); where it cannot, it is an old way to write the `+` of a local version.
    for version in (text, text.replace("_", "+", 1)):
        with suppress(ValueError):
            parsed_version(version)
            return FileName._make(map(sys.intern, (normal(name), version, *tags)))
    return None


@lru_cache(maxsize=1 << 14)
def parsed_version(text: str) -> Version:
    check_bounds(text)
    from packaging.version import Version  # what reads a library does without

    return Version(text)


@lru_cache(maxsize=1 << 14)
def normal_version(text: str) -> str:
    """The version as PEP 440 spells it."""
    return str(parsed_version(text))


def may_hold_code(path: str) -> bool:
    return _CODE.search(path) is not None


def compilers(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(path for path in paths if _COMPILER.search(path)))[:8]


def platform_of(tag: str) -> str | None:
    """`manylinux_2_28_x86_64` → `linux-x86_64`; None for a platform that PyTorch is not built for."""
    for part in tag.split("."):
        if part.startswith(("manylinux", "linux")):
            for cpu in ("x86_64", "aarch64", "s390x"):
                if part.endswith(cpu):
                    return f"linux-{cpu}"
        if part in ("win_amd64", "win_arm64"):
            return "windows-x86_64" if part == "win_amd64" else "windows-arm64"
        if part.startswith("macosx"):
            return "macos-arm64" if part.endswith("arm64") else "macos-x86_64" if part.endswith("x86_64") else None
    return None


def glibc_of(tag: str) -> str | None:
    """The C library that a tag promises to do with: `manylinux_2_28_x86_64` → `2.28`."""
    floors = []
    for part in tag.split("."):
        if match := re.match(r"manylinux_2_(\d+)_", part):
            floors.append(int(match[1]))
        else:
            floors += [minor for minor, name in _OLD.items() if part.startswith(f"{name}_")]
    return f"2.{min(floors)}" if floors else None


# Newer than any C library that is out; what a machine of unknown age is taken for.
_NEWEST_GLIBC = "2.60"
_NEWEST_MUSL = 9
_NEWEST_MACOS = (26, 0)
# PEP 513, 571 and 599: the old names, and the C library each stands for.
_OLD = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}


def rank(wheel: FileName, python: str, platform: Platform) -> int | None:
    """How well the wheel suits, 0 the best; None where that Python (`cp312`, `cp314t`) cannot take it."""
    return _rank(wheel.python, wheel.abi, wheel.platform, python, platform)


@lru_cache(maxsize=4096)  # a page has thousands of files, and few tags
def _rank(pythons: str, abis: str, platforms: str, python: str, platform: Platform) -> int | None:
    ranks = ranks_of(python, platform)
    tags = product(pythons.split("."), abis.split("."), platforms.split("."))
    return min((ranks[text] for text in ("-".join(tag).lower() for tag in tags) if text in ranks), default=None)


@lru_cache(maxsize=8)
def ranks_of(python: str, platform: Platform) -> Mapping[str, int]:
    version = version_of(python)
    mac = platform.os == "macos"
    from packaging import tags

    platforms = [*(tags.mac_platforms(_NEWEST_MACOS, platform.cpu) if mac else _platforms(platform))]
    own = tags.cpython_tags(version, [f"{python}m" if version < (3, 8) else python], platforms)
    both = (*own, *tags.compatible_tags(version, python.rstrip("t"), platforms))
    return {tag: rank for rank, tag in enumerate(dict.fromkeys(map(str, both)))}


def version_of(python: str) -> tuple[int, int]:
    """`cp312` → (3, 12)."""
    digits = python.strip("abcdefghijklmnopqrstuvwxyz")
    return (int(digits[0]), int(digits[1:] or 0)) if digits.isdigit() else (3, 0)


def _platforms(platform: Platform) -> Iterator[str]:
    cpu = platform.cpu
    if platform.os == "windows":
        yield "win_amd64" if cpu == "x86_64" else f"win_{cpu}"
    else:
        yield f"linux_{cpu}"  # first, as with packaging: what was built for this machine
        if platform.libc == "musl":
            yield from (f"musllinux_1_{minor}_{cpu}" for minor in range(_NEWEST_MUSL, -1, -1))
        else:
            newest = int((platform.glibc or _NEWEST_GLIBC).split(".")[1])
            for minor in range(min(newest, 999), 4, -1):
                yield f"manylinux_2_{minor}_{cpu}"
                if minor in _OLD and (cpu == "x86_64" or minor == 17):
                    yield f"{_OLD[minor]}_{cpu}"
