#include "gradcheck_findings.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "checks/marks/suspects.h"

/* How much of the largest entry may be rounding where an array is told from others. */
#define MOST_ROUNDING 0.01
/* Of the largest entry: what rounding makes of an entry in which little cancels is far less. */
#define MOST_UNITS 2048.0
/* Of an output, relative to its largest entry, that single precision leaves. */
#define SAME_OUTPUT 1e-3

static bool is_untold(const struct claim *claim, double largest, const mha_shape *shape) {
    const size_t count = mha_value_count(claim->value, shape);
    for (size_t i = 0; i < count; i++) {
        if (claim_allowed(claim, i) <= MOST_ROUNDING * fabs(claim->truth[i])) {
            return false;
        }
    }
    return largest > 0.0;
}

static size_t count_blurred(
    const struct claim *claim, mha_dtype dtype, double largest, const mha_shape *shape) {
    const double unit = dtype == MHA_FLOAT64 ? DBL_EPSILON : (double)FLT_EPSILON;
    const size_t count = mha_value_count(claim->value, shape);
    size_t blurred = 0;
    for (size_t i = 0; i < count; i++) {
        blurred += claim_allowed(claim, i) > MOST_UNITS * unit * largest;
    }
    return blurred;
}

static void measure(struct findings *made, size_t c, const struct claim *claim, mha_dtype dtype,
    const mha_shape *shape) {
    const size_t count = mha_value_count(claim->value, shape);
    double error = 0.0, share = 0.0;
    for (size_t i = 0; i < count; i++) {
        const double distance = fabs(claim->claimed[i] - claim->truth[i]);
        error = isnan(error) || distance <= error ? error : distance; /* NaN stays */
        const double here = distance / claim_allowed(claim, i);
        share = isnan(share) || here <= share ? share : here;
    }
    made->share[c] = share;
    const bool right = made->found[c].mark == MARK_RIGHT;
    made->error[c] = error;
    made->largest[c] = claim_largest(claim, shape);
    made->blurred[c] = count_blurred(claim, dtype, made->largest[c], shape);
    made->untold[c] = right && is_untold(claim, made->largest[c], shape);
    made->wrong += right ? 0 : 1;
    made->told += right && !made->untold[c] ? 1 : 0;
}

mha_status findings_make(struct findings *made, const struct claim_set *set,
    const struct truth *truth, mha_error *error) {
    const mha_pass *pass = &truth->walk.pass;
    struct claim_setting setting = {.shape = &pass->shape,
        .mask = pass->mask,
        .claims = set->claims,
        .count = set->count,
        .weights = pass->value[MHA_ATTENTION_WEIGHTS]};
    *made = (struct findings){.count = set->count};
    for (size_t c = 0; c < set->count; c++) {
        paths_of(&setting, &truth->paths, set->claims[c].value, truth->self_attention);
        diagnose(&made->found[c], &set->claims[c], &setting);
        measure(made, c, &set->claims[c], set->dtype[c], &pass->shape);
    }
    return made->wrong == 0 ? MHA_OK
                            : explain_claims(&made->explanations, set->claims, set->count,
                                  &truth->walk, truth->grad_output, truth->self_attention, error);
}

static const char *verdict_of(const struct findings *findings, size_t c) {
    return findings->found[c].mark != MARK_RIGHT ? "FAIL"
           : findings->untold[c]                 ? "smaller than rounding"
           : findings->largest[c] == 0.0         ? "PASS, zero is right"
                                                 : "PASS";
}

static void print_claim(const struct findings *findings, const struct claim_set *set, size_t c,
    const mha_shape *shape) {
    char entry[96];
    const struct claim *claim = &set->claims[c];
    const struct diagnosis *found = &findings->found[c];
    const double unit = findings->largest[c] > 0.0 ? findings->largest[c] : 1.0;
    printf("%-18s %-8s %7zu %7zu %8.1e %8.1e %8.1e  %s\n", claim->name,
        mha_dtype_name(set->dtype[c]), mha_value_count(claim->value, shape), found->wrong,
        findings->error[c] / unit, claim->allowed / unit, findings->share[c],
        verdict_of(findings, c));
    if (found->mark == MARK_RIGHT) {
        if (findings->blurred[c] > 0 && !findings->untold[c] && findings->largest[c] > 0.0) {
            printf("    %zu of them are told no better than to %.1e of the largest\n",
                findings->blurred[c], claim->allowed / unit);
        }
        return;
    }
    claim_entry_text(entry, sizeof entry, claim, found->entry, shape);
    printf("    %s is %+.9e, right is %+.9e within %.1e\n", entry, claim->claimed[found->entry],
        claim->truth[found->entry], claim_allowed(claim, found->entry));
    const char *mistake = findings->explanations.one[c];
    if (found->mark == MARK_UNKNOWN && mistake[0] != '\0') {
        printf("    this is what comes of: %s\n", mistake);
    } else {
        printf("    %s\n", found->text);
    }
}

/* Whether all claims are off by one factor: then what they began with may be. */
static bool print_common_factor(const struct findings *findings) {
    const double factor = findings->found[0].factor;
    bool common = findings->wrong == findings->count && findings->count > 1;
    for (size_t c = 0; c < findings->count; c++) {
        const double apart = fabs(findings->found[c].factor - factor);
        common = common && findings->found[c].factor != 0.0 && apart <= 1e-3 * fabs(factor);
    }
    if (common) {
        printf("all are %.6g times what is right: the loss, or grad_output, may be another one\n",
            factor);
    }
    return common;
}

/* Whether wrong claims are off by little and all over, as if they came of less precision than they are stored in. */
static bool print_lower_precision(const struct findings *findings, const struct claim_set *set) {
    double most = 0.0;
    if (4 * findings->wrong < 3 * findings->count) {
        return false;
    }
    for (size_t c = 0; c < findings->count; c++) {
        const struct diagnosis *found = &findings->found[c];
        const double limit = set->dtype[c] == MHA_FLOAT64 ? 1e-4 : 2e-2;
        const double error = findings->error[c] / findings->largest[c];
        if (found->mark == MARK_RIGHT) {
            continue;
        }
        if (found->mark != MARK_UNKNOWN || found->wrong < 3 || !(error <= limit)) {
            return false;
        }
        most = fmax(most, error);
    }
    printf("off by no more than %.1e of the largest entry: computed in lower precision than it is "
           "stored in, or from\nnumbers that were rounded when they were saved?\n",
        most);
    return true;
}

/* Which stage alone would spoil these. */
static void print_suspects(
    const struct findings *findings, const struct claim_set *set, bool self_attention) {
    unsigned long claimed = 0, wrong = 0;
    char stages[256];
    for (size_t c = 0; c < set->count; c++) {
        claimed |= 1ul << set->claims[c].value;
        wrong |= findings->found[c].mark != MARK_RIGHT ? 1ul << set->claims[c].value : 0;
    }
    const size_t count = find_suspects(stages, sizeof stages, claimed, wrong, self_attention);
    printf("%s%s\n",
        count == 0   ? "no stage alone spoils just these"
        : count == 1 ? "first wrong stage on the way back: "
                     : "first wrong stage on the way back, one of: ",
        stages);
}

/* What shows whether forward is the same function. */
static void print_forward(const struct truth *truth) {
    const double error = truth->output_error;
    if (isnan(error)) {
        return;
    }
    printf("output is off by %.1e of its largest entry: %s\n", error,
        error <= SAME_OUTPUT ? "forward is the same function"
                             : "forward is another function: its mask, heads, scale or layout");
}

static bool weights_are_transposed(const struct findings *findings, const struct claim_set *set) {
    size_t weights = 0, transposed = 0;
    for (size_t c = 0; c < set->count; c++) {
        const mha_value value = set->claims[c].value;
        const bool weight = value >= MHA_WQ && value <= MHA_WO;
        weights += weight;
        transposed += weight && findings->found[c].mark == MARK_TRANSPOSED;
    }
    return weights > 1 && transposed == weights && findings->wrong == transposed;
}

static void print_reasons(
    const struct findings *findings, const struct claim_set *set, const struct truth *truth) {
    const struct explanations *explanations = &findings->explanations;
    if (truth->context_is_query) {
        printf("context is the query: for self-attention leave it out, and let grad_query be the "
               "sum\n");
    }
    if (weights_are_transposed(findings, set)) {
        printf("all weight gradients are (out,in), as PyTorch keeps them: (in,out) is needed\n");
    } else if (explanations->all[0] != '\0') {
        printf("all of it comes of one mistake: %s\nfirst wrong stage on the way back: %s\n",
            explanations->all, explanations->stage);
    } else if (print_common_factor(findings) || print_lower_precision(findings, set)) {
        return;
    } else if (findings->wrong == findings->count && findings->count > 2 &&
               !(truth->output_error <= SAME_OUTPUT)) {
        printf("all are wrong: forward may be another function, by its mask, heads, scale or the "
               "layout of the weights,\nor grad_output another one\n");
    } else {
        print_suspects(findings, set, truth->self_attention);
    }
}

static void print_names(const struct findings *findings, const struct claim_set *set, bool untold) {
    for (size_t c = 0; c < set->count; c++) {
        const bool named = untold ? findings->untold[c] : findings->found[c].mark != MARK_RIGHT;
        if (named) {
            printf(" %s", set->claims[c].name);
        }
    }
}

static void print_sum(const struct findings *findings, const struct claim_set *set) {
    const size_t untold = findings->count - findings->wrong - findings->told;
    if (findings->wrong > 0) {
        printf("FAIL: %zu of %zu gradients wrong:", findings->wrong, findings->count);
        print_names(findings, set, false);
    } else if (findings->told > 0) {
        printf("PASS: %zu gradient%s right", findings->told, findings->told == 1 ? " is" : "s are");
    } else {
        printf("NOTHING TOLD");
    }
    if (untold > 0) {
        printf("; not told from rounding:");
        print_names(findings, set, true);
    }
    printf("\n");
}

void findings_print(
    const struct findings *findings, const struct claim_set *set, const struct truth *truth) {
    printf("%-18s %-8s %7s %7s %8s %8s %8s\n", "gradient", "dtype", "entries", "wrong", "error",
        "allowed", "of bar");
    for (size_t c = 0; c < set->count; c++) {
        print_claim(findings, set, c, &truth->walk.pass.shape);
    }
    print_forward(truth);
    if (findings->wrong > 0) {
        print_reasons(findings, set, truth);
    }
    print_sum(findings, set);
}
