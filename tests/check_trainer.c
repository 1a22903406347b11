/* The training loop: schedules, streams, refusals, scores, and tasks solved by their defaults. */
#include "suites.h"

#include <math.h>
#include <string.h>

#include "trainer.h"

START_TEST(schedules_follow_their_formulas) {
    struct settings settings = {.steps = 8, .sgd = {.learning_rate = 0.5}};
    const double pi = 3.14159265358979323846;
    for (size_t n = 1; n <= 8; n++) {
        const double progress = (double)(n - 1) / 8.0;
        const double linear = 1.0 - progress, cosine = 0.5 * (1.0 + cos(pi * progress));
        for (size_t warmup = 0; warmup <= 10; warmup += 5) {
            settings.warmup = warmup;
            const double ramp = warmup == 0 ? 1.0 : fmin(1.0, (double)n / (double)warmup);
            settings.schedule = SCHEDULE_CONSTANT;
            ck_assert_double_eq_tol(learning_rate_at(&settings, n), 0.5 * ramp, 1e-15);
            settings.schedule = SCHEDULE_LINEAR;
            ck_assert_double_eq_tol(learning_rate_at(&settings, n), 0.5 * ramp * linear, 1e-15);
            settings.schedule = SCHEDULE_COSINE;
            ck_assert_double_eq_tol(learning_rate_at(&settings, n), 0.5 * ramp * cosine, 1e-15);
        }
    }
}
END_TEST

static struct trainer make_trainer(const char *name, const struct settings *changed) {
    struct trainer trainer;
    mha_error error;
    const struct task *task = task_find(name);
    ck_assert_ptr_nonnull(task);
    const mha_status status =
        trainer_create(&trainer, task, changed == NULL ? &task->defaults : changed, &error);
    ck_assert_msg(status == MHA_OK, "%s", error.text);
    return trainer;
}

static double run_steps(struct trainer *trainer, size_t first, size_t last) {
    struct step_result result = {.loss = (double)NAN};
    mha_error error;
    for (size_t n = first; n <= last; n++) {
        ck_assert_msg(trainer_step(&result, trainer, n, &error) == MHA_OK, "%s", error.text);
    }
    return result.loss;
}

/* Batch n is a function of seed and n alone, so evaluations between steps change nothing. */
START_TEST(evaluation_does_not_disturb_training) {
    struct trainer plain = make_trainer("recall", NULL), evaluated = make_trainer("recall", NULL);
    run_steps(&plain, 1, 6);
    struct score first, again;
    run_steps(&evaluated, 1, 3);
    ck_assert_int_eq(trainer_evaluate(&first, &evaluated, STREAM_HELD_OUT, NULL), MHA_OK);
    ck_assert_int_eq(trainer_evaluate(&again, &evaluated, STREAM_HELD_OUT, NULL), MHA_OK);
    ck_assert_double_eq(first.loss, again.loss);
    run_steps(&evaluated, 4, 6);
    ck_assert_int_eq(
        memcmp(plain.weights, evaluated.weights, plain.weight_count * sizeof *plain.weights), 0);
    trainer_destroy(&plain);
    trainer_destroy(&evaluated);
}
END_TEST

/* The held-out score does not depend on the batch that it is computed in, beyond the rounding of
 * its sums. */
START_TEST(score_does_not_depend_on_the_batch) {
    struct settings settings = task_find("copy")->defaults;
    struct trainer whole = make_trainer("copy", &settings);
    settings.shape.batch = 37;
    struct trainer cut = make_trainer("copy", &settings);
    struct score a, b;
    ck_assert_int_eq(trainer_evaluate(&a, &whole, STREAM_EVAL, NULL), MHA_OK);
    ck_assert_int_eq(trainer_evaluate(&b, &cut, STREAM_EVAL, NULL), MHA_OK);
    ck_assert_double_eq_tol(a.loss, b.loss, 1e-12);
    ck_assert_double_eq(a.accuracy, b.accuracy);
    ck_assert_int_eq(trainer_evaluate(&b, &whole, STREAM_HELD_OUT, NULL), MHA_OK);
    ck_assert_double_ne(a.loss, b.loss);
    trainer_destroy(&whole);
    trainer_destroy(&cut);
}
END_TEST

START_TEST(step_that_is_not_finite_changes_nothing) {
    struct settings settings = task_find("reverse")->defaults;
    settings.sgd.learning_rate = 1e30;
    struct trainer trainer = make_trainer("reverse", &settings);
    mha_status status = MHA_OK;
    mha_error error;
    struct step_result result;
    float before[4 * 32 * 32];
    ck_assert_uint_eq(trainer.weight_count, sizeof before / sizeof *before);
    for (size_t n = 1; status == MHA_OK && n < 20; n++) {
        memcpy(before, trainer.weights, sizeof before);
        status = trainer_step(&result, &trainer, n, &error);
    }
    ck_assert_int_eq(status, MHA_ERROR_NOT_FINITE);
    ck_assert_int_eq(memcmp(before, trainer.weights, sizeof before), 0);
    trainer_destroy(&trainer);
}
END_TEST

/* Every task but letters, which is measured on the real word list, with its defaults. */
START_TEST(defaults_reach_the_goal) {
    const struct task *task = task_table[_i];
    if (task->held_out_count != NULL) {
        return;
    }
    struct trainer trainer = make_trainer(task->name, NULL);
    run_steps(&trainer, 1, task->defaults.steps);
    struct score score;
    ck_assert_int_eq(trainer_evaluate(&score, &trainer, STREAM_EVAL, NULL), MHA_OK);
    if (task->form.loss == TASK_CROSS_ENTROPY) {
        ck_assert_msg(score.accuracy >= task->goal, "%s: accuracy %g", task->name, score.accuracy);
    } else {
        ck_assert_msg(score.relative_error <= task->goal, "%s: relative error %g", task->name,
            score.relative_error);
    }
    trainer_destroy(&trainer);
}
END_TEST

START_TEST(one_head_cannot_give_two_answers) {
    struct settings settings = task_find("offsets")->defaults;
    settings.shape.heads = 1;
    struct trainer trainer = make_trainer("offsets", &settings);
    run_steps(&trainer, 1, settings.steps);
    struct score score;
    ck_assert_int_eq(trainer_evaluate(&score, &trainer, STREAM_EVAL, NULL), MHA_OK);
    ck_assert_double_lt(score.accuracy, 0.70);
    ck_assert_double_gt(score.accuracy, 0.30);
    trainer_destroy(&trainer);
}
END_TEST

Suite *trainer_suite(void) {
    Suite *suite = suite_create("trainer");
    TCase *loop = tcase_create("loop");
    tcase_add_test(loop, schedules_follow_their_formulas);
    tcase_add_test(loop, evaluation_does_not_disturb_training);
    tcase_add_test(loop, score_does_not_depend_on_the_batch);
    tcase_add_test(loop, step_that_is_not_finite_changes_nothing);
    suite_add_tcase(suite, loop);
    TCase *solved = tcase_create("solved");
    tcase_set_timeout(solved, 60);
    tcase_set_tags(solved, "long");
    size_t tasks = 0;
    while (task_table[tasks] != NULL) {
        tasks++;
    }
    tcase_add_loop_test(solved, defaults_reach_the_goal, 0, (int)tasks);
    tcase_add_test(solved, one_head_cannot_give_two_answers);
    suite_add_tcase(suite, solved);
    return suite;
}
