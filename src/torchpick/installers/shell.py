"""Words and variables in a shell's own quoting, which no path or GPU name can break. Pure."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from shlex import quote


def line(words: Iterable[str], *, windows: bool = os.name == "nt") -> str:
    """Words to be pasted into a shell here: cmd knows no single quotes, and PowerShell takes double ones too."""
    return " ".join(word if word == quote(word) else f'"{word}"' if windows else quote(word) for word in words)


def command(argv: Iterable[str], changed: Mapping[str, str], unset: Iterable[str]) -> str:
    """A command line for a POSIX shell, with the changes to its environment in front."""
    gone = [part for name in unset for part in ("-u", name)]
    front = [*gone, *(f"{name}={value}" for name, value in changed.items())]
    words = ["env", *front, *argv] if front else [*argv]
    return " ".join(map(quote, words))


def variables(shell: str, changed: Mapping[str, str], unset: Iterable[str], files: Mapping[str, str] = {}) -> str:
    """Lines that set the variables; `files` are written by the lines themselves where the shell is elsewhere."""
    if any("\n" in value for value in changed.values()):
        raise ValueError("a variable holds a line break")
    lines = _written(files) if shell == "dockerfile" else []
    lines += [_LINES[shell][1].format(name=name) for name in unset]
    lines += [_LINES[shell][0].format(name=name, value=_QUOTES[shell](value)) for name, value in changed.items()]
    return "\n".join(lines)


def refusal(shell: str) -> str:
    """What stands in the place of the variables where there is nothing to set: it fails."""
    return {
        "powershell": "throw 'torchpick found no build that runs here'",
        "dockerfile": "RUN echo 'torchpick found no build that runs here' >&2 && false",
    }.get(ALIKE.get(shell, shell), "false")


def _fish(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _powershell(value: str) -> str:
    """PowerShell also ends a single-quoted text at the typographic quotes, and doubles each to mean itself."""
    return "'" + "".join(char * 2 if char in "'\u2018\u2019\u201a\u201b" else char for char in value) + "'"


def _docker(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
    return f'"{escaped}"'


# Shells that speak another's language.
ALIKE = {"bash": "sh", "zsh": "sh", "pwsh": "powershell"}
_QUOTES: dict[str, Callable[[str], str]] = {
    "sh": quote,
    "fish": _fish,
    "powershell": _powershell,
    "github": str,
    "dockerfile": _docker,
}
SHELLS = (*_QUOTES, *ALIKE)
# How to set, and how to take away; GitHub's file and an image know only empty.
_LINES = {
    "sh": ("export {name}={value}", "unset {name}"),
    "fish": ("set -gx {name} {value}", "set -e {name}"),
    "powershell": ("$env:{name} = {value}", "Remove-Item -ErrorAction Ignore Env:{name}"),
    "github": ("{name}={value}", "{name}="),
    "dockerfile": ("ENV {name}={value}", "ENV {name}="),
}


def _written(files: Mapping[str, str]) -> list[str]:
    """RUN lines that write the files; an image does not see this computer's cache."""
    lines = []
    for path, content in files.items():
        folder = path.rpartition("/")[0]
        words = "".join(f"    {quote(line)} \\\n" for line in content.splitlines())
        lines.append(f"RUN mkdir -p {quote(folder)} && printf '%s\\n' \\\n{words}    > {quote(path)}")
    return lines
