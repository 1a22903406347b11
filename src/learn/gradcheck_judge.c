/* The verdict on a block whose derivatives are all finite. */
#include <float.h>
#include <math.h>

#include "learn/checker.h"

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
    checker_record_numbers(report, &check->subject->blocks[b], report->directional ? 0 : n,
        check->analytic[n], check->numeric[n], check->complex_step[n]);
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

static size_t widest_bar(const checker *check, size_t count) {
    size_t widest = 0;
    for (size_t n = 1; n < count; n++) {
        widest = check->estimate[n] > check->estimate[widest] ? n : widest;
    }
    return widest;
}

/* Whether no bar is wider than a tenth of the block's largest derivative, or the complex step tells. */
static bool is_told(const checker *check, size_t count, const tally *seen) {
    const double bar = MHA_GRADCHECK_ESTIMATES * check->estimate[widest_bar(check, count)];
    return bar <= 0.1 * seen->numeric || check->subject->forward_complex != NULL;
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
    if (report->verdict == MHA_GRADCHECK_NOT_TOLD) {
        record_derivative(report, check, b, widest_bar(check, report->checked));
    }
}

/* The verdict on a block whose derivatives are all finite. */
void checker_judge(mha_gradcheck_report *report, const checker *check, size_t b) {
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
