#include "base/real.h"

#include <string.h>

#include "kernels/kernels.h"

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
    wide_sum sum = {{0}};
    kernels_get()->add_errors(
        &sum, dprediction, prediction, target, factor, counted, rows, features);
    return wide_sum_total(&sum) / n;
}

/* exp(x) of an x up to 0, or NaN: exactly 1 at 0, and in float 0 where it would be below the smallest
 * normal number. In float it is 2^n e^r with x = n log 2 + r and |r| <= log(2) / 2, to 0.7 units in the last
 * place and in plain operations, which the compiler does on many numbers at once: log 2 comes in two
 * parts, of which n times the first is exact, and the polynomial is off by 3.1e-9. */
static inline mha_real exponential(mha_real x) {
#if MHA_PRECISION == 32
    const mha_real rounder = REAL(0x1.8p23); /* adding it leaves an integer in the lowest bits */
    const mha_real shifted = x * REAL(0x1.715476p0) + rounder;
    const mha_real n = shifted - rounder;
    const mha_real r = (x - n * REAL(0x1.62e4p-1)) - n * REAL(0x1.7f7d1cp-20);
    const mha_real tail =
        REAL(0x1.fffffcp-2) +
        r * (REAL(0x1.555492p-3) +
                r * (REAL(0x1.5558f2p-5) + r * (REAL(0x1.1239e2p-7) + r * REAL(0x1.6a2434p-10))));
    uint32_t bits;
    mha_real value;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 127) << 23; /* of 2^n */
    memcpy(&value, &bits, sizeof value);
    value *= REAL(1.0) + (r + r * r * tail);
    memcpy(&bits, &value, sizeof bits);
    bits &= (uint32_t)(x < REAL(-0x1.5d589ep6)) - 1; /* none of them, or all */
    memcpy(&value, &bits, sizeof value);
    return value;
#else
    return real_exp(x);
#endif
}

/* Answers are worked on in groups, and the exponentials of a group in one go. */
enum {
    GROUP_ANSWERS = 64,
    GROUP_NUMBERS = 512 /* exponentials at a time; more classes than that take turns */
};

typedef struct answer_group {
    size_t count;
    size_t at[GROUP_ANSWERS]; /* where the logits of each begin */
    size_t label[GROUP_ANSWERS];
    mha_real largest[GROUP_ANSWERS]; /* m, the largest logit */
    mha_real sum[GROUP_ANSWERS];     /* Z = sum_c exp(logit_c - m), from 1 to the classes */
    mha_real e[GROUP_NUMBERS];       /* (count, classes of the turn) exp(logit_c - m) */
} answer_group;

static mha_real largest_of(const mha_real *logits, size_t classes) {
    mha_real largest = logits[0];
    for (size_t c = 1; c < classes; c++) {
        largest = logits[c] > largest ? logits[c] : largest;
    }
    return largest;
}

/* Whether the label is the first largest logit: those before it are smaller, those behind it not
 * larger, and a NaN is neither. */
static bool is_first_largest(size_t label, const mha_real *logits, size_t classes) {
    unsigned beaten = 0;
    for (size_t c = 0; c < label; c++) {
        beaten |= !(logits[c] < logits[label]);
    }
    for (size_t c = label; c < classes; c++) {
        beaten |= !(logits[c] <= logits[label]);
    }
    return beaten == 0;
}

/* Writes group->e for the classes from `first` on; returns how many they are. */
static size_t take_turn(answer_group *group, const mha_real *logits, size_t first, size_t classes) {
    const size_t left = classes - first, turn = left < GROUP_NUMBERS ? left : GROUP_NUMBERS;
    for (size_t a = 0; a < group->count; a++) {
        const mha_real *x = logits + group->at[a] + first;
#pragma omp simd
        for (size_t c = 0; c < turn; c++) {
            group->e[a * turn + c] = x[c] - group->largest[a];
        }
    }
    for (size_t i = 0; i < group->count * turn; i++) {
        group->e[i] = exponential(group->e[i]);
    }
    return turn;
}

/* Fills the group. Returns the sum over its answers of log Z - (logit_label - m); the logarithms are
 * that of the product, at most 512^64. */
static wide group_loss(
    answer_group *group, size_t *correct, const mha_real *logits, size_t classes) {
    wide z_product = 1, sum = 0;
    for (size_t a = 0; a < group->count; a++) {
        const mha_real *x = logits + group->at[a];
        group->largest[a] = largest_of(x, classes);
        group->sum[a] = REAL(0.0);
        *correct += is_first_largest(group->label[a], x, classes);
        sum += (wide)group->largest[a] - (wide)x[group->label[a]];
    }
    for (size_t first = 0, turn; first < classes; first += turn) {
        turn = take_turn(group, logits, first, classes);
        for (size_t a = 0; a < group->count; a++) {
            mha_real z = group->sum[a];
            for (size_t c = 0; c < turn; c++) {
                z += group->e[a * turn + c];
            }
            group->sum[a] = z;
            z_product *= first + turn < classes ? 1 : (wide)z;
        }
    }
    return log(z_product) + sum;
}

/* d(loss)/d(logit_c) = exp(logit_c - m) / Z - [c = label], times factor. */
static void add_gradient(mha_real *dlogits, answer_group *group, const mha_real *logits,
    size_t classes, mha_real factor) {
    for (size_t first = 0, turn; first < classes; first += turn) {
        turn = classes <= GROUP_NUMBERS ? classes : take_turn(group, logits, first, classes);
        for (size_t a = 0; a < group->count; a++) {
            const mha_real scale = factor / group->sum[a];
            mha_real *dx = dlogits + group->at[a] + first;
#pragma omp simd
            for (size_t c = 0; c < turn; c++) {
                dx[c] += scale * group->e[a * turn + c];
            }
        }
    }
    for (size_t a = 0; a < group->count; a++) {
        dlogits[group->at[a] + group->label[a]] -= factor;
    }
}

/* Takes the answers that count, from answer *next on, as many as fit; false when there are none. */
static bool next_group(answer_group *group, size_t *next, const int32_t *labels, size_t rows,
    size_t row_stride, size_t answers, size_t classes) {
    const size_t fit = classes < GROUP_NUMBERS ? GROUP_NUMBERS / classes : 1;
    const size_t most = fit < GROUP_ANSWERS ? fit : GROUP_ANSWERS;
    group->count = 0;
    for (; *next < rows * answers && group->count < most; (*next)++) {
        if (labels[*next] >= 0) {
            group->at[group->count] = *next / answers * row_stride + *next % answers * classes;
            group->label[group->count++] = (size_t)labels[*next];
        }
    }
    return group->count > 0;
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
    answer_group group;
    size_t next = 0;
    while (next_group(&group, &next, labels, rows, row_stride, answers, classes)) {
        sum += group_loss(&group, &score.correct, logits, classes);
        if (dlogits != NULL) {
            add_gradient(dlogits, &group, logits, classes, factor);
        }
    }
    score.loss = sum / (wide)score.counted;
    return score;
}
