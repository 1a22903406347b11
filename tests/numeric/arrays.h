/* Arrays of one test, each of exactly the size asked for, so that a sanitizer sees a step outside.
 * arrays_release frees them all and belongs into the teardown of every test case.
 * Included after "base/real.h". */
#ifndef TESTS_NUMERIC_ARRAYS_H
#define TESTS_NUMERIC_ARRAYS_H

#include <check.h>

#include "count.h"

#define array_new          MHA_NAME(array_new)
#define array_constant     MHA_NAME(array_constant)
#define array_normal       MHA_NAME(array_normal)
#define array_whole        MHA_NAME(array_whole)
#define array_copy         MHA_NAME(array_copy)
#define arrays_keep        MHA_NAME(arrays_keep)
#define arrays_release     MHA_NAME(arrays_release)
#define arrays_mark        MHA_NAME(arrays_mark)
#define arrays_release_to  MHA_NAME(arrays_release_to)
#define assert_arrays_same MHA_NAME(assert_arrays_same)
#define assert_array_is    MHA_NAME(assert_array_is)
#define assert_arrays_near MHA_NAME(assert_arrays_near)

#define REAL_LARGEST (MHA_PRECISION == 32 ? (mha_real)FLT_MAX : (mha_real)DBL_MAX)

static const mha_real not_a_number = (mha_real)NAN;

mha_real *array_new(size_t count); /* every entry NaN */
mha_real *array_constant(size_t count, mha_real value);
mha_real *array_normal(size_t count, uint64_t seed); /* N(0,1) */
mha_real *array_copy(const mha_real *from, size_t count);

/* Whole numbers from -3 to 3: sums of their products are exact in both precisions. */
mha_real *array_whole(size_t count, uint64_t seed);

/* Calls release(thing) with the arrays; fails the test when thing is NULL. */
void arrays_keep(void *thing, void (*release)(void *));
void arrays_release(void);

/* Releases what was kept since the mark: of one turn of a loop, say. */
size_t arrays_mark(void);
void arrays_release_to(size_t mark);

void assert_arrays_same(
    const char *what, const mha_real *actual, const mha_real *expected, size_t count);
void assert_array_is(const char *what, const mha_real *actual, mha_real value, size_t count);

/* Every |actual - expected| is at most tolerance times the largest |expected|, or times 1 when that
 * is smaller. The tolerance is one of double; float gets 2^29 times as much. */
void assert_arrays_near(const char *what, const mha_real *actual, const mha_real *expected,
    size_t count, wide tolerance);

#endif
