#!/bin/sh
# each.sh PROGRAM COMMAND...: runs COMMAND under each instruction set that the processor has, forced: what is
# picked by itself computes narrow layers by v3 where v4 is the best. PROGRAM is that of tests/bits.
set -eu
program=$1
shift
for set in v4 v3 baseline; do
    if MHA_ISA=$set "$program" 0 1 > /dev/null 2>&1; then
        printf '  under MHA_ISA=%s\n' "$set"
        MHA_ISA=$set "$@"
    fi
done
