#include "score.h"

#include <math.h>
#include <stdio.h>

/* printf would show the sign of a NaN. */
static double plain(double number) {
    return isnan(number) ? (double)NAN : number;
}

void print_score(const char *what, const struct score *score, const struct trainer *trainer) {
    const struct task *task = trainer->task;
    if (held_out_count(trainer) == 0) {
        printf("no held-out examples: give --validation or --eval-data\n");
        return;
    }
    const double loss = plain(score->loss);
    if (trainer->form.loss == TASK_CROSS_ENTROPY) {
        printf("%s: loss %.4g nats, accuracy %.2f %%\n", what, loss, 100.0 * score->accuracy);
    } else if (isnan(score->relative_error)) {
        printf("%s: loss %.4g; the targets do not vary\n", what, loss);
    } else {
        printf("%s: loss %.4g, relative error %.3g (loss / variance of the target)\n", what, loss,
            score->relative_error);
    }
    if (task->compare != NULL) {
        task->compare(stdout, loss, trainer->data);
    }
}
