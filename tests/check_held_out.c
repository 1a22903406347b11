/* Held-out examples that are kept between evaluations: the scores are those of examples drawn anew. */
#include "suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trainer.h"

static struct trainer make_trainer(const struct task *task, const struct settings *settings) {
    struct trainer trainer;
    mha_error error;
    const mha_status status = trainer_create(&trainer, task, settings, &error);
    ck_assert_msg(status == MHA_OK, "%s", error.text);
    return trainer;
}

/* The score, straight from its definition, on examples drawn for it; counted as trainer_evaluate does
 * where every position counts. */
static struct score plain_score(struct trainer *trainer, uint64_t stream) {
    const mha_shape *shape = &trainer->settings.shape;
    const size_t batch = shape->batch;
    mha_rng rng = held_out_begin(trainer, stream);
    double loss = 0.0, correct = 0.0, weight = 0.0, sum = 0.0, squares = 0.0, entries = 0.0;
    for (size_t first = 0, count; first < HELD_OUT_EXAMPLES; first += count) {
        count = HELD_OUT_EXAMPLES - first < batch ? HELD_OUT_EXAMPLES - first : batch;
        held_out_next(trainer, &rng, first, count);
        ck_assert_int_eq(trainer_forward(trainer, count, NULL), MHA_OK);
        mha_class_score classes;
        const double chunk = trainer_loss(&classes, NULL, trainer, count);
        const size_t numbers = count * shape->target_length * shape->width;
        const bool regression = trainer->form.loss == TASK_MSE;
        const double counted = regression ? (double)numbers : (double)classes.counted;
        loss += chunk * counted;
        weight += counted;
        correct += (double)classes.correct;
        for (size_t i = 0; i < numbers && regression; i++) {
            const double target = (double)trainer->batch.target[i];
            sum += target;
            squares += target * target;
            entries += 1.0;
        }
    }
    struct score score = {loss / weight, correct / weight, (double)NAN};
    if (trainer->form.loss == TASK_MSE) {
        const double mean = sum / entries;
        score.accuracy = (double)NAN;
        score.relative_error = score.loss / (squares / entries - mean * mean);
    }
    return score;
}

static void assert_scores(const struct score *score, const struct score *expected) {
    ck_assert_double_eq(score->loss, expected->loss);
    ck_assert_int_eq(isnan(score->accuracy), isnan(expected->accuracy));
    ck_assert_int_eq(isnan(score->relative_error), isnan(expected->relative_error));
    if (!isnan(expected->accuracy)) {
        ck_assert_double_eq(score->accuracy, expected->accuracy);
    }
    if (!isnan(expected->relative_error)) {
        ck_assert_double_eq_tol(score->relative_error / expected->relative_error, 1.0, 1e-12);
    }
}

static struct score evaluated(struct trainer *trainer, uint64_t stream) {
    struct score score;
    mha_error error;
    const mha_status status = trainer_evaluate(&score, trainer, stream, &error);
    ck_assert_msg(status == MHA_OK, "%s", error.text);
    return score;
}

static void run_step(struct trainer *trainer, size_t n) {
    struct step_result result;
    ck_assert_int_eq(trainer_step(&result, trainer, n, NULL), MHA_OK);
}

/* Also after steps, and when the streams take turns. 37 does not divide 512. */
START_TEST(kept_examples_give_the_scores_of_drawn_ones) {
    const struct task *task = task_table[_i];
    if (task->held_out_count != NULL) {
        return;
    }
    static const uint64_t streams[] = {
        STREAM_HELD_OUT, STREAM_HELD_OUT, STREAM_EVAL, STREAM_HELD_OUT};
    struct settings settings = task->defaults;
    settings.shape.batch = 37;
    struct trainer trainer = make_trainer(task, &settings);
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        const struct task_batch own = trainer.batch;
        const struct score score = evaluated(&trainer, streams[i]);
        ck_assert_mem_eq(&trainer.batch, &own, sizeof own);
        ck_assert_ptr_nonnull(trainer.held_out.examples.query);
        const struct score expected = plain_score(&trainer, streams[i]);
        assert_scores(&score, &expected);
        run_step(&trainer, i + 1);
    }
    trainer_destroy(&trainer);
}
END_TEST

/* 512 inputs and targets of 72 positions of 16 numbers are more than 4 MB. */
START_TEST(large_examples_are_drawn_again) {
    const struct task *task = task_find("mean");
    struct settings settings = task->defaults;
    settings.shape.target_length = settings.shape.source_length = 72;
    settings.shape.heads = 1;
    struct trainer trainer = make_trainer(task, &settings);
    evaluated(&trainer, STREAM_HELD_OUT);
    run_step(&trainer, 1);
    const struct score score = evaluated(&trainer, STREAM_HELD_OUT);
    ck_assert_ptr_null(trainer.held_out.examples.query);
    const struct score expected = plain_score(&trainer, STREAM_HELD_OUT);
    assert_scores(&score, &expected);
    trainer_destroy(&trainer);
}
END_TEST

/* Evaluations between steps leave no trace in the weights. */
START_TEST(evaluations_do_not_disturb_training) {
    const struct task *task = task_table[_i];
    if (task->held_out_count != NULL) {
        return;
    }
    struct trainer plain = make_trainer(task, &task->defaults);
    struct trainer scored = make_trainer(task, &task->defaults);
    for (size_t n = 1; n <= 4; n++) {
        evaluated(&scored, n % 2 == 0 ? STREAM_EVAL : STREAM_HELD_OUT);
        run_step(&plain, n);
        run_step(&scored, n);
    }
    ck_assert_mem_eq(plain.weights, scored.weights, plain.weight_count * sizeof *plain.weights);
    trainer_destroy(&plain);
    trainer_destroy(&scored);
}
END_TEST

Suite *held_out_suite(void) {
    Suite *suite = suite_create("held-out examples");
    TCase *cases = tcase_create("kept");
    int tasks = 0;
    while (task_table[tasks] != NULL) {
        tasks++;
    }
    tcase_add_loop_test(cases, kept_examples_give_the_scores_of_drawn_ones, 0, tasks);
    tcase_add_test(cases, large_examples_are_drawn_again);
    tcase_add_loop_test(cases, evaluations_do_not_disturb_training, 0, tasks);
    suite_add_tcase(suite, cases);
    return suite;
}
