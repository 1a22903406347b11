/* Where a wrong gradient of the layer comes from: every stage's backward is checked alone, at the values that it
 * had in the layer. */
#ifndef TRAIN_CHECKS_LOCATE_H
#define TRAIN_CHECKS_LOCATE_H

#include "checks/case.h"
#include "checks/marks/claims.h"

enum { PLACE_TEXT_SIZE = 96 };

struct place {
    size_t stage; /* the first wrong one on the way back; MHA_STAGE_COUNT: none is wrong alone */
    char entry
        [PLACE_TEXT_SIZE]; /* the entry that is farthest off, its head, and the input it belongs to */
    struct diagnosis diagnosis;
};

/* layer is a case of check_layer_create by that plan and those stages. Besides what each stage shows, exchanged
 * and missing paths are recognised from the gradients of the layer as a whole. */
mha_status locate(struct place *found, const struct check_case *layer,
    const struct check_plan *plan, const mha_stage *stages, const mha_gradcheck_options *options,
    mha_error *error);

/* One stage by itself, at random values; found->stage is its place in mha_stages when it is wrong. */
mha_status locate_in_stage(struct place *found, const struct check_plan *plan,
    const mha_stage *stage, const mha_gradcheck_options *options, mha_error *error);

#endif
