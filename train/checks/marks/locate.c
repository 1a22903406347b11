#include "checks/marks/locate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/marks/paths.h"
#include "memory.h"

/* The derivatives that a check of a case has found, of blocks that were moved entry by entry. */
struct seen {
    double *truth[CASE_BLOCKS];
    bool out_of_memory;
};

static void observe(void *observer, const mha_gradcheck_derivatives *of) {
    struct seen *seen = observer;
    if (of->directional || of->count == 0) {
        return;
    }
    double *truth = allocate_zeroed(of->count, sizeof *truth);
    if (truth == NULL) {
        seen->out_of_memory = true;
        return;
    }
    memcpy(truth, of->complex_step != NULL ? of->complex_step : of->numeric,
        of->count * sizeof *truth);
    free(seen->truth[of->block]);
    seen->truth[of->block] = truth;
}

static void seen_free(struct seen *seen) {
    for (size_t b = 0; b < CASE_BLOCKS; b++) {
        free(seen->truth[b]);
    }
}

static mha_status check(struct seen *seen, mha_gradcheck_report reports[CASE_BLOCKS],
    const mha_gradcheck_case *subject, const mha_gradcheck_options *options, mha_error *error) {
    mha_gradcheck_options watched = *options;
    watched.observe = observe;
    watched.observer = seen;
    *seen = (struct seen){.out_of_memory = false};
    const mha_status status = mha_gradcheck_run(reports, subject, &watched, error);
    return status == MHA_OK && seen->out_of_memory ? no_memory(error) : status;
}

/* What no rounding of the complex step explains, of a block's largest entry. */
static const double share_allowed = 1e-11;

/* The claims of the case's blocks; without a truth to hold it against a claim is its own. */
static void make_claims(
    struct claim claims[CASE_BLOCKS], const struct check_case *made, const struct seen *seen) {
    for (size_t b = 0; b < made->subject.block_count; b++) {
        const mha_gradcheck_block *block = &made->blocks[b];
        const double *truth = seen->truth[b] != NULL ? seen->truth[b] : block->gradient;
        claims[b] =
            (struct claim){block->name, made->block_value[b], block->gradient, truth, 0.0, NULL};
        claims[b].allowed = share_allowed * claim_largest(&claims[b], &made->shape);
    }
}

static void describe(struct place *found, const struct claim *claim, const mha_shape *shape) {
    claim_entry_text(found->entry, sizeof found->entry, claim, found->diagnosis.entry, shape);
}

static bool is_weight(mha_value value) {
    return value >= MHA_WQ && value <= MHA_WO;
}

/* dy w, where the stage is a projection: what its input's gradient would be without the transpose. */
static double *untransposed(const struct check_case *made) {
    const mha_shape *shape = &made->shape;
    const double *weight = NULL;
    for (size_t b = 0; b < made->subject.block_count; b++) {
        if (is_weight(made->block_value[b])) {
            weight = made->blocks[b].values;
        }
    }
    double *product = weight == NULL ? NULL : allocate_zeroed(made->output.count, sizeof *product);
    if (product != NULL) {
        mha_projection_forward(product, made->output.gradient, weight,
            made->output.count / shape->width, shape->width, shape->width);
    }
    return product;
}

/* The first of the stage's blocks that is off by a known mark, else the first that is off. */
static void diagnose_stage(struct place *found, const struct check_case *made,
    const mha_gradcheck_report *reports, const struct seen *seen) {
    struct claim claims[CASE_BLOCKS];
    make_claims(claims, made, seen);
    double *product = untransposed(made);
    struct claim_setting setting = {.shape = &made->shape,
        .mask = made->mask,
        .claims = claims,
        .count = made->subject.block_count,
        .weights = made->pass.value[MHA_ATTENTION_WEIGHTS]};
    found->diagnosis.mark = MARK_RIGHT;
    for (size_t b = 0; b < made->subject.block_count; b++) {
        struct diagnosis one;
        setting.untransposed = is_weight(claims[b].value) ? NULL : product;
        diagnose(&one, &claims[b], &setting);
        const bool better =
            found->diagnosis.mark <= MARK_UNKNOWN && one.mark > found->diagnosis.mark;
        if (one.mark != MARK_RIGHT && (better || found->diagnosis.mark == MARK_RIGHT)) {
            found->diagnosis = one;
            describe(found, &claims[b], &made->shape);
        }
        if (reports[b].verdict == MHA_GRADCHECK_NOT_ADDED) {
            found->diagnosis = (struct diagnosis){.mark = MARK_OVERWRITTEN,
                .text = "overwrites what it should add to: = in place of +="};
            snprintf(found->entry, sizeof found->entry, "%s", claims[b].name);
            break;
        }
    }
    for (size_t b = 0; found->diagnosis.mark == MARK_RIGHT && b < made->subject.block_count; b++) {
        if (reports[b].verdict != MHA_GRADCHECK_PASS) { /* of the function, not of an entry */
            snprintf(found->entry, sizeof found->entry, "%s", claims[b].name);
            snprintf(found->diagnosis.text, sizeof found->diagnosis.text, "%s",
                mha_gradcheck_verdict_text(reports[b].verdict) + strlen("FAIL "));
            break;
        }
    }
    free(product);
}

/* Gives the blocks the values of the walk. A blocked score is no number, and may be any. */
static void take_values(struct check_case *made, const struct walk *walk) {
    for (size_t b = 0; b < made->subject.block_count; b++) {
        const mha_gradcheck_block *block = &made->blocks[b];
        const double *values = walk->pass.value[made->block_value[b]];
        const size_t count = mha_value_count(made->block_value[b], &made->shape);
        for (size_t i = 0; i < count; i++) {
            block->values[i] = isfinite(values[i]) ? values[i] : 0.0;
        }
    }
    for (size_t i = 0; i < MHA_VALUE_COUNT;
         i++) { /* a wrong backward may read what it should not */
        if (made->pass.value[i] == NULL) {
            made->pass.value[i] = walk->pass.value[i];
        }
    }
}

/* Whether the stage's backward is wrong alone, at the values of the walk, or without one at random values. */
static mha_status check_stage(struct place *found, const struct check_plan *plan,
    const mha_stage *stage, const struct walk *walk, const mha_gradcheck_options *options,
    mha_error *error) {
    struct check_case made;
    struct seen seen;
    mha_gradcheck_report reports[CASE_BLOCKS];
    mha_status status = check_stage_create(&made, plan, stage, error);
    if (status != MHA_OK) {
        return status;
    }
    if (walk != NULL) {
        take_values(&made, walk);
    }
    status = check(&seen, reports, &made.subject, options, error);
    bool wrong = false;
    for (size_t b = 0; status == MHA_OK && b < made.subject.block_count; b++) {
        wrong = wrong || reports[b].verdict != MHA_GRADCHECK_PASS;
    }
    if (wrong) {
        found->stage = case_stage_of(stage->result);
        diagnose_stage(found, &made, reports, &seen);
    }
    seen_free(&seen);
    check_case_destroy(&made);
    return status;
}

/* Two weights exchanged show nothing of it stage by stage, and neither does which path of a shared stream is
 * missing: the layer's own gradients do. */
static void diagnose_layer(struct place *found, const struct check_case *layer,
    const struct seen *seen, const struct paths *paths) {
    struct claim claims[CASE_BLOCKS];
    make_claims(claims, layer, seen);
    const bool self_attention = layer->subject.block_count == MHA_WEIGHT_COUNT + 1;
    for (size_t b = 0; b < layer->subject.block_count; b++) {
        struct claim_setting setting = {.shape = &layer->shape,
            .mask = layer->mask,
            .claims = claims,
            .count = layer->subject.block_count};
        struct diagnosis one;
        paths_of(&setting, paths, claims[b].value, self_attention);
        diagnose(&one, &claims[b], &setting);
        const bool shared = self_attention && found->diagnosis.mark == MARK_MISSING &&
                            strncmp(found->entry, "source", strlen("source")) == 0;
        if (one.mark == MARK_EXCHANGED || (one.mark == MARK_PATH && shared)) {
            found->diagnosis = one;
            describe(found, &claims[b], &layer->shape);
            return;
        }
    }
}

static mha_status look_at_layer(struct place *found, const struct check_case *layer,
    const struct walk_leaves *leaves, const mha_gradcheck_options *options, mha_error *error) {
    struct seen seen = {.out_of_memory = false};
    mha_gradcheck_report reports[CASE_BLOCKS];
    struct walk walk = {.numbers = NULL};
    struct paths paths = {.numbers = NULL};
    mha_status status = check(&seen, reports, &layer->subject, options, error);
    if (status == MHA_OK) {
        status = walk_create(&walk, leaves, layer->mask, &layer->shape, mha_stages, error);
    }
    if (status == MHA_OK) {
        walk_forward(&walk);
        walk_backward(&walk, layer->output.gradient);
        status = paths_create(&paths, &walk, error);
    }
    if (status == MHA_OK) {
        diagnose_layer(found, layer, &seen, &paths);
    }
    paths_destroy(&paths);
    walk_destroy(&walk);
    seen_free(&seen);
    return status;
}

static struct walk_leaves leaves_of(const struct check_case *layer) {
    struct walk_leaves leaves = {.query = layer->blocks[0].values};
    for (size_t b = 1; b < layer->subject.block_count; b++) {
        const mha_value value = layer->block_value[b];
        if (value == MHA_SOURCE) {
            leaves.source = layer->blocks[b].values;
        } else {
            leaves.weights[value - MHA_FIRST_WEIGHT] = layer->blocks[b].values;
        }
    }
    return leaves;
}

mha_status locate(struct place *found, const struct check_case *layer,
    const struct check_plan *plan, const mha_stage *stages, const mha_gradcheck_options *options,
    mha_error *error) {
    const struct walk_leaves leaves = leaves_of(layer);
    struct walk walk;
    *found = (struct place){.stage = MHA_STAGE_COUNT};
    mha_status status = walk_create(&walk, &leaves, layer->mask, &layer->shape, stages, error);
    if (status != MHA_OK) {
        return status;
    }
    walk_forward(&walk);
    for (size_t i = MHA_STAGE_COUNT;
         i-- > 0 && status == MHA_OK && found->stage == MHA_STAGE_COUNT;) {
        status = check_stage(found, plan, &stages[i], &walk, options, error);
    }
    walk_destroy(&walk);
    return status == MHA_OK ? look_at_layer(found, layer, &leaves, options, error) : status;
}

mha_status locate_in_stage(struct place *found, const struct check_plan *plan,
    const mha_stage *stage, const mha_gradcheck_options *options, mha_error *error) {
    *found = (struct place){.stage = MHA_STAGE_COUNT};
    return check_stage(found, plan, stage, NULL, options, error);
}
