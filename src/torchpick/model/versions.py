"""Versions, specifiers, markers and names of projects, as far as drivers, CUDA and PyTorch releases use them.

Everyday specifiers (`<2.12`, `~=2.7.0`, `==2.6.*`) are read here, every other by packaging, whose specifiers take as
long to import as two and a half bare interpreters. Everyday versions are plain releases with or without a local label.
tests/laws/test_specifier_laws.py compares the two.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, TypeVar

    from packaging.requirements import Requirement

    K = TypeVar("K")
    V = TypeVar("V")
    Admits = Callable[[str], bool]
    Clause = tuple[Callable[[Any, Any], bool], tuple[int, ...]]

# More than any table asks of one question; after that many it is all looked up again.
_MOST = 4096
_RELEASE = r"(?a)(\d+(?:\.\d+)*)(?:(a|b|rc|\.dev|\.post)(\d+))?(?:\+.*)?"
_PHASES = {".dev": -4, "a": -3, "b": -2, "rc": -1, None: 0, ".post": 1}


class _Remembered(dict):  # type: ignore[type-arg]  # a type variable is not defined where a program runs
    """Answers by question; a new question is looked up. Indexing it takes no step in Python, as with lru_cache."""

    def __init__(self, look: Callable[[Any], Any]) -> None:
        super().__init__()
        self._look = look

    def __missing__(self, of: object) -> object:
        if len(self) >= _MOST:
            self.clear()
        answer = self[of] = self._look(of)
        return answer


def remembered(look: Callable[[K], V]) -> Callable[[K], V]:
    """What functools.lru_cache is for, without the eight files that functools loads."""
    return _Remembered(look).__getitem__


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Every value under its key, both in the order in which they came."""
    found: dict[K, list[V]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


@remembered
def pattern(text: str) -> re.Pattern[str]:
    """A regular expression, where it is first used: the module that makes it costs a start two milliseconds."""
    import re

    return re.compile(text)


@remembered
def numbers(text: str) -> tuple[int, ...]:
    """`580.95.05` → (580, 95, 5); raises ValueError if a part is not a number."""
    return tuple(int(part) for part in text.split("."))


@remembered
def is_dotted(text: str) -> bool:
    """Whether the text is plain numbers between dots, at most six of at most nine digits."""
    parts = text.split(".")
    plain = text.isascii() and "".join(parts).isdigit() and "" not in parts
    return plain and len(parts) <= 6 and max(map(len, parts)) <= 9


# Python reads numbers of up to 4,300 digits, and packaging reads them late: where it compares.
_MOST_DIGITS = 1000
# It reads what is in brackets by calling itself, and Python does not let it do so a thousand times.
_MOST_BRACKETS = 100


def check_bounds(text: str) -> None:
    """Raise ValueError where a number is longer, or there are more brackets, than anybody means."""
    if pattern(rf"\d{{{_MOST_DIGITS + 1}}}").search(text):
        raise ValueError(f"a number in it has more than {_MOST_DIGITS} digits")
    if text.count("(") > _MOST_BRACKETS:
        raise ValueError(f"it has more than {_MOST_BRACKETS} brackets")


# The digits without trailing zeros, the phase, the number within the phase.
Release = tuple[tuple[int, ...], int, int]


@remembered  # a table names some fifty releases five times each
def release_key(text: str) -> Release:
    """The order of releases (PEP 440, as far as torch uses it): 2.10.0.dev1 < 2.10.0rc1 < 2.10.0 < 2.10.0.post1."""
    plain = text.partition("+")[0]
    release, phase, number = plain, None, None
    if not is_dotted(plain):  # only then is a pattern worth its compilation
        match = pattern(_RELEASE).fullmatch(text)
        if match is None:
            raise ValueError(text)
        release, phase, number = match.groups()
    digits = numbers(release)
    while len(digits) > 1 and digits[-1] == 0:
        digits = digits[:-1]
    return digits, _PHASES[phase], int(number or 0)


def is_release(text: str) -> bool:
    """Whether it has a place in that order."""
    try:
        release_key(text)
    except ValueError:
        return False
    return True


def span(versions: Sequence[str]) -> str:
    """`12.6`, or `12.6 to 13.2`: the first and the last of them."""
    return versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"


def major_minor(text: str) -> str:
    """`12.6.3` → `12.6`."""
    return ".".join(text.split(".")[:2])


# PEP 440 for final releases: trailing zeros and the candidate's local label do not count.
_COMPARISONS = {
    "==": tuple.__eq__,
    "!=": tuple.__ne__,
    "<=": tuple.__le__,
    ">=": tuple.__ge__,
    "~=": tuple.__ge__,
    "<": tuple.__lt__,
    ">": tuple.__gt__,
}


def admits(specifier: str, *, prereleases: bool = False) -> Admits:
    """A test for versions; raises ValueError if the text is not a specifier. Pre-releases only if it names one."""
    return _admits((specifier, prereleases))


@remembered  # a search asks the same of the same versions thousands of times
def _admits(of: tuple[str, bool]) -> Admits:
    specifier, prereleases = of
    clauses = simple(specifier)
    if clauses is None:
        return _by_packaging(specifier, prereleases)

    def admitted(version: str) -> bool:
        plain, plus, label = version.partition("+")
        try:
            digits, phase, _ = release_key(plain)
        except ValueError:
            return _by_packaging(specifier, prereleases)(version)
        is_label = label.isascii() and all(part.isalnum() for part in label.split("."))
        if (plus and not is_label) or (phase and any(digits == wanted for _, wanted in clauses)):
            return _by_packaging(specifier, prereleases)(version)
        return (prereleases or phase >= 0) and all(compare(digits, wanted) for compare, wanted in clauses)

    return remembered(admitted)


def _by_packaging(specifier: str, prereleases: bool) -> Admits:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    check_bounds(specifier)
    allowed = SpecifierSet(specifier)
    for clause in allowed:
        if clause.operator != "===":
            Version(clause.version.removesuffix(".*"))  # read here: packaging would fail at the first comparison
    wanted = prereleases or bool(allowed.prereleases)  # it names a pre-release itself

    def admitted(version: str) -> bool:
        try:
            return allowed.contains(version, prereleases=wanted)
        except ValueError:  # a number of more digits than int() takes
            return False

    return remembered(admitted)


def simple(specifier: str) -> tuple[Clause, ...] | None:
    """The clauses of an everyday specifier, or None where it takes more to read it."""
    clauses = []
    for part in specifier.split(",") if specifier.strip() else ():
        text = part.strip()
        operator = next((symbol for symbol in _COMPARISONS if text.startswith(symbol)), "")
        version = text.removeprefix(operator).strip()
        if operator == "==" and version.endswith(".*"):
            operator, version = "~=", version[:-1] + "0"  # the same
        if not operator or not is_dotted(version):
            return None
        clauses.append((_COMPARISONS[operator], release_key(version)[0]))
        if operator == "~=":  # ~=2.7.1 is >=2.7.1,<2.8
            if "." not in version:
                return None
            *front, last, _ = numbers(version)
            clauses.append((tuple.__lt__, (*front, last + 1)))
    return tuple(clauses)


def everyday(specifier: str) -> str | None:
    """The specifier without blanks, or None where it takes more to read it."""
    return None if simple(specifier) is None else "".join(specifier.split())


def normal(name: str) -> str:
    plain = name.lower().replace("_", "-").replace(".", "-")
    while "--" in plain:
        plain = plain.replace("--", "-")
    return plain


def leading(text: str) -> str:
    """The name that a requirement begins with; empty where it begins with none."""
    end = 0
    for place, letter in enumerate(text):
        if letter.isascii() and letter.isalnum():
            end = place + 1
        elif not end or letter not in "._-":
            break
    return text[:end]


def named(text: str) -> str:
    """The project a requirement names; empty where it names none."""
    return normal(leading(text.strip()))


def some_of(names: Sequence[str], most: int = 3, between: str = ", ") -> str:
    """`a, b, c and 2 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return between.join(names[:most]) + more


@remembered  # versions of a project have most lines in common
def parsed(text: str) -> Requirement:
    """The requirement; a ValueError says in one line why the text is none."""
    from packaging.requirements import InvalidRequirement, Requirement

    check_bounds(text)
    try:
        return Requirement(text)
    except InvalidRequirement as error:
        raise ValueError(str(error).splitlines()[0]) from error


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
    version: str, full_version: str | None = None, platform: str = "", implementation: str = "cp"
) -> Mapping[str, str]:
    """The variables that markers ask for; without the name of a platform, that of this computer holds."""
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
    if platform:
        os, _, cpu = platform.partition("-")
        system = _SYSTEMS.get(os, (os, os, "posix"))
        variables["sys_platform"], variables["platform_system"], variables["os_name"] = system
        variables["platform_machine"] = _WINDOWS_CPUS.get(cpu, cpu) if os == "windows" else cpu
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
