"""Print a shell completion script.

The script asks `torchpick completion words` at each TAB; where that offers nothing, the shell offers files.

examples:
  source <(torchpick completion bash)                          bash, in ~/.bashrc
  torchpick completion zsh > "${fpath[1]}/_torchpick"          zsh
  torchpick completion fish > ~/.config/fish/completions/torchpick.fish
  torchpick completion powershell | Out-String | Invoke-Expression
"""

from __future__ import annotations

from argparse import Action, ArgumentParser
from collections.abc import Sequence
from importlib import import_module

from torchpick.cli import COMMANDS
from torchpick.cli.arguments import Arguments
from torchpick.model.machine import PLATFORMS

PASSES_ON = True

# In bash `--flag=value` comes as three words.
_BASH = """\
_torchpick() {
  local current="${COMP_WORDS[COMP_CWORD]}" words
  if [ "$current" = "=" ]; then current=""; fi
  words="$("$1" completion words -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)"
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _torchpick torchpick torchpick-cli
"""

_ZSH = """\
#compdef torchpick torchpick-cli
_torchpick() {
  compadd -- $("$words[1]" completion words -- "${(@)words[2,CURRENT-1]}" 2>/dev/null) || _files
}
if [ "$funcstack[1]" = "_torchpick" ]; then _torchpick "$@"; else compdef _torchpick torchpick torchpick-cli; fi
"""

_FISH = """\
function __torchpick_words
  set -l words (commandline -opc)
  set -l offered ($words[1] completion words -- $words[2..-1] 2>/dev/null)
  if test (count $offered) -gt 0
    printf '%s\\n' $offered
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c torchpick -f -a '(__torchpick_words)'
complete -c torchpick-cli -w torchpick
"""

_POWERSHELL = """\
Register-ArgumentCompleter -Native -CommandName torchpick, torchpick-cli -ScriptBlock {
  param($word, $ast, $cursor)
  $before = $ast.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $cursor }
  $given = @($before | ForEach-Object { "$_" })
  & torchpick completion words '--' @given 2>$null | Where-Object { $_ -like "$word*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH, "powershell": _POWERSHELL}


class CompletionArguments(Arguments):
    shell: str


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=(*SCRIPTS, "words"), metavar="SHELL", help=", ".join(SCRIPTS))


def run(args: CompletionArguments) -> int:
    if args.shell == "words":
        print("\n".join(offered(args.passed_on)))
    else:
        print(SCRIPTS[args.shell], end="")
    return 0


def offered(words: Sequence[str]) -> list[str]:
    """What may stand after these words, read off the very parser that will meet them; the shell filters it."""
    given = [word for word in words if word != "="]
    command = given[0] if given and given[0] in COMMANDS else "pick"
    parser = ArgumentParser()
    if command == "pick":
        parser.add_argument("-V", "--version", action="version")
    import_module(f"torchpick.cli.{command}").add_arguments(parser)
    actions = parser._actions  # noqa: SLF001 # its only list
    for action in actions:
        if given and given[-1] in action.option_strings and action.nargs != 0:
            return _values(action)
    values = [value for action in actions if not action.option_strings for value in _values(action)]
    flags = [name for action in actions for name in action.option_strings if name.startswith("--")]
    return [*(() if given else COMMANDS), *values, *flags]


def _values(action: Action) -> list[str]:
    """The words that it takes, as far as they are few; of --platform they are checked by the parser of machines."""
    return [*(PLATFORMS if "--platform" in action.option_strings else action.choices or ())]
