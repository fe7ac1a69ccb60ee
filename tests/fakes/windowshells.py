"""How cmd and PowerShell read a line, and what the C runtime makes of the command line that they pass on.

Models by their makers' documentation, for texts that are quoted well or badly; what they do not know they refuse.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

QUOTES = "'\u2018\u2019\u201a\u201b"


def c_runtime(line: str) -> list[str]:
    """The words of a command line: backslashes count before quotes alone, and a doubled quote inside is one."""
    words: list[str] = []
    word, inside, place = None, False, 0
    while place < len(line):
        slashes = re.compile(r"\\*").match(line, place)
        assert slashes is not None
        count, place = len(slashes[0]), slashes.end()
        char = line[place : place + 1]
        place += 1
        if char == '"':
            word = (word or "") + "\\" * (count // 2)
            if count % 2:
                word += '"'
            elif inside and line[place : place + 1] == '"':
                word, place = word + '"', place + 1
            else:
                inside = not inside
        elif char in (" ", "\t") and not inside:
            if count or word is not None:
                words.append((word or "") + "\\" * count)
            word = None
        elif count or char:
            word = (word or "") + "\\" * count + char
    return words if word is None else [*words, word]


def cmd_prompt(line: str, variables: Mapping[str, str], *, delayed: bool = False) -> list[str]:
    """The commands that a line at cmd's prompt starts, as they reach a program."""
    known = {name.upper(): value for name, value in variables.items()}
    filled, place = "", 0
    while place < len(line):
        part = re.compile(r"%([^%:]+)(:[^%]*)?%").match(line, place)
        if part is not None and part[1].upper() in known:
            filled, place = filled + known[part[1].upper()], part.end()
        else:
            filled, place = filled + line[place], place + 1
    commands, quoted, place = [""], False, 0
    while place < len(filled):
        char = filled[place]
        if char == "^" and not quoted:
            place += 1
            char = filled[place : place + 1]
        elif char == '"':
            quoted = not quoted
        elif char in "&|<>\n" and not quoted:
            commands, place = [*commands, ""], place + 1
            continue
        commands[-1] += char
        place += 1
    if delayed:
        commands = [re.sub("!([^!]+)!", lambda part: known.get(part[1].upper(), ""), command) for command in commands]
    return commands


def cmd_set(command: str) -> tuple[str, str]:
    """What `set "NAME=value"` sets: all up to the last quote."""
    (inside,) = re.findall(r'^set "(.*)"[^"]*$', command, re.DOTALL)
    name, _, value = inside.partition("=")
    return name, value


def powershell_words(line: str) -> list[str]:
    """The words of one command of plain and single-quoted words; anything else is refused."""
    words, rest = [], line.removeprefix("& ")
    while rest:
        part = re.match(rf"[{QUOTES}]((?:[^{QUOTES}]|([{QUOTES}])\2)*)[{QUOTES}](?: |$)", rest, re.DOTALL)
        bare = re.match(r"([\w./\\][\w@+=:./\\-]*|-[\w=-]*)(?: |$)", rest)
        assert part or bare, rest
        words.append(re.sub(rf"([{QUOTES}])\1", r"\1", part[1]) if part else bare[1] if bare else "")
        rest = rest[(part or bare).end() :]  # type: ignore[union-attr]
    return words


def passed_on(words: list[str], *, windows: bool) -> list[str]:
    """What a program gets of PowerShell's words: since 7.3 the words, of Windows' own what is quoted at a blank."""
    if not windows:
        return words
    parts = []
    for word in words:
        is_open = any(char.isspace() and word[:place].count('"') % 2 == 0 for place, char in enumerate(word))
        parts.append(f'"{word}"' if is_open else word)
    return c_runtime(" ".join(parts))
