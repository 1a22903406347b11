#include "base/real.h"

#include <stdlib.h>
#include <string.h>

#include "reference.h"
#include "reports_case.h"

void assert_numbers(
    const char *name, const mha_real *x, const wide *expected, size_t count, wide rounding) {
    for (size_t i = 0; i < count; i++) {
        const wide precision = (MHA_PRECISION == 32 ? 1e-6 : 1e-14) * fmax(1, fabs(expected[i]));
        ck_assert_msg(fabs((wide)x[i] - expected[i]) <= rounding + precision,
            "%s[%zu] is %.17g, not %.17g", name, i, (wide)x[i], expected[i]);
    }
}

void assert_near(
    const char *name, const mha_real *x, const wide *expected, size_t count, wide tolerance) {
    wide norm = 0;
    for (size_t i = 0; i < count; i++) {
        norm = hypot(norm, expected[i]);
    }
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(fabs((wide)x[i] - expected[i]) <= tolerance * norm,
            "%s[%zu] is %.17g, not %.17g, in a block of norm %g", name, i, (wide)x[i], expected[i],
            norm);
    }
}

void assert_zeros(const char *name, const mha_real *x, size_t count) {
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(x[i] == REAL(0.0), "%s[%zu] is %g, not 0", name, i, (wide)x[i]);
    }
}

void assert_same_bits(const char *name, const mha_real *a, const mha_real *b, size_t count) {
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(memcmp(&a[i], &b[i], sizeof a[i]) == 0, "%s[%zu] is %.17g and %.17g", name, i,
            (wide)a[i], (wide)b[i]);
    }
}

void assert_same_results(const layer_case *a, const layer_case *b) {
    leaf of_a[CASE_LEAVES], of_b[CASE_LEAVES];
    const size_t count = leaves_of(of_a, a);
    ck_assert_uint_eq(leaves_of(of_b, b), count);
    assert_same_bits("output", a->output, b->output, mha_value_count(MHA_OUTPUT, &a->shape));
    assert_same_bits("attention weights", attention_of(a), attention_of(b),
        mha_value_count(MHA_ATTENTION_WEIGHTS, &a->shape));
    for (size_t l = 0; l < count; l++) {
        assert_same_bits(
            of_a[l].shape.name, of_a[l].gradient, of_b[l].gradient, of_a[l].shape.count);
    }
}

void assert_refused(const layer_case *c, mha_status returned, mha_status status, const char *text) {
    ck_assert_str_eq(mha_status_text(returned), mha_status_text(status));
    ck_assert_int_eq(c->error.status, status);
    ck_assert_msg(
        strstr(c->error.text, text) != NULL, "\"%s\" is not in \"%s\"", text, c->error.text);
    ck_assert_ptr_null(strchr(c->error.text, '\n'));
}

/* Where a mask of the library's has its bytes, by steps. */
static reference_mask translated(const mha_mask *mask) {
    reference_mask result = {.alignment = REFERENCE_NOT_CAUSAL};
    if (mask == NULL) {
        return result;
    }
    if (mask->causal == MHA_CAUSAL_SQUARE || mask->causal == MHA_CAUSAL_TOP_LEFT) {
        result.alignment = REFERENCE_FIRST_KEYS;
    } else if (mask->causal == MHA_CAUSAL_BOTTOM_RIGHT) {
        result.alignment = REFERENCE_LAST_KEYS;
    }
    result.lengths = mask->lengths;
    result.allowed = mask->allowed;
    static const size_t axes[5][4] = {[2] = {2, 3}, [3] = {0, 2, 3}, [4] = {0, 1, 2, 3}};
    size_t step = 1;
    for (size_t i = mask->rank; i-- > 0;) {
        result.steps[axes[mask->rank][i]] = mask->dims[i] == 1 ? 0 : step;
        step *= mask->dims[i];
    }
    return result;
}

static wide *widened(const mha_real *x, size_t count) {
    wide *result = malloc(count * sizeof *result);
    ck_assert_ptr_nonnull(result);
    for (size_t i = 0; i < count; i++) {
        result[i] = x == NULL ? (wide)NAN : (wide)x[i];
    }
    return result;
}

void assert_reference(const layer_case *c) {
    const mha_shape *shape = &c->shape;
    const size_t outputs = mha_value_count(MHA_OUTPUT, shape);
    const size_t pairs = mha_value_count(MHA_ATTENTION_WEIGHTS, shape);
    leaf leaves[CASE_LEAVES];
    wide *values[CASE_LEAVES], *gradients[CASE_LEAVES];
    const size_t count = leaves_of(leaves, c), first_weight = count - MHA_WEIGHT_COUNT;
    for (size_t l = 0; l < count; l++) {
        values[l] = widened(leaves[l].values, leaves[l].shape.count);
        gradients[l] = widened(NULL, leaves[l].shape.count);
    }
    const reference_problem problem = {shape->batch, shape->target_length, shape->source_length,
        shape->width, shape->heads, values[0], c->source == NULL ? NULL : values[1],
        {values[first_weight], values[first_weight + 1], values[first_weight + 2],
            values[first_weight + 3]},
        translated(c->mask)};
    wide *output = widened(NULL, outputs), *weights = widened(NULL, pairs);
    wide *doutput = widened(c->doutput, outputs);
    ck_assert(reference_forward(output, weights, &problem));
    ck_assert(reference_gradients(gradients[0], c->source == NULL ? NULL : gradients[1],
        gradients + first_weight, doutput, &problem));
    assert_near("output", c->output, output, outputs, CASE_TOLERANCE);
    assert_near("attention weights", attention_of(c), weights, pairs, CASE_TOLERANCE);
    for (size_t l = 0; l < count; l++) {
        assert_near(leaves[l].shape.name, leaves[l].gradient, gradients[l], leaves[l].shape.count,
            CASE_TOLERANCE);
        free(values[l]);
        free(gradients[l]);
    }
    free(output);
    free(weights);
    free(doutput);
}

#if MHA_PRECISION == 64
static bool call_forward(void *context) {
    return try_forward(context) == MHA_OK;
}

static bool call_backward(void *context) {
    return try_backward(context) == MHA_OK;
}

size_t check_gradients(mha_gradcheck_report reports[CASE_LEAVES], layer_case *c,
    unsigned zero_expected, const mha_gradcheck_options *options) {
    leaf leaves[CASE_LEAVES];
    mha_gradcheck_block blocks[CASE_LEAVES];
    const size_t count = leaves_of(leaves, c);
    for (size_t l = 0; l < count; l++) {
        blocks[l] = (mha_gradcheck_block){leaves[l].shape.name, leaves[l].values,
            leaves[l].gradient, leaves[l].shape.rank, {0}, (zero_expected >> l & 1) != 0};
        memcpy(blocks[l].dims, leaves[l].shape.dims, sizeof blocks[l].dims);
    }
    const mha_gradcheck_output output = {
        "output", c->output, c->doutput, mha_value_count(MHA_OUTPUT, &c->shape), NULL};
    const mha_gradcheck_case subject = {
        c, call_forward, call_backward, blocks, count, &output, 1, NULL};
    ck_assert_int_eq(mha_gradcheck_run(reports, &subject, options, NULL), MHA_OK);
    return count;
}
#endif

void assert_gradients(layer_case *c, unsigned zero_expected) {
    clear_gradients(c);
    run_forward(c);
    run_backward(c);
    assert_reference(c);
#if MHA_PRECISION == 64
    const mha_gradcheck_options options = mha_gradcheck_defaults();
    mha_gradcheck_report reports[CASE_LEAVES];
    const size_t count = check_gradients(reports, c, zero_expected, &options);
    for (size_t l = 0; l < count; l++) {
        ck_assert_msg(reports[l].verdict == MHA_GRADCHECK_PASS,
            "leaf %zu: %s, analytic %.17g, numeric %.17g", l,
            mha_gradcheck_verdict_text(reports[l].verdict), reports[l].analytic,
            reports[l].numeric);
    }
#else
    (void)zero_expected;
#endif
}
