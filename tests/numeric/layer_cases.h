/* The test cases of layer_suite, one file each. Included after "base/real.h". */
#ifndef TESTS_NUMERIC_LAYER_CASES_H
#define TESTS_NUMERIC_LAYER_CASES_H

#include "wing.h"

#define layer_refusals_case     MHA_NAME(layer_refusals_case)
#define layer_overlaps_case     MHA_NAME(layer_overlaps_case)
#define layer_streams_case      MHA_NAME(layer_streams_case)
#define layer_independence_case MHA_NAME(layer_independence_case)
#define layer_masks_case        MHA_NAME(layer_masks_case)
#define layer_gradients_case    MHA_NAME(layer_gradients_case)
#define layer_tape_case         MHA_NAME(layer_tape_case)
#define layer_stages_case       MHA_NAME(layer_stages_case)
#define layer_options_case      MHA_NAME(layer_options_case)

/* For each wing: */
TCase *layer_refusals_case(wing chosen);     /* shapes, sizes, missing arrays, state */
TCase *layer_overlaps_case(wing chosen);     /* arrays that share memory */
TCase *layer_streams_case(wing chosen);      /* self-attention and shared gradient buffers */
TCase *layer_independence_case(wing chosen); /* samples, later tokens, what memory held before */
TCase *layer_masks_case(wing chosen);        /* hidden rows, rows without a key, empty sizes */
TCase *layer_gradients_case(wing chosen);    /* adding, scaling, NULL */
TCase *layer_tape_case(wing chosen); /* the tape's entries, and the stages that write them */

TCase *layer_stages_case(void);  /* a table with a stage exchanged, for the readable wing */
TCase *layer_options_case(void); /* kernel, mode and threads */

#endif
