#include "gradcheck_curves.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks/faults/faults.h"
#include "memory.h"

static size_t entries_of(const mha_gradcheck_block *block) {
    size_t count = 1;
    for (size_t i = 0; i < block->rank; i++) {
        count *= block->dims[i];
    }
    return count;
}

/* Entries of the blocks before block b. */
static size_t entries_before(const struct check_case *subject, size_t b) {
    size_t count = 0;
    for (size_t i = 0; i < b; i++) {
        count += entries_of(&subject->blocks[i]);
    }
    return count;
}

struct gathering {
    struct curve_entry *entries;
    const struct check_case *subject;
};

static void gather(void *observer, const mha_gradcheck_derivatives *derivatives) {
    const struct gathering *to = observer;
    struct curve_entry *entry = to->entries + entries_before(to->subject, derivatives->block);
    for (size_t i = 0; i < derivatives->count; i++, entry++) {
        entry->numeric = derivatives->numeric[i];
        entry->estimate = derivatives->estimate[i];
        entry->complex_step = derivatives->complex_step[i];
        entry->right = derivatives->analytic[i];
    }
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of numbers that are not NaN, which are sorted; NaN of none. */
static double median(double *values, size_t count) {
    if (count == 0) {
        return (double)NAN;
    }
    qsort(values, count, sizeof *values, compare);
    return 0.5 * (values[(count - 1) / 2] + values[count / 2]);
}

/* What the checker makes of the outputs; after a check their gradients are r. */
static double weighted_sum(const struct check_case *subject) {
    const mha_gradcheck_output *output = &subject->output;
    double sum = 0.0;
    for (size_t i = 0; i < output->count; i++) {
        sum += output->gradient[i] * output->values[i];
    }
    return sum;
}

static double central_difference(struct check_case *subject, double *x, double step) {
    const double kept = *x;
    *x = kept + step;
    subject->subject.forward(subject);
    const double ahead = weighted_sum(subject);
    *x = kept - step;
    subject->subject.forward(subject);
    const double behind = weighted_sum(subject);
    *x = kept;
    return (ahead - behind) / (2.0 * step);
}

static double distance(double derivative, const struct curve_entry *entry) {
    return fabs(derivative - entry->complex_step) / fabs(entry->complex_step);
}

/* Room for a number for each entry of a block. */
struct wq {
    double *values, *errors;
    const struct curve_entry *entries;
    size_t count;
};

static double error_at(struct check_case *subject, const struct wq *wq, double step) {
    size_t used = 0;
    for (size_t i = 0; i < wq->count; i++) {
        if (wq->entries[i].complex_step != 0.0) {
            const double h = step * fmax(1.0, fabs(wq->values[i]));
            wq->errors[used++] =
                distance(central_difference(subject, &wq->values[i], h), &wq->entries[i]);
        }
    }
    return median(wq->errors, used);
}

/* The two arms, away from where they meet; an error near 1 is no error of rounding any more. */
static void fit_arms(struct check_curves *made) {
    enum { CORNER = 3 };
    double of_truncation[CURVE_STEPS], of_rounding[CURVE_STEPS];
    size_t large = 0, small = 0;
    for (size_t n = 0; n < CURVE_STEPS; n++) {
        const double h = made->step[n], error = made->error[n];
        if (n + CORNER < made->best && n >= 2) {
            of_truncation[large++] = error / (h * h);
        } else if (n > made->best + CORNER && error < 0.1) {
            of_rounding[small++] = error * h;
        }
    }
    made->truncation = median(of_truncation, large);
    made->rounding = median(of_rounding, small);
}

/* The medians that are levels, not curves. */
static void find_levels(struct check_curves *made, const struct wq *wq) {
    double *const levels[] = {&made->extrapolated, &made->estimate, &made->agreement};
    for (size_t level = 0; level < 3; level++) {
        made->weights = 0;
        for (size_t i = 0; i < wq->count; i++) {
            const struct curve_entry *entry = &wq->entries[i];
            const double derivative = level == 0 ? entry->numeric : entry->right;
            if (entry->complex_step != 0.0) {
                wq->errors[made->weights++] = level == 1
                                                  ? entry->estimate / fabs(entry->complex_step)
                                                  : distance(derivative, entry);
            }
        }
        *levels[level] = median(wq->errors, made->weights);
    }
}

static mha_status trace_steps(
    struct check_curves *made, struct check_case *subject, mha_error *error) {
    size_t b = 0;
    while (subject->block_value[b] != MHA_WQ) {
        b++;
    }
    const struct wq wq = {.values = subject->blocks[b].values,
        .entries = made->entries + entries_before(subject, b),
        .count = entries_of(&subject->blocks[b]),
        .errors = allocate_zeroed(entries_of(&subject->blocks[b]), sizeof(double))};
    if (wq.errors == NULL) {
        return no_memory(error);
    }
    for (size_t n = 0; n < CURVE_STEPS; n++) {
        made->step[n] = ldexp(0.5, -(int)n);
        made->error[n] = error_at(subject, &wq, made->step[n]);
        made->best = made->error[n] < made->error[made->best] ? n : made->best;
    }
    find_levels(made, &wq);
    fit_arms(made);
    free(wq.errors);
    return MHA_OK;
}

/* remainder / h^power at the least h that mha_gradcheck_taylor_run trusts. */
static double factor_of(const mha_gradcheck_taylor *taylor, int power) {
    double factor = (double)NAN;
    for (size_t n = 0; n < taylor->count; n++) {
        if (taylor->remainder[n] > 256.0 * taylor->rounding[n]) {
            factor = taylor->remainder[n] / pow(taylor->step[n], power);
        }
    }
    return factor;
}

/* The right layer. */
static mha_status check_right(struct check_curves *made, const struct check_plan *plan,
    mha_gradcheck_options options, mha_error *error) {
    struct check_case subject;
    mha_gradcheck_report reports[CASE_BLOCKS];
    mha_status status = check_layer_create(&subject, plan, NULL, error);
    if (status != MHA_OK) {
        return status;
    }
    made->count = entries_before(&subject, subject.subject.block_count);
    made->entries = allocate_zeroed(made->count, sizeof *made->entries);
    struct gathering to = {made->entries, &subject};
    options.observe = gather;
    options.observer = &to;
    status = made->entries == NULL ? no_memory(error)
                                   : mha_gradcheck_run(reports, &subject.subject, &options, error);
    if (status == MHA_OK) {
        status = mha_gradcheck_taylor_run(&made->right, &subject.subject, &options, error);
    }
    if (status == MHA_OK) {
        made->right_factor = factor_of(&made->right, 2);
        status = trace_steps(made, &subject, error);
    }
    check_case_destroy(&subject);
    return status;
}

static bool is_caught(const struct curve_entry *entry) {
    const double allowed =
        fmax(MHA_GRADCHECK_ESTIMATES * entry->estimate, MHA_GRADCHECK_SHARE * entry->largest);
    return !(fabs(entry->wrong - entry->numeric) <= allowed);
}

static void take_wrong(struct check_curves *made, const struct check_case *subject) {
    struct curve_entry *entry = made->entries;
    for (size_t b = 0; b < subject->subject.block_count; b++) {
        const mha_gradcheck_block *block = &subject->blocks[b];
        const size_t count = entries_of(block);
        double largest = 0.0;
        for (size_t i = 0; i < count; i++) {
            largest = fmax(largest, fabs(entry[i].numeric));
        }
        for (size_t i = 0; i < count; i++, entry++) {
            entry->wrong = block->gradient[i];
            entry->largest = largest;
            entry->caught = is_caught(entry);
            made->caught += entry->caught ? 1 : 0;
        }
    }
}

/* The same layer with the fault: forward, inputs and r are the same, and so are the true derivatives. */
static mha_status check_wrong(struct check_curves *made, const struct check_plan *plan,
    const struct fault *fault, const mha_gradcheck_options *options, mha_error *error) {
    struct check_case subject;
    mha_stage stages[MHA_STAGE_COUNT];
    plant_fault(stages, fault);
    mha_status status = check_layer_create(&subject, plan, stages, error);
    if (status != MHA_OK) {
        return status;
    }
    status = mha_gradcheck_taylor_run(&made->wrong, &subject.subject, options, error);
    if (status == MHA_OK) {
        made->wrong_factor = factor_of(&made->wrong, 1);
        take_wrong(made, &subject);
    }
    check_case_destroy(&subject);
    return status;
}

mha_status curves_create(
    struct check_curves *made, const struct fault *fault, uint64_t seed, mha_error *error) {
    const struct check_plan plan = fault_plan(fault->self_attention, false, seed);
    mha_gradcheck_options options = mha_gradcheck_defaults();
    options.seed = seed;
    *made = (struct check_curves){.shape = plan.shape, .self_attention = plan.self_attention};
    mha_status status = check_right(made, &plan, options, error);
    if (status == MHA_OK) {
        status = check_wrong(made, &plan, fault, &options, error);
    }
    if (status != MHA_OK) {
        curves_free(made);
    }
    return status;
}

void curves_free(struct check_curves *curves) {
    free(curves->entries);
    *curves = (struct check_curves){0};
}
