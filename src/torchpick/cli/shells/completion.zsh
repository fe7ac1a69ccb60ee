#compdef torchpick torchpick-cli
_torchpick() {
  compadd -- $("$words[1]" completion words -- "${(@)words[2,CURRENT-1]}" 2>/dev/null) || _files
}
if [ "$funcstack[1]" = "_torchpick" ]; then _torchpick "$@"; else compdef _torchpick torchpick torchpick-cli; fi
