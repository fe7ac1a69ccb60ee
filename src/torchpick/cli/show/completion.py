"""Completion scripts for four shells, made from the grammar of the commands."""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.model.noun import Noun


class Flag(Noun):
    name: str
    about: str
    takes_value: bool
    choices: tuple[str, ...] = ()
    files: bool = False
    short: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,) if self.short is None else (self.name, self.short)


class CommandGrammar(Noun):
    """`values` are the words it takes beside flags; `files` is true where those may be files."""

    about: str
    flags: tuple[Flag, ...]
    values: tuple[str, ...] = ()
    files: bool = False


Grammar = Mapping[str, CommandGrammar]


def script(shell: str, grammar: Grammar) -> str:
    return {"bash": _bash, "zsh": _zsh, "fish": _fish, "powershell": _powershell}[shell](grammar)


def _commands(grammar: Grammar) -> list[str]:
    return [name for name in grammar if name]


def _words(grammar: Grammar, name: str) -> str:
    return " ".join([*(flag.name for flag in grammar[name].flags), *grammar[name].values])


def _choice_flags(grammar: Grammar) -> dict[str, tuple[str, ...]]:
    """Flags with fixed values; a flag means the same in every command."""
    return {flag.name: flag.choices for flag in _flags(grammar) if flag.choices}


def _flags(grammar: Grammar) -> list[Flag]:
    return [flag for command in grammar.values() for flag in command.flags]


def _taking(grammar: Grammar, *, files: bool) -> list[str]:
    """The flags with a free value, those that take a file or the others."""
    free = [flag for flag in _flags(grammar) if flag.takes_value and not flag.choices and flag.files == files]
    return sorted({name for flag in free for name in flag.names})


def _bash(grammar: Grammar) -> str:
    cases = "\n".join(f'    {name}) words="{_words(grammar, name)}" ;;' for name in _commands(grammar))
    values = "\n".join(
        f'    {flag}) COMPREPLY=($(compgen -W "{" ".join(choices)}" -- "$current")); return ;;'
        for flag, choices in _choice_flags(grammar).items()
    )
    filed = "|".join(name for name in _commands(grammar) if grammar[name].files)
    # A loop and not mapfile: macOS has bash 3.2. `--flag=value` comes as three words.
    return f"""\
_torchpick_files() {{
  local file
  compopt -o filenames 2>/dev/null
  while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "$current")
}}
_torchpick() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" words
  COMPREPLY=()
  if [ "$current" = "=" ]; then current=""
  elif [ "$previous" = "=" ]; then previous="${{COMP_WORDS[COMP_CWORD-2]}}"; fi
  case "$previous" in
{values}
    {"|".join(_taking(grammar, files=True))}) _torchpick_files; return ;;
    {"|".join(_taking(grammar, files=False))}) return ;;
  esac
  case "${{COMP_WORDS[1]}}" in
{cases}
    *) words="{_words(grammar, "")}" ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="$words {" ".join(_commands(grammar))}"; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  case "${{COMP_WORDS[1]}}" in
    {filed}) if [ "$COMP_CWORD" -gt 1 ] && [ "${{current#-}}" = "$current" ]; then _torchpick_files; fi ;;
  esac
}}
complete -F _torchpick torchpick torchpick-cli
"""


def _zsh(grammar: Grammar) -> str:
    commands = "\n".join(f"    '{name}:{_quoted(grammar[name].about)}'" for name in _commands(grammar))
    cases = "\n".join(
        f"    {name}) shift words; (( CURRENT-- )); _arguments {_zsh_flags(grammar[name])} ;;"
        for name in _commands(grammar)
    )
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


def _zsh_flags(command: CommandGrammar) -> str:
    found = []
    for flag in command.flags:
        about = _quoted(flag.about).replace("[", "(").replace("]", ")").replace(":", " ")
        value = ""
        if flag.takes_value:
            free = "_files" if flag.files else " "
            value = f":value:({' '.join(flag.choices)})" if flag.choices else f":value:{free}"
        found += [f"'*{name}{'=' if value and name.startswith('--') else ''}[{about}]{value}'" for name in flag.names]
    if command.values or command.files:
        found.append(f"'*:value:({' '.join(command.values)})'" if command.values else "'*:value:_files'")
    return " ".join(found)


def _fish(grammar: Grammar) -> str:
    names = " ".join(_commands(grammar))
    lines = [
        # The command is the first word or there is none: `--gpu sm_61` is not one.
        "function __torchpick_command",
        "  set -l words (commandline -opc)",
        f'  if not contains -- "$words[2]" {names}',
        '    test -z "$argv[1]"',
        "  else",
        '    test "$words[2]" = "$argv[1]"',
        "  end",
        "end",
        "function __torchpick_first",
        "  test (count (commandline -opc)) -eq 1",
        "end",
        "complete -c torchpick -f",
    ]
    lines += [
        f"complete -c torchpick -n __torchpick_first -a {name} -d '{_quoted(grammar[name].about)}'"
        for name in _commands(grammar)
    ]
    for name, command in grammar.items():
        seen = f"'__torchpick_command {name}'" if name else "__torchpick_command"
        for flag in command.flags:
            value = ""
            if flag.takes_value:
                free = " -r -F" if flag.files else " -x"
                value = f" -x -a '{' '.join(flag.choices)}'" if flag.choices else free
            spelt = " ".join(f"-s {each[1:]}" if len(each) == 2 else f"-l {each[2:]}" for each in flag.names)
            lines.append(f"complete -c torchpick -n {seen} {spelt}{value} -d '{_quoted(flag.about)}'")
        lines += [f"complete -c torchpick -n {seen} -a {value}" for value in command.values]
        lines += [f"complete -c torchpick -n {seen} -F"] if command.files else []
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
