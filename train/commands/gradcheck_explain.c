#include "gradcheck_explain.h"

#include <stdio.h>

#include "checks/marks/locate.h"

static mha_status locate_in_layer(struct place *found, const struct check_plan *plan,
    const mha_gradcheck_options *options, mha_error *error) {
    struct check_case layer;
    mha_status status = check_layer_create(&layer, plan, mha_stages, error);
    if (status == MHA_OK) {
        status = locate(found, &layer, plan, mha_stages, options, error);
        check_case_destroy(&layer);
    }
    return status;
}

mha_status explain_failure(const struct subject *subject, const struct check_plan *plan,
    const mha_gradcheck_options *options, mha_error *error) {
    struct place found;
    if (subject->is_loss) {
        return MHA_OK;
    }
    const mha_status status = subject->stage != NULL
                                  ? locate_in_stage(&found, plan, subject->stage, options, error)
                                  : locate_in_layer(&found, plan, options, error);
    if (status != MHA_OK) {
        return status;
    }
    if (found.stage < MHA_STAGE_COUNT) {
        printf("    first wrong stage: %s, %s: %s\n", mha_stages[found.stage].name, found.entry,
            found.diagnosis.text);
    } else {
        printf("    every stage of the readable wing passes by itself\n");
    }
    return MHA_OK;
}
