#!/bin/sh
# each.sh PROGRAM COMMAND...: runs COMMAND under each instruction set that the processor has, but for
# the best one, which is used anyway. PROGRAM is that of tests/bits.
set -eu
program=$1
shift
sets=''
for set in v4 v3 baseline; do
    if MHA_ISA=$set "$program" 0 1 2> /dev/null; then
        sets="$sets $set"
    fi
done
best=${sets# }
best=${best%% *}
for set in $sets; do
    if [ "$set" != "$best" ]; then
        printf '  under MHA_ISA=%s\n' "$set"
        MHA_ISA=$set "$@"
    fi
done
