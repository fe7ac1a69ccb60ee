"""Version specifiers: the everyday ones (`<2.12`, `>=2.5,<2.8`, `==2.9.*`) are read here, every other by packaging.

packaging.specifiers takes as long to import as two and a half bare interpreters. tests/laws/test_specifier_laws.py
holds the two against each other.
"""

from __future__ import annotations

from collections.abc import Callable

from torchpick.model.versions import is_dotted, numbers

Admits = Callable[[str], bool]
Clause = tuple[str, tuple[int, ...], bool]  # operator, numbers, whether `.*` follows

_OPERATORS = ("==", "!=", "<=", ">=", "~=", "<", ">")


def admits(specifier: str, *, prereleases: bool = False) -> Admits:
    """A test for versions; raises ValueError where the text is no specifier. Pre-releases only if it names one."""
    clauses = simple(specifier)
    if clauses is not None:
        found = clauses
        return lambda version: _meets(found, version, prereleases=prereleases)
    from packaging.specifiers import SpecifierSet

    allowed = SpecifierSet(specifier)
    wanted = prereleases or bool(allowed.prereleases)  # it names a pre-release itself
    memory: dict[str, bool] = {}

    def asks(version: str) -> bool:
        if version not in memory:
            memory[version] = allowed.contains(version, prereleases=wanted)
        return memory[version]

    return asks


def simple(specifier: str) -> tuple[Clause, ...] | None:
    """The clauses of an everyday specifier, or None where it takes more to read it."""
    clauses = []
    for part in specifier.split(",") if specifier.strip() else ():
        text = part.strip()
        operator = next((each for each in _OPERATORS if text.startswith(each)), None)
        if operator is None or text.startswith("==="):
            return None
        version = text[len(operator) :].strip()
        wild = version.endswith(".*")
        plain = version.removesuffix(".*")
        if not is_dotted(plain) or (wild and operator not in ("==", "!=")) or (operator == "~=" and "." not in plain):
            return None
        clauses.append((operator, numbers(plain), wild))
    return tuple(clauses)


def _meets(clauses: tuple[Clause, ...], version: str, *, prereleases: bool) -> bool:
    plain = version.partition("+")[0]
    if not is_dotted(plain):
        if not prereleases:
            return False
        from packaging.specifiers import SpecifierSet

        text = ",".join(f"{operator}{'.'.join(map(str, want))}{'.*' * wild}" for operator, want, wild in clauses)
        return SpecifierSet(text).contains(version, prereleases=True)
    return all(_meets_one(clause, numbers(plain)) for clause in clauses)


def _meets_one(clause: Clause, have: tuple[int, ...]) -> bool:
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
