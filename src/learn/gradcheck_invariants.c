/* What holds for every function and its gradient, whatever they are. */
#include <math.h>
#include <string.h>

#include "learn/checker.h"

/* What is certain, or says too little, stays; the rest gives way to a fault of the function itself. */
static bool gives_way(mha_gradcheck_verdict verdict) {
    return verdict == MHA_GRADCHECK_PASS || verdict == MHA_GRADCHECK_WRONG ||
           verdict == MHA_GRADCHECK_ALL_ZERO || verdict == MHA_GRADCHECK_NOT_TOLD ||
           verdict == MHA_GRADCHECK_NOT_ZERO;
}

/* A block without entries may have no arrays. */
static void copy(double *to, const double *from, size_t count) {
    if (count > 0) {
        memcpy(to, from, count * sizeof *to);
    }
}

void keep_values(const checker *check) {
    double *at = check->values;
    for (size_t b = 0; b < check->subject->block_count; b++) {
        const mha_gradcheck_block *block = &check->subject->blocks[b];
        const size_t count = checker_entries(block);
        copy(at, block->values, count);
        at += count;
    }
}

static bool same_bits(double a, double b) {
    uint64_t a_bits, b_bits;
    memcpy(&a_bits, &a, sizeof a);
    memcpy(&b_bits, &b, sizeof b);
    return a_bits == b_bits;
}

static size_t first_difference(const double *a, const double *b, size_t count) {
    size_t i = 0;
    while (i < count && same_bits(a[i], b[i])) {
        i++;
    }
    return i;
}

void put_values_back(const checker *check) {
    const double *at = check->values;
    for (size_t b = 0; b < check->subject->block_count; b++) {
        const mha_gradcheck_block *block = &check->subject->blocks[b];
        const size_t count = checker_entries(block);
        copy(block->values, at, count);
        at += count;
    }
}

bool values_changed(mha_gradcheck_report *reports, const checker *check) {
    bool changed = false;
    const double *at = check->values;
    for (size_t b = 0; b < check->subject->block_count; b++) {
        const mha_gradcheck_block *block = &check->subject->blocks[b];
        const size_t count = checker_entries(block);
        const size_t first = first_difference(block->values, at, count);
        if (first < count) {
            checker_record(&reports[b], block, first);
            changed = true;
        }
        at += count;
    }
    put_values_back(check);
    for (size_t b = 0; changed && b < check->subject->block_count; b++) {
        reports[b].verdict = MHA_GRADCHECK_INPUTS_CHANGED;
    }
    return changed;
}

void keep_output_gradients(const checker *check) {
    double *at = check->output_gradients;
    for (size_t o = 0; o < check->subject->output_count; o++) {
        const mha_gradcheck_output *output = &check->subject->outputs[o];
        copy(at, output->gradient, output->count);
        at += output->count;
    }
}

bool output_gradients_changed(const checker *check) {
    bool changed = false;
    const double *at = check->output_gradients;
    for (size_t o = 0; o < check->subject->output_count; o++) {
        const mha_gradcheck_output *output = &check->subject->outputs[o];
        changed = changed || first_difference(output->gradient, at, output->count) < output->count;
        copy(output->gradient, at, output->count);
        at += output->count;
    }
    return changed;
}

static bool outputs_repeat(const checker *check) {
    for (size_t t = 0; t < check->term_count; t++) {
        if (!same_bits(*check->terms[t].value, check->terms[t].first)) {
            return false;
        }
    }
    return true;
}

/* Backward on gradients of zero; false: it failed. */
static bool backward_on_zeros(const checker *check) {
    const mha_gradcheck_case *subject = check->subject;
    for (size_t b = 0; b < subject->block_count; b++) {
        const size_t count = checker_entries(&subject->blocks[b]);
        for (size_t i = 0; i < count; i++) {
            subject->blocks[b].gradient[i] = 0.0;
        }
    }
    return subject->backward(subject->context);
}

/* How far a sum may be from twice the gradient, for its own rounding. */
static const double addition_tolerance = 1e-10;

/* The first entry of a gradient that is not `times` what it was, to rounding; count where there is none. Entries
 * that are zero by cancellation are rounding alone. */
static size_t first_unexpected(const checker *check, const mha_gradcheck_block *block,
    const double *was, size_t count, double times, double tolerance) {
    const double *gradient = block->gradient;
    double largest = 0.0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(was[i]));
    }
    const bool rounding = tolerance > 0 && block->zero_expected;
    size_t i = 0;
    while (i < count &&
           fabs(gradient[i] - times * was[i]) <=
               fmax(tolerance * largest, rounding ? checker_zero(check, block->values[i]) : 0.0)) {
        i++;
    }
    return i;
}

static void expect(mha_gradcheck_report *reports, const checker *check, double times,
    double tolerance, mha_gradcheck_verdict otherwise) {
    const double *was = check->gradients;
    for (size_t b = 0; b < check->subject->block_count; b++) {
        const mha_gradcheck_block *block = &check->subject->blocks[b];
        const size_t count = checker_entries(block);
        const size_t i = first_unexpected(check, block, was, count, times, tolerance);
        const bool replaces = otherwise == MHA_GRADCHECK_NOT_REPEATED
                                  ? gives_way(reports[b].verdict)
                                  : reports[b].verdict == MHA_GRADCHECK_PASS;
        if (replaces && i < count) {
            checker_record(&reports[b], block, i);
            reports[b].analytic = block->gradient[i];
            reports[b].numeric = times * was[i];
            reports[b].verdict = otherwise;
        }
        was += count;
    }
}

/* A power of two, so that nothing is rounded. */
#define LINEAR_FACTOR 1024.0

/* Backward with `times` the output gradients, which are put back; false: it failed. */
static bool backward_of(const checker *check, double times) {
    const mha_gradcheck_case *subject = check->subject;
    for (size_t o = 0; o < subject->output_count; o++) {
        for (size_t i = 0; i < subject->outputs[o].count; i++) {
            subject->outputs[o].gradient[i] *= times;
        }
    }
    const bool done = backward_on_zeros(check);
    output_gradients_changed(check);
    return done;
}

/* false: a call failed. */
static bool check_calls(mha_gradcheck_report *reports, checker *check) {
    const mha_gradcheck_case *subject = check->subject;
    if (!subject->forward(subject->context)) {
        return false;
    }
    for (size_t b = 0; !outputs_repeat(check) && b < subject->block_count; b++) {
        reports[b].verdict =
            gives_way(reports[b].verdict) ? MHA_GRADCHECK_NOT_REPEATED : reports[b].verdict;
    }
    if (!backward_on_zeros(check)) {
        return false;
    }
    expect(reports, check, 1.0, 0.0, MHA_GRADCHECK_NOT_REPEATED);
    if (!subject->backward(subject->context)) {
        return false;
    }
    expect(reports, check, 2.0, addition_tolerance, MHA_GRADCHECK_NOT_ADDED);
    if (!backward_of(check, LINEAR_FACTOR)) {
        return false;
    }
    expect(reports, check, LINEAR_FACTOR, addition_tolerance, MHA_GRADCHECK_NOT_LINEAR);
    const bool done = backward_of(check, 0.0);
    if (done) {
        expect(reports, check, 0.0, 0.0, MHA_GRADCHECK_NOT_LINEAR);
    }
    return done;
}

void check_invariants(mha_gradcheck_report *reports, checker *check) {
    const mha_gradcheck_case *subject = check->subject;
    double *at = check->gradients;
    for (size_t b = 0; b < subject->block_count; b++) {
        const size_t count = checker_entries(&subject->blocks[b]);
        copy(at, subject->blocks[b].gradient, count);
        at += count;
    }
    const bool done = check_calls(reports, check);
    at = check->gradients;
    for (size_t b = 0; b < subject->block_count; b++) {
        const size_t count = checker_entries(&subject->blocks[b]);
        if (!done && reports[b].verdict == MHA_GRADCHECK_PASS) {
            reports[b].verdict = MHA_GRADCHECK_CALL_FAILED;
        }
        copy(subject->blocks[b].gradient, at, count);
        at += count;
    }
}
