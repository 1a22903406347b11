#include "gradcheck_truth.h"

#include <math.h>
#include <stdlib.h>

#include "checks/given.h"
#include "memory.h"

static struct walk_leaves leaves_of(const struct apply_input *input) {
    const size_t D = input->shape.width;
    const double *matrices = input->weights.matrices;
    struct walk_leaves leaves = {
        .query = input->query.data, .source = input->has_context ? input->context.data : NULL};
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        leaves.weights[i] = matrices + i * D * D;
    }
    return leaves;
}

void join_streams(double *query, const struct walk *walk, bool self_attention) {
    const size_t count = mha_value_count(MHA_QUERY, &walk->pass.shape);
    for (size_t i = 0; i < count; i++) {
        query[i] = walk->pass.gradient[MHA_QUERY][i] +
                   (self_attention ? walk->pass.gradient[MHA_SOURCE][i] : 0.0);
    }
}

/* Refuses what cannot fit into the machine, before the system lends memory that it does not have: every value and
 * its gradient in a walk, and at once a second walk or, in the case that vouches for the first, a tape with its
 * gradients and complex numbers: each six times. No count overflows, since mha_shape_check takes 16 bytes a number. */
static mha_status check_memory(const mha_shape *shape, mha_error *error) {
    const size_t most = mha_max_bytes_default(); /* a quarter of the machine's */
    size_t quarter = 0;
    for (int value = 0; value < MHA_VALUE_COUNT; value++) {
        const size_t one = 6 * sizeof(double) / 4 * mha_value_count((mha_value)value, shape);
        quarter = one > SIZE_MAX - quarter ? SIZE_MAX : quarter + one;
    }
    return quarter <= most
               ? MHA_OK
               : mha_fail(error, MHA_ERROR_MEMORY,
                     "no memory for 4 times %zu bytes, the machine has 4 times %zu", quarter, most);
}

/* How far the file's output is from the layer's. */
static double compare_output(const struct apply_input *input, const struct walk *walk) {
    const mha_array *found =
        input->arrays != NULL ? mha_arrays_find(input->arrays, "output") : NULL;
    const size_t count = mha_value_count(MHA_OUTPUT, &input->shape);
    mha_array output = found != NULL ? *found : (mha_array){.rank = 0};
    void *converted = NULL;
    double error = (double)NAN, largest = 0.0;
    const bool floating = output.dtype == MHA_FLOAT32 || output.dtype == MHA_FLOAT64;
    bool same_shape = output.rank == 3;
    for (size_t axis = 0; axis < 3 && same_shape; axis++) {
        same_shape = output.dims[axis] == input->query.dims[axis];
    }
    if (found == NULL || !floating || !same_shape ||
        array_widen(&output, &converted, NULL) != MHA_OK) {
        return error;
    }
    const double *claimed = output.data, *right = walk->pass.value[MHA_OUTPUT];
    error = 0.0;
    for (size_t i = 0; i < count; i++) {
        const double distance = fabs(claimed[i] - right[i]);
        error = distance <= error ? error : fmax(distance, isnan(distance) ? HUGE_VAL : 0.0);
        largest = fmax(largest, fabs(right[i]));
    }
    free(converted);
    return largest > 0.0 ? error / largest : error;
}

static bool is_context_the_query(const struct apply_input *input) {
    const size_t count = mha_array_count(&input->query);
    const double *query = input->query.data, *context = input->context.data;
    bool same = input->has_context && mha_array_count(&input->context) == count;
    for (size_t i = 0; i < count && same; i++) {
        same = !(query[i] < context[i]) && !(query[i] > context[i]);
    }
    return same;
}

mha_status truth_create(struct truth *made, const struct apply_input *input, mha_error *error) {
    *made = (struct truth){.leaves = leaves_of(input),
        .grad_output = input->grad_output.data,
        .self_attention = !input->has_context};
    mha_status status = check_memory(&input->shape, error);
    if (status == MHA_OK) {
        status = walk_create(
            &made->walk, &made->leaves, &input->mask.mask, &input->shape, mha_stages, error);
    }
    if (status != MHA_OK) {
        return status;
    }
    walk_forward(&made->walk);
    walk_backward(&made->walk, made->grad_output);
    made->query = allocate_zeroed(mha_value_count(MHA_QUERY, &input->shape), sizeof(double));
    if (made->query == NULL) {
        return no_memory(error);
    }
    join_streams(made->query, &made->walk, made->self_attention);
    made->output_error = compare_output(input, &made->walk);
    made->context_is_query = is_context_the_query(input);
    return paths_create(&made->paths, &made->walk, error);
}

void truth_destroy(struct truth *made) {
    free(made->query);
    paths_destroy(&made->paths);
    walk_destroy(&made->walk);
}

/* A wrong backward pass is off by far more. */
#define VOUCHED 1e-9

/* The largest derivative of all blocks by the complex step. */
static double largest_of(const mha_gradcheck_report *reports, size_t count) {
    double largest = 0.0;
    for (size_t b = 0; b < count; b++) {
        largest = fmax(largest, fabs(reports[b].complex_step));
    }
    return largest;
}

/* Whether all of a block's derivative, where nearly all of it has cancelled, is rounding beside `largest`. */
static bool is_negligible(const mha_gradcheck_report *report, double largest) {
    const double distance = fabs(report->analytic - report->complex_step);
    return report->verdict == MHA_GRADCHECK_WRONG && distance <= VOUCHED * largest;
}

static bool is_vouched(const mha_gradcheck_report *report) {
    switch (report->verdict) {
    case MHA_GRADCHECK_PASS:
    case MHA_GRADCHECK_ALL_ZERO:
    case MHA_GRADCHECK_EMPTY: /* a source without rows */
        return true;
    case MHA_GRADCHECK_WRONG: /* by differences alone, where steps are steep */
        return report->complex_error <= VOUCHED;
    default:
        return false;
    }
}

mha_status truth_vouch(double *by_differences, double *by_complex, const struct truth *truth,
    const char *path, mha_error *error) {
    struct check_case made;
    mha_gradcheck_report reports[CASE_BLOCKS];
    mha_gradcheck_options options = mha_gradcheck_defaults();
    options.entry_limit = 0;
    options.directions = 2;
    options.complex_tolerance = VOUCHED;
    const mha_pass *pass = &truth->walk.pass;
    mha_status status = check_given_create(&made, &truth->leaves, pass->mask, &pass->shape, error);
    if (status != MHA_OK) {
        return status;
    }
    status = mha_gradcheck_run(reports, &made.subject, &options, error);
    *by_differences = *by_complex = 0.0;
    const double largest = largest_of(reports, status == MHA_OK ? made.subject.block_count : 0);
    for (size_t b = 0; status == MHA_OK && b < made.subject.block_count; b++) {
        if (is_negligible(&reports[b], largest)) {
            continue;
        }
        *by_differences = fmax(*by_differences, reports[b].margin);
        *by_complex = fmax(*by_complex, reports[b].complex_error);
        if (!is_vouched(&reports[b])) {
            status = mha_fail(error, MHA_ERROR_NOT_FINITE,
                "%s: mha's own gradient of these arrays by %s does not pass its check: %s, %g by "
                "the complex step",
                path, made.blocks[b].name, mha_gradcheck_verdict_text(reports[b].verdict),
                reports[b].complex_error);
        }
    }
    check_case_destroy(&made);
    return status;
}

const double *truth_gradient(const struct walk *walk, const double *query, mha_value value) {
    return value == MHA_QUERY ? query : walk->pass.gradient[value];
}
