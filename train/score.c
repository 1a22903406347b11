#include "score.h"

#include <math.h>
#include <stdio.h>

void print_score(const char *what, const struct score *score, const struct trainer *trainer) {
    const struct task *task = trainer->task;
    const double loss = isnan(score->loss) ? (double)NAN : score->loss; /* never "-nan" */
    if (task->loss == TASK_CROSS_ENTROPY) {
        printf("%s: loss %.4g nats, accuracy %.2f %%\n", what, loss, 100.0 * score->accuracy);
    } else {
        printf("%s: loss %.4g, relative error %.3g (loss / variance of the target)\n", what,
            score->loss, score->relative_error);
    }
    if (task->compare != NULL) {
        task->compare(stdout, loss, trainer->data);
    }
}
