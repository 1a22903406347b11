/* The test cases of layer_suite, one file each. Included after "base/real.h". */
#ifndef TESTS_NUMERIC_LAYER_CASES_H
#define TESTS_NUMERIC_LAYER_CASES_H

#include <check.h>

#define layer_refusals_case     MHA_NAME(layer_refusals_case)
#define layer_overlaps_case     MHA_NAME(layer_overlaps_case)
#define layer_streams_case      MHA_NAME(layer_streams_case)
#define layer_independence_case MHA_NAME(layer_independence_case)
#define layer_masks_case        MHA_NAME(layer_masks_case)
#define layer_gradients_case    MHA_NAME(layer_gradients_case)
#define layer_tape_case         MHA_NAME(layer_tape_case)

TCase *layer_refusals_case(void);     /* shapes, sizes, missing arrays, state */
TCase *layer_overlaps_case(void);     /* arrays that share memory */
TCase *layer_streams_case(void);      /* self-attention and shared gradient buffers */
TCase *layer_independence_case(void); /* samples, later tokens, what memory held before */
TCase *layer_masks_case(void);        /* hidden rows, rows without a key, empty sizes */
TCase *layer_gradients_case(void);    /* adding, scaling, NULL */
TCase *layer_tape_case(void);         /* the tape's entries, the table of stages */

#endif
