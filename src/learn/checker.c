#include "learn/checker.h"

#include <math.h>
#include <stdlib.h>

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

void checker_record_numbers(mha_gradcheck_report *report, const mha_gradcheck_block *block,
    size_t entry, double analytic, double numeric, double complex_step) {
    checker_record(report, block, entry);
    report->analytic = analytic;
    report->numeric = numeric;
    report->complex_step = complex_step;
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

static bool make_compared_room(checker *check, size_t compared) {
    size_t bytes;
    if (size_multiply(&bytes, compared, 5 * sizeof(double))) {
        check->analytic = memory_allocate(bytes);
    }
    if (check->analytic == NULL) {
        return false;
    }
    check->numeric = check->analytic + compared;
    check->estimate = check->numeric + compared;
    check->complex_step = check->estimate + compared;
    check->magnitude_moved = check->complex_step + compared;
    return true;
}

mha_status checker_begin(checker *check, const checker_room *room, mha_error *error) {
    size_t bytes;
    if (size_multiply(&bytes, room->outputs, sizeof(term))) {
        check->terms = memory_allocate(bytes);
    }
    if (size_multiply(&bytes, room->moved, 2 * sizeof(double))) {
        check->kept = memory_allocate(bytes);
    }
    const bool wanted = check->subject->forward_complex != NULL;
    if (check->terms == NULL || check->kept == NULL || !make_compared_room(check, room->compared) ||
        !make_kept_room(check, room->outputs) ||
        (wanted && !make_complex_room(check, room->outputs))) {
        return mha_fail(error, MHA_ERROR_MEMORY,
            "not enough memory to move %zu entries at once and compare %zu outputs", room->moved,
            room->outputs);
    }
    check->weights = check->kept + room->moved;
    mha_rng_seed(&check->rng, (const uint64_t[]){check->options->seed, 6}, 2);
    return MHA_OK;
}

void checker_free(checker *check) {
    free(check->terms);
    free(check->kept);
    free(check->analytic);
    free(check->values);
    free(check->complex_numbers);
    free(check->complex_blocks);
    free(check->complex_outputs);
}

/* Draws r, gives it to backward as d(L)/d(outputs), and gathers the terms of L. false: one of them
 * is not finite. */
static bool draw_output_gradients(checker *check) {
    bool finite = true;
    for (size_t o = 0; o < check->subject->output_count; o++) {
        const mha_gradcheck_output *output = &check->subject->outputs[o];
        for (size_t i = 0; i < output->count; i++) {
            const double r = output->gradient[i] = mha_rng_normal(&check->rng);
            if (output->excluded != NULL && output->excluded[i]) {
                continue;
            }
            check->terms[check->term_count++] = (term){.output = o,
                .entry = i,
                .value = &output->values[i],
                .r = r,
                .first = output->values[i]};
            check->magnitude += fabs(r * output->values[i]);
            finite = finite && isfinite(output->values[i]);
        }
    }
    return finite && isfinite(check->magnitude);
}

mha_gradcheck_verdict checker_evaluate(checker *check) {
    const mha_gradcheck_case *subject = check->subject;
    if (!subject->forward(subject->context)) {
        return MHA_GRADCHECK_CALL_FAILED;
    }
    if (!draw_output_gradients(check)) {
        return MHA_GRADCHECK_NOT_FINITE;
    }
    for (size_t b = 0; b < subject->block_count; b++) {
        const mha_gradcheck_block *block = &subject->blocks[b];
        const size_t count = checker_entries(block);
        for (size_t i = 0; i < count; i++) {
            block->gradient[i] = 0.0;
        }
    }
    keep_output_gradients(check);
    const bool done = subject->backward(subject->context);
    const bool changed = output_gradients_changed(check);
    return !done     ? MHA_GRADCHECK_CALL_FAILED
           : changed ? MHA_GRADCHECK_INPUTS_CHANGED
                     : MHA_GRADCHECK_PASS;
}

double checker_zero(const checker *check, double x) {
    return CHECKER_ROUNDING * check->magnitude / fmax(1.0, fabs(x));
}
