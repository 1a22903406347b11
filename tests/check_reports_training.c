/* The causal option of a training run is kept when it trains and when it evaluates. */
#include <check.h>
#include <string.h>

#include "tasks/table.h"
#include "trainer.h"

Suite *reports_training_suite(void);

/* Weights after the last pass are exactly 0 above the diagonal, and somewhere not 0 on every row.
 */
static void assert_causal(const struct trainer *trainer, size_t samples) {
    const mha_shape *shape = &trainer->settings.shape;
    const size_t S = shape->source_length, rows = samples * shape->heads * shape->target_length;
    const mha_real *weights = mha_tape_value(trainer->tape, MHA_ATTENTION_WEIGHTS);
    for (size_t row = 0; row < rows; row++) {
        const size_t t = row % shape->target_length;
        for (size_t s = 0; s < S; s++) {
            const mha_real weight = weights[row * S + s];
            ck_assert_msg(s > t ? weight == 0.0f : weight > 0.0f, "row %zu, key %zu: weight %g",
                row, s, (double)weight);
        }
    }
}

START_TEST(training_and_evaluation_keep_the_mask) {
    const struct task *copy = task_find("copy");
    ck_assert_ptr_nonnull(copy);
    struct settings chosen = copy->defaults;
    chosen.causal = MHA_CAUSAL_SQUARE;
    chosen.shape.batch = 4;
    chosen.seed = 1;
    chosen.sgd.learning_rate = 0.01;
    struct trainer trainer;
    mha_error error;
    ck_assert_int_eq(trainer_create(&trainer, copy, &chosen, &error), MHA_OK);
    struct step_result step;
    ck_assert_int_eq(trainer_step(&step, &trainer, 1, &error), MHA_OK);
    assert_causal(&trainer, 4);
    struct score score;
    ck_assert_int_eq(trainer_evaluate(&score, &trainer, STREAM_HELD_OUT, &error), MHA_OK);
    assert_causal(&trainer, 4); /* of the last chunk; 512 examples are a multiple of 4 */
    trainer_destroy(&trainer);
}
END_TEST

Suite *reports_training_suite(void) {
    Suite *suite = suite_create("reports training");
    TCase *cases = tcase_create("training");
    tcase_add_test(cases, training_and_evaluation_keep_the_mask);
    suite_add_tcase(suite, cases);
    return suite;
}
