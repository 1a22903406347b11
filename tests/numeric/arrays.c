#include "base/real.h"

#include <stdlib.h>
#include <string.h>

#include "arrays.h"

enum { KEPT = 4096 };

static struct {
    void *thing;
    void (*release)(void *);
} kept[KEPT];
static size_t kept_count;

void arrays_keep(void *thing, void (*release)(void *)) {
    ck_assert_ptr_nonnull(thing);
    ck_assert_uint_lt(kept_count, KEPT);
    kept[kept_count].thing = thing;
    kept[kept_count].release = release;
    kept_count++;
}

size_t arrays_mark(void) {
    return kept_count;
}

void arrays_release_to(size_t mark) {
    while (kept_count > mark) {
        kept_count--;
        kept[kept_count].release(kept[kept_count].thing);
    }
}

void arrays_release(void) {
    arrays_release_to(0);
}

static mha_real *allocate(size_t count) {
    mha_real *array = malloc(count * sizeof *array);
    arrays_keep(array, free);
    return array;
}

mha_real *array_constant(size_t count, mha_real value) {
    mha_real *array = allocate(count);
    for (size_t i = 0; i < count; i++) {
        array[i] = value;
    }
    return array;
}

mha_real *array_new(size_t count) {
    return array_constant(count, not_a_number);
}

mha_real *array_normal(size_t count, uint64_t seed) {
    mha_real *array = allocate(count);
    mha_rng rng;
    mha_rng_seed(&rng, &seed, 1);
    for (size_t i = 0; i < count; i++) {
        array[i] = (mha_real)mha_rng_normal(&rng);
    }
    return array;
}

mha_real *array_whole(size_t count, uint64_t seed) {
    mha_real *array = allocate(count);
    mha_rng rng;
    mha_rng_seed(&rng, &seed, 1);
    for (size_t i = 0; i < count; i++) {
        array[i] = (mha_real)mha_rng_integers(&rng, 7) - REAL(3.0);
    }
    return array;
}

mha_real *array_copy(const mha_real *from, size_t count) {
    mha_real *array = allocate(count);
    if (count > 0) {
        memcpy(array, from, count * sizeof *array);
    }
    return array;
}

/* Each assertion of Check writes a file: one for an array, about the first entry that is wrong. */

void assert_arrays_same(
    const char *what, const mha_real *actual, const mha_real *expected, size_t count) {
    size_t i = 0;
    while (i < count && memcmp(&actual[i], &expected[i], sizeof *actual) == 0) {
        i++;
    }
    ck_assert_msg(i >= count, "%s[%zu] of %zu is %.17g, not %.17g", what, i, count, (wide)actual[i],
        (wide)expected[i]);
}

void assert_array_is(const char *what, const mha_real *actual, mha_real value, size_t count) {
    size_t i = 0;
    while (i < count && actual[i] == value) {
        i++;
    }
    ck_assert_msg(i >= count, "%s[%zu] of %zu is %.17g, not %.17g", what, i, count, (wide)actual[i],
        (wide)value);
}

void assert_arrays_near(const char *what, const mha_real *actual, const mha_real *expected,
    size_t count, wide tolerance) {
    wide largest = 1;
    for (size_t i = 0; i < count; i++) {
        const wide size = fabs((wide)expected[i]);
        largest = size > largest ? size : largest;
    }
    const wide limit = (MHA_PRECISION == 32 ? 0x1p29 : 1) * tolerance * largest;
    size_t i = 0;
    while (i < count && fabs((wide)actual[i] - (wide)expected[i]) <= limit) {
        i++;
    }
    ck_assert_msg(i >= count, "%s[%zu] of %zu is %.17g, not %.17g within %.3g", what, i, count,
        (wide)actual[i], (wide)expected[i], limit);
}
