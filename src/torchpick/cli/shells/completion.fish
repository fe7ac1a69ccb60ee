function __torchpick_words
  set -l words (commandline -opc)
  set -l offered ($words[1] completion words -- $words[2..-1] 2>/dev/null)
  if test (count $offered) -gt 0
    printf '%s\n' $offered
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c torchpick -f -a '(__torchpick_words)'
complete -c torchpick-cli -w torchpick
