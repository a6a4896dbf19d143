# What bash would offer: `bash ask.bash SCRIPT LINES`, where SCRIPT is what windlass
# printed and LINES has command lines, each up to the cursor. Prints each line and
# its completions, with tabs between.
source "$1"
# As bash keeps it: complete -F NAME -o OPTION... windlass
registered=$(complete -p windlass)
name=${registered#*-F }
name=${name%% *}
# It sets an option of the completion under way. None is.
compopt() { :; }
while IFS= read -r line; do
    read -ra COMP_WORDS <<<"$line"
    [[ $line == *' ' ]] && COMP_WORDS+=('')
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    COMP_LINE=$line
    COMP_POINT=${#line}
    COMPREPLY=()
    "$name" windlass "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    # Bash turns to files where the function has nothing and the registration says so.
    if [ ${#COMPREPLY[@]} -eq 0 ] && [[ $registered == *'-o default'* ]]; then
        COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
    fi
    printf '%s' "$line"
    for word in "${COMPREPLY[@]}"; do printf '\t%s' "$word"; done
    printf '\n'
done <"$2"
