/* Losses over counted positions. Reached through <mha/mha32.h> or <mha/mha64.h>.
 *
 * counted (rows) is 1 where a position counts and 0 where it does not, NULL for all. A position
 * that does not count is not read and its gradient row is left alone. Gradients are ADDED to and
 * may be NULL. Loss values are double in both precisions and summed in double. When nothing counts,
 * the loss and its gradient are 0. */
#ifndef MHA_NAME
#error "include <mha/mha32.h> (float) or <mha/mha64.h> (double)"
#endif

/* Mean over counted positions and their features of (prediction - target)^2.
 *   dprediction, prediction, target (rows, features) */
double mha_mse_loss(mha_real *dprediction, const mha_real *prediction, const mha_real *target,
    const unsigned char *counted, size_t rows, size_t features);

typedef struct mha_class_score {
    double loss;    /* mean cross-entropy over counted answers, in nats */
    size_t correct; /* answers whose first largest logit is the label */
    size_t counted; /* answers that count */
} mha_class_score;

/* Softmax cross-entropy. Row r of logits (rows, row_stride) holds `answers` groups of `classes`
 * logits in its first answers*classes features; features behind them do not matter.
 *   labels (rows, answers)  0 .. classes-1, or -1 where the answer does not count */
mha_class_score mha_cross_entropy_loss(mha_real *dlogits, const mha_real *logits,
    const int32_t *labels, size_t rows, size_t row_stride, size_t answers, size_t classes);
