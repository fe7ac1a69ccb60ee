"""Completion scripts for four shells, made from the grammar of the commands."""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.model.noun import Noun


class Flag(Noun):
    name: str
    about: str
    takes_value: bool
    choices: tuple[str, ...] = ()


class Command(Noun):
    about: str
    flags: tuple[Flag, ...]
    values: tuple[str, ...] = ()


Grammar = Mapping[str, Command]


def script(shell: str, grammar: Grammar) -> str:
    return {"bash": _bash, "zsh": _zsh, "fish": _fish, "powershell": _powershell}[shell](grammar)


def _commands(grammar: Grammar) -> list[str]:
    return [name for name in grammar if name]


def _words(grammar: Grammar, name: str) -> str:
    return " ".join([*(flag.name for flag in grammar[name].flags), *grammar[name].values])


def _choice_flags(grammar: Grammar) -> dict[str, tuple[str, ...]]:
    """Flags with fixed values; a flag means the same in every command."""
    return {flag.name: flag.choices for command in grammar.values() for flag in command.flags if flag.choices}


def _file_flags(grammar: Grammar) -> list[str]:
    return sorted(
        {flag.name for command in grammar.values() for flag in command.flags if flag.takes_value and not flag.choices}
    )


def _bash(grammar: Grammar) -> str:
    cases = "\n".join(f'    {name}) words="{_words(grammar, name)}" ;;' for name in _commands(grammar))
    values = "\n".join(
        f'    {flag}) COMPREPLY=($(compgen -W "{" ".join(choices)}" -- "$current")); return ;;'
        for flag, choices in _choice_flags(grammar).items()
    )
    return f"""\
_torchpick() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" words
  case "$previous" in
{values}
    {"|".join(_file_flags(grammar))}) COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  case "${{COMP_WORDS[1]}}" in
{cases}
    *) words="{_words(grammar, "")}" ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="$words {" ".join(_commands(grammar))}"; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -F _torchpick torchpick torchpick-cli
"""


def _zsh(grammar: Grammar) -> str:
    commands = "\n".join(f"    '{name}:{_quoted(grammar[name].about)}'" for name in _commands(grammar))
    cases = "\n".join(f"    {name}) _arguments {_zsh_flags(grammar[name])} ;;" for name in _commands(grammar))
    return f"""\
#compdef torchpick torchpick-cli
_torchpick() {{
  local -a commands
  commands=(
{commands}
  )
  if (( CURRENT == 2 )) && [[ "$words[2]" != -* ]]; then
    _describe command commands
    return
  fi
  case "$words[2]" in
{cases}
    *) _arguments {_zsh_flags(grammar[""])} ;;
  esac
}}
if [ "$funcstack[1]" = "_torchpick" ]; then _torchpick "$@"; else compdef _torchpick torchpick torchpick-cli; fi
"""


def _zsh_flags(command: Command) -> str:
    found = []
    for flag in command.flags:
        about = _quoted(flag.about).replace("[", "(").replace("]", ")").replace(":", " ")
        value = ""
        if flag.takes_value:
            value = f":value:({' '.join(flag.choices)})" if flag.choices else ":value:_files"
        found.append(f"'*{flag.name}[{about}]{value}'")
    found.append(f"'*:value:({' '.join(command.values)})'" if command.values else "'*:value:_files'")
    return " ".join(found)


def _fish(grammar: Grammar) -> str:
    lines = ["complete -c torchpick -f"]
    lines += [
        f"complete -c torchpick -n __fish_use_subcommand -a {name} -d '{_quoted(grammar[name].about)}'"
        for name in _commands(grammar)
    ]
    for name, command in grammar.items():
        seen = f"'__fish_seen_subcommand_from {name}'" if name else "__fish_use_subcommand"
        for flag in command.flags:
            value = ""
            if flag.takes_value:
                value = f" -x -a '{' '.join(flag.choices)}'" if flag.choices else " -r -F"
            name_ = f"-s {flag.name[1:]}" if len(flag.name) == 2 else f"-l {flag.name[2:]}"
            lines.append(f"complete -c torchpick -n {seen} {name_}{value} -d '{_quoted(flag.about)}'")
        lines += [f"complete -c torchpick -n {seen} -a {value}" for value in command.values]
    lines.append("complete -c torchpick-cli -w torchpick")
    return "\n".join(lines) + "\n"


def _powershell(grammar: Grammar) -> str:
    commands = ", ".join(f"'{name}'" for name in _commands(grammar))
    tables = "\n".join(
        f"    '{name}' = @({', '.join(repr(word) for word in _words(grammar, name).split())})" for name in grammar
    )
    return f"""\
Register-ArgumentCompleter -Native -CommandName torchpick, torchpick-cli -ScriptBlock {{
  param($word, $ast, $cursor)
  $commands = @({commands})
  $flags = @{{
{tables}
  }}
  $given = @($ast.CommandElements | Select-Object -Skip 1 | ForEach-Object {{ "$_" }})
  $command = if ($given.Count -gt 0 -and $commands -contains $given[0]) {{ $given[0] }} else {{ '' }}
  $offer = $flags[$command]
  if ($command -eq '') {{ $offer = $offer + $commands }}
  $offer | Where-Object {{ $_ -like "$word*" }} | ForEach-Object {{
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }}
}}
"""


def _quoted(text: str) -> str:
    return text.replace("'", "").replace("%%", "%")
