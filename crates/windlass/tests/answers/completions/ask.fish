# What fish would offer: `fish ask.fish SCRIPT LINES`, where SCRIPT is what windlass
# printed and LINES has command lines, each up to the cursor. Prints each line and
# its completions, with tabs between.
source $argv[1]
while read --local line
    string join \t -- $line (complete --do-complete $line | string split --fields 1 \t)
end <$argv[2]
