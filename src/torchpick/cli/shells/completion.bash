# In bash `--flag=value` comes as three words. It shows no descriptions; a flag's value that is no file has no dash.
_torchpick() {
  local current="${COMP_WORDS[COMP_CWORD]}" words
  if [ "$current" = "=" ]; then current=""; fi
  words="$("$1" completion words -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null | cut -f 1)"
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  case "$words" in "" | *--help) ;; *) compopt +o default 2>/dev/null ;; esac
}
complete -o default -F _torchpick torchpick torchpick-cli
