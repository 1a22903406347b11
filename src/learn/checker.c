#include "learn/checker.h"

#include <complex.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/size.h"

bool checker_count_entries(size_t *count, const mha_gradcheck_block *block) {
    *count = 1;
    bool fits = true;
    for (size_t axis = 0; axis < block->rank; axis++) {
        fits = fits && size_multiply(count, *count, block->dims[axis]);
    }
    return fits && *count <= SIZE_MAX / sizeof(double);
}

void checker_record(mha_gradcheck_report *report, const mha_gradcheck_block *block, size_t entry) {
    for (size_t axis = block->rank; axis-- > 0;) {
        report->index[axis] = entry % block->dims[axis];
        entry /= block->dims[axis];
    }
}

/* The entries of all blocks; false when they do not fit. */
static bool count_all(size_t *count, const mha_gradcheck_case *subject) {
    *count = 0;
    bool fits = true;
    for (size_t b = 0; b < subject->block_count; b++) {
        size_t entries = 0;
        fits = fits && checker_count_entries(&entries, &subject->blocks[b]) &&
               size_add(count, *count, entries);
    }
    return fits;
}

/* Complex copies of the blocks, and room for the outputs. */
static bool make_complex_room(checker *check, size_t outputs) {
    const mha_gradcheck_case *subject = check->subject;
    size_t count, bytes;
    if (!count_all(&count, subject) || !size_add(&count, count, outputs) ||
        !size_multiply(&bytes, count, sizeof *check->complex_numbers)) {
        return false;
    }
    check->complex_numbers = memory_allocate(bytes);
    check->complex_blocks = calloc(subject->block_count, sizeof *check->complex_blocks);
    check->complex_outputs = calloc(subject->output_count + 1, sizeof *check->complex_outputs);
    if (check->complex_numbers == NULL || check->complex_blocks == NULL ||
        check->complex_outputs == NULL) {
        return false;
    }
    mha_complex *at = check->complex_numbers;
    for (size_t b = 0; b < subject->block_count; b++) {
        const size_t entries = checker_entries(&subject->blocks[b]);
        check->complex_blocks[b] = at;
        for (size_t i = 0; i < entries; i++) {
            *at++ = subject->blocks[b].values[i];
        }
    }
    for (size_t o = 0; o < subject->output_count; o++) {
        check->complex_outputs[o] = at;
        at += subject->outputs[o].count;
    }
    return true;
}

static bool make_kept_room(checker *check, size_t outputs) {
    size_t count, bytes, numbers;
    if (!count_all(&count, check->subject) || !size_multiply(&numbers, count, 2) ||
        !size_add(&numbers, numbers, outputs) || !size_multiply(&bytes, numbers, sizeof(double))) {
        return false;
    }
    check->values = memory_allocate(bytes);
    if (check->values == NULL) {
        return false;
    }
    check->gradients = check->values + count;
    check->output_gradients = check->gradients + count;
    return true;
}

mha_status checker_make_room(checker *check, size_t outputs, size_t moved, mha_error *error) {
    size_t bytes;
    if (size_multiply(&bytes, outputs, sizeof(term))) {
        check->terms = memory_allocate(bytes);
    }
    if (size_multiply(&bytes, moved, 2 * sizeof(double))) {
        check->kept = memory_allocate(bytes);
    }
    const bool wanted = check->subject->forward_complex != NULL;
    if (check->terms == NULL || check->kept == NULL || !make_kept_room(check, outputs) ||
        (wanted && !make_complex_room(check, outputs))) {
        return mha_fail(error, MHA_ERROR_MEMORY,
            "not enough memory to move %zu entries at once and compare %zu outputs", moved,
            outputs);
    }
    check->moves = check->kept + moved;
    return MHA_OK;
}

void checker_free(checker *check) {
    free(check->terms);
    free(check->kept);
    free(check->values);
    free(check->complex_numbers);
    free(check->complex_blocks);
    free(check->complex_outputs);
}

double moved_weight(const checker *check, size_t i, double unit) {
    return ((check->kept[i] + check->moves[i]) - (check->kept[i] - check->moves[i])) / unit;
}

/* Subtracting term by term keeps the rounding of outputs that do not move out of the sum. */
bool difference_along(double *change, double *x, size_t count, checker *check) {
    const mha_gradcheck_case *subject = check->subject;
    memcpy(check->kept, x, count * sizeof *x);
    for (size_t i = 0; i < count; i++) {
        x[i] = check->kept[i] + check->moves[i];
    }
    bool done = subject->forward(subject->context);
    for (size_t t = 0; t < check->term_count; t++) {
        check->terms[t].ahead = *check->terms[t].value;
    }
    for (size_t i = 0; i < count; i++) {
        x[i] = check->kept[i] - check->moves[i];
    }
    done = done && subject->forward(subject->context);
    memcpy(x, check->kept, count * sizeof *x);
    *change = 0.0;
    for (size_t t = 0; t < check->term_count; t++) {
        *change += check->terms[t].r * (check->terms[t].ahead - *check->terms[t].value);
    }
    return done;
}

/* Its square is far below the rounding of anything, and it is a power of two. */
#define COMPLEX_STEP 0x1p-100

bool complex_step_along(
    double *derivative, size_t b, size_t first, size_t count, double unit, checker *check) {
    const mha_gradcheck_case *subject = check->subject;
    mha_complex *const x = check->complex_blocks[b] + first;
    for (size_t i = 0; i < count; i++) {
        x[i] += moved_weight(check, i, unit) * COMPLEX_STEP * (mha_complex)I;
    }
    const bool done = subject->forward_complex(subject->context, check->complex_outputs,
        (const mha_complex *const *)check->complex_blocks);
    for (size_t i = 0; i < count; i++) {
        x[i] = creal(x[i]);
    }
    *derivative = 0.0;
    for (size_t t = 0; done && t < check->term_count; t++) {
        const term *at = &check->terms[t];
        *derivative +=
            at->r * (cimag(check->complex_outputs[at->output][at->entry]) / COMPLEX_STEP);
    }
    return done;
}
