/* What can be checked: every stage of the readable wing, attention by itself and the whole layer in each
 * wing and mode, and the losses. */
#ifndef TRAIN_CHECKS_SUBJECTS_H
#define TRAIN_CHECKS_SUBJECTS_H

#include "checks/case.h"

struct subject {
    const char *name; /* those of one routine in several wings share it */
    bool is_loss;     /* and has neither kernel nor mode */
    mha_kernel kernel;
    mha_mode mode;
    bool masked;            /* the mask matters to it */
    bool is_layer;          /* there are self- and cross-attention */
    const mha_stage *stage; /* or NULL and a maker of its cases: */
    mha_status (*create)(struct check_case *, const struct check_plan *, mha_error *);
};

enum { SUBJECT_COUNT = MHA_STAGE_COUNT + 8 };

void list_subjects(struct subject subjects[SUBJECT_COUNT]);

/* A case of the subject, whose kernel and mode are those of the plan; on failure nothing is left to
 * destroy. */
mha_status subject_create(struct check_case *made, const struct subject *subject,
    const struct check_plan *plan, mha_error *error);

#endif
