#include "base/real.h"

/* Sums over rows are wide; what one row contributes is computed in the precision of the file. */

static size_t counted_rows(const unsigned char *counted, size_t rows) {
    if (counted == NULL) {
        return rows;
    }
    size_t count = 0;
    for (size_t r = 0; r < rows; r++) {
        count += counted[r] != 0;
    }
    return count;
}

/* loss = sum (prediction - target)^2 / n over the n = counted * features entries that count,
 * d(loss)/d(prediction) = 2 (prediction - target) / n. */
wide mha_mse_loss(mha_real *dprediction, const mha_real *prediction, const mha_real *target,
    const unsigned char *counted, size_t rows, size_t features) {
    const wide n = (wide)counted_rows(counted, rows) * (wide)features;
    if (n == 0) {
        return 0;
    }
    const mha_real factor = (mha_real)(2 / n);
    wide sum = 0;
    for (size_t r = 0; r < rows; r++) {
        if (counted != NULL && counted[r] == 0) {
            continue;
        }
        for (size_t i = r * features; i < (r + 1) * features; i++) {
            mha_real difference = prediction[i] - target[i];
            sum += (wide)difference * (wide)difference;
            if (dprediction != NULL) {
                dprediction[i] += factor * difference;
            }
        }
    }
    return sum / n;
}

/* The first largest of classes logits; classes when one of them is NaN. */
static size_t first_largest(const mha_real *logits, size_t classes) {
    size_t best = 0;
    for (size_t c = 0; c < classes; c++) {
        if (isnan(real_re(logits[c]))) {
            return classes;
        }
        if (real_re(logits[c]) > real_re(logits[best])) {
            best = c;
        }
    }
    return best;
}

/* One answer. With the largest logit m, Z = sum_c exp(logit_c - m) is at least 1 and finite:
 *   loss = log Z - (logit_label - m), d(loss)/d(logit_c) = exp(logit_c - m) / Z - [c = label].
 * factor * gradient is added to dlogits (classes), unless that is NULL. */
static wide answer_loss(mha_real *dlogits, size_t *correct, const mha_real *logits, size_t label,
    size_t classes, mha_real factor) {
    const size_t best = first_largest(logits, classes);
    const mha_real largest = logits[best < classes ? best : 0];
    mha_real sum = REAL(0.0);
    for (size_t c = 0; c < classes; c++) {
        sum += real_exp(logits[c] - largest);
    }
    *correct += best == label;
    if (dlogits != NULL) {
        for (size_t c = 0; c < classes; c++) {
            mha_real probability = real_exp(logits[c] - largest) / sum;
            dlogits[c] += factor * (c == label ? probability - REAL(1.0) : probability);
        }
    }
    return (wide)(real_log(sum) - (logits[label] - largest));
}

mha_class_score mha_cross_entropy_loss(mha_real *dlogits, const mha_real *logits,
    const int32_t *labels, size_t rows, size_t row_stride, size_t answers, size_t classes) {
    mha_class_score score = {0};
    for (size_t i = 0; i < rows * answers; i++) {
        score.counted += labels[i] >= 0;
    }
    if (score.counted == 0) {
        return score;
    }
    const mha_real factor = (mha_real)(1 / (wide)score.counted);
    wide sum = 0;
    for (size_t r = 0; r < rows; r++) {
        for (size_t a = 0; a < answers; a++) {
            int32_t label = labels[r * answers + a];
            size_t at = r * row_stride + a * classes;
            if (label >= 0) {
                sum += answer_loss(dlogits == NULL ? NULL : dlogits + at, &score.correct,
                    logits + at, (size_t)label, classes, factor);
            }
        }
    }
    score.loss = sum / (wide)score.counted;
    return score;
}
