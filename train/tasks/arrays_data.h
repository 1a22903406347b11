/* The examples of one file, for the task `arrays`. */
#ifndef TRAIN_TASKS_ARRAYS_DATA_H
#define TRAIN_TASKS_ARRAYS_DATA_H

#include <stdbool.h>

#include "arrays.h"
#include "settings.h"

struct examples {
    mha_shape shape;  /* of all examples together: batch is N; heads are those of the settings */
    bool cross;       /* there is a context */
    bool one_context; /* it is (1,S,D), the same for every example */
    enum task_loss loss;
    size_t classes;    /* TASK_CROSS_ENTROPY: 1 + the largest label, at least 2 */
    mha_real *query;   /* (N,T,D) */
    mha_real *context; /* (N,S,D) or (1,S,D); NULL without one */
    mha_real *target;  /* (N,T,D), TASK_MSE; where a position does not count it is any number */
    int32_t *labels;   /* (N,T), TASK_CROSS_ENTROPY; -1 where a position does not count */
    unsigned char *counted; /* (N,T), TASK_MSE: 1 where a position counts; NULL when all do */
    struct array_mask mask; /* of all examples */
    uint64_t fingerprint;   /* of names, dtypes, shapes and bytes of these arrays; never 0 */
};

/* Reads the examples of path. Sizes that settings give, those above 0, must be the file's. With like,
 * the examples of settings->data, the file must agree with those in its sizes, its loss and in
 * whether there is a context, and its labels with their classes. For a new run, whose settings know no
 * fingerprint, a line on standard error names arrays that the task does not read. Errors name file,
 * array and numbers; *examples holds nothing then. */
mha_status examples_read(struct examples *examples, const char *path,
    const struct settings *settings, const struct examples *like, mha_error *error);
void examples_free(struct examples *examples);

/* Whether any position of example n counts. */
bool example_counts(const struct examples *examples, size_t n);

#endif
