#!/bin/sh
# embed.sh FILE... prints a C source that holds the files as texts: plot_script("loss.gp").
# Bytes are written as numbers: nothing to escape, and no limit on the length of a string literal.
set -eu

printf '/* Made by plots/embed.sh. */\n#include "gnuplot.h"\n\n#include <string.h>\n\n'

count=0
for file in "$@"; do
    count=$((count + 1))
    printf 'static const unsigned char script_%d[] = {\n' "$count"
    od -A n -v -t u1 "$file" | sed 's/[0-9][0-9]*/&,/g'
    printf '    0};\n\n'
done

printf 'static const struct {\n    const char *name;\n    const unsigned char *text;\n} scripts[] = {\n'
count=0
for file in "$@"; do
    count=$((count + 1))
    name=$(basename "$file")
    case $name in
    *[!A-Za-z0-9._-]*)
        printf 'embed.sh: %s: a name may hold letters, digits, dot, dash and underscore\n' "$file" >&2
        exit 1
        ;;
    esac
    printf '    {"%s", script_%d},\n' "$name" "$count"
done
printf '    {NULL, NULL},\n};\n'

cat <<'END'

const char *plot_script(const char *name) {
    for (size_t i = 0; scripts[i].name != NULL; i++) {
        if (strcmp(scripts[i].name, name) == 0) {
            return (const char *)scripts[i].text;
        }
    }
    return NULL;
}
END
