#include "gradcheck_case.h"

#include <stdio.h>
#include <string.h>

#include "command.h"
#include "gradcheck_findings.h"
#include "gradcheck_rounding.h"

static mha_status check_claims(struct findings *findings, struct claim_set *set,
    const struct apply_input *input, const char *path, mha_error *error) {
    struct truth truth;
    double by_differences, by_complex;
    mha_status status = truth_create(&truth, input, error);
    if (status == MHA_OK) {
        status = truth_vouch(&by_differences, &by_complex, &truth, path, error);
    }
    if (status == MHA_OK) {
        status = rounding_set(set, &truth, path, error);
    }
    if (status == MHA_OK) {
        status = findings_make(findings, set, &truth, error);
    }
    if (status == MHA_OK) {
        printf("held against mha's own gradients of these arrays, which are within %.1e of the "
               "complex step, and of\ndifferences within %.1e of what is allowed\n",
            by_complex, by_differences);
        findings_print(findings, set, &truth);
    }
    truth_destroy(&truth);
    return status;
}

static bool is_read(const void *context, const mha_array *array) {
    return strncmp(array->name, "grad_", strlen("grad_")) == 0 ||
           strcmp(array->name, "output") == 0 || apply_input_reads(context, array);
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

static mha_status check_input(struct findings *findings, const struct apply_input *input,
    const char *path, mha_error *error) {
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
        status = check_claims(findings, &set, input, path, error);
        claim_set_free(&set);
    }
    return status;
}

int gradcheck_case(const char *path, mha_causal causal, size_t heads) {
    const struct apply_request request = {
        .input = path, .causal = causal, .hint = {.heads = heads}, .in_double = true};
    struct apply_input input;
    mha_error error;
    struct findings findings = {.count = 0};
    mha_status status = apply_input_read(&input, &request, &error);
    if (status == MHA_OK) {
        status = check_input(&findings, &input, path, &error);
        apply_input_free(&input);
    }
    if (status != MHA_OK) {
        complain("%s", error.text);
        return STATUS_USAGE;
    }
    return finish_output(findings.wrong > 0   ? STATUS_FAILED
                         : findings.told == 0 ? STATUS_USAGE
                                              : STATUS_DONE);
}
