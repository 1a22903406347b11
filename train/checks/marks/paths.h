/* What each path brings to the gradient of the streams: with self-attention the query reaches the output as
 * query, as key and as value, with cross-attention the source as key and as value. */
#ifndef TRAIN_CHECKS_PATHS_H
#define TRAIN_CHECKS_PATHS_H

#include "checks/marks/claims.h"
#include "checks/walk.h"

enum { PATH_QUERY, PATH_KEY, PATH_VALUE, PATH_COUNT };

struct paths {
    struct claim_part parts[PATH_COUNT];
    double *numbers;
};

/* Of a walk that went forward and backward; its gradients are read as long as these live. */
mha_status paths_create(struct paths *made, const struct walk *walk, mha_error *error);
void paths_destroy(struct paths *made);

/* The parts that make up the gradient by value: setting->parts and part_count. None but of streams. */
void paths_of(
    struct claim_setting *setting, const struct paths *paths, mha_value value, bool self_attention);

#endif
