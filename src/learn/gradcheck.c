#include <mha/gradcheck.h>

#include <float.h>
#include <math.h>

#include "learn/difference.h"

#define VERDICT_TEXT(name, text) [name] = text,
static const char *const verdict_texts[] = {MHA_GRADCHECK_VERDICTS(VERDICT_TEXT)};
#undef VERDICT_TEXT

const char *mha_gradcheck_verdict_text(mha_gradcheck_verdict verdict) {
    size_t index = (size_t)verdict;
    if (index >= sizeof verdict_texts / sizeof *verdict_texts) {
        return "unknown verdict";
    }
    return verdict_texts[index];
}

mha_gradcheck_options mha_gradcheck_defaults(void) {
    return (mha_gradcheck_options){
        .complex_tolerance = 1e-12, .entry_limit = 4096, .directions = 4};
}

/* The analytic entries of a block that is checked along directions; false: they settle the verdict.
 * A sum over a block does not say which entry is NaN and let a small one pass for zero. */
static bool check_analytic_entries(mha_gradcheck_report *report, const checker *check,
    const mha_gradcheck_block *block, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const double analytic = block->gradient[i];
        const double most = block->zero_expected ? checker_zero(check, block->values[i]) : DBL_MAX;
        if (!(fabs(analytic) <= most)) {
            report->verdict =
                isfinite(analytic) ? MHA_GRADCHECK_NOT_ZERO : MHA_GRADCHECK_NOT_FINITE;
            checker_record_numbers(report, block, i, analytic, (double)NAN, (double)NAN);
            return false;
        }
    }
    return true;
}

/* Where the ladder may end: far below what is asked of an entry, or of a direction of norm `norm`. */
static double enough_of(const mha_gradcheck_block *block, size_t count, double norm) {
    double largest = 0.0, squares = 0.0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, isfinite(block->gradient[i]) ? fabs(block->gradient[i]) : 0.0);
    }
    for (size_t i = 0; i < count && largest > 0.0; i++) {
        const double share = isfinite(block->gradient[i]) ? block->gradient[i] / largest : 0.0;
        squares += share * share;
    }
    return 0.1 * MHA_GRADCHECK_SHARE *
           (norm > 0.0 ? norm * largest * sqrt(squares / (double)count) : largest);
}

/* Derivative n, along check->weights; false: it settles the verdict. */
static bool derive(mha_gradcheck_report *report, checker *check, size_t b, size_t n, size_t first,
    size_t count, double scale, double enough) {
    const mha_gradcheck_block *block = &check->subject->blocks[b];
    const direction along = {block->values + first, block->gradient + first, check->weights, count};
    const double analytic = direction_slope(&along);
    double complex_step = (double)NAN;
    derivative numeric = {(double)NAN, (double)NAN, 0.0};
    derivative_status status =
        extrapolate_difference(&numeric, b, first, count, scale, enough, check);
    if (status == DERIVATIVE_FOUND && check->subject->forward_complex != NULL) {
        status = complex_step_along(&complex_step, b, first, count, check);
    }
    check->analytic[n] = analytic;
    check->numeric[n] = numeric.value;
    check->estimate[n] = numeric.estimate;
    check->magnitude_moved[n] = numeric.magnitude;
    check->complex_step[n] = complex_step;
    if (status == DERIVATIVE_FOUND && isfinite(analytic)) {
        report->checked++;
        return true;
    }
    report->verdict =
        status == DERIVATIVE_CALL_FAILED ? MHA_GRADCHECK_CALL_FAILED : MHA_GRADCHECK_NOT_FINITE;
    checker_record_numbers(report, block, first, analytic, numeric.value, complex_step);
    return false;
}

static bool derive_entries(mha_gradcheck_report *report, checker *check, size_t b, size_t count) {
    const mha_gradcheck_block *block = &check->subject->blocks[b];
    const double enough = enough_of(block, count, 0.0);
    bool done = true;
    for (size_t i = 0; i < count && done; i++) {
        check->weights[0] = 1.0;
        done = derive(report, check, b, i, i, 1, fmax(1.0, fabs(block->values[i])), enough);
    }
    return done;
}

static bool derive_directions(
    mha_gradcheck_report *report, checker *check, size_t b, size_t count) {
    const mha_gradcheck_block *block = &check->subject->blocks[b];
    bool done = true;
    report->directional = true;
    for (size_t n = 0; n < check->options->directions && done; n++) {
        double squares = 0.0;
        for (size_t i = 0; i < count; i++) {
            const double scale = fmax(1.0, fabs(block->values[i]));
            check->weights[i] = scale * mha_rng_normal(&check->rng);
            squares += check->weights[i] * check->weights[i];
        }
        done = derive(report, check, b, n, 0, count, 1.0, enough_of(block, count, sqrt(squares)));
    }
    return done;
}

static void check_block(mha_gradcheck_report *report, checker *check, size_t b) {
    const mha_gradcheck_block *block = &check->subject->blocks[b];
    const mha_gradcheck_options *options = check->options;
    const size_t count = checker_entries(block);
    const bool large = count > options->entry_limit;
    if (large && !check_analytic_entries(report, check, block, count)) {
        return;
    }
    const bool done = large ? derive_directions(report, check, b, count)
                            : derive_entries(report, check, b, count);
    if (!done) {
        return;
    }
    checker_judge(report, check, b);
    if (options->observe != NULL) {
        const bool complex_too = check->subject->forward_complex != NULL;
        options->observe(options->observer,
            &(mha_gradcheck_derivatives){b, large, report->checked, check->analytic, check->numeric,
                check->estimate, complex_too ? check->complex_step : NULL});
    }
}

static void start_reports(
    mha_gradcheck_report *reports, size_t count, mha_gradcheck_verdict verdict) {
    const double none = (double)NAN;
    for (size_t b = 0; b < count; b++) {
        reports[b] = (mha_gradcheck_report){.verdict = verdict,
            .analytic = none,
            .numeric = none,
            .estimate = none,
            .complex_step = none,
            .error = none,
            .margin = none,
            .complex_error = none};
    }
}

mha_status mha_gradcheck_run(mha_gradcheck_report *reports, const mha_gradcheck_case *subject,
    const mha_gradcheck_options *options, mha_error *error) {
    checker check = {.subject = subject, .options = options};
    checker_room room;
    mha_status status = checker_check_arguments(&room, reports, subject, options, error);
    if (status == MHA_OK) {
        status = checker_begin(&check, &room, error);
    }
    if (status == MHA_OK) {
        keep_values(&check);
        const mha_gradcheck_verdict verdict = checker_evaluate(&check);
        start_reports(reports, subject->block_count, verdict);
        const bool changed = values_changed(reports, &check);
        const bool usable = verdict == MHA_GRADCHECK_PASS && !changed;
        for (size_t b = 0; usable && b < subject->block_count; b++) {
            check_block(&reports[b], &check, b);
        }
        if (usable) {
            check_invariants(reports, &check);
            values_changed(reports, &check);
        }
    }
    checker_free(&check);
    return status;
}
