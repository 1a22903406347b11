#!/usr/bin/env bash
# manual.sh MHA: commands, options, tasks, routines and faults of the program, of its manual page and of its
# completion are the same.
set -euo pipefail
trap 'echo "manual.sh: line $LINENO failed" >&2' ERR
mha=$1
page=train/mha.1.in
# shellcheck source=/dev/null
source train/completion.bash

failures=0

# same WHAT WHERE EXPECTED FOUND: two sets, one entry a line; the first is the program's.
same() {
    local expected found missing superfluous
    expected=$(sort -u <<< "$3")
    found=$(sort -u <<< "$4")
    missing=$(comm -23 <(echo "$expected") <(echo "$found") | paste -sd ' ')
    superfluous=$(comm -13 <(echo "$expected") <(echo "$found") | paste -sd ' ')
    if [[ -n $missing || -n $superfluous ]]; then
        echo "$1: $2 lacks [$missing], and has [$superfluous] that the program has not" >&2
        failures=$((failures + 1))
    fi
}

# The entries of a help text, such as its commands: two spaces, a name, its description.
entries() {
    sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p'
}

# The options of a help text, but for those of every command.
options() {
    sed -n 's/^ \{2,6\}\(-[^ ,]*\(, --[^ ]*\)\{0,1\}\).*/\1/p' |
        grep -oE '(^|[, ])--?[A-Za-z?][a-z-]*' | tr -d ', ' |
        grep -vx -e '-?' -e --help -e --usage || :
}

# page_options COMMAND: the options that its section of the page lists.
page_options() {
    awk -v start=".Ss $1" '/^\.S[sh]/ {on = $0 == start} on && /^\.It Fl/' "$page" | flags
}

# The flags in the lines of a page.
flags() {
    grep -oE '\bFl -?[A-Za-z][a-z-]*' | sed 's/Fl /-/' || :
}

# completed WORD...: what the completion offers for the last word.
completed() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _mha
    printf '%s\n' "${COMPREPLY[@]}"
}

help_text=$("$mha" --help)
commands=$(entries <<< "$help_text")
pictures=$("$mha" plot --help | entries)
same commands "$page" "$commands" \
    "$(awk '/^\.Sh/ {on = /COMMANDS/} on && /^\.Ss/ {print $2}' "$page")"
same commands completion "$commands" "$(completed mha '' | grep -v -e ^-)"
same pictures "$page" "$pictures" "$(sed -n 's/^\.Ss plot //p' "$page")"
same pictures completion "$pictures" "$(completed mha plot '')"

everything=$'--help\n--usage\n--version\n-h\n-V'
subjects=$(grep -vx plot <<< "$commands" && "$mha" plot --help | entries | sed 's/^/plot /')
while read -r -a subject; do
    expected=$("$mha" "${subject[@]}" --help | options)
    everything+=$'\n'$expected
    same "options of ${subject[*]}" "$page" "$expected" "$(page_options "${subject[*]}")"
    same "options of ${subject[*]}" completion "$(grep -e -- <<< "$expected")"$'\n--help\n--usage' \
        "$(completed mha "${subject[@]}" --)"
done <<< "$subjects"
superfluous=$(comm -13 <(sort -u <<< "$everything") <(flags < "$page" | sort -u) | paste -sd ' ')
if [[ -n $superfluous ]]; then
    echo "$page: no command has $superfluous" >&2
    failures=$((failures + 1))
fi

same tasks completion "$("$mha" tasks | sed -n 's/^\([a-z][a-z]*\) .*/\1/p')" \
    "$(completed mha train '')"
routines=$({ "$mha" gradcheck --op '' 2>&1 || :; } | sed 's/.*is none of: //' | tr ' ' '\n')
same routines completion "$routines" "$(completed mha gradcheck --op '')"
faults=$({ "$mha" plot gradcheck --fault '' 2>&1 || :; } | sed 's/.*is none of: //; s/, /\n/g')
same faults completion "$faults" "$(completed mha plot gradcheck --fault '')"

exit $((failures > 0))
