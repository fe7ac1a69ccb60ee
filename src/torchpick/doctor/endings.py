"""How a text ends: the line that a program ended with, and the package whose error that is."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from torchpick.doctor import posts, situation
from torchpick.doctor.posts import message
from torchpick.doctor.situation import Situation, Words
from torchpick.doctor.texts import CLOSING, Match, Weight, weight
from torchpick.model.versions import normal

# A better line of an error is looked for at so many places of a stretch.
_MOST_PLACES = 8
# Of a line that only announces what is wrong, so many that follow say it.
_MOST_BELOW = 2
_CROSS = b"\xc3\x97 "


class Ending(NamedTuple):
    """The number and the words of the last line of an error; the package, or the program's own file, that raised it.

    `is_build`: an installer failed to build that package. `is_own`: it is a file of the program.
    """

    number: int
    line: str
    package: str | None = None
    is_build: bool = False
    is_own: bool = False

    def cause(self, endings: Mapping[str, str]) -> tuple[str, str] | None:
        """What it means by itself, and whose it is; None where that is not known, or the line is of torch."""
        if self.is_build and self.package:
            return "PACKAGE_BUILD", self.package
        for name, expression in endings.items():
            if (match := re.search(f"(?i){expression}", self.line)) is None:
                continue
            named = match.groupdict().get("module") or ("torch" if name.startswith("TORCH_") else None)
            if named is not None:
                return name, named if name == "PACKAGE_CIRCULAR" else _FOLDERS.get(named, named)
            if self.package in sys.stdlib_module_names:
                return "PACKAGE_BACKPORT", self.package
            if self.package is not None and not (self.is_own and "torch" in self.line):
                return "PROGRAM_RAISED" if self.is_own else name, self.package
        return None

    def is_of(self, match: Match) -> bool:
        """Whether this says what is known: in its line or below, or above what only closes a log."""
        if match.weight is Weight.HARMLESS:
            return False
        is_there = match.line >= self.number or (not match.line and match.text in self.line)
        return is_there or match.weight <= Weight.ENDED or CLOSING.match(self.line.encode()) is not None


def question(text: str, said: Situation, ending: Ending | None, words: Words) -> str:
    """What to ask, as it is not in the text: by its end, else by its story."""
    if ending is None:
        told = situation.question(posts.complaint(text), words)
        return told or "with which line did the program end? `torchpick explain` takes its whole output"
    if ending.package is not None:
        whose = "the program's own code" if ending.is_own else "which is no part of torch"
        return f"the error is that of {ending.package}, {whose}: search its issues for that line"
    if "no torch" in said.facts:
        return "the text names neither torch nor a package on it: search the issues of that program for the line"
    if (package := said.facts.get("package")) is not None:
        return (
            f"search the issues of {package} for that line; did it come with an update of {package} or torch?"
            f" `pip list | grep -iE 'torch|{package}'` names the releases"
        )
    lacks = [name for name, value in (("torch", said.torch), ("GPU", said.name or said.capability)) if not value]
    which = f"which {' and which '.join(lacks)} is it? " if lacks else ""
    return f"{which}nothing more is known of that line: search the issues of the program that printed it"


def last_error(text: bytes, size: int) -> Ending | None:
    """The last line that a program ended with, in so much of the end of a text."""
    first = 1 + text.count(b"\n", 0, max(0, len(text) - size))
    numbered = ((number, message(line)) for number, line in enumerate(text[-size:].split(b"\n"), first))
    lines = [(number, line) for number, line in numbered if line]
    places = (place for place in reversed(range(len(lines))) if weight(lines, place) <= Weight.ENDED)
    ended = list(islice(places, _MOST_PLACES))
    place = next((place for place in ended if not CLOSING.match(lines[place][1])), next(iter(ended), None))
    if place is None:
        return None
    number, line = lines[place]
    if line.endswith(b":") or line.startswith((_CROSS, b"CMake Error")):
        line = b" ".join(text for _, text in lines[place : place + 1 + _MOST_BELOW])
    ending = _raised(Ending(number, line.decode("utf-8", "replace")), lines[:place])
    if ending.is_own or ending.package in _BUILDERS or not ending.package:
        package = _not_built(lines) or (ending.package if ending.is_build else None)
        ending = ending._replace(package=package, is_build=True, is_own=False) if package else ending
    return ending._replace(package=None) if ending.package in _BUILDERS else ending


# A frame of Python's, of IPython's and of a debugger's traceback, and the package in whose folder it lies.
_FRAME = re.compile(
    rb"(?:(?:\d{1,5} )?File [\"']?(?P<file>[^\n\"']{1,300}?)(?:[\"'], line|:\d)"
    rb"|\[?(?P<cell>(?:[~/]|[A-Za-z]:[\\/])[^\n\]]{1,300}?\.py)(?:\]\(\S{1,80}\))? in )"
)
_IN_PACKAGES = re.compile(rb".*[\\/](?:site|dist)-packages[\\/](\w{1,60})")
# The sources that an installer unpacks to build them: it says whose they are.
_UNPACKED = re.compile(rb".*[\\/]pip-(?:install|build)-\w{1,12}[\\/]([A-Za-z][\w.-]{1,60}?)(?:_[0-9a-f]{32})?[\\/]")
_OF_PYTHON = re.compile(rb"(?i)<|.*[\\/](?:lib|python[\d.]*)[\\/](?!site-|dist-)")
_TRACEBACK = re.compile(rb"Traceback \(most recent call last\)|(?<!-)-{20,}$")
# A traceback has so many lines at most.
_MOST_FRAMES = 300
# What only hands an error on, and torch, which fails over what it was given: the error is that of whoever called them.
_BETWEEN = frozenset({b"torch", b"functorch", b"_pytest", b"pluggy", b"click", b"typer", b"fire", b"decorator"})
# An error in these is one of what they build.
_BUILDERS = frozenset(
    {"pip", "setuptools", "pkg-resources", "wheel", "hatchling", "pyproject-hooks", "scikit-build-core"}
)
# The packages whose folders have other names: what the index has under those is somebody else's.
_FOLDERS = {
    "cv2": "opencv-python", "PIL": "pillow", "yaml": "pyyaml", "sklearn": "scikit-learn", "skimage": "scikit-image",
    "bs4": "beautifulsoup4", "Crypto": "pycryptodome", "dotenv": "python-dotenv", "git": "gitpython",
    "serial": "pyserial", "attr": "attrs",
}  # fmt: skip


def _raised(ending: Ending, above: Sequence[tuple[int, bytes]]) -> Ending:
    """The ending with the package, or the file of the program, whose frame is the innermost of these lines above it.

    What torch raised in a file of the program is neither's.
    """
    is_handed_on = False
    for _, line in islice(reversed(above), _MOST_FRAMES):
        if _TRACEBACK.search(line):
            break
        if (frame := _FRAME.match(line)) is None:
            continue
        file = frame[frame.lastgroup or 0]
        package = _IN_PACKAGES.match(file)
        if package is not None and package[1] not in _BETWEEN:
            folder = package[1].decode()
            return ending._replace(package=_FOLDERS.get(folder, normal(folder)))
        if (unpacked := _UNPACKED.match(file)) is not None:
            return ending._replace(package=normal(unpacked[1].decode()), is_build=True)
        if package is None and not _OF_PYTHON.match(file):
            name = b"/".join(re.split(rb"[\\/]", file)[-2:]).decode("utf-8", "replace")
            return ending if is_handed_on else ending._replace(package=name, is_own=True)
        is_handed_on = is_handed_on or package is not None
    return ending


_NOT_BUILT = re.compile(
    rb"(?i)(?:error: )?(?:failed to (?:download and )?build|failed building (?:editable )?wheels? for"
    rb"|could not build wheels for|running setup.py (?:install|develop) for"
    rb"|building (?:editable )?wheels? for|problem with poetry but with)"
    rb"[ :(`'\"]{1,4}(?!collected\b)([a-z][\w.-]{1,60}?)(?=[ ,=@`'\")]|$)"
    rb"(?P<runs>(?!.{0,60}error\b).{0,60}(?:\.\.\.|done$))?"
)


def _not_built(lines: Iterable[tuple[int, bytes]]) -> str | None:
    """The package of which an installer says that its build failed, by what it says last."""
    found = [match for _, line in lines if (match := _NOT_BUILT.match(line.removeprefix(_CROSS)))]
    names = [match[1].decode() for match in found if not match["runs"]]
    return normal(names[-1]) if names else None
