"""What a text says of the machine and the environment that it is about. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from torchpick.doctor.logs import message
from torchpick.model.fields import Fields
from torchpick.model.noun import Noun
from torchpick.model.versions import normal

# So much of a text is searched for what it says of its machine.
MOST_TEXT = 4 << 20
# And so much of its start and of its end for anybody's words, which posts have and long logs have not.
_MOST_WORDS = 1 << 16
_LONGEST_LINE = 1 << 16
_MOST_MATCHES = 50
_MOST_BEFORE = 200


class Words(Noun):
    """compat/words.json: one expression for each name, of what is kept of a text and of what it may say.

    `rewritten` are the forms that are read as another one is.
    """

    rewritten: Mapping[str, str]
    kept: Mapping[str, str]
    facts: Mapping[str, str]


class Mentions(Noun):
    """The first mention of each; None where the text has none. `driver_cuda` is the CUDA that the driver supports.

    `others` are the GPUs beside the first; `cuda` is the one that torch was built for; `facts` are the names of
    compat/words.json, each with what the text says of it.
    """

    capability: str | None = None
    name: str | None = None
    others: tuple[str, ...] = ()
    driver: str | None = None
    driver_cuda: str | None = None
    torch: str | None = None
    cuda: str | None = None
    python: str | None = None
    asked: str | None = None
    packages: Mapping[str, str] = {}
    facts: Mapping[str, str] = {}

    @property
    def platform(self) -> str | None:
        """The platform by its name, where the text says which."""
        arm = "aarch64" in self.facts
        if "macos" in self.facts:
            return "macos-x86_64" if "intel" in self.facts else "macos-arm64"
        if "windows" in self.facts:
            return "windows-arm64" if arm else "windows-x86_64"
        return "linux-aarch64" if arm else "linux-x86_64" if "linux" in self.facts else None


def read(fields: Fields) -> Words:
    """ShapeError where the file is not of its form."""
    rewritten = {f"(?im){form}": other for form, other in fields.mapping("rewritten").items()}
    packages = f"(?:{'|'.join(fields.texts('packages'))})"
    return Words(
        rewritten,
        _expressions(fields.object("mentions"), "(?ima)", packages),
        _expressions(fields.object("words"), "(?im)", packages),
    )


def _expressions(fields: Fields, how: str, packages: str) -> dict[str, str]:
    """Each with the names of the packages where it has `{package}`."""
    return {name: how + "|".join(fields.texts(name)).replace("{package}", packages) for name in fields.names()}


def of_text(start: bytes, words: Words) -> Mentions:
    """Look through the start of a text, for the words of compat/words.json too."""
    lines = start[:MOST_TEXT].split(b"\n")
    text = "\n".join(message(line).decode("utf-8", "replace") for line in lines if len(line) <= _LONGEST_LINE)
    for form, other in words.rewritten.items():
        text = re.sub(form, other, text)
    wanted = words.kept["wanted"]
    said: dict[str, Any] = {
        name: next(_each(form, wanted, text), None) for name, form in words.kept.items() if name in Mentions._fields
    }
    ends = text[:_MOST_WORDS] + text[max(_MOST_WORDS, len(text) - _MOST_WORDS) :]
    packages = islice(re.finditer(words.kept["package"], text), _MOST_MATCHES)
    return Mentions(
        **said,
        others=tuple(each for each in _each(words.kept["beside"], wanted, text) if each != said["name"]),
        packages={normal(each[1]): each[2] for each in packages},
        facts={
            name: each[each.lastindex or 0]
            for name, pattern in words.facts.items()
            if (each := re.search(pattern, ends))
        },
    )


def _each(expression: str, wanted: str, text: str) -> Iterator[str]:
    """What the matches keep that are not merely asked for."""
    for found in islice(re.finditer(expression, text), _MOST_MATCHES):
        line = text.rfind("\n", 0, found.start()) + 1
        if not re.search(wanted, text[max(line, found.start() - _MOST_BEFORE) : found.start()]):
            yield found[found.lastindex or 0].strip()
