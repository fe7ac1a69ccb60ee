"""Version specifiers: the everyday ones (`<2.12`, `>=2.5,<2.8`, `==2.9.*`) are read here, every other by packaging.

Everyday versions are plain releases with or without a local label, and the pre-releases of PyTorch where none is
wanted; post-releases, epochs and whatever else PEP 440 allows are packaging's too. packaging.specifiers takes as long
to import as two and a half bare interpreters. tests/laws/test_specifier_laws.py compares the two.
"""

from __future__ import annotations

from torchpick.model.versions import check_digits, is_dotted, is_prerelease, numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Admits = Callable[[str], bool]
    Clause = tuple[str, tuple[int, ...], bool]  # operator, numbers, whether `.*` follows

_OPERATORS = ("==", "!=", "<=", ">=", "~=", "<", ">")


def admits(specifier: str, *, prereleases: bool = False) -> Admits:
    """A test for versions; raises ValueError if the text is not a specifier. Pre-releases only if it names one."""
    clauses = simple(specifier)
    return _by_packaging(specifier, prereleases) if clauses is None else _everyday(clauses, specifier, prereleases)


def _everyday(clauses: tuple[Clause, ...], specifier: str, prereleases: bool) -> Admits:
    rest: list[Admits] = []

    def admitted(version: str) -> bool:
        plain, plus, label = version.partition("+")
        if not plus or _is_label(label):
            if is_dotted(plain):
                return all(_meets(clause, numbers(plain)) for clause in clauses)
            if not prereleases and _is_known_prerelease(plain):
                return False
        if not rest:
            rest.append(_by_packaging(specifier, prereleases))
        return rest[0](version)

    return admitted


def _is_label(text: str) -> bool:
    return text.isascii() and all(part.isalnum() for part in text.split("."))


def _is_known_prerelease(version: str) -> bool:
    try:
        return is_prerelease(version)
    except ValueError:
        return False


def _by_packaging(specifier: str, prereleases: bool) -> Admits:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    check_digits(specifier)
    allowed = SpecifierSet(specifier)
    for clause in allowed:
        if clause.operator != "===":
            Version(clause.version.removesuffix(".*"))  # read here: packaging would fail at the first comparison
    wanted = prereleases or bool(allowed.prereleases)  # it names a pre-release itself
    memory: dict[str, bool] = {}

    def admitted(version: str) -> bool:
        if version not in memory:
            try:
                memory[version] = allowed.contains(version, prereleases=wanted)
            except ValueError:  # a number of more digits than int() takes
                memory[version] = False
        return memory[version]

    return admitted


def simple(specifier: str) -> tuple[Clause, ...] | None:
    """The clauses of an everyday specifier, or None where it takes more to read it."""
    clauses = []
    for part in specifier.split(",") if specifier.strip() else ():
        text = part.strip()
        operator = next((symbol for symbol in _OPERATORS if text.startswith(symbol)), None)
        if operator is None or text.startswith("==="):
            return None
        version = text[len(operator) :].strip()
        wild = version.endswith(".*")
        plain = version.removesuffix(".*")
        if not is_dotted(plain) or (wild and operator not in ("==", "!=")) or (operator == "~=" and "." not in plain):
            return None
        clauses.append((operator, numbers(plain), wild))
    return tuple(clauses)


def _meets(clause: Clause, have: tuple[int, ...]) -> bool:
    """PEP 440 for a final release: trailing zeros and the candidate's local label do not count."""
    operator, want, wild = clause
    length = max(len(have), len(want))
    mine, theirs = _padded(have, length), _padded(want, length)
    if wild:
        return (_padded(have, len(want))[: len(want)] == want) is (operator == "==")
    if operator == "~=":
        return mine >= theirs and mine[: len(want) - 1] == want[:-1]
    return {
        "==": mine == theirs,
        "!=": mine != theirs,
        "<=": mine <= theirs,
        ">=": mine >= theirs,
        "<": mine < theirs,
        ">": mine > theirs,
    }[operator]


def _padded(digits: tuple[int, ...], length: int) -> tuple[int, ...]:
    return digits + (0,) * (length - len(digits))
