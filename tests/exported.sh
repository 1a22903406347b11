#!/bin/sh
# exported.sh SCRATCH LIBMHA LIBMHA_IO: each shared library exports the functions and objects that its
# public headers declare, and nothing else. CC is the compiler, cc by default.
set -eu
scratch=$1
libmha=$2
libmha_io=$3

io_headers='io.h layouts.h'
# Those that are reached through a door cannot stand alone.
core_headers=$(grep -L '^#ifndef MHA_NAME$' include/mha/*.h | sed 's|.*/||' |
    grep -vx -e io.h -e layouts.h)

# declared HEADER...: names in front of a parenthesis or bracket in what is left of the headers when
# they have been preprocessed and inline functions are gone.
declared() {
    # shellcheck disable=SC2086 # CC may hold words
    printf '#include <mha/%s>\n' "$@" |
        ${CC:-cc} -std=c11 -Iinclude -DMHA_NO_SHORT_NAMES -E -P -x c - | tr '\n' ' ' |
        sed -E 's/static inline [^(]*\(/(/g' |
        grep -oE '\bmha_[a-z0-9_]+ *[[(]' | tr -d ' [(' | sort -u
}

# exported LIBRARY: without the names that begin with _, which linkers and sanitizers add.
exported() {
    nm -D --defined-only "$1" | awk '{print $NF}' | grep -v '^_' | sort -u
}

# same WHAT DECLARED EXPORTED
same() {
    test -s "$2" && cmp -s "$2" "$3" && return
    comm -23 "$2" "$3" | sed "s|^|$1: declared in include/mha, not exported: |" >&2
    comm -13 "$2" "$3" | sed "s|^|$1: exported, not declared in include/mha: |" >&2
    exit 1
}

mkdir -p "$scratch"
# shellcheck disable=SC2086 # lists of words
declared $core_headers > "$scratch/core-declared"
# shellcheck disable=SC2086
declared $core_headers $io_headers | comm -13 "$scratch/core-declared" - > "$scratch/io-declared"
exported "$libmha" > "$scratch/core-exported"
exported "$libmha_io" > "$scratch/io-exported"
same libmha "$scratch/core-declared" "$scratch/core-exported"
same libmha_io "$scratch/io-declared" "$scratch/io-exported"
