#compdef torchpick torchpick-cli
_torchpick() {
  local -a offered
  local line
  for line in "${(@f)$("$words[1]" completion words -- "${(@)words[2,CURRENT-1]}" 2>/dev/null)}"; do
    if [[ -n "$line" ]]; then offered+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}"); fi
  done
  _describe torchpick offered || _files
}
if [ "$funcstack[1]" = "_torchpick" ]; then _torchpick "$@"; else compdef _torchpick torchpick torchpick-cli; fi
