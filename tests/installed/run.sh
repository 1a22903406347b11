#!/bin/sh
# run.sh PREFIX SCRATCH: what make install put under PREFIX is complete, and programs are compiled against
# it and run as users do. CC, CXX and PKG_CONFIG are the tools.
set -eu
prefix=$1
scratch=$2
sources=tests/installed
strict='-Wall -Wextra -Wpedantic -Werror'
export OMP_NUM_THREADS=3 # of a process that was not forked

fail() {
    printf 'installed: %s\n' "$1" >&2
    exit 1
}

package() {
    PKG_CONFIG_PATH=$prefix/lib/pkgconfig ${PKG_CONFIG:-pkg-config} "$@"
}

# run PROGRAM ARGUMENT: with the shared libraries of PREFIX.
run() {
    LD_LIBRARY_PATH=$prefix/lib "$@" || fail "$* failed"
}

# uses PROGRAM LIBRARY: by its soname.
uses() {
    readelf -d "$1" | grep -qF "[$2]" || fail "$1 does not use $2"
}

# expected_files VERSION: all that is installed.
expected_files() {
    printf '%s\n' bin/mha lib/pkgconfig/mha.pc lib/pkgconfig/mha_io.pc share/man/man1/mha.1 \
        share/bash-completion/completions/mha
    for name in libmha libmha_io; do
        printf 'lib/%s\n' "$name.a" "$name.so" "$name.so.${1%%.*}" "$name.so.$1"
    done
    find include/mha -name '*.h'
}

mkdir -p "$scratch"
version=$(package --modversion mha)
expected_files "$version" | sort > "$scratch/expected"
(cd "$prefix" && find . ! -type d | sed 's|^\./||') | sort | diff "$scratch/expected" - ||
    fail "the files above are missing (<) or superfluous (>)"
test "$("$prefix/bin/mha" --version)" = "mha $version" || fail "bin/mha is not version $version"
! grep -rn '@[A-Z]*@' "$prefix/lib/pkgconfig" "$prefix/share" || fail 'a text was not filled in'

# shellcheck disable=SC2046,SC2086 # lists of flags
{
    $CC -std=c11 $strict $sources/core.c $(package --cflags --libs mha) -o "$scratch/core"
    uses "$scratch/core" "libmha.so.${version%%.*}"
    run "$scratch/core" "$version"
    $CC -std=c11 $strict $sources/io.c $(package --cflags --libs mha_io) -o "$scratch/io"
    uses "$scratch/io" "libmha_io.so.${version%%.*}"
    run "$scratch/io" "$scratch/numbers.npz"

    # The archives: the first in a program without any shared library, the second with those that it
    # stands on, which may be there as shared libraries alone (OpenMP is for clang).
    compiler_flags=$(package --static --libs-only-other mha)
    if echo 'int main(void) { return 0; }' |
        $CC -static -x c - $compiler_flags -o "$scratch/static" 2> /dev/null; then
        # Linkers warn that libgomp may load libraries, which it does for accelerators alone.
        $CC -std=c11 $strict -static $sources/core.c $(package --static --cflags --libs mha) \
            -o "$scratch/core-static" 2> "$scratch/said" || fail "core-static: $(cat "$scratch/said")"
        "$scratch/core-static" "$version" || fail 'core-static failed'
    fi
    $CC -std=c11 $strict $sources/io.c $(package --cflags mha_io) "$prefix/lib/libmha_io.a" \
        "$prefix/lib/libmha.a" $(package --libs libzip jansson) $compiler_flags -lm -o "$scratch/io-static"
    "$scratch/io-static" "$scratch/numbers.npz" || fail 'io-static failed'
}
for library in -lmha_io -lmha -lm -lzip -ljansson; do
    package --static --libs mha_io | tr ' ' '\n' | grep -qx -e "$library" ||
        fail "pkg-config --static --libs mha_io lacks $library"
done

# Every header that can stand alone, in C++.
# shellcheck disable=SC2086 # CXX may hold words
if command -v ${CXX%% *} > /dev/null; then
    {
        echo '#define MHA_NO_SHORT_NAMES'
        grep -L '^#ifndef MHA_NAME$' include/mha/*.h | sed 's|.*/|#include <mha/|; s|$|>|'
        echo 'int main() { return mha_f32_stages[0].name == nullptr || mha_version() == nullptr; }'
    } > "$scratch/headers.cc"
    # shellcheck disable=SC2046
    $CXX -std=c++11 $strict "$scratch/headers.cc" $(package --cflags --libs mha_io) \
        -o "$scratch/headers"
    run "$scratch/headers"
fi

# make_alone ARGUMENT...: the rules of src/install.mk without the rest of the Makefile.
make_alone() {
    (unset MAKEFLAGS MFLAGS && make -s -f "$scratch/alone.mk" "BUILD=$scratch/alone" "$@")
}
printf '%s\n' 'FORCE:' 'VERSION := 0' 'include src/install.mk' > "$scratch/alone.mk"

# Of a folder only the PREFIX it begins with moves with prefix.
make_alone PREFIX=/a LIBDIR=/a/lib/a/b INCLUDEDIR=/b/a/include "$scratch/alone/mha.pc"
# shellcheck disable=SC2016 # ${prefix} is pkg-config's
for line in 'libdir=${prefix}/lib/a/b' 'includedir=/b/a/include'; do
    grep -qxF "$line" "$scratch/alone/mha.pc" || fail "mha.pc lacks $line"
done
for target in install uninstall; do
    ! make_alone PREFIX= DESTDIR="$scratch/refused" "$target" > /dev/null 2> "$scratch/said" ||
        fail "make $target takes an empty PREFIX"
    grep -qF 'PREFIX is empty: give PREFIX=/' "$scratch/said" || fail "make $target: $(cat "$scratch/said")"
done
test ! -e "$scratch/refused" || fail 'an empty PREFIX was written to'
