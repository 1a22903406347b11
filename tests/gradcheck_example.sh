#!/bin/sh
# gradcheck_example.sh SCRATCH LIBRARY: the program in the description of <mha/gradcheck.h>, as it stands there,
# is built against the library alone and passes; with a mistake in its backward it fails. CC is the compiler.
set -eu
scratch=$1
library=$2

fail() {
    printf 'gradcheck example: %s\n' "$1" >&2
    exit 1
}

# build NAME: $scratch/NAME from $scratch/NAME.c.
build() {
    # shellcheck disable=SC2086 # CC may hold words
    $CC -std=c11 -Wall -Wextra -Werror -Iinclude "$scratch/$1.c" "$library" -lm -o "$scratch/$1"
}

# says_fail NAME BLOCK SED_SCRIPT: so changed, the program says that this block alone is wrong.
says_fail() {
    sed "$3" "$scratch/right.c" > "$scratch/$1.c"
    ! cmp -s "$scratch/right.c" "$scratch/$1.c" || fail "$3 changes nothing"
    build "$1"
    status=0
    "$scratch/$1" > "$scratch/$1.txt" || status=$?
    test $status = 1 || fail "$1: exit status $status, not 1"
    sed "s/^\($2 *\) PASS\$/\1 FAIL/" "$scratch/right.txt" | diff - "$scratch/$1.txt" ||
        fail "$1: not what was expected (<)"
}

mkdir -p "$scratch"
sed -n '/^#ifndef MHA_GRADCHECK_H$/q; s|^ \*     ||p' include/mha/gradcheck.h | sed 's| \*/$||' > "$scratch/right.c"
build right
"$scratch/right" > "$scratch/right.txt" || fail "exit status $?, not 0"
printf '%s\n' 'x    PASS' 'gain PASS' 'bias PASS' | diff - "$scratch/right.txt" || fail 'not all blocks pass'

says_fail dropped x 's/ - along \* n\[j\])/)/'
says_fail mean x 's/ - mean - / - /'
says_fail slight x 's|) / deviation;|) / deviation * (1.0 + 1e-8);|'
says_fail gain gain 's/dgain\[j\] += dy\[i + j\] \* n\[j\];/dgain[j] += dy[i + j];/'
says_fail bias bias 's/dbias\[j\] += dy\[i + j\];/dbias[j] -= dy[i + j];/'
