"""Print a shell completion script.

examples:
  source <(torchpick completion bash)                          bash, in ~/.bashrc
  torchpick completion zsh > "${fpath[1]}/_torchpick"          zsh
  torchpick completion fish > ~/.config/fish/completions/torchpick.fish
  torchpick completion powershell | Out-String | Invoke-Expression
"""

from __future__ import annotations

from argparse import Action, ArgumentParser
from importlib import import_module

from torchpick.cli.arguments import Arguments
from torchpick.cli.show import completion
from torchpick.model.machine import PLATFORMS

SHELLS = ("bash", "zsh", "fish", "powershell")


class CompletionArguments(Arguments):
    shell: str


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def run(args: CompletionArguments) -> int:
    print(completion.script(args.shell, _grammar()), end="")
    return 0


# Flags whose values are not checked by argparse.
_WORDS = {"--platform": PLATFORMS}
# Commands whose words may be files: projects and wheels to install, things to inspect, commands, scripts.
_OF_FILES = ("install", "inspect", "run", "pin", "unpin")


def _grammar() -> dict[str, completion.CommandGrammar]:
    """Every command with its flags, read off the very parsers that will meet them; the bare command is ``."""
    from torchpick.cli import COMMANDS

    found = {}
    for name, words in {"": "", **COMMANDS}.items():
        parser = ArgumentParser(add_help=True)
        if not name:
            parser.add_argument("-V", "--version", action="version", help="show the version and exit")
        import_module(f"torchpick.cli.{name or 'pick'}").add_arguments(parser)
        flags = tuple(_flag(action) for action in parser._actions if action.option_strings)  # noqa: SLF001 # its only list
        values = next((tuple(map(str, each.choices or ())) for each in parser._actions if _is_choice(each)), ())  # noqa: SLF001
        found[name] = completion.CommandGrammar(words, flags, values, name in _OF_FILES)
    return found


def _is_choice(action: Action) -> bool:
    return not action.option_strings and action.choices is not None


def _flag(action: Action) -> completion.Flag:
    *_, name = action.option_strings
    short = next((each for each in action.option_strings if len(each) == 2 and each != name), None)
    choices = tuple(map(str, action.choices or _WORDS.get(name) or ()))
    takes = str(action.metavar or "")
    files = any(word in takes for word in ("FILE", "PATH", "FOLDER", "DIR"))
    return completion.Flag(name, action.help or "", action.nargs != 0, choices, files, short)
