/* The task arrays: the order of training examples and what is held out. Golden orders were made with
 * NumPy 1.24.2 from the formulas in tasks/arrays.c. */
#include "check_task_arrays.h"

#include <math.h>
#include <string.h>

#include "folder.h"
#include "task_arrays.h"

/* Examples that are their own number: query and target n, of one position and one feature. */
static void write_numbers(const char *file, size_t count) {
    float numbers[64];
    ck_assert_uint_le(count, sizeof numbers / sizeof *numbers);
    for (size_t n = 0; n < count; n++) {
        numbers[n] = (float)n;
    }
    examples_write(
        file, (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, numbers, count, 1, 1),
                  ARRAY("target", MHA_FLOAT32, numbers, count, 1, 1)});
}

static struct trainer trainer_on_numbers(
    size_t count, size_t batch, double validation, uint64_t seed) {
    write_numbers("numbers.npz", count);
    struct settings settings = arrays_settings("numbers.npz");
    settings.shape.batch = batch;
    settings.validation = validation;
    settings.seed = seed;
    return arrays_trainer(&settings);
}

static void fill_batch(struct trainer *trainer, size_t n) {
    trainer->task->fill_step(&trainer->batch, n, trainer->data);
}

static void assert_batch(const struct trainer *trainer, const unsigned *order, size_t count) {
    for (size_t b = 0; b < count; b++) {
        ck_assert_double_eq((double)trainer->batch.query[b], (double)order[b]);
        ck_assert_double_eq((double)trainer->batch.target[b], (double)order[b]);
    }
}

/* default_rng([3, 7, e]).permutation(7) for e = 0, 1, 2 */
static const unsigned epochs_of_seven[] = {
    4, 0, 1, 2, 3, 5, 6, 1, 3, 0, 5, 2, 6, 4, 4, 3, 1, 5, 0, 2, 6};

START_TEST(epochs_follow_numpy) {
    struct trainer trainer = trainer_on_numbers(7, 3, 0.0, 3);
    for (size_t n = 1; n <= 7; n++) {
        fill_batch(&trainer, n);
        assert_batch(&trainer, epochs_of_seven + (n - 1) * 3, 3);
    }
    trainer_destroy(&trainer);
}
END_TEST

START_TEST(a_batch_is_a_function_of_its_number) {
    static const size_t order[] = {5, 1, 7, 2, 2, 6, 3, 4, 1};
    struct trainer trainer = trainer_on_numbers(7, 3, 0.0, 3);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        fill_batch(&trainer, order[i]);
        assert_batch(&trainer, epochs_of_seven + (order[i] - 1) * 3, 3);
    }
    /* Far on, where a batch starts with the last place of an epoch, and back. */
    fill_batch(&trainer, 7000003);
    float far[3];
    memcpy(far, trainer.batch.query, sizeof far);
    fill_batch(&trainer, 1);
    assert_batch(&trainer, epochs_of_seven, 3);
    fill_batch(&trainer, 7000003);
    ck_assert_mem_eq(trainer.batch.query, far, sizeof far);
    trainer_destroy(&trainer);
}
END_TEST

START_TEST(each_epoch_has_every_example_once) {
    enum { COUNT = 13, BATCH = 5, EPOCHS = 10 };
    struct trainer trainer = trainer_on_numbers(COUNT, BATCH, 0.0, 8);
    size_t seen[COUNT] = {0}, place = 0;
    for (size_t n = 1; n <= COUNT * EPOCHS / BATCH; n++) {
        fill_batch(&trainer, n);
        for (size_t b = 0; b < BATCH; b++, place++) {
            seen[(size_t)trainer.batch.query[b]]++;
            for (size_t i = 0; i < COUNT && place % COUNT == COUNT - 1; i++) {
                ck_assert_uint_eq(seen[i], place / COUNT + 1);
            }
        }
    }
    ck_assert_uint_eq(place, (size_t)COUNT * EPOCHS);
    trainer_destroy(&trainer);
}
END_TEST

START_TEST(batch_is_at_most_the_training_examples) {
    struct trainer trainer = trainer_on_numbers(7, 0, 0.0, 3);
    ck_assert_uint_eq(trainer.settings.shape.batch, 7);
    fill_batch(&trainer, 3);
    assert_batch(&trainer, epochs_of_seven + 14, 7);
    trainer_destroy(&trainer);
    trainer = trainer_on_numbers(40, 0, 0.0, 3);
    ck_assert_uint_eq(trainer.settings.shape.batch, 32);
    trainer_destroy(&trainer);
    trainer = trainer_on_numbers(40, 0, 0.25, 3);
    ck_assert_uint_eq(trainer.settings.shape.batch, 30);
    trainer_destroy(&trainer);
}
END_TEST

/* default_rng([0, 5]).permutation(10) is 7 1 6 4 5 8 0 3 9 2: its first three are held out, and an
 * epoch is a permutation of the other seven. */
START_TEST(validation_does_not_move_with_the_seed) {
    static const unsigned held_out[] = {7, 1, 6};
    static const struct {
        uint64_t seed;
        unsigned epochs[14];
    } cases[] = {{3, {3, 4, 5, 8, 0, 9, 2, 5, 0, 4, 9, 8, 2, 3}},
        {UINT64_MAX, {2, 0, 3, 4, 5, 8, 9, 5, 3, 9, 4, 8, 0, 2}}};
    for (size_t i = 0; i < 2; i++) {
        struct trainer trainer = trainer_on_numbers(10, 7, 0.3, cases[i].seed);
        ck_assert_uint_eq(held_out_count(&trainer), 3);
        for (size_t n = 1; n <= 2; n++) {
            fill_batch(&trainer, n);
            assert_batch(&trainer, cases[i].epochs + (n - 1) * 7, 7);
        }
        mha_rng rng = held_out_begin(&trainer, STREAM_HELD_OUT);
        held_out_next(&trainer, &rng, 0, 3);
        assert_batch(&trainer, held_out, 3);
        held_out_next(&trainer, &rng, 1, 2);
        assert_batch(&trainer, held_out + 1, 2);
        trainer_destroy(&trainer);
    }
}
END_TEST

START_TEST(validation_is_rounded_to_examples) {
    static const struct {
        double share;
        size_t held_out;
    } cases[] = {{0.06, 1}, {0.25, 2}, {0.26, 3}, {0.35, 4}, {0.94, 9}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trainer trainer = trainer_on_numbers(10, 1, cases[i].share, 0);
        ck_assert_uint_eq(held_out_count(&trainer), cases[i].held_out);
        trainer_destroy(&trainer);
    }
    static const struct {
        double share;
        const char *ending;
    } refused[] = {{0.04, ": validation 0.04 holds out 0 of 10 examples, at least 1 and at most 9 "
                          "are needed"},
        {0.96,
            ": validation 0.96 holds out 10 of 10 examples, at least 1 and at most 9 are needed"},
        {1e300, ": validation 1e+300 holds out inf of 10 examples, at least 1 and at most 9 are "
                "needed"}};
    struct settings settings = arrays_settings("numbers.npz");
    for (size_t i = 0; i < 2; i++) {
        settings.validation = refused[i].share;
        assert_arrays_refused(&settings, MHA_ERROR_ARGUMENT, refused[i].ending);
    }
}
END_TEST

/* Held-out examples of a file of their own. A share of the training file that is held out besides
 * stays out of training, so that a run goes on as it began when it is scored on another file. */
START_TEST(eval_data_is_held_out_whole) {
    write_numbers("numbers.npz", 10);
    const float others[] = {50, 51, 52, 53};
    examples_write(
        "others.npz", (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, others, 4, 1, 1),
                          ARRAY("target", MHA_FLOAT32, others, 4, 1, 1)});
    struct settings settings = arrays_settings("numbers.npz");
    settings.eval_data = folder_path("others.npz");
    settings.shape.batch = 7;
    for (size_t i = 0; i < 2; i++) {
        settings.validation = i == 0 ? 0.0 : 0.3;
        struct trainer trainer = arrays_trainer(&settings);
        ck_assert_uint_eq(held_out_count(&trainer), 4);
        mha_rng rng = held_out_begin(&trainer, STREAM_HELD_OUT);
        held_out_next(&trainer, &rng, 1, 3);
        assert_batch(&trainer, (const unsigned[]){51, 52, 53}, 3);
        if (i == 1) {
            fill_batch(&trainer, 1);
            assert_batch(&trainer, (const unsigned[]){3, 4, 5, 8, 0, 9, 2}, 7);
        }
        trainer_destroy(&trainer);
    }
}
END_TEST

START_TEST(without_held_out_examples_the_score_is_nan) {
    struct trainer trainer = trainer_on_numbers(7, 3, 0.0, 3);
    ck_assert_uint_eq(held_out_count(&trainer), 0);
    struct score score;
    ck_assert_int_eq(trainer_evaluate(&score, &trainer, STREAM_HELD_OUT, NULL), MHA_OK);
    ck_assert_double_nan(score.loss);
    ck_assert_double_nan(score.accuracy);
    ck_assert_double_nan(score.relative_error);
    trainer_destroy(&trainer);
}
END_TEST

/* The examples of the first batches of the task reverse, put where the first epoch finds them: every
 * loss and every weight has the task's own bits. */
START_TEST(examples_of_a_task_train_as_the_task_does) {
    enum { BATCH = 8, STEPS = 5, COUNT = BATCH * STEPS, T = 16, D = 32 };
    static float query[COUNT * T * D];
    static int64_t labels[COUNT * T];
    struct settings settings = task_find("reverse")->defaults;
    settings.seed = 3;
    settings.shape.batch = BATCH;
    struct trainer reverse;
    ck_assert_int_eq(trainer_create(&reverse, task_find("reverse"), &settings, NULL), MHA_OK);
    uint32_t order[COUNT];
    mha_rng rng;
    mha_rng_seed(&rng, (const uint64_t[]){3, 7, 0}, 3);
    mha_rng_permutation(order, &rng, COUNT);
    double losses[STEPS];
    for (size_t n = 1; n <= STEPS; n++) {
        losses[n - 1] = loss_of_step(&reverse, n);
        for (size_t b = 0; b < BATCH; b++) {
            const size_t at = order[(n - 1) * BATCH + b];
            memcpy(query + at * T * D, reverse.batch.query + b * T * D, T * D * sizeof *query);
            for (size_t t = 0; t < T; t++) {
                labels[at * T + t] = reverse.batch.labels[b * T + t];
            }
        }
    }
    examples_write("reverse.npz",
        (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, query, COUNT, T, D),
            ARRAY("labels", MHA_INT64, labels, COUNT, T)});
    settings.data = folder_path("reverse.npz");
    struct trainer trainer = arrays_trainer(&settings);
    for (size_t n = 1; n <= STEPS; n++) {
        ck_assert_double_eq(loss_of_step(&trainer, n), losses[n - 1]);
    }
    ck_assert_mem_eq(
        trainer.weights, reverse.weights, trainer.weight_count * sizeof *trainer.weights);
    trainer_destroy(&trainer);
    trainer_destroy(&reverse);
}
END_TEST

TCase *task_arrays_order(void) {
    TCase *order = tcase_create("order");
    tcase_add_checked_fixture(order, folder_make, folder_remove);
    tcase_add_test(order, epochs_follow_numpy);
    tcase_add_test(order, a_batch_is_a_function_of_its_number);
    tcase_add_test(order, each_epoch_has_every_example_once);
    tcase_add_test(order, batch_is_at_most_the_training_examples);
    tcase_add_test(order, validation_does_not_move_with_the_seed);
    tcase_add_test(order, validation_is_rounded_to_examples);
    tcase_add_test(order, eval_data_is_held_out_whole);
    tcase_add_test(order, without_held_out_examples_the_score_is_nan);
    tcase_add_test(order, examples_of_a_task_train_as_the_task_does);
    return order;
}
