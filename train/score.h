/* A score in words, for train and eval. */
#ifndef TRAIN_SCORE_H
#define TRAIN_SCORE_H

#include "trainer.h"

/* "loss 0.0021 nats, accuracy 100.00 %", or for a regression "loss ..., relative error ...", and
 * below it the task's own lines of comparison; to standard output. `what` names the examples. Where
 * there are none, a line says so. */
void print_score(const char *what, const struct score *score, const struct trainer *trainer);

#endif
