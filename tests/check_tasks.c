/* The tasks with drawn examples: each satisfies its definition, its golden values were made with
 * NumPy 1.24.2 from the same streams, and unusable sizes are refused. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "task_batch.h"
#include "tasks/symbols.h"
#include "tasks/table.h"

Suite *tasks_suite(void);

static const struct task *const drawn_tasks[] = {&task_copy, &task_reverse, &task_shift,
    &task_offsets, &task_retrieve, &task_recall, &task_mean, &task_teacher};

enum { DRAWN_TASKS = sizeof drawn_tasks / sizeof *drawn_tasks, T = 16, KEYS = 16 };

/* Batch 1 of seed 0 with the task's defaults. */
static struct task_batch first_batch(const struct task *task) {
    struct task_data *data = task_opened(task, &task->defaults);
    struct task_batch batch = batch_make(task, &task->defaults.shape);
    mha_rng rng = batch_stream(0, 1);
    task->fill(&batch, batch.shape.batch, &rng, data);
    task_closed(task, data);
    return batch;
}

START_TEST(table_lists_every_task_once) {
    static const char *const names[] = {"copy", "reverse", "shift", "offsets", "retrieve", "recall",
        "mean", "teacher", "letters", "arrays"};
    enum { COUNT = sizeof names / sizeof *names };
    for (size_t i = 0; i < COUNT; i++) {
        const struct task *task = task_table[i];
        ck_assert_str_eq(task->name, names[i]);
        ck_assert_ptr_eq(task_find(names[i]), task);
        ck_assert_uint_gt(strlen(task->summary), 0);
        ck_assert_uint_gt(strlen(task->goal_text), 0);
        ck_assert_uint_gt(task->defaults.steps, 0);
        ck_assert_uint_gt(task->defaults.eval_every, 0);
        ck_assert_double_gt(task->defaults.sgd.learning_rate, 0.0);
        if (task->adapt != NULL) { /* its data say the rest */
            ck_assert_uint_ge(task->defaults.shape.heads, 1);
            continue;
        }
        ck_assert_int_eq(mha_shape_check(&task->defaults.shape, NULL), MHA_OK);
        ck_assert_int_eq(task->form.loss == TASK_CROSS_ENTROPY,
            task->form.answers > 0 && task->form.classes > 1);
    }
    ck_assert_ptr_null(task_table[COUNT]);
    ck_assert_ptr_null(task_find("cop"));
    ck_assert_ptr_null(task_find(""));
}
END_TEST

START_TEST(examples_do_not_depend_on_the_cut) {
    enum { EXAMPLES = 512, CUT = 64 };
    const struct task *task = drawn_tasks[_i];
    struct task_data *data = task_opened(task, &task->defaults);
    mha_shape shape = task->defaults.shape;
    shape.batch = EXAMPLES;
    struct task_batch whole = batch_make(task, &shape);
    shape.batch = CUT;
    struct task_batch part = batch_make(task, &shape);
    struct sample_bytes bytes = batch_sample_bytes(task, &shape);
    mha_rng rng = batch_stream(3, 1), again = rng;
    task->fill(&whole, EXAMPLES, &rng, data);
    for (size_t first = 0; first < EXAMPLES; first += CUT) {
        task->fill(&part, CUT, &again, data);
        const struct {
            const void *whole, *part;
            size_t bytes;
        } arrays[] = {{whole.query, part.query, bytes.query},
            {whole.source, part.source, bytes.source}, {whole.target, part.target, bytes.target},
            {whole.labels, part.labels, bytes.labels}};
        for (size_t i = 0; i < 4; i++) {
            const char *expected = arrays[i].whole;
            if (arrays[i].bytes > 0) {
                ck_assert_mem_eq(
                    arrays[i].part, expected + first * arrays[i].bytes, CUT * arrays[i].bytes);
            }
        }
    }
    ck_assert_mem_eq(&rng, &again, sizeof rng);
    batch_free(&whole);
    batch_free(&part);
    task_closed(task, data);
}
END_TEST

/* The batch has room for more samples than fill is asked for. */
START_TEST(fill_writes_only_the_samples_asked_for) {
    const struct task *task = drawn_tasks[_i];
    struct task_data *data = task_opened(task, &task->defaults);
    struct task_batch batch = batch_make(task, &task->defaults.shape);
    const size_t asked = 5, row = batch.shape.target_length * batch.shape.width;
    mha_rng rng = batch_stream(0, 2);
    task->fill(&batch, asked, &rng, data);
    for (size_t i = 0; i < batch.shape.batch * row; i++) {
        ck_assert_int_eq(isfinite(batch.query[i]) != 0, i < asked * row);
        if (batch.target != NULL) {
            ck_assert_int_eq(isfinite(batch.target[i]) != 0, i < asked * row);
        }
    }
    if (batch.labels != NULL) {
        size_t labels = batch.shape.target_length * task->form.answers;
        for (size_t i = 0; i < batch.shape.batch * labels; i++) {
            bool in_range = batch.labels[i] >= -1 && batch.labels[i] < (int32_t)task->form.classes;
            ck_assert_int_eq(in_range, i < asked * labels);
        }
    }
    batch_free(&batch);
    task_closed(task, data);
}
END_TEST

START_TEST(seeds_and_steps_give_different_examples) {
    const struct task *task = drawn_tasks[_i];
    struct task_data *data = task_opened(task, &task->defaults);
    struct task_batch batch = batch_make(task, &task->defaults.shape);
    struct task_batch other = batch_make(task, &task->defaults.shape);
    size_t bytes = batch.shape.batch * batch_sample_bytes(task, &batch.shape).query;
    const uint64_t streams[][2] = {{1, 1}, {0, 2}};
    for (size_t i = 0; i < 2; i++) {
        mha_rng rng = batch_stream(0, 1), different = batch_stream(streams[i][0], streams[i][1]);
        task->fill(&batch, batch.shape.batch, &rng, data);
        task->fill(&other, other.shape.batch, &different, data);
        ck_assert_mem_ne(batch.query, other.query, bytes);
    }
    batch_free(&batch);
    batch_free(&other);
    task_closed(task, data);
}
END_TEST

/* Each row is what encoding its own symbol and position gives. */
static void assert_tokens(
    const mha_real *rows, size_t count, size_t width, const struct token_encoding *encoding) {
    mha_real expected[64];
    for (size_t i = 0; i < count; i++) {
        const mha_real *row = rows + i * width;
        encode_token(expected, width, encoding, decode_symbol(row, encoding),
            decode_position(row, encoding));
        ck_assert_mem_eq(row, expected, width * sizeof *row);
    }
}

/* For the tasks on one sequence: the offset of the token that answer 0 of position t names, or -1.
 */
static int named_position(const struct task *task, int t, int answer) {
    if (task == &task_copy) {
        return t;
    }
    return task == &task_reverse ? T - 1 - t : t - 1 - answer;
}

START_TEST(sequence_labels_follow_the_definition) {
    static const struct task *const tasks[] = {
        &task_copy, &task_reverse, &task_shift, &task_offsets};
    const struct task *task = tasks[_i];
    const struct token_encoding encoding = {DIGITS, T, "positions"};
    struct task_batch batch = first_batch(task);
    size_t width = batch.shape.width;
    assert_tokens(batch.query, batch.shape.batch * T, width, &encoding);
    size_t seen[DIGITS] = {0};
    for (size_t b = 0; b < batch.shape.batch; b++) {
        for (int t = 0; t < T; t++) {
            const mha_real *row = token_row(&batch, b, (size_t)t, false);
            ck_assert_int_eq(decode_position(row, &encoding), t);
            seen[decode_symbol(row, &encoding)]++;
            for (int answer = 0; answer < (int)task->form.answers; answer++) {
                int from = named_position(task, t, answer);
                int32_t expected =
                    from < 0 ? -1
                             : decode_symbol(token_row(&batch, b, (size_t)from, true), &encoding);
                size_t index = (b * T + (size_t)t) * task->form.answers + (size_t)answer;
                ck_assert_int_eq(batch.labels[index], expected);
            }
        }
    }
    for (size_t symbol = 0; symbol < DIGITS; symbol++) {
        ck_assert_uint_gt(seen[symbol], 0);
    }
    batch_free(&batch);
}
END_TEST

START_TEST(retrieve_answers_with_the_token_at_the_position) {
    struct task_batch batch = first_batch(&task_retrieve);
    const struct token_encoding encoding = {DIGITS, T, "source positions"};
    assert_tokens(batch.query, batch.shape.batch * T, batch.shape.width, &encoding);
    assert_tokens(batch.source, batch.shape.batch * T, batch.shape.width, &encoding);
    for (size_t b = 0; b < batch.shape.batch; b++) {
        for (size_t t = 0; t < T; t++) {
            const mha_real *query = token_row(&batch, b, t, false);
            ck_assert_int_eq(decode_symbol(query, &encoding), NONE);
            ck_assert_int_eq(decode_position(token_row(&batch, b, t, true), &encoding), (int)t);
            size_t asked = (size_t)decode_position(query, &encoding);
            ck_assert_uint_lt(asked, T);
            ck_assert_int_eq(batch.labels[b * T + t],
                decode_symbol(token_row(&batch, b, asked, true), &encoding));
        }
    }
    batch_free(&batch);
}
END_TEST

START_TEST(recall_answers_with_the_value_of_the_key) {
    struct task_batch batch = first_batch(&task_recall);
    const struct token_encoding encoding = {DIGITS, KEYS, "keys"};
    const size_t queries = batch.shape.target_length, shown = batch.shape.source_length;
    assert_tokens(batch.query, batch.shape.batch * queries, batch.shape.width, &encoding);
    assert_tokens(batch.source, batch.shape.batch * shown, batch.shape.width, &encoding);
    for (size_t b = 0; b < batch.shape.batch; b++) {
        int32_t value_of[KEYS];
        for (size_t key = 0; key < KEYS; key++) {
            value_of[key] = NONE;
        }
        for (size_t s = 0; s < shown; s++) {
            const mha_real *row = token_row(&batch, b, s, true);
            int32_t key = decode_position(row, &encoding);
            ck_assert_int_ge(key, 0);
            ck_assert_int_eq(value_of[key], NONE);
            value_of[key] = decode_symbol(row, &encoding);
            ck_assert_int_ge(value_of[key], 0);
        }
        for (size_t t = 0; t < queries; t++) {
            const mha_real *row = token_row(&batch, b, t, false);
            ck_assert_int_eq(decode_symbol(row, &encoding), NONE);
            int32_t answer = value_of[decode_position(row, &encoding)];
            ck_assert_int_ge(answer, 0);
            ck_assert_int_eq(batch.labels[b * queries + t], answer);
        }
    }
    batch_free(&batch);
}
END_TEST

/* All 16 keys may be shown; every order of them is then a permutation. */
START_TEST(recall_can_show_every_key) {
    struct settings settings = task_recall.defaults;
    settings.shape.source_length = KEYS;
    struct task_data *data = task_opened(&task_recall, &settings);
    struct task_batch batch = batch_make(&task_recall, &settings.shape);
    const struct token_encoding encoding = {DIGITS, KEYS, "keys"};
    mha_rng rng = batch_stream(0, 1);
    task_recall.fill(&batch, batch.shape.batch, &rng, data);
    for (size_t b = 0; b < batch.shape.batch; b++) {
        unsigned seen = 0;
        for (size_t s = 0; s < KEYS; s++) {
            seen |= 1u << decode_position(token_row(&batch, b, s, true), &encoding);
        }
        ck_assert_uint_eq(seen, 0xffff);
    }
    batch_free(&batch);
}
END_TEST

START_TEST(mean_target_is_the_mean_of_the_inputs) {
    struct task_batch batch = first_batch(&task_mean);
    const size_t width = batch.shape.width;
    for (size_t b = 0; b < batch.shape.batch; b++) {
        for (size_t i = 0; i < width; i++) {
            double mean = 0.0;
            for (size_t t = 0; t < T; t++) {
                mean += (double)batch.query[(b * T + t) * width + i] / T;
            }
            for (size_t t = 0; t < T; t++) {
                ck_assert_double_eq_tol((double)batch.target[(b * T + t) * width + i], mean, 1e-6);
            }
        }
    }
    batch_free(&batch);
}
END_TEST

Suite *tasks_suite(void) {
    Suite *suite = suite_create("tasks");
    TCase *every = tcase_create("every task");
    tcase_add_test(every, table_lists_every_task_once);
    tcase_add_loop_test(every, examples_do_not_depend_on_the_cut, 0, DRAWN_TASKS);
    tcase_add_loop_test(every, fill_writes_only_the_samples_asked_for, 0, DRAWN_TASKS);
    tcase_add_loop_test(every, seeds_and_steps_give_different_examples, 0, DRAWN_TASKS);
    suite_add_tcase(suite, every);

    TCase *definitions = tcase_create("definitions");
    tcase_add_loop_test(definitions, sequence_labels_follow_the_definition, 0, 4);
    tcase_add_test(definitions, retrieve_answers_with_the_token_at_the_position);
    tcase_add_test(definitions, recall_answers_with_the_value_of_the_key);
    tcase_add_test(definitions, recall_can_show_every_key);
    tcase_add_test(definitions, mean_target_is_the_mean_of_the_inputs);
    suite_add_tcase(suite, definitions);
    return suite;
}
