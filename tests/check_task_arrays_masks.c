/* The task arrays: each sample of a shuffled batch has its own mask, so that it gives the bits that it
 * gives alone. */
#include "check_task_arrays.h"

#include <stdlib.h>
#include <string.h>

#include "folder.h"
#include "task_arrays.h"

enum { N = 6, T = 3, S = 4, D = 4, H = 2, MASK_CASES = 9 };

struct mask_case {
    bool cross, lengths;
    mha_causal causal;
    size_t rank, dims[4];
};

static const struct mask_case mask_cases[MASK_CASES] = {
    {true, false, MHA_CAUSAL_OFF, 2, {T, S}},
    {true, true, MHA_CAUSAL_OFF, 3, {N, T, S}},
    {true, false, MHA_CAUSAL_TOP_LEFT, 3, {N, T, S}},
    {true, true, MHA_CAUSAL_BOTTOM_RIGHT, 4, {N, H, T, S}},
    {true, false, MHA_CAUSAL_OFF, 4, {N, 1, 1, S}},
    {true, false, MHA_CAUSAL_OFF, 4, {1, H, T, 1}},
    {false, true, MHA_CAUSAL_OFF, 0, {0}},
    {false, true, MHA_CAUSAL_SQUARE, 4, {N, H, 1, T}},
    {false, false, MHA_CAUSAL_SQUARE, 3, {N, T, T}},
};

struct mask_file {
    float query[N * T * D], context[N * S * D], target[N * T * D];
    unsigned char allowed[N * H * T * S];
    int64_t lengths[N];
};

static struct mask_file *write_mask_case(const struct mask_case *c) {
    struct mask_file *file = malloc(sizeof *file);
    ck_assert_ptr_nonnull(file);
    fill_normals(file->query, N * T * D, 1);
    fill_normals(file->context, N * S * D, 2);
    fill_normals(file->target, N * T * D, 4);
    mha_rng rng;
    mha_rng_seed(&rng, (const uint64_t[]){5}, 1);
    for (size_t i = 0; i < sizeof file->allowed; i++) {
        file->allowed[i] = mha_rng_integers(&rng, 3) > 0;
    }
    for (size_t n = 0; n < N; n++) {
        file->lengths[n] = (int64_t)mha_rng_integers(&rng, c->cross ? S + 1 : T) + !c->cross;
    }
    mha_array mask = ARRAY(c->rank > 0 ? "mask" : NULL, MHA_BOOL, file->allowed, 0);
    mask.rank = c->rank;
    memcpy(mask.dims, c->dims, sizeof c->dims);
    examples_write("masks.npz",
        (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, file->query, N, T, D),
            ARRAY(c->cross ? "context" : NULL, MHA_FLOAT32, file->context, N, S, D),
            ARRAY("target", MHA_FLOAT32, file->target, N, T, D), mask,
            ARRAY(c->lengths ? "lengths" : NULL, MHA_INT64, file->lengths, N)});
    return file;
}

/* The example that sample b of the batch is. */
static size_t example_of(const struct trainer *trainer, const struct mask_file *file, size_t b) {
    for (size_t n = 0; n < N; n++) {
        if (memcmp(trainer->batch.query + b * T * D, file->query + n * T * D,
                T * D * sizeof(float)) == 0) {
            return n;
        }
    }
    ck_abort_msg("sample %zu is no example", b);
}

/* The mask of all examples, and then of one: its part of each array. */
static mha_mask mask_alone(const struct mask_case *c, const struct mask_file *file, size_t n) {
    mha_mask mask = {
        .causal = c->causal, .lengths = c->lengths ? file->lengths + n : NULL, .rank = c->rank};
    if (c->rank > 0) {
        size_t first = 0;
        memcpy(mask.dims, c->dims, sizeof c->dims);
        if (c->rank > 2 && c->dims[0] == N) {
            first = n * c->dims[1] * c->dims[2] * (c->rank == 4 ? c->dims[3] : 1);
            mask.dims[0] = 1;
        }
        mask.allowed = file->allowed + first;
    }
    return mask;
}

/* Compares the first `count` samples of the pass with those of each alone. */
static void assert_samples(const struct trainer *trainer, const struct mask_case *c,
    const struct mask_file *file, size_t count) {
    const mha_shape one = {1, T, c->cross ? S : T, D, H};
    const mha_weights weights = mha_weights_view(trainer->weights, D);
    mha_layer *layer;
    mha_tape *tape;
    ck_assert_int_eq(mha_layer_create(&layer, &one, NULL, NULL), MHA_OK);
    ck_assert_int_eq(mha_tape_create(&tape, &one, NULL, NULL), MHA_OK);
    for (size_t b = 0; b < count; b++) {
        const size_t n = example_of(trainer, file, b);
        const mha_mask mask = mask_alone(c, file, n);
        float output[T * D];
        ck_assert_int_eq(
            mha_forward(output, tape, file->query + n * T * D,
                c->cross ? file->context + n * S * D : NULL, &mask, &weights, layer, &one, NULL),
            MHA_OK);
        ck_assert_mem_eq(trainer->output + b * T * D, output, sizeof output);
        ck_assert_mem_eq(
            trainer->batch.target + b * T * D, file->target + n * T * D, sizeof output);
        for (size_t t = 0; t < T; t++) {
            const int counts = c->cross || !c->lengths || (int64_t)t < file->lengths[n];
            ck_assert_int_eq(
                trainer->batch.counted == NULL || trainer->batch.counted[b * T + t], counts);
        }
    }
    mha_layer_destroy(layer);
    mha_tape_destroy(tape);
}

/* Batches of 2, as many as heads, of 4, which cross the ends of epochs, and of all. */
START_TEST(samples_keep_their_masks) {
    const struct mask_case *c = &mask_cases[_i];
    struct mask_file *file = write_mask_case(c);
    static const size_t batches[] = {1, 2, 4, N};
    for (size_t i = 0; i < 4; i++) {
        struct settings settings = arrays_settings("masks.npz");
        settings.eval_data = settings.data;
        settings.shape.heads = H;
        settings.shape.batch = batches[i];
        settings.causal = c->causal;
        settings.sgd.learning_rate = 1e-30; /* keeps the weights, which the pass was made with */
        struct trainer trainer = arrays_trainer(&settings);
        for (size_t n = 1; n <= 4; n++) {
            loss_of_step(&trainer, n);
            assert_samples(&trainer, c, file, batches[i]);
        }
        for (size_t first = 0; first < N; first += batches[i]) {
            const size_t count = N - first < batches[i] ? N - first : batches[i];
            mha_rng rng = held_out_begin(&trainer, STREAM_EVAL);
            held_out_next(&trainer, &rng, first, count);
            ck_assert_int_eq(trainer_forward(&trainer, count, NULL), MHA_OK);
            ck_assert_uint_eq(example_of(&trainer, file, 0), first);
            assert_samples(&trainer, c, file, count);
        }
        trainer_destroy(&trainer);
    }
    free(file);
}
END_TEST

/* A context (1,S,D) stands for the same one in every example. */
START_TEST(one_context_is_that_of_every_example) {
    float query[N * T * D], context[N * S * D], target[N * T * D];
    fill_normals(query, N * T * D, 1);
    fill_normals(target, N * T * D, 2);
    fill_normals(context, S * D, 4);
    for (size_t n = 1; n < N; n++) {
        memcpy(context + n * S * D, context, S * D * sizeof *context);
    }
    float weights[2][4 * D * D];
    for (size_t i = 0; i < 2; i++) {
        examples_write(
            "a.npz", (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, query, N, T, D),
                         ARRAY("context", MHA_FLOAT32, context, i == 0 ? 1 : N, S, D),
                         ARRAY("target", MHA_FLOAT32, target, N, T, D)});
        struct settings settings = arrays_settings("a.npz");
        settings.shape.batch = 4;
        struct trainer trainer = arrays_trainer(&settings);
        for (size_t n = 1; n <= 4; n++) {
            loss_of_step(&trainer, n);
        }
        memcpy(weights[i], trainer.weights, sizeof weights[i]);
        trainer_destroy(&trainer);
    }
    ck_assert_mem_eq(weights[0], weights[1], sizeof weights[0]);
}
END_TEST

TCase *task_arrays_masks(void) {
    TCase *masks = tcase_create("masks");
    tcase_add_checked_fixture(masks, folder_make, folder_remove);
    tcase_add_loop_test(masks, samples_keep_their_masks, 0, MASK_CASES);
    tcase_add_test(masks, one_context_is_that_of_every_example);
    return masks;
}
