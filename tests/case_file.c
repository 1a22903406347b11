#include "case_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mha/rng.h>

#include "apply_pass.h"
#include "checks/walk.h"
#include "folder.h"
#include "program_cases.h"

mha_shape case_file_shape(bool self_attention) {
    return (mha_shape){2, 3, self_attention ? 3 : 4, 8, 2};
}

static double rounded(double number, mha_dtype dtype) {
    return dtype == MHA_FLOAT32 ? (double)(float)number : number;
}

static void draw(double *numbers, size_t count, double size, mha_dtype dtype, mha_rng *rng) {
    ck_assert_uint_le(count, CASE_FILE_MOST);
    for (size_t i = 0; i < count; i++) {
        numbers[i] = rounded(size * mha_rng_normal(rng), dtype);
    }
}

static void make_mask(struct case_file *made, enum case_mask mask, mha_rng *rng) {
    const mha_shape *shape = &made->shape;
    const size_t S = shape->source_length, pairs = mha_value_count(MHA_SCORES, shape);
    if (mask == CASE_EXPLICIT) {
        ck_assert_uint_le(pairs, CASE_FILE_MOST);
        for (size_t i = 0; i < pairs; i++) {
            made->allowed[i] = mha_rng_integers(rng, 3) > 0 || i % S == 1;
        }
        made->mask = (mha_mask){.allowed = made->allowed,
            .rank = 4,
            .dims = {shape->batch, shape->heads, shape->target_length, S}};
    } else if (mask == CASE_LENGTHS) {
        for (size_t b = 0; b < shape->batch; b++) {
            made->lengths[b] = (int64_t)S - (int64_t)(b % 2);
        }
        made->mask.lengths = made->lengths;
    } else if (mask == CASE_CAUSAL) {
        made->mask.causal = made->self_attention ? MHA_CAUSAL_SQUARE : MHA_CAUSAL_BOTTOM_RIGHT;
        made->causal = made->self_attention ? "--causal" : "--causal=bottom-right";
    }
}

void case_file_fill(struct case_file *made, const mha_shape *shape, bool self_attention,
    enum case_mask mask, mha_dtype dtype) {
    mha_rng rng;
    mha_rng_seed(&rng, (uint64_t[]){31}, 1);
    memset(made, 0, sizeof *made);
    made->shape = *shape;
    made->self_attention = self_attention;
    made->dtype = made->claimed_dtype = dtype;
    made->claimed = self_attention ? LEAVES & ~BIT_OF(MHA_SOURCE) : LEAVES;
    make_mask(made, mask, &rng);
    for (int value = 0; value < CASE_FILE_LEAVES; value++) {
        const double size = value >= MHA_FIRST_WEIGHT ? 1.0 / sqrt((double)shape->width) : 1.0;
        draw(made->leaf[value], mha_value_count((mha_value)value, shape), size, dtype, &rng);
    }
    draw(made->grad_output, mha_value_count(MHA_OUTPUT, shape), 1.0, dtype, &rng);
    case_file_walk(made, mha_stages, &made->mask);
}

void case_file_walk(struct case_file *made, const mha_stage *stages, const mha_mask *mask) {
    struct walk_leaves leaves = {.query = made->leaf[MHA_QUERY],
        .source = made->self_attention ? NULL : made->leaf[MHA_SOURCE]};
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        leaves.weights[i] = made->leaf[MHA_FIRST_WEIGHT + i];
    }
    struct walk walk;
    ck_assert_int_eq(walk_create(&walk, &leaves, mask, &made->shape, stages, NULL), MHA_OK);
    walk_forward(&walk);
    walk_backward(&walk, made->grad_output);
    for (int value = 0; value < MHA_VALUE_COUNT; value++) {
        const size_t count = mha_value_count((mha_value)value, &made->shape);
        ck_assert_uint_le(count, CASE_FILE_MOST);
        for (size_t i = 0; i < count; i++) {
            const bool both = made->self_attention && value == MHA_QUERY;
            const double *gradient = walk.pass.gradient[value];
            made->gradient[value][i] =
                gradient[i] + (both ? walk.pass.gradient[MHA_SOURCE][i] : 0.0);
        }
    }
    walk_destroy(&walk);
}

static float *floats_of(const double *numbers, size_t count) {
    float *made = calloc(count + 1, sizeof *made);
    ck_assert_ptr_nonnull(made);
    for (size_t i = 0; i < count; i++) {
        made[i] = (float)numbers[i];
    }
    return made;
}

void case_file_walk_in_float(struct case_file *made) {
    const mha_shape *shape = &made->shape;
    const size_t D = shape->width;
    float *floats[CASE_FILE_LEAVES], *gradients[CASE_FILE_LEAVES], *weights;
    weights = calloc(MHA_WEIGHT_COUNT * D * D, sizeof *weights);
    ck_assert_ptr_nonnull(weights);
    for (int value = 0; value < CASE_FILE_LEAVES; value++) {
        const size_t count = mha_value_count((mha_value)value, shape);
        floats[value] = floats_of(made->leaf[value], count);
        gradients[value] = calloc(count + 1, sizeof(float));
        ck_assert_ptr_nonnull(gradients[value]);
        if (value >= MHA_FIRST_WEIGHT) {
            memcpy(weights + (size_t)(value - MHA_FIRST_WEIGHT) * D * D, floats[value],
                D * D * sizeof(float));
        }
    }
    float *grad_output = floats_of(made->grad_output, mha_value_count(MHA_OUTPUT, shape));
    float *output = calloc(mha_value_count(MHA_OUTPUT, shape) + 1, sizeof *output);
    struct pass_arrays arrays = {.shape = *shape,
        .mask = &made->mask,
        .kernel = MHA_KERNEL_FUSED,
        .query = floats[MHA_QUERY],
        .context = made->self_attention ? NULL : floats[MHA_SOURCE],
        .weights = weights,
        .grad_output = grad_output,
        .output = output,
        .grad_query = gradients[MHA_QUERY],
        .grad_context = made->self_attention ? NULL : gradients[MHA_SOURCE]};
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        arrays.grad_weights[i] = gradients[MHA_FIRST_WEIGHT + i];
    }
    ck_assert_int_eq(apply_pass_f32(&arrays, NULL), MHA_OK);
    for (int value = 0; value < CASE_FILE_LEAVES; value++) {
        for (size_t i = 0; i < mha_value_count((mha_value)value, shape); i++) {
            made->gradient[value][i] = (double)gradients[value][i];
        }
        free(floats[value]);
        free(gradients[value]);
    }
    free(weights);
    free(grad_output);
    free(output);
}

const char *case_file_name(mha_value value) {
    static char names[MHA_VALUE_COUNT][32];
    const char *of = value == MHA_SOURCE              ? "context"
                     : value == MHA_ATTENTION_WEIGHTS ? "weights"
                                                      : mha_value_name(value);
    snprintf(names[value], sizeof names[value], "grad_%s", of);
    return names[value];
}

/* Arrays on their way into a file. */
struct arrays_made {
    mha_array at[48];
    char names[48][64];
    float *floats[48];
    size_t count;
};

static void put(struct arrays_made *made, const mha_shape *shape, mha_dtype dtype, const char *name,
    mha_value value, const double *numbers) {
    const mha_value_shape of = mha_value_shape_of(value, shape);
    const size_t at = made->count++;
    snprintf(made->names[at], sizeof made->names[at], "%s", name);
    mha_array array = {.name = made->names[at], .dtype = dtype, .rank = of.rank, .data = numbers};
    memcpy(array.dims, of.dims, of.rank * sizeof *of.dims);
    if (dtype == MHA_FLOAT32) {
        array.data = made->floats[at] = floats_of(numbers, of.count);
    }
    made->at[at] = array;
}

static void put_mask(struct arrays_made *made, const struct case_file *file) {
    if (file->mask.allowed != NULL) {
        mha_array array = {
            .name = "mask", .dtype = MHA_BOOL, .rank = file->mask.rank, .data = file->mask.allowed};
        memcpy(array.dims, file->mask.dims, sizeof file->mask.dims);
        made->at[made->count++] = array;
    }
    if (file->mask.lengths != NULL) {
        made->at[made->count++] = (mha_array){.name = "lengths",
            .dtype = MHA_INT64,
            .rank = 1,
            .dims = {file->shape.batch},
            .data = file->mask.lengths};
    }
}

/* In place of an array of that name, or beside the others. */
static void put_extra(struct arrays_made *made, const mha_array *extra) {
    size_t i = 0;
    while (i < made->count && strcmp(made->at[i].name, extra->name) != 0) {
        i++;
    }
    if (extra->data != NULL) {
        made->count += i == made->count;
        made->at[i] = *extra;
    } else if (i < made->count) { /* left out */
        made->at[i] = made->at[--made->count];
    }
}

void case_file_write(const struct case_file *file, const char *name) {
    static const char *const names[] = {"query", "context", "wq", "wk", "wv", "wo"};
    struct arrays_made made = {.count = 0};
    const int64_t heads = (int64_t)file->shape.heads;
    for (int value = 0; value < CASE_FILE_LEAVES; value++) {
        if (value != MHA_SOURCE || !file->self_attention) {
            put(&made, &file->shape, file->dtype, names[value], (mha_value)value,
                file->leaf[value]);
        }
    }
    put(&made, &file->shape, file->dtype, "grad_output", MHA_OUTPUT, file->grad_output);
    for (int value = 0; value < MHA_VALUE_COUNT; value++) {
        if ((file->claimed >> value & 1) != 0) {
            put(&made, &file->shape, file->claimed_dtype, case_file_name((mha_value)value),
                (mha_value)value, file->gradient[value]);
        }
    }
    put_mask(&made, file);
    made.at[made.count++] = (mha_array){.name = "heads", .dtype = MHA_INT64, .data = &heads};
    for (size_t i = 0; i < file->extra_count; i++) {
        put_extra(&made, &file->extra[i]);
    }
    mha_error error;
    ck_assert_msg(
        mha_npz_write(folder_path(name), made.at, made.count, &error) == MHA_OK, "%s", error.text);
    for (size_t i = 0; i < sizeof made.floats / sizeof *made.floats; i++) {
        free(made.floats[i]);
    }
}

struct outcome case_file_check(const struct case_file *file) {
    case_file_write(file, "case.npz");
    return run_program(folder_path(""), WORDS("gradcheck", "--case", "case.npz", file->causal));
}

/* Whether the word stands among the words. */
static bool is_word_of(const char *words, const char *word) {
    const size_t length = strlen(word);
    const char *at = strstr(words, word);
    while (at != NULL &&
           ((at != words && at[-1] != ' ') || (at[length] != '\0' && at[length] != ' '))) {
        at = strstr(at + 1, word);
    }
    return at != NULL;
}

static void assert_line(const char *out, const char *what, mha_value value, bool wrong) {
    char start[96], line[512];
    const char *name = case_file_name(value);
    snprintf(start, sizeof start, "\n%-18s float", name);
    const char *at = strstr(out, start);
    ck_assert_msg(at != NULL, "%s: no line of %s:\n%s", what, name, out);
    snprintf(line, sizeof line, "%.*s", (int)strcspn(at + 1, "\n"), at + 1);
    ck_assert_msg(strstr(line, wrong ? " FAIL" : " PASS") != NULL, "%s: %s is not called %s:\n%s",
        what, name, wrong ? "wrong" : "right", out);
}

void assert_case_called(
    const struct case_file *file, const char *what, const char *wrong, const char *const *texts) {
    struct outcome outcome = case_file_check(file);
    const int expected = wrong[0] != '\0';
    ck_assert_msg(outcome.status == expected, "%s: status %d: %s%s", what, outcome.status,
        outcome.err, outcome.out);
    ck_assert_str_eq(outcome.err, "");
    for (int value = 0; value < MHA_VALUE_COUNT; value++) {
        if ((file->claimed >> value & 1) != 0) {
            assert_line(outcome.out, what, (mha_value)value,
                is_word_of(wrong, case_file_name((mha_value)value)));
        }
    }
    for (; *texts != NULL; texts++) {
        ck_assert_msg(
            strstr(outcome.out, *texts) != NULL, "%s: no '%s' in:\n%s", what, *texts, outcome.out);
    }
    outcome_free(&outcome);
}

void assert_case_refused(const struct case_file *file, const char *text) {
    case_file_write(file, "case.npz");
    assert_program_refuses(WORDS("gradcheck", "--case", "case.npz", file->causal), text);
}
