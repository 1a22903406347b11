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
    return (mha_gradcheck_options){.step = 1e-5,
        .relative_tolerance = 1e-6,
        .absolute_tolerance = 1e-9,
        .complex_tolerance = 1e-12,
        .entry_limit = 4096,
        .directions = 4};
}

/* What the entries, or directions, of one block have shown so far. */
typedef struct tally {
    double worst; /* largest share of a tolerance that an entry takes, before the block's size */
    double worst_numeric;   /* largest distance between analytic and numeric */
    double worst_complex;   /* likewise, of the complex step; NaN without */
    double largest;         /* largest |analytic|, |numeric| or |complex step| */
    double largest_numeric; /* largest |numeric| */
    double largest_complex; /* largest |complex step| */
} tally;

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
    return finite;
}

/* Evaluates the analytic gradients. Anything but PASS holds for every block. */
static mha_gradcheck_verdict evaluate_gradients(checker *check) {
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
    return subject->backward(subject->context) ? MHA_GRADCHECK_PASS : MHA_GRADCHECK_CALL_FAILED;
}

static void record(mha_gradcheck_report *report, const mha_gradcheck_block *block, size_t entry,
    double analytic, double numeric, double complex_step) {
    checker_record(report, block, entry);
    report->analytic = analytic;
    report->numeric = numeric;
    report->complex_step = complex_step;
}

/* What is compared, and how far apart it is. */
typedef struct comparison {
    double analytic, numeric, complex_step; /* the last is NaN where there is none */
    double numeric_distance, complex_distance;
} comparison;

static comparison compared(double analytic, double numeric, double complex_step, bool zero) {
    const double to_numeric = fabs(analytic - numeric), size = fmax(fabs(analytic), fabs(numeric));
    const double to_complex = fabs(analytic - complex_step);
    return (comparison){analytic, numeric, complex_step, zero ? size : to_numeric,
        zero ? fabs(complex_step) : to_complex};
}

/* At a tolerance of zero the larger distance still has the larger share. */
static double share(double distance, double tolerance) {
    return distance / fmax(tolerance, 1e-100);
}

static void see(tally *seen, const comparison *of) {
    seen->worst_numeric = fmax(seen->worst_numeric, of->numeric_distance);
    seen->worst_complex = fmax(seen->worst_complex, of->complex_distance);
    seen->largest = fmax(seen->largest, fmax(fabs(of->analytic), fabs(of->numeric)));
    seen->largest = fmax(seen->largest, fabs(of->complex_step));
    seen->largest_numeric = fmax(seen->largest_numeric, fabs(of->numeric));
    seen->largest_complex = fmax(seen->largest_complex, fabs(of->complex_step));
}

/* Compares along the direction of check->moves, which has `count` entries from `first` on, and
 * records it when it is the worst so far. false: the verdict is settled. */
static bool compare(mha_gradcheck_report *report, tally *seen, checker *check, size_t b,
    size_t first, size_t count) {
    const mha_gradcheck_block *block = &check->subject->blocks[b];
    const mha_gradcheck_options *options = check->options;
    double change, analytic = 0.0, complex_step = (double)NAN;
    bool done = difference_along(&change, block->values + first, count, check);
    const double unit = report->directional ? 2.0 * options->step : moved_weight(check, 0, 1.0);
    const double numeric = done ? change / unit : (double)NAN;
    for (size_t i = 0; i < count; i++) {
        analytic += block->gradient[first + i] * moved_weight(check, i, unit);
    }
    const bool stepped = done && check->subject->forward_complex != NULL;
    if (stepped) {
        done = complex_step_along(&complex_step, b, first, count, unit, check);
        complex_step = done ? complex_step : (double)NAN;
    }
    const bool finite =
        done && isfinite(analytic) && isfinite(numeric) && (!stepped || isfinite(complex_step));
    const comparison of = compared(analytic, numeric, complex_step, block->zero_expected);
    const double worst = fmax(share(of.numeric_distance, options->relative_tolerance),
        share(of.complex_distance, options->complex_tolerance));
    if (!finite || worst > seen->worst) {
        record(report, block, first, analytic, numeric, complex_step);
    }
    if (!finite) {
        report->verdict = done ? MHA_GRADCHECK_NOT_FINITE : MHA_GRADCHECK_CALL_FAILED;
        return false;
    }
    report->checked++;
    seen->worst = fmax(seen->worst, worst);
    see(seen, &of);
    return true;
}

/* Directions would blur which entry is NaN and let a small one pass for zero. This looks at the
 * analytic entries themselves. */
static bool check_analytic_entries(mha_gradcheck_report *report, const checker *check,
    const mha_gradcheck_block *block, size_t count) {
    const double most = block->zero_expected ? check->options->absolute_tolerance : DBL_MAX;
    for (size_t i = 0; i < count; i++) {
        const double analytic = block->gradient[i];
        if (!(fabs(analytic) <= most)) {
            report->verdict =
                isfinite(analytic) ? MHA_GRADCHECK_NOT_ZERO : MHA_GRADCHECK_NOT_FINITE;
            record(report, block, i, analytic, (double)NAN, (double)NAN);
            return false;
        }
    }
    return true;
}

/* The verdict on a block whose comparisons are all finite. */
static void judge(mha_gradcheck_report *report, const tally *seen, const checker *check,
    const mha_gradcheck_block *block) {
    const mha_gradcheck_options *options = check->options;
    const double zero = options->absolute_tolerance * fmin(1.0, check->magnitude);
    if (report->checked == 0 || check->term_count == 0) {
        report->verdict = MHA_GRADCHECK_EMPTY;
        return;
    }
    report->error = seen->largest;
    if (block->zero_expected) {
        report->verdict = seen->largest <= options->absolute_tolerance ? MHA_GRADCHECK_PASS
                                                                       : MHA_GRADCHECK_NOT_ZERO;
    } else if (seen->largest <= zero) {
        report->verdict = MHA_GRADCHECK_ALL_ZERO;
    } else {
        report->error = seen->worst_numeric / seen->largest_numeric;
        report->complex_error = seen->worst_complex / seen->largest_complex;
        const bool right = report->error <= options->relative_tolerance &&
                           !(report->complex_error > options->complex_tolerance);
        report->verdict = right ? MHA_GRADCHECK_PASS : MHA_GRADCHECK_WRONG;
    }
}

static void check_block(mha_gradcheck_report *report, checker *check, size_t b) {
    const mha_gradcheck_block *block = &check->subject->blocks[b];
    const mha_gradcheck_options *options = check->options;
    tally seen = {.worst = -1.0, .worst_complex = (double)NAN, .largest_complex = (double)NAN};
    const size_t count = checker_entries(block);
    const bool large = count > options->entry_limit;
    if (large && !check_analytic_entries(report, check, block, count)) {
        return;
    }
    report->directional = large;
    const size_t moved = large ? count : 1;
    for (size_t n = 0; n < (large ? options->directions : count); n++) {
        const size_t first = large ? 0 : n;
        for (size_t i = 0; i < moved; i++) {
            const double step = options->step * fmax(1.0, fabs(block->values[first + i]));
            check->moves[i] = large ? step * mha_rng_normal(&check->rng) : step;
        }
        if (!compare(report, &seen, check, b, first, moved)) {
            return;
        }
    }
    judge(report, &seen, check, block);
}

mha_status mha_gradcheck_run(mha_gradcheck_report *reports, const mha_gradcheck_case *subject,
    const mha_gradcheck_options *options, mha_error *error) {
    checker check = {.subject = subject, .options = options};
    size_t outputs, moved;
    mha_status status = checker_check_arguments(&outputs, &moved, reports, subject, options, error);
    if (status == MHA_OK) {
        status = checker_make_room(&check, outputs, moved, error);
    }
    if (status == MHA_OK) {
        mha_rng_seed(&check.rng, (const uint64_t[]){options->seed, 6}, 2);
        keep_values(&check);
        const mha_gradcheck_verdict verdict = evaluate_gradients(&check);
        for (size_t b = 0; b < subject->block_count; b++) {
            const double none = (double)NAN;
            reports[b] = (mha_gradcheck_report){.verdict = verdict,
                .analytic = none,
                .numeric = none,
                .complex_step = none,
                .error = none,
                .complex_error = none};
        }
        const bool changed = values_changed(reports, &check);
        for (size_t b = 0; verdict == MHA_GRADCHECK_PASS && !changed && b < subject->block_count;
             b++) {
            check_block(&reports[b], &check, b);
        }
        if (verdict == MHA_GRADCHECK_PASS && !changed) {
            check_invariants(reports, &check);
        }
    }
    checker_free(&check);
    return status;
}
