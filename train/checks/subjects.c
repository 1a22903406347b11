#include "checks/subjects.h"

#include <string.h>

static mha_status create_layer(
    struct check_case *made, const struct check_plan *plan, mha_error *error) {
    return check_layer_create(made, plan, NULL, error);
}

#define REFERENCE    .kernel = MHA_KERNEL_REFERENCE, .mode = MHA_MODE_STORED
#define FUSED_STORED .kernel = MHA_KERNEL_FUSED, .mode = MHA_MODE_STORED
#define FUSED_TILED  .kernel = MHA_KERNEL_FUSED, .mode = MHA_MODE_TILED
#define ATTENTION    .name = "attention", .masked = true
#define LAYER        .name = "layer", .masked = true, .is_layer = true, .create = create_layer

static const struct subject others[] = {
    {ATTENTION, REFERENCE, .create = check_attention_create},
    {ATTENTION, FUSED_STORED, .create = check_fused_create},
    {ATTENTION, FUSED_TILED, .create = check_fused_create},
    {.name = "mse", .is_loss = true, .create = check_mse_create},
    {.name = "cross_entropy", .is_loss = true, .create = check_cross_entropy_create},
    {LAYER, REFERENCE},
    {LAYER, FUSED_STORED},
    {LAYER, FUSED_TILED},
};

void list_subjects(struct subject subjects[SUBJECT_COUNT]) {
    for (size_t i = 0; i < MHA_STAGE_COUNT; i++) {
        const mha_stage *stage = &mha_stages[i];
        subjects[i] = (struct subject){
            .name = stage->name, REFERENCE, .masked = stage->masked, .stage = stage};
    }
    memcpy(subjects + MHA_STAGE_COUNT, others, sizeof others);
}

mha_status subject_create(struct check_case *made, const struct subject *subject,
    const struct check_plan *plan, mha_error *error) {
    return subject->stage != NULL ? check_stage_create(made, plan, subject->stage, error)
                                  : subject->create(made, plan, error);
}
