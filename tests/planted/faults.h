/* Wrong backward routines, each in place of one or two stages of the layer. */
#ifndef TESTS_PLANTED_FAULTS_H
#define TESTS_PLANTED_FAULTS_H

#include <mha/mha64.h>

typedef struct fault {
    const char *name;
    mha_value
        result[2]; /* the stages that are exchanged, by what they write; the second may be 0 */
    void (*backward[2])(const mha_pass *pass, const mha_real *dresult);
    const char *fails;   /* the blocks whose gradients pass through it; the others are right */
    bool self_attention; /* shows only where the input is shared */
    bool large;          /* shows in a block too large to move entry by entry */
} fault;

extern const fault faults[];
extern const size_t fault_count;

#endif
