# In bash `--flag=value` comes as three words.
_torchpick() {
  local current="${COMP_WORDS[COMP_CWORD]}" words
  if [ "$current" = "=" ]; then current=""; fi
  words="$("$1" completion words -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)"
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _torchpick torchpick torchpick-cli
