"""A pip.conf with torchpick's values in it, and again without them, byte for byte. Pure.

What is ours stands between two marks; what had to give way to it stands behind a third. Lines are told apart as
configparser does it: a line that is indented deeper than its option continues that option.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping

from torchpick.model.noun import Noun

BEGIN = "# >>> torchpick pin, taken out by `torchpick unpin`"
END = "# <<< torchpick pin"
KEPT = "# torchpick keeps: "
SECTION = "install"
_ENDS = ("\n", "\r")


class ConfLine(Noun):
    """One line as it stands, the section it is in, and the option that it begins or continues."""

    text: str
    section: str
    option: str
    indent: int


def read(text: str) -> Iterator[ConfLine]:
    """The lines, each with its own end."""
    section, option, depth = "", "", 0
    for text_line in io.StringIO(text, newline=""):
        plain = text_line.strip()
        indent = len(text_line) - len(text_line.lstrip())
        if not plain or plain[0] in "#;":
            yield ConfLine(text_line, section, "", indent)
        elif option and indent > depth:
            yield ConfLine(text_line, section, option, indent)
        elif header := re.match(r"\[(.+)\]", plain):
            section, option, depth = header[1], "", indent
            yield ConfLine(text_line, section, "", indent)
        else:
            option, depth = _normal(re.split("[=:]", plain, maxsplit=1)[0]), indent
            yield ConfLine(text_line, section, option, indent)


def _normal(name: str) -> str:
    """Pip takes `find_links` and `--find-links` for `find-links`."""
    return name.strip().lower().replace("_", "-").removeprefix("--")


def pinned(text: str, options: Mapping[str, tuple[str, ...]]) -> str:
    """The text with these options of `pip install`; what it said of them before is kept behind a mark."""
    before = unpinned(text)
    lines = list(read(before))
    end = "\r\n" if any(line.text.endswith("\r\n") for line in lines) else "\n"
    kept = [f"{KEPT}{line.text}" if line.section == SECTION and line.option in options else line.text for line in lines]
    place = max((place for place, line in enumerate(lines, start=1) if line.section == SECTION), default=None)
    following = len(lines) if place is None else place
    indent = " " * (lines[following].indent if following < len(lines) else 0)
    block = [] if place is not None else [f"[{SECTION}]"]
    for name, words in options.items():
        block += [f"{indent}{name} =", *(f"{indent}    {word}" for word in words)]
    whole = not kept or kept[-1].endswith(_ENDS)
    if not whole:
        kept[-1] += end
    found = "".join([*kept[:following], *(line + end for line in (BEGIN, *block, END)), *kept[following:]])
    return found if whole else found.removesuffix(end)  # so that it can be taken out


def unpinned(text: str) -> str:
    """The text as it was before it was pinned, with whatever has been added to it since."""
    found: list[str] = []
    inside = False
    for line in io.StringIO(text, newline=""):
        if line.startswith(BEGIN):
            inside = True
        elif inside:
            inside = not line.startswith(END)
        else:
            found.append(line.removeprefix(KEPT))
    before = "".join(found)
    return before if BEGIN not in text or text.endswith(_ENDS) else before.removesuffix("\n").removesuffix("\r")


def without(text: str, address: str) -> str:
    """The text without words that begin with this address, for a file whose marks another program has dropped.

    An option that is left without a value counts for nothing to pip.
    """
    mine = re.escape(address)
    return re.sub(rf"(?m)^[ \t]*{mine}\S*[ \t]*\r?\n|[ \t]*(?<!\S){mine}\S*", "", text)
