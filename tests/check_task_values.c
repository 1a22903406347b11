/* The tasks against values made elsewhere: examples drawn with NumPy 1.24.2 from the same streams,
 * a teacher computed in double, the labels that pictures show and the texts of refusals. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "count.h"
#include "task_batch.h"
#include "tasks/symbols.h"
#include "tasks/table.h"

Suite *task_values_suite(void);

/* Batch n of a seed with the given settings. */
static struct task_batch batch_of(
    const struct task *task, const struct settings *settings, uint64_t n) {
    struct task_data *data = task_opened(task, settings);
    struct task_batch batch = batch_make(task, &settings->shape);
    mha_rng rng = batch_stream(settings->seed, n);
    task->fill(&batch, batch.shape.batch, &rng, data);
    task_closed(task, data);
    return batch;
}

/* Symbols (position = false) or positions of the first `count` rows. */
static void assert_decoded(const mha_real *rows, size_t width, size_t positions, bool position,
    const int32_t *expected, size_t count) {
    const struct token_encoding encoding = {DIGITS, positions, "positions"};
    for (size_t i = 0; i < count; i++) {
        const mha_real *row = rows + i * width;
        ck_assert_int_eq(position ? decode_position(row, &encoding) : decode_symbol(row, &encoding),
            expected[i]);
    }
}

START_TEST(a_token_is_laid_out_as_documented) {
    const struct token_encoding encoding = {3, 2, "positions"};
    const mha_real expected[] = {0, 0, 2, 2, 0, 2, 0, 0}, query[] = {0, 0, 0, 0, 2, 2, 0, 0};
    mha_real row[8];
    encode_token(row, 8, &encoding, 2, 0);
    ck_assert_mem_eq(row, expected, sizeof row);
    encode_token(row, 8, &encoding, NONE, 1);
    ck_assert_mem_eq(row, query, sizeof row);
    ck_assert_int_eq(decode_symbol(row, &encoding), NONE);
    ck_assert_int_eq(decode_position(row, &encoding), 1);
}
END_TEST

START_TEST(golden_sequences) {
    static const int32_t reversed[] = {5, 7, 6, 1, 9, 4, 3, 7, 9, 4, 2, 9, 2, 8, 8, 6};
    static const int32_t last[] = {9, 9, 4, 8, 6, 2, 5, 3, 7, 0, 5, 8, 1, 7, 4, 0};
    struct task_batch batch = batch_of(&task_reverse, &task_reverse.defaults, 1);
    ck_assert_mem_eq(batch.labels, reversed, sizeof reversed);
    ck_assert_mem_eq(batch.labels + 31 * 16, last, sizeof last);
    batch_free(&batch);

    static const int32_t two_before[] = {-1, -1, 6, -1, 8, 6, 8, 8, 2, 8};
    batch = batch_of(&task_offsets, &task_offsets.defaults, 1);
    ck_assert_mem_eq(batch.labels, two_before, sizeof two_before);
    batch_free(&batch);
}
END_TEST

START_TEST(golden_pairs) {
    static const int32_t tokens[] = {6, 8, 8, 2, 9, 2, 4, 9, 7, 3, 4, 9, 1, 6, 7, 5};
    static const int32_t asked[] = {3, 14, 5, 14, 15, 11, 9, 14, 1, 9, 15, 6, 5, 9, 15, 11};
    static const int32_t last[] = {6, 0, 6, 0, 6, 3, 5, 6, 5, 9, 3, 5, 8, 5, 6, 6};
    struct task_batch batch = batch_of(&task_retrieve, &task_retrieve.defaults, 1);
    assert_decoded(batch.source, batch.shape.width, 16, false, tokens, COUNT(tokens));
    assert_decoded(batch.query, batch.shape.width, 16, true, asked, COUNT(asked));
    ck_assert_mem_eq(batch.labels + 31 * 16, last, sizeof last);
    batch_free(&batch);

    static const int32_t keys[] = {10, 13, 1, 6, 15, 7, 0, 4}, values[] = {7, 3, 4, 9, 1, 6, 7, 5};
    static const int32_t queries[] = {13, 4, 1, 4, 4, 7, 15, 4}, end[] = {3, 0, 7, 3, 9, 3, 9, 9};
    batch = batch_of(&task_recall, &task_recall.defaults, 1);
    assert_decoded(batch.source, batch.shape.width, 16, true, keys, COUNT(keys));
    assert_decoded(batch.source, batch.shape.width, 16, false, values, COUNT(values));
    assert_decoded(batch.query, batch.shape.width, 16, true, queries, COUNT(queries));
    ck_assert_mem_eq(batch.labels + 31 * 8, end, sizeof end);
    batch_free(&batch);
}
END_TEST

START_TEST(golden_regression) {
    struct task_batch batch = batch_of(&task_mean, &task_mean.defaults, 1);
    const size_t last = (31 * 16 + 15) * 16 + 15;
    ck_assert_double_eq_tol((double)batch.query[0], -1.0951921, 1e-7);
    ck_assert_double_eq_tol((double)batch.query[2], 1.9971294, 1e-7);
    ck_assert_double_eq_tol((double)batch.query[last], -0.40864754, 1e-7);
    ck_assert_double_eq_tol((double)batch.target[0], -0.16932316, 1e-7);
    ck_assert_double_eq_tol((double)batch.target[last], 0.06704577, 1e-7);
    batch_free(&batch);

    batch = batch_of(&task_teacher, &task_teacher.defaults, 1);
    ck_assert_double_eq_tol((double)batch.target[0], 0.173274659, 1e-6);
    ck_assert_double_eq_tol((double)batch.target[1], -0.328877267, 1e-6);
    ck_assert_double_eq_tol((double)batch.target[(31 * 8 + 7) * 16 + 15], 0.761493983, 1e-6);
    batch_free(&batch);
}
END_TEST

enum { LENGTH = 3, WIDTH = 4 };

/* y = x w for rows of WIDTH. */
static void project(double y[LENGTH][WIDTH], double x[LENGTH][WIDTH], const mha_real *w) {
    for (size_t t = 0; t < LENGTH; t++) {
        for (size_t j = 0; j < WIDTH; j++) {
            y[t][j] = 0.0;
            for (size_t i = 0; i < WIDTH; i++) {
                y[t][j] += x[t][i] * (double)w[i * WIDTH + j];
            }
        }
    }
}

/* Causal attention of two heads in double, by the definition. */
static void attend(double y[LENGTH][WIDTH], double x[LENGTH][WIDTH], const mha_weights *weights) {
    enum { HEADS = 2, HEAD_WIDTH = WIDTH / HEADS };
    double q[LENGTH][WIDTH], k[LENGTH][WIDTH], v[LENGTH][WIDTH], context[LENGTH][WIDTH];
    project(q, x, weights->matrix[0]);
    project(k, x, weights->matrix[1]);
    project(v, x, weights->matrix[2]);
    for (size_t t = 0; t < LENGTH; t++) {
        for (size_t head = 0; head < WIDTH; head += HEAD_WIDTH) {
            double sum = 0.0, part[HEAD_WIDTH] = {0.0};
            for (size_t s = 0; s <= t; s++) {
                double score = 0.0;
                for (size_t i = head; i < head + HEAD_WIDTH; i++) {
                    score += q[t][i] * k[s][i];
                }
                double weight = exp(score / sqrt(HEAD_WIDTH));
                sum += weight;
                for (size_t i = 0; i < HEAD_WIDTH; i++) {
                    part[i] += weight * v[s][head + i];
                }
            }
            for (size_t i = 0; i < HEAD_WIDTH; i++) {
                context[t][head + i] = part[i] / sum;
            }
        }
    }
    project(y, context, weights->matrix[3]);
}

START_TEST(teacher_is_a_layer_with_weights_of_its_own_stream) {
    struct settings settings = task_teacher.defaults;
    settings.shape = (mha_shape){5, LENGTH, LENGTH, WIDTH, 2};
    settings.causal = MHA_CAUSAL_SQUARE;
    settings.seed = 7;
    struct task_batch batch = batch_of(&task_teacher, &settings, 1);
    mha_real block[MHA_WEIGHT_COUNT * WIDTH * WIDTH];
    mha_weights weights = mha_weights_view(block, WIDTH);
    mha_rng rng;
    mha_rng_seed(&rng, (const uint64_t[]){7, 4}, 2);
    mha_weights_draw(&weights, &rng, WIDTH);
    for (size_t b = 0; b < settings.shape.batch; b++) {
        double x[LENGTH][WIDTH], y[LENGTH][WIDTH];
        const size_t first = b * LENGTH * WIDTH;
        for (size_t i = 0; i < LENGTH * WIDTH; i++) {
            x[i / WIDTH][i % WIDTH] = (double)batch.query[first + i];
        }
        attend(y, x, &weights);
        for (size_t i = 0; i < LENGTH * WIDTH; i++) {
            ck_assert_double_eq_tol((double)batch.target[first + i], y[i / WIDTH][i % WIDTH], 1e-6);
        }
    }
    batch_free(&batch);
}
END_TEST

static void assert_label(const struct task *task, const struct task_batch *batch, size_t t,
    bool source, const char *expected) {
    char text[16] = "untouched";
    task->label(text, sizeof text, batch, 0, t, source);
    ck_assert_str_eq(text, expected);
    char small[2] = "x";
    task->label(small, sizeof small, batch, 0, t, source);
    ck_assert_int_eq(small[0], expected[0]);
    ck_assert_int_eq(small[1], '\0');
}

START_TEST(labels_name_what_a_position_holds) {
    struct task_batch batch = batch_of(&task_reverse, &task_reverse.defaults, 1);
    assert_label(&task_reverse, &batch, 0, false, "6");
    assert_label(&task_reverse, &batch, 15, true, "5");
    batch_free(&batch);
    batch = batch_of(&task_retrieve, &task_retrieve.defaults, 1);
    assert_label(&task_retrieve, &batch, 1, false, "@14");
    assert_label(&task_retrieve, &batch, 1, true, "8");
    batch_free(&batch);
    batch = batch_of(&task_recall, &task_recall.defaults, 1);
    assert_label(&task_recall, &batch, 0, false, "k13");
    assert_label(&task_recall, &batch, 0, true, "k10=7");
    batch_free(&batch);
    ck_assert(task_mean.label == NULL && task_teacher.label == NULL);
}
END_TEST

static const struct {
    const struct task *task;
    size_t target_length, source_length, width;
    const char *text;
} refusals[] = {
    {&task_reverse, 16, 16, 16,
        "width 16 cannot hold the 27 features of task reverse (10 symbols, 16 positions and 1)"},
    {&task_copy, 22, 22, 32,
        "width 32 cannot hold the 33 features of task copy (10 symbols, 22 positions and 1)"},
    {&task_offsets, 5, 5, 16,
        "width 16 cannot hold the 20 logits of task offsets (2 answers of 10 classes)"},
    {&task_retrieve, 4, 30, 32,
        "width 32 cannot hold the 41 features of task retrieve (10 symbols, 30 source positions "
        "and 1)"},
    {&task_recall, 8, 8, 26,
        "width 26 cannot hold the 27 features of task recall (10 symbols, 16 keys and 1)"},
    {&task_recall, 8, 17, 64,
        "source length 17 is more than the 16 keys of task recall, which must all differ"},
    {&task_recall, 8, 0, 64,
        "source length 0 is too short for task recall, which needs at least 1"},
    {&task_copy, 0, 0, 32, "target length 0 is too short for task copy, which needs at least 1"},
    {&task_shift, 1, 1, 32, "target length 1 is too short for task shift, which needs at least 2"},
    {&task_offsets, 2, 2, 32,
        "target length 2 is too short for task offsets, which needs at least 3"},
    {&task_mean, 0, 0, 32, "target length 0 is too short for task mean, which needs at least 1"},
    {&task_reverse, 8, 16, 32,
        "target length 8 and source length 16 must be equal: task reverse is self-attention"},
    {&task_teacher, 8, 9, 32,
        "target length 8 and source length 9 must be equal: task teacher is self-attention"},
};

START_TEST(unusable_sizes_are_refused) {
    struct settings settings = refusals[_i].task->defaults;
    settings.shape.target_length = refusals[_i].target_length;
    settings.shape.source_length = refusals[_i].source_length;
    settings.shape.width = refusals[_i].width;
    assert_refused(refusals[_i].task, &settings, MHA_ERROR_SHAPE, refusals[_i].text);
}
END_TEST

START_TEST(the_longest_sequence_is_refused) {
    struct settings settings = task_copy.defaults;
    settings.shape.target_length = settings.shape.source_length = SIZE_MAX;
    char text[MHA_ERROR_TEXT_SIZE];
    snprintf(text, sizeof text,
        "width 32 cannot hold the %zu features of task copy (10 symbols, %zu positions and 1)",
        SIZE_MAX, SIZE_MAX);
    assert_refused(&task_copy, &settings, MHA_ERROR_SHAPE, text);
}
END_TEST

START_TEST(other_usable_sizes_are_accepted) {
    const struct {
        const struct task *task;
        mha_shape shape;
    } cases[] = {{&task_copy, {1, 1, 1, 12, 1}}, {&task_offsets, {2, 9, 9, 20, 4}},
        {&task_retrieve, {3, 30, 5, 16, 2}}, {&task_recall, {3, 1, 16, 27, 3}},
        {&task_teacher, {1, 1, 1, 1, 1}}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct settings settings = cases[i].task->defaults;
        settings.shape = cases[i].shape;
        struct task_batch batch = batch_of(cases[i].task, &settings, 1);
        size_t count = settings.shape.batch * settings.shape.target_length * settings.shape.width;
        for (size_t j = 0; j < count; j++) {
            ck_assert(isfinite(batch.query[j]));
        }
        batch_free(&batch);
    }
}
END_TEST

Suite *task_values_suite(void) {
    Suite *suite = suite_create("task values");
    TCase *values = tcase_create("golden");
    tcase_add_test(values, a_token_is_laid_out_as_documented);
    tcase_add_test(values, golden_sequences);
    tcase_add_test(values, golden_pairs);
    tcase_add_test(values, golden_regression);
    tcase_add_test(values, teacher_is_a_layer_with_weights_of_its_own_stream);
    tcase_add_test(values, labels_name_what_a_position_holds);
    suite_add_tcase(suite, values);

    TCase *sizes = tcase_create("sizes");
    tcase_add_loop_test(sizes, unusable_sizes_are_refused, 0, (int)COUNT(refusals));
    tcase_add_test(sizes, the_longest_sequence_is_refused);
    tcase_add_test(sizes, other_usable_sizes_are_accepted);
    suite_add_tcase(suite, sizes);
    return suite;
}
