#include "checks/faults/mistakes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/faults/faults.h"
#include "checks/faults/wrong_passes.h"
#include "memory.h"

/* What one mistake needs beside its stages. */
struct trial {
    const struct walk *right;
    const double *grad_output;
    const struct claim *claims;
    size_t count;
    bool self_attention;
    struct explanations *made;
};

/* The claim as this walk has it; in self-attention that by the query is the sum of both streams. */
static bool comes_out(const struct claim *claim, const struct walk *walk, bool self_attention) {
    const mha_shape *shape = &walk->pass.shape;
    const size_t count = mha_value_count(claim->value, shape);
    const double *gradient = walk->pass.gradient[claim->value];
    const bool both = self_attention && claim->value == MHA_QUERY;
    struct claim held = *claim;
    double largest = 0.0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(gradient[i]));
    }
    if (!isfinite(largest)) {
        return false;
    }
    const double truth = claim_largest(claim, shape);
    held.allowed *=
        truth > 0.0 ? fmax(1.0, largest / truth) : 1.0; /* a larger one is rounded more */
    if (!both) {
        return claim_is(&held, gradient, 1.0, count);
    }
    const double *source = walk->pass.gradient[MHA_SOURCE];
    bool same = true;
    for (size_t i = 0; i < count && same; i++) {
        same = fabs(claim->claimed[i] - (gradient[i] + source[i])) <= CLAIM_CLOSE * held.allowed;
    }
    return same;
}

static void judge(
    struct trial *trial, const struct walk *walk, const char *text, const char *stage) {
    bool all = true, some = false;
    for (size_t c = 0; c < trial->count; c++) {
        const struct claim *claim = &trial->claims[c];
        const bool same = comes_out(claim, walk, trial->self_attention);
        const bool explained =
            same && claim_is_apart(claim, mha_value_count(claim->value, &walk->pass.shape));
        char *one = trial->made->one[c];
        all = all && same;
        some = some || explained;
        if (explained && one[0] == '\0') {
            snprintf(one, MISTAKE_TEXT_SIZE, "%s", text);
        }
    }
    if (all && some && trial->made->all[0] == '\0') {
        snprintf(trial->made->all, sizeof trial->made->all, "%s", text);
        snprintf(trial->made->stage, sizeof trial->made->stage, "%s", stage);
    }
}

/* A walk over the same leaves. */
static mha_status walk_again(struct walk *made, const struct trial *trial, const mha_mask *mask,
    const mha_stage *stages, mha_error *error) {
    const mha_pass *pass = &trial->right->pass;
    struct walk_leaves leaves = {
        .query = pass->value[MHA_QUERY], .source = pass->value[MHA_SOURCE]};
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        leaves.weights[i] = pass->value[MHA_FIRST_WEIGHT + i];
    }
    return walk_create(made, &leaves, mask, &pass->shape, stages, error);
}

/* Stages exchanged, under the mask or another. */
static mha_status try_stages(struct trial *trial, const char *text, const char *stage,
    const mha_mask *mask, const mha_stage *stages, mha_error *error) {
    struct walk walk;
    const mha_status status = walk_again(&walk, trial, mask, stages, error);
    if (status == MHA_OK) {
        walk_forward(&walk);
        walk_backward(&walk, trial->grad_output);
        judge(trial, &walk, text, stage);
        walk_destroy(&walk);
    }
    return status;
}

/* What else a mark may be: a matrix that forward and backward share is no mistake of backward, and sqrt(4) is 2. */
static const char *or_else(enum mark mark, const mha_shape *shape) {
    const bool scale = mark == MARK_SCALE_LOST || mark == MARK_SCALE_TWICE;
    return mark == MARK_NOT_TRANSPOSED           ? ", or wo stored transposed"
           : scale && mha_head_width(shape) == 4 ? ", or a factor of two, sqrt(d) being 2"
                                                 : "";
}

/* In backward alone. */
static mha_status try_faults(struct trial *trial, mha_error *error) {
    mha_status status = MHA_OK;
    for (size_t i = 0; i < fault_count && status == MHA_OK; i++) {
        mha_stage stages[MHA_STAGE_COUNT];
        char text[MISTAKE_TEXT_SIZE];
        plant_fault(stages, &faults[i]);
        snprintf(text, sizeof text, "%s, in backward%s", faults[i].name,
            or_else(faults[i].mark, &trial->right->pass.shape));
        status = try_stages(trial, text, faults[i].stage, trial->right->pass.mask, stages, error);
    }
    return status;
}

/* In forward and backward alike. */
static mha_status try_wrong_passes(struct trial *trial, mha_error *error) {
    mha_status status = MHA_OK;
    for (size_t i = 0; i < wrong_pass_count && status == MHA_OK; i++) {
        mha_stage stages[MHA_STAGE_COUNT];
        plant_wrong_pass(stages, &wrong_passes[i]);
        status = try_stages(trial, wrong_passes[i].name,
            mha_stages[case_stage_of(wrong_passes[i].stages[0].result)].name,
            trial->right->pass.mask, stages, error);
    }
    return status;
}

static void copy(double *to, const double *from, mha_value value, const mha_shape *shape) {
    memcpy(to, from, mha_value_count(value, shape) * sizeof *to);
}

/* The mask forgotten on the way back alone: forward went as it should, then the attention weights are computed
 * again without it, for the gradient of the softmax or for all that reads them. */
static mha_status try_mask_forgotten(struct trial *trial, bool for_all, mha_error *error) {
    struct walk walk;
    const mha_status status = walk_again(&walk, trial, NULL, mha_stages, error);
    if (status != MHA_OK) {
        return status;
    }
    const mha_pass *right = &trial->right->pass;
    const mha_shape *shape = &right->shape;
    const mha_stage *softmax = &mha_stages[case_stage_of(MHA_ATTENTION_WEIGHTS)];
    double *weights = walk.activation[MHA_ATTENTION_WEIGHTS];
    walk_forward(&walk);
    copy(walk.activation[MHA_CONTEXT], right->value[MHA_CONTEXT], MHA_CONTEXT, shape);
    if (!for_all) {
        copy(weights, right->value[MHA_ATTENTION_WEIGHTS], MHA_ATTENTION_WEIGHTS, shape);
    }
    walk_begin_backward(&walk, trial->grad_output);
    for (size_t i = MHA_STAGE_COUNT; i-- > 0;) {
        const mha_stage *stage = &mha_stages[i];
        if (stage == softmax) {
            softmax->forward(weights, &walk.pass);
        }
        stage->backward(&walk.pass, walk.pass.gradient[stage->result]);
    }
    judge(trial, &walk,
        for_all ? "mask forgotten, in all of backward"
                : "mask forgotten, in the softmax's backward",
        for_all ? "context" : "softmax");
    walk_destroy(&walk);
    return MHA_OK;
}

/* Every pair that was allowed is blocked, and the other way round. */
static mha_status try_mask_turned(struct trial *trial, mha_error *error) {
    const mha_pass *pass = &trial->right->pass;
    const mha_shape *shape = &pass->shape;
    const size_t S = shape->source_length, T = shape->target_length;
    const size_t pairs = mha_value_count(MHA_SCORES, shape);
    unsigned char *allowed = allocate_zeroed(pairs, 1);
    if (allowed == NULL) {
        return no_memory(error);
    }
    for (size_t row = 0; row < pairs / S; row++) {
        const size_t bh = row / T;
        const mha_mask_row at =
            mha_mask_row_at(pass->mask, shape, bh / shape->heads, bh % shape->heads, row % T);
        for (size_t s = 0; s < S; s++) {
            allowed[row * S + s] = !mha_mask_row_allows(&at, s);
        }
    }
    const mha_mask turned = {
        .allowed = allowed, .rank = 4, .dims = {shape->batch, shape->heads, T, S}};
    const mha_status status =
        try_stages(trial, "the mask the other way round: what is allowed was blocked", "mask",
            &turned, mha_stages, error);
    free(allowed);
    return status;
}

static mha_status try_masks(struct trial *trial, mha_error *error) {
    const mha_mask *mask = trial->right->pass.mask;
    const mha_shape *shape = &trial->right->pass.shape;
    mha_status status = MHA_OK;
    for (int causal = MHA_CAUSAL_TOP_LEFT; causal <= MHA_CAUSAL_BOTTOM_RIGHT; causal++) {
        mha_mask other = mask != NULL ? *mask : (mha_mask){.causal = MHA_CAUSAL_OFF};
        other.causal = (mha_causal)causal;
        const char *text = causal == MHA_CAUSAL_TOP_LEFT
                               ? "a causal mask from the top left (--causal=top-left)"
                               : "a causal mask from the bottom right (--causal=bottom-right)";
        if (status == MHA_OK && mha_mask_check(&other, shape, NULL) == MHA_OK) {
            status = try_stages(trial, text, "mask", &other, mha_stages, error);
        }
    }
    if (mask == NULL) {
        return status;
    }
    if (status == MHA_OK) {
        status = try_stages(
            trial, "mask forgotten, in forward and backward", "mask", NULL, mha_stages, error);
    }
    for (int for_all = 0; for_all < 2 && status == MHA_OK; for_all++) {
        status = try_mask_forgotten(trial, for_all != 0, error);
    }
    return status == MHA_OK ? try_mask_turned(trial, error) : status;
}

/* Takes one head out of the gradient by a value that has heads, on the way back. */
static void lose_head(double *gradient, size_t head, mha_value value, const mha_shape *shape) {
    const struct claim at = {.value = value};
    const size_t count = mha_value_count(value, shape);
    for (size_t i = 0; i < count; i++) {
        size_t here, heads;
        claim_coordinate(&here, &heads, at.value, AXIS_HEAD, i, shape);
        gradient[i] = here == head ? 0.0 : gradient[i];
    }
}

static mha_status try_head(
    struct trial *trial, mha_value value, const char *by, size_t head, mha_error *error) {
    char text[MISTAKE_TEXT_SIZE];
    struct walk walk;
    const mha_status status = walk_again(&walk, trial, trial->right->pass.mask, mha_stages, error);
    if (status != MHA_OK) {
        return status;
    }
    walk_forward(&walk);
    walk_begin_backward(&walk, trial->grad_output);
    for (size_t i = MHA_STAGE_COUNT; i-- > 0;) {
        const mha_stage *stage = &mha_stages[i];
        if (stage->result == value) {
            lose_head(walk.pass.gradient[value], head, value, &walk.pass.shape);
        }
        stage->backward(&walk.pass, walk.pass.gradient[stage->result]);
    }
    snprintf(text, sizeof text, "head %zu lost in the gradient of %s", head, mha_value_name(value));
    judge(trial, &walk, text, by);
    walk_destroy(&walk);
    return MHA_OK;
}

static mha_status try_heads(struct trial *trial, mha_error *error) {
    static const struct {
        mha_value value;
        const char *stage; /* whose backward makes that gradient */
    } values[] = {{MHA_CONTEXT_HEADS, "combine"}, {MHA_V_HEADS, "context"}, {MHA_K_HEADS, "scores"},
        {MHA_Q_HEADS, "scores"}};
    mha_status status = MHA_OK;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        for (size_t head = 0; head < trial->right->pass.shape.heads && status == MHA_OK; head++) {
            status = try_head(trial, values[i].value, values[i].stage, head, error);
        }
    }
    return status;
}

mha_status explain_claims(struct explanations *made, const struct claim *claims, size_t count,
    const struct walk *right, const double *grad_output, bool self_attention, mha_error *error) {
    struct trial trial = {right, grad_output, claims, count, self_attention, made};
    *made = (struct explanations){.all = ""};
    if (mha_value_count(MHA_SCORES, &right->pass.shape) == 0) {
        return MHA_OK; /* without pairs all gradients are zero, by whatever mistake */
    }
    mha_status status = try_faults(&trial, error);
    if (status == MHA_OK) {
        status = try_wrong_passes(&trial, error);
    }
    if (status == MHA_OK) {
        status = try_masks(&trial, error);
    }
    return status == MHA_OK ? try_heads(&trial, error) : status;
}
