/* Mistakes that are made forward and backward alike, so that backward is right for what forward computes, and
 * some in backward alone that no stage shows by itself. */
#ifndef TRAIN_CHECKS_WRONG_PASSES_H
#define TRAIN_CHECKS_WRONG_PASSES_H

#include <mha/mha64.h>

enum { WRONG_STAGES = 4 };

struct wrong_pass {
    const char *name;
    struct {
        mha_value result; /* the stage that is exchanged, by what it writes; 0: none */
        void (*forward)(mha_real *result, const mha_pass *pass); /* NULL: the right one */
        void (*backward)(const mha_pass *pass, const mha_real *dresult);
    } stages[WRONG_STAGES]; /* in the order of backward */
};

extern const struct wrong_pass wrong_passes[];
extern const size_t wrong_pass_count;

/* mha_stages with the mistake in it. */
void plant_wrong_pass(mha_stage stages[MHA_STAGE_COUNT], const struct wrong_pass *wrong);

#endif
