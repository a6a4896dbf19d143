# What zsh would offer: `zsh -f ask.zsh FOLDER`. FOLDER has `_windlass`, which is what
# windlass printed, and `lines`, which has command lines, each up to the cursor.
# Prints each line and its completions, with tabs between.
#
# Zsh completes in its line editor alone, and that wants a terminal. A second zsh has
# one of its own here. It answers all lines when its editor starts, and ends: nobody
# types, and nobody reads what it draws.
folder=$1
cat >$folder/.zshrc <<'END'
setopt no_beep
fpath=($ZDOTDIR $fpath)
autoload -Uz compinit
compinit -u -D
typeset -a hits
# What would be offered passes through here.
compadd() {
    # These store matches for the caller, and offer none.
    if [[ ${@[1,(i)(-|--)]} == *-[OAD]\ * ]]; then
        builtin compadd "$@"
        return
    fi
    local -a found
    builtin compadd -A found "$@"
    hits+=($found)
    builtin compadd "$@"
}
offer() {
    _main_complete
    # Neither shown nor put into the line.
    compstate[list]= compstate[insert]=
}
answer() {
    local line
    local -a told
    while IFS= read -r line; do
        BUFFER=$line CURSOR=$#line hits=()
        zle offer-words
        told=("$line" $hits)
        print -r -- "${(pj:\t:)told}"
    done <$ZDOTDIR/lines >$ZDOTDIR/answers
    exit
}
zle -C offer-words complete-word offer
zle -N zle-line-init answer
END
zmodload zsh/zpty
# -d: no settings of the machine. The terminal closes when that shell has ended.
export ZDOTDIR=$folder TERM=xterm
zpty asked zsh -d -i
while zpty -r asked drawn; do :; done
zpty -d asked
cat $folder/answers
