#!/bin/sh
# run.sh SCRATCH PROGRAM COUNT THREADS...: runs tests/bits under each instruction set that the processor
# has and compares the lines. Optional: TILE_V4, a program whose v3 has the tile of v4, and AARCH64, a
# command that runs the program built for that processor, with two numbers of threads, since it is slow.
set -eu
scratch=$1
program=$2
shift 2
mkdir -p "$scratch"
same=''
# There are more threads than processors: who waits must not keep one busy.
export OMP_WAIT_POLICY=passive

# try NAME COMMAND...: 0 when it ran, 3 when the processor lacks the set; other failures end this.
try() {
    name=$1
    shift
    status=0
    "$@" > "$scratch/$name" 2> "$scratch/$name.errors" || status=$?
    test $status -eq 0 || test $status -eq 3 || {
        cat "$scratch/$name.errors" >&2
        printf 'bits: %s failed with status %s\n' "$name" "$status" >&2
        exit 1
    }
    return $status
}

# agree NAME: with those before it.
agree() {
    first=${same%% *}
    if [ -n "$first" ] && ! diff "$scratch/$first" "$scratch/$1" > "$scratch/difference"; then
        grep '^[<>]' "$scratch/difference" | head -n 6 >&2
        printf 'bits: %s (<) and %s (>) differ in %s of %s lines\n' "$first" "$1" \
            "$(grep -c '^<' "$scratch/difference")" "$(wc -l < "$scratch/$1")" >&2
        exit 1
    fi
    same="${same:+$same }$1"
}

try baseline env MHA_ISA=baseline "$program" "$@"
test -s "$scratch/baseline" || exit 1
for set in v3 v4; do
    if try $set env MHA_ISA=$set "$program" "$@"; then
        agree $set
    fi
done
if [ -n "${TILE_V4-}" ] && try tile-v4 env MHA_ISA=v3 "$TILE_V4" "$@"; then
    agree tile-v4
fi
if [ -n "${AARCH64-}" ]; then
    # shellcheck disable=SC2086 # words of a command
    try aarch64 env -u MHA_ISA $AARCH64 "$1" 1 3
    agree aarch64
fi
printf 'bits: %s trainings with %s threads, stored and tiled: same bits by %s' "$1" \
    "$(shift && echo "$*" | tr ' ' ,)" "${same:-one instruction set}"
different=''
if [ -n "$same" ] && ! cmp -s "$scratch/baseline" "$scratch/${same%% *}"; then
    different='; baseline has its own'
fi
printf '%s\n' "$different"
