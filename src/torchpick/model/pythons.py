"""Pythons as a person writes them (`3.12`, `3.14t`), their tags (`cp312`), and what markers (PEP 508) ask of them."""

from __future__ import annotations

from torchpick.model.machine import Platform, Python
from torchpick.model.versions import check_bounds, remembered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# The first part of a wheel's Python tag, by the interpreter's own name.
IMPLEMENTATIONS = {"cpython": "cp", "pypy": "pp", "graalpy": "graalpy"}
_VERSION = r"([1-9])\.(\d{1,2})(\.\d{1,3})?(t?)"


def version_of(text: str | None) -> Python | None:
    """`3.12`, `3.12.4`, `3.14t`; None for what is a path or a command."""
    import re

    match = re.fullmatch(_VERSION, (text or "").strip(), re.ASCII)
    if match is None:
        return None
    version = f"{match[1]}.{int(match[2])}"
    return Python(version, free_threaded=bool(match[4]), exact=match[3] and version + match[3])


def python_name(tag: str) -> str:
    """`cp314t` → `Python 3.14t`."""
    names = {"cp": "Python", "pp": "PyPy"}
    digits = tag[2:].rstrip("t")
    free = "t" if tag.endswith("t") else ""
    return f"{names.get(tag[:2], tag[:2])} {digits[:1]}.{digits[1:]}{free}" if digits else tag


def python_order(tag: str) -> tuple[bool, int]:
    """The newest ordinary interpreter, not a free-threaded one."""
    digits = tag[2:].rstrip("t")
    return (not tag.endswith("t"), int(digits[:9]) if digits.isdecimal() else 0)


@remembered  # few sets of tags, many builds
def python_span(tags: tuple[str, ...]) -> str:
    """`3.9 to 3.13, 3.13t`; a gap stays a gap: `3.6 to 3.8, 3.14`."""
    runs: list[list[str]] = []
    for tag in sorted((tag for tag in tags if not tag.endswith("t")), key=python_order):
        step = 310 - 39 if tag == "cp310" else 1  # from cp39 the digits jump
        if runs and python_order(tag)[1] == python_order(runs[-1][-1])[1] + step:
            runs[-1].append(tag)
        else:
            runs.append([tag])
    words = [_plain(run[0]) if len(run) == 1 else f"{_plain(run[0])} to {_plain(run[-1])}" for run in runs]
    return ", ".join([*words, *(_plain(tag) for tag in tags if tag.endswith("t"))]) or "none"


def _plain(tag: str) -> str:
    return python_name(tag).removeprefix("Python ")


_SYSTEMS = {
    "linux": ("linux", "Linux", "posix"),
    "windows": ("win32", "Windows", "nt"),
    "macos": ("darwin", "Darwin", "posix"),
}
# What holds nowhere (an override with it keeps uv from installing a package at all), and what holds everywhere.
NEVER, ALWAYS = "python_version < '0'", "python_version >= '0'"
_IMPLEMENTATIONS = {"cp": ("cpython", "CPython"), "pp": ("pypy", "PyPy")}
# What platform.machine() says on Windows.
_WINDOWS_CPUS = {"x86_64": "AMD64", "arm64": "ARM64"}


def marker_facts(
    version: str, full_version: str | None = None, platform: Platform | None = None, implementation: str = "cp"
) -> Mapping[str, str]:
    """The variables that markers ask for; without a platform, that of this computer holds."""
    full = full_version if full_version is not None and full_version.startswith(f"{version}.") else f"{version}.0"
    name, called = _IMPLEMENTATIONS.get(implementation, (implementation, implementation))
    variables = {
        "python_version": version,
        "python_full_version": full,
        "implementation_name": name,
        "platform_python_implementation": called,
        "extra": "",
    }
    if implementation == "cp":
        variables["implementation_version"] = full
    if platform is not None:
        system = _SYSTEMS.get(platform.os, (platform.os, platform.os, "posix"))
        variables["sys_platform"], variables["platform_system"], variables["os_name"] = system
        cpus = _WINDOWS_CPUS if platform.os == "windows" else {}
        variables["platform_machine"] = cpus.get(platform.cpu, platform.cpu)
    return variables


def marker_applies(marker: str, environment: Mapping[str, str]) -> bool:
    """Whether the marker holds; one that is not valid counts as holding, as the installer reports it."""
    if not marker:
        return True
    from packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName

    try:
        check_bounds(marker)
        return Marker(marker).evaluate(dict(environment))
    except (InvalidMarker, UndefinedComparison, UndefinedEnvironmentName, KeyError, ValueError):
        return True
