#include "score.h"

#include <stdio.h>

void print_score(const char *what, const struct score *score, const struct trainer *trainer) {
    const struct task *task = trainer->task;
    if (task->loss == TASK_CROSS_ENTROPY) {
        printf(
            "%s: loss %.4g nats, accuracy %.2f %%\n", what, score->loss, 100.0 * score->accuracy);
    } else {
        printf("%s: loss %.4g, relative error %.3g (loss / variance of the target)\n", what,
            score->loss, score->relative_error);
    }
    if (task->compare != NULL) {
        task->compare(stdout, score->loss, trainer->data);
    }
}
