#include "gradcheck_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "checks/marks/suspects.h"
#include "command.h"
#include "gradcheck_rounding.h"

static void print_claim(const struct claim *claim, mha_dtype dtype, const struct diagnosis *found,
    const char *mistake, const mha_shape *shape) {
    char entry[96];
    const size_t count = mha_value_count(claim->value, shape);
    double largest = claim_largest(claim, shape), error = 0.0;
    for (size_t i = 0; i < count; i++) {
        const double distance = fabs(claim->claimed[i] - claim->truth[i]);
        error = isnan(error) || distance <= error ? error : distance; /* NaN stays */
    }
    const bool right = found->mark == MARK_RIGHT, zero = largest == 0.0;
    largest = zero ? 1.0 : largest;
    printf("%-18s %-8s %8zu %8zu %8.1e %8.1e  %s%s\n", claim->name, mha_dtype_name(dtype), count,
        found->wrong, error / largest, claim->allowed / largest, right ? "PASS" : "FAIL",
        zero                             ? ", zero is right"
        : claim->allowed > 0.1 * largest ? ", smaller than rounding"
                                         : "");
    if (right) {
        return;
    }
    claim_entry_text(entry, sizeof entry, claim, found->entry, shape);
    printf("    %s is %+.9e, right is %+.9e\n", entry, claim->claimed[found->entry],
        claim->truth[found->entry]);
    if (found->mark == MARK_UNKNOWN && mistake[0] != '\0') {
        printf("    this is what comes of: %s\n", mistake);
    } else {
        printf("    %s\n", found->text);
    }
}

/* Which stage alone would spoil these. */
static void print_suspects(
    const struct claim_set *set, const struct diagnosis *found, bool self_attention) {
    unsigned long claimed = 0, wrong = 0;
    char stages[256];
    for (size_t i = 0; i < set->count; i++) {
        claimed |= 1ul << set->claims[i].value;
        wrong |= found[i].mark != MARK_RIGHT ? 1ul << set->claims[i].value : 0;
    }
    const size_t count = find_suspects(stages, sizeof stages, claimed, wrong, self_attention);
    printf("%s%s\n",
        count == 0   ? "no stage alone spoils just these"
        : count == 1 ? "first wrong stage on the way back: "
                     : "first wrong stage on the way back, one of: ",
        stages);
}

static void print_sum(const struct claim_set *set, const struct diagnosis *found, size_t wrong) {
    if (wrong == 0) {
        printf("PASS: %zu gradient%s right\n", set->count, set->count == 1 ? " is" : "s are");
        return;
    }
    printf("FAIL: %zu of %zu gradients wrong:", wrong, set->count);
    for (size_t i = 0; i < set->count; i++) {
        if (found[i].mark != MARK_RIGHT) {
            printf(" %s", set->claims[i].name);
        }
    }
    printf("\n");
}

static void print_reasons(const struct claim_set *set, const struct diagnosis *found,
    const struct explanations *explanations, bool self_attention) {
    if (explanations->all[0] != '\0') {
        printf("all of it comes of one mistake: %s\nfirst wrong stage on the way back: %s\n",
            explanations->all, explanations->stage);
    } else {
        print_suspects(set, found, self_attention);
    }
}

/* *wrong: how many claims are. */
static mha_status compare(
    size_t *wrong, const struct claim_set *set, const struct truth *truth, mha_error *error) {
    struct diagnosis found[MOST_CLAIMS];
    struct explanations explanations = {.all = ""};
    const mha_pass *pass = &truth->walk.pass;
    struct claim_setting setting = {
        .shape = &pass->shape, .mask = pass->mask, .claims = set->claims, .count = set->count};
    *wrong = 0;
    for (size_t i = 0; i < set->count; i++) {
        paths_of(&setting, &truth->paths, set->claims[i].value, truth->self_attention);
        diagnose(&found[i], &set->claims[i], &setting);
        *wrong += found[i].mark != MARK_RIGHT;
    }
    if (*wrong > 0) {
        const mha_status status = explain_claims(&explanations, set->claims, set->count,
            &truth->walk, truth->grad_output, truth->self_attention, error);
        if (status != MHA_OK) {
            return status;
        }
    }
    printf("%-18s %-8s %8s %8s %8s %8s\n", "gradient", "dtype", "entries", "wrong", "error",
        "allowed");
    for (size_t i = 0; i < set->count; i++) {
        print_claim(&set->claims[i], set->dtype[i], &found[i], explanations.one[i], &pass->shape);
    }
    if (*wrong > 0) {
        print_reasons(set, found, &explanations, truth->self_attention);
    }
    print_sum(set, found, *wrong);
    return MHA_OK;
}

static mha_status check_claims(size_t *wrong, struct claim_set *set,
    const struct apply_input *input, const char *path, mha_error *error) {
    struct truth truth;
    double by_differences, by_complex;
    bool sure;
    mha_status status = truth_create(&truth, input, error);
    if (status == MHA_OK) {
        status = truth_vouch(&sure, &by_differences, &by_complex, &truth, error);
    }
    if (status == MHA_OK && !sure) {
        status = mha_fail(error, MHA_ERROR_NOT_FINITE,
            "%s: on these arrays mha's own gradients do not pass their check, %g by the complex "
            "step: the numbers are too large",
            path, by_complex);
    }
    if (status == MHA_OK) {
        status = rounding_set(set, &truth, error);
    }
    if (status == MHA_OK) {
        printf("held against mha's own gradients of these arrays, %.1e from the complex step and "
               "%.1e of their bars from differences\n",
            by_complex, by_differences);
        status = compare(wrong, set, &truth, error);
    }
    truth_destroy(&truth);
    return status;
}

static bool is_read(const void *context, const mha_array *array) {
    return strncmp(array->name, "grad_", strlen("grad_")) == 0 || apply_input_reads(context, array);
}

/* Gradients of nothing are zero, whatever computes them. */
static mha_status check_proof(const struct apply_input *input, const char *path, mha_error *error) {
    const double *numbers = input->grad_output.data;
    const size_t count = mha_array_count(&input->grad_output);
    size_t i = 0;
    while (i < count && numbers[i] == 0.0) {
        i++;
    }
    return i < count
               ? MHA_OK
               : mha_fail(error, MHA_ERROR_FORMAT,
                     "%s: grad_output holds %s: gradients would be zero whatever computes them",
                     path, count == 0 ? "no number" : "nothing but zeros");
}

static mha_status check_input(
    size_t *wrong, const struct apply_input *input, const char *path, mha_error *error) {
    struct claim_set set;
    if (!input->has_gradient) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "%s: no array 'grad_output', the gradient of the loss by the output", path);
    }
    mha_status status = check_proof(input, path, error);
    if (status == MHA_OK) {
        status = claim_set_take(&set, input, path, error);
    }
    if (status == MHA_OK) {
        tell_left_out(input->arrays, is_read, input, path);
        status = check_claims(wrong, &set, input, path, error);
        claim_set_free(&set);
    }
    return status;
}

int gradcheck_case(const char *path, mha_causal causal, size_t heads) {
    const struct apply_request request = {
        .input = path, .causal = causal, .hint = {.heads = heads}, .in_double = true};
    struct apply_input input;
    mha_error error;
    size_t wrong = 0;
    mha_status status = apply_input_read(&input, &request, &error);
    if (status == MHA_OK) {
        status = check_input(&wrong, &input, path, &error);
        apply_input_free(&input);
    }
    if (status != MHA_OK) {
        complain("%s", error.text);
        return STATUS_USAGE;
    }
    return finish_output(wrong == 0 ? STATUS_DONE : STATUS_FAILED);
}
