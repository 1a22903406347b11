#include "checks/faults/wrong_backward.h"

#include <math.h>
#include <stdlib.h>

#include "checks/case.h"
#include "command.h"

/* These routines cannot fail, as those in whose place they stand: without memory the program ends. */
static double *zeros(size_t count) {
    double *made = calloc(count, sizeof *made);
    if (made == NULL) {
        complain("no memory for the %zu numbers of a planted fault", count);
        exit(STATUS_USAGE);
    }
    return made;
}

/* The right backward of the stage that writes result. */
static void right(mha_value result, const mha_pass *pass, const mha_real *dresult) {
    mha_stages[case_stage_of(result)].backward(pass, dresult);
}

static size_t count_of(mha_value value, const mha_pass *pass) {
    return mha_value_count(value, &pass->shape);
}

/* The right backward with the gradient of one input kept apart; the caller adds it, wrongly. */
static double *kept_apart(
    mha_value result, mha_value input, const mha_pass *pass, const mha_real *dresult) {
    double *apart = zeros(count_of(input, pass));
    mha_pass changed = *pass;
    changed.gradient[input] = apart;
    right(result, &changed, dresult);
    return apart;
}

void wrong_scale_lost(const mha_pass *pass, const mha_real *dresult) {
    for (size_t i = 0; i < count_of(MHA_SCORES, pass); i++) {
        pass->gradient[MHA_SCORES][i] += dresult[i];
    }
}

void wrong_sign_of_query(const mha_pass *pass, const mha_real *dresult) {
    double *dq = kept_apart(MHA_SCORES, MHA_Q_HEADS, pass, dresult);
    for (size_t i = 0; i < count_of(MHA_Q_HEADS, pass); i++) {
        pass->gradient[MHA_Q_HEADS][i] -= dq[i];
    }
    free(dq);
}

void wrong_row_term_dropped(const mha_pass *pass, const mha_real *dresult) {
    for (size_t i = 0; i < count_of(MHA_MASKED, pass); i++) {
        pass->gradient[MHA_MASKED][i] += pass->value[MHA_ATTENTION_WEIGHTS][i] * dresult[i];
    }
}

/* The row term without its weights. */
void wrong_row_term_plain(const mha_pass *pass, const mha_real *dresult) {
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

void wrong_key_into_value(const mha_pass *pass, const mha_real *dresult) {
    mha_pass changed = *pass;
    changed.gradient[MHA_WK] = pass->gradient[MHA_WV];
    right(MHA_K, &changed, dresult);
}

void wrong_value_into_key(const mha_pass *pass, const mha_real *dresult) {
    mha_pass changed = *pass;
    changed.gradient[MHA_WV] = pass->gradient[MHA_WK];
    right(MHA_V, &changed, dresult);
}

void wrong_output_weight_transposed(const mha_pass *pass, const mha_real *dresult) {
    const size_t D = pass->shape.width;
    double *dwo = kept_apart(MHA_OUTPUT, MHA_WO, pass, dresult);
    for (size_t i = 0; i < D * D; i++) {
        pass->gradient[MHA_WO][i] += dwo[i % D * D + i / D];
    }
    free(dwo);
}

/* dx = dy w in place of dy w^T. */
void wrong_weight_not_transposed(const mha_pass *pass, const mha_real *dresult) {
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
void wrong_mask_forgotten(const mha_pass *pass, const mha_real *dresult) {
    const size_t pairs = count_of(MHA_SCORES, pass);
    double *scores = zeros(pairs), *scaled = zeros(pairs);
    double *weights = zeros(pairs);
    mha_scores_forward(scores, pass->value[MHA_Q_HEADS], pass->value[MHA_K_HEADS], &pass->shape);
    mha_scale_forward(scaled, scores, &pass->shape);
    mha_softmax_forward(weights, scaled, NULL, &pass->shape);
    mha_softmax_backward(pass->gradient[MHA_MASKED], dresult, weights, NULL, &pass->shape);
    free(scores);
    free(scaled);
    free(weights);
}

/* The mask of one key earlier: the last key that a query sees gets nothing. */
void wrong_mask_off_by_one(const mha_pass *pass, const mha_real *dresult) {
    const mha_shape *shape = &pass->shape;
    const size_t S = shape->source_length, T = shape->target_length;
    double *dmasked = kept_apart(MHA_ATTENTION_WEIGHTS, MHA_MASKED, pass, dresult);
    for (size_t row = 0; row < count_of(MHA_MASKED, pass) / S; row++) {
        const mha_mask_row at = mha_mask_row_at(
            pass->mask, shape, row / T / shape->heads, row / T % shape->heads, row % T);
        size_t last = S;
        while (last > 0 && !mha_mask_row_allows(&at, last - 1)) {
            last--;
        }
        for (size_t s = 0; s + 1 < last; s++) {
            pass->gradient[MHA_MASKED][row * S + s] += dmasked[row * S + s];
        }
    }
    free(dmasked);
}

void wrong_head_skipped(const mha_pass *pass, const mha_real *dresult) {
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
void wrong_heads_regrouped(const mha_pass *pass, const mha_real *dresult) {
    for (size_t i = 0; i < count_of(MHA_CONTEXT, pass); i++) {
        pass->gradient[MHA_CONTEXT_HEADS][i] += dresult[i];
    }
}

void wrong_path_not_added(const mha_pass *pass, const mha_real *dresult) {
    mha_pass changed = *pass;
    changed.gradient[MHA_SOURCE] = NULL;
    right(MHA_V, &changed, dresult);
}

/* = in place of +=. */
void wrong_path_overwritten(const mha_pass *pass, const mha_real *dresult) {
    double *dsource = kept_apart(MHA_K, MHA_SOURCE, pass, dresult);
    for (size_t i = 0; i < count_of(MHA_SOURCE, pass); i++) {
        pass->gradient[MHA_SOURCE][i] = dsource[i];
    }
    free(dsource);
}

void wrong_added_twice(const mha_pass *pass, const mha_real *dresult) {
    double *dwk = kept_apart(MHA_K, MHA_WK, pass, dresult);
    for (size_t i = 0; i < count_of(MHA_WK, pass); i++) {
        pass->gradient[MHA_WK][i] += 2.0 * dwk[i];
    }
    free(dwk);
}

void wrong_first_sample_only(const mha_pass *pass, const mha_real *dresult) {
    mha_pass changed = *pass;
    changed.shape.batch = 1;
    right(MHA_CONTEXT_HEADS, &changed, dresult);
}

void wrong_one_entry_wrong(const mha_pass *pass, const mha_real *dresult) {
    right(MHA_Q, pass, dresult);
    double *dwq = pass->gradient[MHA_WQ];
    size_t largest = 0;
    for (size_t i = 1; i < count_of(MHA_WQ, pass); i++) {
        largest = fabs(dwq[i]) > fabs(dwq[largest]) ? i : largest;
    }
    dwq[largest] *= 1.01;
}

void wrong_one_entry_nan(const mha_pass *pass, const mha_real *dresult) {
    right(MHA_V, pass, dresult);
    pass->gradient[MHA_WV][0] = (double)NAN;
}

void wrong_nothing(const mha_pass *pass, const mha_real *dresult) {
    (void)pass;
    (void)dresult;
}

/* d(weights) from the queries' side: the gradient of K in place of that of Q, where they are equally long. */
void wrong_query_and_key_exchanged(const mha_pass *pass, const mha_real *dresult) {
    if (pass->shape.target_length != pass->shape.source_length) {
        right(MHA_SCORES, pass, dresult);
        return;
    }
    double *dq = kept_apart(MHA_SCORES, MHA_Q_HEADS, pass, dresult);
    double *dk = kept_apart(MHA_SCORES, MHA_K_HEADS, pass, dresult);
    for (size_t i = 0; i < count_of(MHA_Q_HEADS, pass); i++) {
        pass->gradient[MHA_Q_HEADS][i] += dk[i] - dq[i];
    }
    free(dq);
    free(dk);
}

/* By half a millionth, which differences do not see. */
static void spoil_largest(double *gradient, size_t count) {
    size_t largest = 0;
    for (size_t i = 1; i < count; i++) {
        largest = fabs(gradient[i]) > fabs(gradient[largest]) ? i : largest;
    }
    gradient[largest] *= 1.0 + 0.5e-6;
}

void wrong_millionth_of_wk(const mha_pass *pass, const mha_real *dresult) {
    right(MHA_K, pass, dresult);
    if (pass->gradient[MHA_WK] != NULL) {
        spoil_largest(pass->gradient[MHA_WK], count_of(MHA_WK, pass));
    }
}

void wrong_millionth_of_scores(const mha_pass *pass, const mha_real *dresult) {
    right(MHA_SCALED, pass, dresult);
    spoil_largest(pass->gradient[MHA_SCORES], count_of(MHA_SCORES, pass));
}

void wrong_scale_twice(const mha_pass *pass, const mha_real *dresult) {
    const double d = (double)mha_head_width(&pass->shape);
    for (size_t i = 0; i < count_of(MHA_SCORES, pass); i++) {
        pass->gradient[MHA_SCORES][i] += dresult[i] / d;
    }
}

/* The heads of the context in the opposite order. */
void wrong_heads_permuted(const mha_pass *pass, const mha_real *dresult) {
    const mha_shape *shape = &pass->shape;
    const size_t d = mha_head_width(shape), h = shape->heads, T = shape->target_length;
    for (size_t b = 0; b < shape->batch; b++) {
        for (size_t head = 0; head < h; head++) {
            for (size_t i = 0; i < T * d; i++) {
                pass->gradient[MHA_CONTEXT_HEADS][((b * h + head) * T + i / d) * d + i % d] +=
                    dresult[(b * T + i / d) * h * d + (h - 1 - head) * d + i % d];
            }
        }
    }
}

void wrong_last_query_dropped(const mha_pass *pass, const mha_real *dresult) {
    const size_t D = pass->shape.width, T = pass->shape.target_length;
    double *less = zeros(count_of(MHA_OUTPUT, pass));
    for (size_t i = 0; i < count_of(MHA_OUTPUT, pass); i++) {
        less[i] = i / D % T == T - 1 ? 0.0 : dresult[i];
    }
    right(MHA_OUTPUT, pass, less);
    free(less);
}

/* dV from dP in place of P. */
void wrong_value_from_wrong_weights(const mha_pass *pass, const mha_real *dresult) {
    double *dweights = kept_apart(MHA_CONTEXT_HEADS, MHA_ATTENTION_WEIGHTS, pass, dresult);
    mha_pass changed = *pass;
    for (size_t i = 0; i < count_of(MHA_ATTENTION_WEIGHTS, pass); i++) {
        pass->gradient[MHA_ATTENTION_WEIGHTS][i] += dweights[i];
    }
    changed.value[MHA_ATTENTION_WEIGHTS] = dweights;
    changed.gradient[MHA_ATTENTION_WEIGHTS] = NULL;
    right(MHA_CONTEXT_HEADS, &changed, dresult);
    free(dweights);
}

void wrong_key_path_negative(const mha_pass *pass, const mha_real *dresult) {
    double *dk = kept_apart(MHA_SCORES, MHA_K_HEADS, pass, dresult);
    for (size_t i = 0; i < count_of(MHA_K_HEADS, pass); i++) {
        pass->gradient[MHA_K_HEADS][i] -= dk[i];
    }
    free(dk);
}
