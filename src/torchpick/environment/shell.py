"""Words and variables in a shell's own quoting, which no path or GPU name can break."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from shlex import quote

from torchpick.errors import UsageError


def current(environ: Mapping[str, str], named: str = "") -> str:
    """The named one, or TORCHPICK_SHELL; else the shell in use: PowerShell adds to cmd's two folders of modules."""
    named = named or environ.get("TORCHPICK_SHELL", "")
    named = _ALIKE.get(named, named)
    is_known = named in _SHELLS and named not in _FILES
    if not is_known and os.name == "nt":
        modules = environ.get("PSModulePath", "").lower()
        return "pwsh" if "\\powershell\\" in modules else "powershell" if modules.count(";") > 1 else "cmd"
    return named if is_known else "fish" if environ.get("SHELL", "").endswith("/fish") else "sh"


def line(words: Iterable[str], shell: str) -> str:
    """A command line to be pasted into this shell. PowerShell calls a quoted program by `&` alone."""
    _, quote_word, *_ = _SHELLS[shell]
    quoted = [word if re.fullmatch(_PLAIN, word) else quote_word(word) for word in words]
    return " ".join(["&", *quoted] if shell in _POWERSHELLS and quoted[0].startswith("'") else quoted)


def then(first: str, second: str, shell: str) -> str:
    """The second command line, where the first one ended well. Windows' own PowerShell has no `&&`."""
    return f"{first}; if ($?) {{ {second} }}" if shell in _POWERSHELLS else f"{first} && {second}"


def command(argv: Iterable[str], changed: Mapping[str, str], unset: Iterable[str], shell: str) -> str:
    """A command line with the changes to its environment in front; Windows' shells set them in lines of their own."""
    if shell in ("cmd", *_POWERSHELLS):
        return "\n".join(filter(None, (variables(shell, changed, unset), line(argv, shell))))
    gone = [part for name in unset for part in ("-u", name)]
    front = [*gone, *(f"{name}={value}" for name, value in changed.items())]
    return line(["env", *front, *argv] if front else argv, shell)


def variables(shell: str, changed: Mapping[str, str], unset: Iterable[str], files: Mapping[str, str] = {}) -> str:
    """Lines that set the variables; `files` are written by the lines themselves where the shell is elsewhere."""
    shell = _ALIKE.get(shell, shell)
    for name, value in changed.items():
        _check(name, value, shell)
    quote_value, _, to_set, to_unset, _ = _SHELLS[shell]
    lines = _written(files) if shell == "dockerfile" else []
    lines += [to_unset.format(name=name) for name in unset]
    lines += [to_set.format(name=name, value=quote_value(value)) for name, value in changed.items()]
    return "\n".join(lines)


def _check(name: str, value: str, shell: str) -> None:
    """Refuse what no line keeps; cmd's are read by `for /f`, where nothing is escaped, or pasted."""
    if re.search(_CONTROL, value):
        hint = f"unset {name}, or put its values on one line"
        raise UsageError(f"{name} holds a line break or another control character", hint=hint)
    if shell == "cmd" and (re.search('"|!.*!|%', re.sub(_ESCAPES, "", value)) or "%cd%" in value.lower()):
        raise UsageError(f"{name} holds a quote, `%NAME%` or `!NAME!`, which cmd does not keep", hint=_OTHER_SHELL)


def refusal(shell: str) -> str:
    """What stands in the place of the variables where there is nothing to set: it fails."""
    *_, fails = _SHELLS.get(_ALIKE.get(shell, shell), _SHELLS["sh"])
    return fails


def _fish(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _powershell(value: str) -> str:
    """PowerShell also ends a single-quoted text at the typographic quotes, and doubles each to mean itself."""
    return "'" + "".join(char * 2 if char in "'\u2018\u2019\u201a\u201b" else char for char in value) + "'"


def _windows_powershell_word(word: str) -> str:
    """Up to 7.2 an empty word, a quote, a backslash at the end behind a blank are not passed on as they are.

    With the C runtime's quotes in the word they are; a doubled quote keeps PowerShell's count odd where a blank is.
    """
    if word and '"' not in word and not (word.endswith("\\") and re.search(r"\s", word)):
        return _powershell(word)
    return _powershell(_c_runtime(word, '""'))


def _docker(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
    return f'"{escaped}"'


def _c_runtime(word: str, quote: str) -> str:
    """As the C runtime reads one word: a quote in it is written so, and backslashes count double before quotes."""
    return '"' + re.sub(r'(\\*)("|$)', lambda part: part[1] * 2 + (quote if part[2] else ""), word) + '"'


def _cmd_word(word: str) -> str:
    """For the prompt: what cmd's own quotes do not keep has a caret.

    So has what follows a percent sign, which makes the name of a variable another one.
    """
    if re.search(_CONTROL, word):
        raise UsageError("a line of cmd cannot hold a line break or another control character", hint=_OTHER_SHELL)
    quoted = _c_runtime(word, '\\"')
    return re.sub(r"(?<=%)[^%]|[^\w\s]", r"^\g<0>", quoted) if re.search('["%]', word) else quoted


# Shells that read another's language.
_ALIKE = {"bash": "sh", "zsh": "sh"}
_NOTHING = "torchpick has nothing to set here"
_OF_POWERSHELL = ("$env:{name} = {value}", "Remove-Item -ErrorAction Ignore Env:{name}", f"throw '{_NOTHING}'")
# By shell: a value's quotes, those of a word in a command line, how to set, how to take away (GitHub's file and an
# image know only empty), and what stands in the place of variables where there are none.
_SHELLS: dict[str, tuple[Callable[[str], str], Callable[[str], str], str, str, str]] = {
    "sh": (quote, quote, "export {name}={value}", "unset {name}", "false"),
    "fish": (_fish, _fish, "set -gx {name} {value}", "set -e {name}", "false"),
    "powershell": (_powershell, _windows_powershell_word, *_OF_POWERSHELL),
    "pwsh": (_powershell, _powershell, *_OF_POWERSHELL),
    "cmd": (str, _cmd_word, 'set "{name}={value}"', 'set "{name}="', "cmd /c exit 1"),
    "github": (str, str, "{name}={value}", "{name}=", "false"),
    "dockerfile": (_docker, str, "ENV {name}={value}", "ENV {name}=", f"RUN echo '{_NOTHING}' >&2 && false"),
}
_POWERSHELLS = ("powershell", "pwsh")
_FILES = ("github", "dockerfile")  # for which no command line is written
_PLAIN = r"[\w./][\w@+=:./-]*|-[\w=-]*"
_CONTROL = r"[\x00-\x08\x0a-\x1f\x7f]"
_OTHER_SHELL = "PowerShell takes it: `--shell powershell`"
# What stands for a character in an address, as the name of no variable begins.
_ESCAPES = r"(?i)%(?:[0-7][0-9a-f]|[c-f][0-9a-f](?:%[89ab][0-9a-f])+)"


def _written(files: Mapping[str, str]) -> list[str]:
    """RUN lines that write the files; an image does not see this computer's cache."""
    lines = []
    for path, content in files.items():
        folder = path.rpartition("/")[0]
        words = "".join(f"    {quote(line)} \\\n" for line in content.splitlines())
        lines.append(f"RUN mkdir -p {quote(folder)} && printf '%s\\n' \\\n{words}    > {quote(path)}")
    return lines
