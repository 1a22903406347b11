#include "gradcheck_claims.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a gradient is called, as `mha apply` calls the values. The activations go by the names of the tape. */
static const struct {
    const char *name;
    mha_value value;
} names[] = {
    {"grad_query", MHA_QUERY},
    {"grad_context", MHA_SOURCE},
    {"grad_wq", MHA_WQ},
    {"grad_wk", MHA_WK},
    {"grad_wv", MHA_WV},
    {"grad_wo", MHA_WO},
    {"grad_context_heads", MHA_CONTEXT_HEADS},
    {"grad_weights", MHA_ATTENTION_WEIGHTS},
    {"grad_masked", MHA_MASKED},
    {"grad_scaled", MHA_SCALED},
    {"grad_scores", MHA_SCORES},
    {"grad_q_heads", MHA_Q_HEADS},
    {"grad_k_heads", MHA_K_HEADS},
    {"grad_v_heads", MHA_V_HEADS},
    {"grad_q", MHA_Q},
    {"grad_k", MHA_K},
    {"grad_v", MHA_V},
};
enum { NAMES = sizeof names / sizeof *names };
_Static_assert((int)NAMES <= (int)MOST_CLAIMS, "every name may be claimed");

static mha_status refuse_name(const mha_array *array, const char *path, mha_error *error) {
    char list[320] = "";
    for (size_t i = 0, used = 0; i < NAMES && used < sizeof list; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, " %s", names[i].name);
    }
    return mha_fail(error, MHA_ERROR_FORMAT, "%s: %s is none of:%s", path, array->name, list);
}

static mha_status check_names(const struct apply_input *input, const char *path, mha_error *error) {
    for (size_t i = 0; i < mha_arrays_count(input->arrays); i++) {
        const mha_array *array = mha_arrays_at(input->arrays, i);
        bool known = strncmp(array->name, "grad_", strlen("grad_")) != 0 ||
                     strcmp(array->name, "grad_output") == 0;
        for (size_t n = 0; n < NAMES && !known; n++) {
            known = strcmp(array->name, names[n].name) == 0;
        }
        if (!known) {
            return refuse_name(array, path, error);
        }
    }
    return MHA_OK;
}

/* Half precision is neither: what it rounds is as large as mistakes. */
static mha_status check_dtype(const mha_array *array, const char *path, mha_error *error) {
    const char *dtype = array_dtype(array);
    if (strcmp(dtype, "float32") == 0 || strcmp(dtype, "float64") == 0) {
        return MHA_OK;
    }
    return mha_fail(error, MHA_ERROR_FORMAT, "%s: %s is %s, float32 or float64 is needed", path,
        array->name, dtype);
}

static mha_status check_shape(const mha_array *array, mha_value value, const mha_shape *shape,
    const char *path, mha_error *error) {
    const mha_value_shape of = mha_value_shape_of(value, shape);
    bool same = array->rank == of.rank;
    for (size_t i = 0; same && i < of.rank; i++) {
        same = array->dims[i] == of.dims[i];
    }
    if (same) {
        return MHA_OK;
    }
    mha_array right = {.name = array->name, .rank = of.rank};
    memcpy(right.dims, of.dims, of.rank * sizeof *of.dims);
    char text[MHA_SHAPE_TEXT_SIZE], needed[MHA_SHAPE_TEXT_SIZE];
    return mha_fail(error, MHA_ERROR_SHAPE, "%s: %s has shape %s, %s is needed", path, array->name,
        mha_array_shape_text(text, array), mha_array_shape_text(needed, &right));
}

static mha_status take(struct claim_set *made, size_t n, const struct apply_input *input,
    const char *path, mha_error *error) {
    const mha_array *found = mha_arrays_find(input->arrays, names[n].name);
    if (found == NULL) {
        return MHA_OK;
    }
    if (names[n].value == MHA_SOURCE && !input->has_context) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "%s: grad_context is given, but no context: in self-attention all of it is grad_query",
            path);
    }
    mha_status status = check_dtype(found, path, error);
    if (status == MHA_OK) {
        status = check_shape(found, names[n].value, &input->shape, path, error);
    }
    if (status != MHA_OK) {
        return status;
    }
    mha_array array = *found;
    const size_t at = made->count++;
    status = array_widen(&array, &made->converted[at], error);
    made->dtype[at] = found->dtype;
    made->claims[at] =
        (struct claim){.name = names[n].name, .value = names[n].value, .claimed = array.data};
    return status;
}

mha_status claim_set_take(
    struct claim_set *made, const struct apply_input *input, const char *path, mha_error *error) {
    *made = (struct claim_set){.count = 0};
    mha_status status = check_names(input, path, error);
    for (size_t n = 0; n < NAMES && status == MHA_OK; n++) {
        status = take(made, n, input, path, error);
    }
    if (status == MHA_OK && made->count == 0) {
        status = mha_fail(error, MHA_ERROR_FORMAT,
            "%s holds no gradient to check: grad_query, grad_context, grad_wq, grad_wk, grad_wv or "
            "grad_wo",
            path);
    }
    if (status != MHA_OK) {
        claim_set_free(made);
    }
    return status;
}

void claim_set_free(struct claim_set *made) {
    for (size_t i = 0; i < made->count; i++) {
        free(made->converted[i]);
    }
    free(made->allowed);
    *made = (struct claim_set){.count = 0};
}
