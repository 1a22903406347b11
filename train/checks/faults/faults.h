/* Wrong backward routines, each in place of one or two stages of the layer. */
#ifndef TRAIN_CHECKS_FAULTS_H
#define TRAIN_CHECKS_FAULTS_H

#include "checks/case.h"
#include "checks/marks/claims.h"

struct fault {
    const char *name;
    mha_value
        result[2]; /* the stages that are exchanged, by what they write; the second may be 0 */
    void (*backward[2])(const mha_pass *pass, const mha_real *dresult);
    const char *stage;   /* the stage that is wrong, the last of two */
    enum mark mark;      /* that it leaves; MARK_UNKNOWN: none that is known */
    const char *fails;   /* the blocks whose gradients pass through it; the others are right */
    bool self_attention; /* shows only where the input is shared */
    bool large;          /* shows in a block too large to move entry by entry */
};

extern const struct fault faults[];
extern const size_t fault_count;

/* What shows each fault: a layer of the reference kernel under all masks at once, T = S where the input is
 * shared; with `large` its matrices are above the checker's limit of 4096 entries. */
struct check_plan fault_plan(bool self_attention, bool large, uint64_t seed);

/* mha_stages with the fault in it. */
void plant_fault(mha_stage stages[MHA_STAGE_COUNT], const struct fault *fault);

#endif
