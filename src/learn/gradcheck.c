#include <mha/gradcheck.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include "learn/checker.h"

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

static void record(mha_gradcheck_report *report, const mha_gradcheck_block *block, size_t entry,
    double analytic, double numeric, double complex_step) {
    checker_record(report, block, entry);
    report->analytic = analytic;
    report->numeric = numeric;
    report->complex_step = complex_step;
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
            record(report, block, i, analytic, (double)NAN, (double)NAN);
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
    double analytic = 0.0, complex_step = (double)NAN;
    derivative numeric = {(double)NAN, (double)NAN, 0.0};
    for (size_t i = 0; i < count; i++) {
        analytic += block->gradient[first + i] * check->weights[i];
    }
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
    record(report, block, first, analytic, numeric.value, complex_step);
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

/* Largest absolute values in a block, and what of it is zero. */
typedef struct tally {
    double analytic, numeric, complex_step; /* the last is 0 without */
    double distance, complex_distance;      /* from the analytic ones */
} tally;

static tally tally_of(const checker *check, size_t count) {
    tally of = {0.0, 0.0, 0.0, 0.0, 0.0};
    for (size_t n = 0; n < count; n++) {
        const double analytic = check->analytic[n];
        of.analytic = fmax(of.analytic, fabs(analytic));
        of.numeric = fmax(of.numeric, fabs(check->numeric[n]));
        of.complex_step = fmax(of.complex_step, fabs(check->complex_step[n]));
        of.distance = fmax(of.distance, fabs(analytic - check->numeric[n]));
        of.complex_distance = fmax(of.complex_distance, fabs(analytic - check->complex_step[n]));
    }
    return of;
}

/* How many times what is allowed a distance is; nothing is none. */
static double share(double distance, double allowed) {
    return distance > 0.0 ? distance / allowed : 0.0;
}

/* What derivative n may be and still be zero: the rounding of a sum of outputs that it moves, the last place of all,
 * and where zero is declared its estimate. */
static double zero_of(
    const mha_gradcheck_report *report, const checker *check, size_t b, size_t n) {
    const mha_gradcheck_block *block = &check->subject->blocks[b];
    const double scale = report->directional ? sqrt((double)checker_entries(block))
                                             : 1.0 / fmax(1.0, fabs(block->values[n]));
    const double rounding =
        fmax(CHECKER_ROUNDING * check->magnitude_moved[n], DBL_EPSILON * check->magnitude);
    const bool expected = block->zero_expected;
    return fmax(expected ? MHA_GRADCHECK_ESTIMATES * check->estimate[n] : 0.0, scale * rounding);
}

/* Records derivative n of the report. */
static void record_derivative(
    mha_gradcheck_report *report, const checker *check, size_t b, size_t n) {
    record(report, &check->subject->blocks[b], report->directional ? 0 : n, check->analytic[n],
        check->numeric[n], check->complex_step[n]);
    report->estimate = check->estimate[n];
}

/* Records the derivative that is farthest from zero, in units of what may be rounding. */
static void measure_zeros(mha_gradcheck_report *report, const checker *check, size_t b) {
    report->margin = -1.0;
    for (size_t n = 0; n < report->checked; n++) {
        const double complex_step = check->complex_step[n];
        double size = fmax(fabs(check->analytic[n]), fabs(check->numeric[n]));
        size = fmax(size, fabs(complex_step));
        const double margin = share(size, zero_of(report, check, b, n));
        if (margin > report->margin) {
            report->margin = margin;
            record_derivative(report, check, b, n);
        }
    }
}

/* Whether no bar is wider than a tenth of the block's largest derivative, or the complex step tells. */
static bool is_told(const checker *check, size_t count, const tally *seen) {
    const double widest = 0.1 * seen->numeric / MHA_GRADCHECK_ESTIMATES;
    bool told = true;
    for (size_t n = 0; n < count; n++) {
        told = told && check->estimate[n] <= widest;
    }
    return told || check->subject->forward_complex != NULL;
}

/* Records the derivative whose two ways are farthest apart, in units of what is allowed. */
static void measure_distances(
    mha_gradcheck_report *report, const tally *seen, const checker *check, size_t b) {
    const double complex_allowed = check->options->complex_tolerance * seen->complex_step;
    double worst = -1.0;
    report->margin = 0.0;
    for (size_t n = 0; n < report->checked; n++) {
        const double allowed =
            fmax(MHA_GRADCHECK_ESTIMATES * check->estimate[n], MHA_GRADCHECK_SHARE * seen->numeric);
        const double margin = share(fabs(check->analytic[n] - check->numeric[n]), allowed);
        const double by_complex =
            share(fabs(check->analytic[n] - check->complex_step[n]), complex_allowed);
        report->margin = fmax(report->margin, margin);
        if (fmax(margin, by_complex) > worst) {
            worst = fmax(margin, by_complex);
            record_derivative(report, check, b, n);
        }
    }
    report->error = seen->distance / seen->numeric;
    if (check->subject->forward_complex != NULL) {
        report->complex_error = seen->complex_distance / seen->complex_step;
    }
    report->verdict = worst > 1.0                             ? MHA_GRADCHECK_WRONG
                      : is_told(check, report->checked, seen) ? MHA_GRADCHECK_PASS
                                                              : MHA_GRADCHECK_NOT_TOLD;
}

/* The verdict on a block whose derivatives are all finite. */
static void judge(mha_gradcheck_report *report, const checker *check, size_t b) {
    if (report->checked == 0 || check->term_count == 0) {
        report->verdict = MHA_GRADCHECK_EMPTY;
        return;
    }
    const bool expected = check->subject->blocks[b].zero_expected;
    const tally seen = tally_of(check, report->checked);
    measure_zeros(report, check, b);
    if (report->margin <= 1.0 || expected) {
        const bool zero = report->margin <= 1.0;
        report->error = fmax(seen.analytic, fmax(seen.numeric, seen.complex_step));
        report->verdict = zero && expected ? MHA_GRADCHECK_PASS
                          : expected       ? MHA_GRADCHECK_NOT_ZERO
                                           : MHA_GRADCHECK_ALL_ZERO;
    } else {
        measure_distances(report, &seen, check, b);
    }
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
    judge(report, check, b);
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
