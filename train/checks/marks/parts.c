/* A claim as a sum of the parts that the truth is made of, each by a factor of its own. */
#include "checks/marks/claims.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 24 };

/* Solves the normal equations by elimination with a pivot on the diagonal; false where the parts depend on each
 * other. */
static bool solve(double matrix[MOST_PARTS][MOST_PARTS + 1], size_t n) {
    for (size_t k = 0; k < n; k++) {
        if (!(matrix[k][k] > 0.0)) {
            return false;
        }
        for (size_t i = 0; i < n; i++) {
            const double factor = i == k ? 0.0 : matrix[i][k] / matrix[k][k];
            for (size_t j = k; j <= n && factor != 0.0; j++) {
                matrix[i][j] -= factor * matrix[k][j];
            }
        }
    }
    return true;
}

static double dot(const double *a, const double *b, size_t count) {
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* factors[] of the parts nearest to the claim by least squares; false when they do not make it up. */
static bool fit(double factors[MOST_PARTS], const struct claim *claim,
    const struct claim_setting *setting, size_t count) {
    const size_t n = setting->part_count;
    double matrix[MOST_PARTS][MOST_PARTS + 1];
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            matrix[i][j] = dot(setting->parts[i].array, setting->parts[j].array, count);
        }
        matrix[i][n] = dot(setting->parts[i].array, claim->claimed, count);
    }
    if (!solve(matrix, n)) {
        return false;
    }
    double most = 1.0;
    for (size_t i = 0; i < n; i++) {
        factors[i] = matrix[i][n] / matrix[i][i];
        most = fmax(most, fabs(factors[i]));
    }
    const double largest = claim_largest(claim, setting->shape);
    const double close = fmax(64.0 * claim->allowed, 1e-9 * largest) * most;
    for (size_t e = 0; e < count; e++) {
        double sum = 0.0;
        for (size_t i = 0; i < n; i++) {
            sum += factors[i] * setting->parts[i].array[e];
        }
        if (!(fabs(claim->claimed[e] - sum) <= close)) {
            return false;
        }
    }
    return true;
}

bool diagnose_parts(
    struct diagnosis *found, const struct claim *claim, const struct claim_setting *setting) {
    const size_t count = mha_value_count(claim->value, setting->shape);
    double factors[MOST_PARTS];
    if (setting->part_count < 2 || setting->part_count > MOST_PARTS ||
        count < 2 * setting->part_count || !fit(factors, claim, setting, count)) {
        return false;
    }
    size_t used = 0;
    const double largest = claim_largest(claim, setting->shape);
    const double tolerance = fmax(1e-6, 256.0 * claim->allowed / fmax(largest, 1e-300));
    for (size_t i = 0; i < setting->part_count && used < sizeof found->text; i++) {
        char words[160] = "is missing";
        if (fabs(factors[i] - 1.0) <= tolerance) {
            continue;
        }
        if (fabs(factors[i]) > tolerance) {
            factor_mark(words, sizeof words, factors[i], tolerance, BY_SCALE_MAYBE, setting->shape);
        }
        used += (size_t)snprintf(found->text + used, sizeof found->text - used, "%s%s %s",
            used == 0 ? "" : "; ", setting->parts[i].name, words);
    }
    found->mark = used > 0 ? MARK_PATH : found->mark;
    return used > 0;
}
