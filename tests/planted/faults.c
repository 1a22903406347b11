#include "planted/faults.h"

#include <math.h>
#include <stdlib.h>

static const mha_stage *stage_of(mha_value result) {
    const mha_stage *stage = mha_stages;
    while (stage->result != result) {
        stage++;
    }
    return stage;
}

/* The right backward of the stage that writes result. */
static void right(mha_value result, const mha_pass *pass, const mha_real *dresult) {
    stage_of(result)->backward(pass, dresult);
}

static size_t count_of(mha_value value, const mha_pass *pass) {
    return mha_value_count(value, &pass->shape);
}

/* The right backward with the gradient of one input kept apart; the caller adds it, wrongly. */
static double *kept_apart(
    mha_value result, mha_value input, const mha_pass *pass, const mha_real *dresult) {
    double *apart = calloc(count_of(input, pass), sizeof *apart);
    mha_pass changed = *pass;
    changed.gradient[input] = apart;
    right(result, &changed, dresult);
    return apart;
}

static void scale_lost(const mha_pass *pass, const mha_real *dresult) {
    for (size_t i = 0; i < count_of(MHA_SCORES, pass); i++) {
        pass->gradient[MHA_SCORES][i] += dresult[i];
    }
}

static void sign_of_query(const mha_pass *pass, const mha_real *dresult) {
    double *dq = kept_apart(MHA_SCORES, MHA_Q_HEADS, pass, dresult);
    for (size_t i = 0; i < count_of(MHA_Q_HEADS, pass); i++) {
        pass->gradient[MHA_Q_HEADS][i] -= dq[i];
    }
    free(dq);
}

static void row_term_dropped(const mha_pass *pass, const mha_real *dresult) {
    for (size_t i = 0; i < count_of(MHA_MASKED, pass); i++) {
        pass->gradient[MHA_MASKED][i] += pass->value[MHA_ATTENTION_WEIGHTS][i] * dresult[i];
    }
}

/* The row term without its weights. */
static void row_term_plain(const mha_pass *pass, const mha_real *dresult) {
    const size_t S = pass->shape.source_length, rows = count_of(MHA_MASKED, pass) / S;
    for (size_t row = 0; row < rows; row++) {
        double sum = 0.0;
        for (size_t s = 0; s < S; s++) {
            sum += dresult[row * S + s];
        }
        for (size_t s = 0; s < S; s++) {
            const size_t i = row * S + s;
            pass->gradient[MHA_MASKED][i] +=
                pass->value[MHA_ATTENTION_WEIGHTS][i] * (dresult[i] - sum / (double)S);
        }
    }
}

static void key_into_value(const mha_pass *pass, const mha_real *dresult) {
    mha_pass changed = *pass;
    changed.gradient[MHA_WK] = pass->gradient[MHA_WV];
    right(MHA_K, &changed, dresult);
}

static void value_into_key(const mha_pass *pass, const mha_real *dresult) {
    mha_pass changed = *pass;
    changed.gradient[MHA_WV] = pass->gradient[MHA_WK];
    right(MHA_V, &changed, dresult);
}

static void output_weight_transposed(const mha_pass *pass, const mha_real *dresult) {
    const size_t D = pass->shape.width;
    double *dwo = kept_apart(MHA_OUTPUT, MHA_WO, pass, dresult);
    for (size_t i = 0; i < D * D; i++) {
        pass->gradient[MHA_WO][i] += dwo[i % D * D + i / D];
    }
    free(dwo);
}

/* dx = dy w in place of dy w^T. */
static void weight_not_transposed(const mha_pass *pass, const mha_real *dresult) {
    const size_t D = pass->shape.width;
    mha_pass changed = *pass;
    changed.gradient[MHA_CONTEXT] = NULL;
    right(MHA_OUTPUT, &changed, dresult);
    for (size_t row = 0; row < count_of(MHA_CONTEXT, pass) / D; row++) {
        for (size_t i = 0; i < D * D; i++) {
            pass->gradient[MHA_CONTEXT][row * D + i % D] +=
                dresult[row * D + i / D] * pass->value[MHA_WO][i];
        }
    }
}

/* Attention weights computed again without the mask, and used for the gradient. */
static void mask_forgotten(const mha_pass *pass, const mha_real *dresult) {
    const size_t pairs = count_of(MHA_SCORES, pass);
    double *scores = calloc(pairs, sizeof *scores), *scaled = calloc(pairs, sizeof *scaled);
    double *weights = calloc(pairs, sizeof *weights);
    mha_scores_forward(scores, pass->value[MHA_Q_HEADS], pass->value[MHA_K_HEADS], &pass->shape);
    mha_scale_forward(scaled, scores, &pass->shape);
    mha_softmax_forward(weights, scaled, NULL, &pass->shape);
    mha_softmax_backward(pass->gradient[MHA_MASKED], dresult, weights, NULL, &pass->shape);
    free(scores);
    free(scaled);
    free(weights);
}

/* The mask of one key earlier. */
static void mask_off_by_one(const mha_pass *pass, const mha_real *dresult) {
    mha_mask mask = {.causal = MHA_CAUSAL_BOTTOM_RIGHT};
    mha_shape shape = pass->shape;
    mha_softmax_backward(pass->gradient[MHA_MASKED], dresult, pass->value[MHA_ATTENTION_WEIGHTS],
        shape.target_length > 1 ? &mask : NULL, &shape);
    const size_t S = shape.source_length;
    for (size_t i = S; i < count_of(MHA_MASKED, pass); i += S) {
        pass->gradient[MHA_MASKED][i - 1] = 0.0;
    }
}

static void head_skipped(const mha_pass *pass, const mha_real *dresult) {
    const mha_shape *shape = &pass->shape;
    const size_t d = mha_head_width(shape), T = shape->target_length;
    double *dq = kept_apart(MHA_Q_HEADS, MHA_Q, pass, dresult);
    for (size_t i = 0; i < shape->batch * T * shape->width; i++) {
        const bool last_head = i % shape->width / d == shape->heads - 1;
        pass->gradient[MHA_Q][i] += last_head ? 0.0 : dq[i];
    }
    free(dq);
}

/* A reshape where a transpose belongs. */
static void heads_regrouped(const mha_pass *pass, const mha_real *dresult) {
    for (size_t i = 0; i < count_of(MHA_CONTEXT, pass); i++) {
        pass->gradient[MHA_CONTEXT_HEADS][i] += dresult[i];
    }
}

static void path_not_added(const mha_pass *pass, const mha_real *dresult) {
    mha_pass changed = *pass;
    changed.gradient[MHA_SOURCE] = NULL;
    right(MHA_V, &changed, dresult);
}

/* = in place of +=. */
static void path_overwritten(const mha_pass *pass, const mha_real *dresult) {
    double *dsource = kept_apart(MHA_K, MHA_SOURCE, pass, dresult);
    for (size_t i = 0; i < count_of(MHA_SOURCE, pass); i++) {
        pass->gradient[MHA_SOURCE][i] = dsource[i];
    }
    free(dsource);
}

static void added_twice(const mha_pass *pass, const mha_real *dresult) {
    double *dwk = kept_apart(MHA_K, MHA_WK, pass, dresult);
    for (size_t i = 0; i < count_of(MHA_WK, pass); i++) {
        pass->gradient[MHA_WK][i] += 2.0 * dwk[i];
    }
    free(dwk);
}

static void first_sample_only(const mha_pass *pass, const mha_real *dresult) {
    mha_pass changed = *pass;
    changed.shape.batch = 1;
    right(MHA_CONTEXT_HEADS, &changed, dresult);
}

static void one_entry_wrong(const mha_pass *pass, const mha_real *dresult) {
    right(MHA_Q, pass, dresult);
    double *dwq = pass->gradient[MHA_WQ];
    size_t largest = 0;
    for (size_t i = 1; i < count_of(MHA_WQ, pass); i++) {
        largest = fabs(dwq[i]) > fabs(dwq[largest]) ? i : largest;
    }
    dwq[largest] *= 1.01;
}

static void one_entry_nan(const mha_pass *pass, const mha_real *dresult) {
    right(MHA_V, pass, dresult);
    pass->gradient[MHA_WV][1] = (double)NAN;
}

static void nothing(const mha_pass *pass, const mha_real *dresult) {
    (void)pass;
    (void)dresult;
}

/* d(weights) from the queries' side: the gradient of K in place of that of Q. */
static void query_and_key_exchanged(const mha_pass *pass, const mha_real *dresult) {
    double *dq = kept_apart(MHA_SCORES, MHA_Q_HEADS, pass, dresult);
    double *dk = kept_apart(MHA_SCORES, MHA_K_HEADS, pass, dresult);
    for (size_t i = 0; i < count_of(MHA_Q_HEADS, pass); i++) {
        pass->gradient[MHA_Q_HEADS][i] += dk[i] - dq[i];
    }
    free(dq);
    free(dk);
}

const fault faults[] = {
    {"scale lost", {MHA_SCALED}, {scale_lost}, "query source wq wk", false, false},
    {"sign of the query path", {MHA_SCORES}, {sign_of_query}, "query wq", false, false},
    {"softmax row term dropped", {MHA_ATTENTION_WEIGHTS}, {row_term_dropped}, "query source wq wk",
        false, false},
    {"softmax row term unweighted", {MHA_ATTENTION_WEIGHTS}, {row_term_plain}, "query source wq wk",
        false, false},
    {"K and V exchanged", {MHA_K, MHA_V}, {key_into_value, value_into_key}, "wk wv", false, false},
    {"gradient of Wo transposed", {MHA_OUTPUT}, {output_weight_transposed}, "wo", false, false},
    {"Wo not transposed", {MHA_OUTPUT}, {weight_not_transposed}, "query source wq wk wv", false,
        false},
    {"mask forgotten", {MHA_ATTENTION_WEIGHTS}, {mask_forgotten}, "query source wq wk", false,
        false},
    {"mask off by one", {MHA_ATTENTION_WEIGHTS}, {mask_off_by_one}, "query source wq wk", false,
        false},
    {"one head skipped", {MHA_Q_HEADS}, {head_skipped}, "query wq", false, false},
    {"heads regrouped", {MHA_CONTEXT}, {heads_regrouped}, "query source wq wk wv", false, false},
    {"value path of the shared input lost", {MHA_V}, {path_not_added}, "query", true, false},
    {"shared input overwritten", {MHA_K}, {path_overwritten}, "query", true, false},
    {"gradient of Wk added twice", {MHA_K}, {added_twice}, "wk", false, false},
    {"first sample only", {MHA_CONTEXT_HEADS}, {first_sample_only}, "query source wq wk wv", false,
        false},
    {"one entry wrong by a hundredth", {MHA_Q}, {one_entry_wrong}, "wq", false, false},
    {"one entry wrong in a large block", {MHA_Q}, {one_entry_wrong}, "wq", false, true},
    {"one entry NaN", {MHA_V}, {one_entry_nan}, "wv", false, false},
    {"key projection without gradient", {MHA_K}, {nothing}, "source wk", false, false},
    {"Q and K exchanged", {MHA_SCORES}, {query_and_key_exchanged}, "query wq", true, false},
};
const size_t fault_count = sizeof faults / sizeof *faults;
