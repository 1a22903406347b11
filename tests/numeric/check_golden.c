/* The layer against the golden arrays of tests/golden/: outputs, attention weights and every
 * gradient as NumPy and PyTorch computed them in float64. They hold the tests' reference up too. */
#include "base/real.h"

#include <stdlib.h>

#include "golden_file.h"
#include "reports_case.h"

#define golden_suite MHA_NAME(golden_suite)

Suite *golden_suite(void);

/* Every file, so that one which is missing is missed. */
static const char *const files[] = {"lesson", "handbook", "self", "self-causal", "self-lengths",
    "self-mask-rank-2", "self-combined", "cross-long-source", "cross-long-target", "cross-one-key",
    "cross-top-left", "cross-top-left-long-target", "cross-bottom-right",
    "cross-bottom-right-long-target", "cross-lengths", "cross-mask-rank-2", "cross-mask-rank-3",
    "cross-mask-by-head", "cross-mask-padding", "cross-empty-rows", "cross-nothing-seen",
    "cross-combined"};

/* Widest case that the reference is worth its time for. */
enum { REFERENCE_WIDTH = 12 };

static const mha_value matrices[] = {MHA_WQ, MHA_WK, MHA_WV, MHA_WO};
static const char *const matrix_gradients[] = {"grad_wq", "grad_wk", "grad_wv", "grad_wo"};

static void load_numbers(mha_real *to, const golden_file *file, const char *name, mha_value value) {
    set_numbers(to, golden_numbers(file, name, value), mha_value_count(value, &file->shape));
}

static void open_golden(layer_case *c, const golden_file *file) {
    const size_t matrix = file->shape.width * file->shape.width;
    open_case(c, file->shape, !golden_has(file, "context"));
    c->mask = &file->mask;
    load_numbers(c->query, file, "query", MHA_QUERY);
    if (c->source != NULL) {
        load_numbers(c->source, file, "context", MHA_SOURCE);
    }
    for (size_t i = 0; i < COUNT(matrices); i++) {
        set_numbers(c->weights + i * matrix, golden_matrix(file, matrices[i]), matrix);
    }
    load_numbers(c->doutput, file, "grad_output", MHA_OUTPUT);
}

/* The norm of the difference is within the tolerance of the array's norm, and what is 0 there is
 * exactly 0 here. */
static void assert_golden(
    const mha_real *x, const golden_file *file, const char *name, mha_value value) {
    const wide *expected = golden_numbers(file, name, value);
    const size_t count = mha_value_count(value, &file->shape);
    wide norm = 0, difference = 0;
    for (size_t i = 0; i < count; i++) {
        norm = hypot(norm, expected[i]);
        difference = hypot(difference, (wide)x[i] - expected[i]);
        ck_assert_msg(expected[i] != 0 || x[i] == REAL(0.0), "%s: %s[%zu] is %g, not 0", file->name,
            name, i, (wide)x[i]);
    }
    ck_assert_msg(difference <= CASE_TOLERANCE * norm, "%s: %s differs by %g, its norm is %g",
        file->name, name, difference, norm);
}

START_TEST(layer_has_the_golden_values) {
    golden_file file;
    layer_case c;
    golden_open(&file, files[_i]);
    open_golden(&c, &file);
    run_forward(&c);
    run_backward(&c);
    assert_golden(c.output, &file, "output", MHA_OUTPUT);
    assert_golden(attention_of(&c), &file, "weights", MHA_ATTENTION_WEIGHTS);
    assert_golden(c.dx_query, &file, "grad_query", MHA_QUERY);
    if (c.source != NULL) {
        assert_golden(c.dx_source, &file, "grad_context", MHA_SOURCE);
    }
    for (size_t i = 0; i < COUNT(matrices) && file.drawn == NULL; i++) {
        assert_golden(c.dweights + i * file.shape.width * file.shape.width, &file,
            matrix_gradients[i], matrices[i]);
    }
    if (file.shape.width <= REFERENCE_WIDTH) {
        assert_reference(&c);
    }
    close_case(&c);
    golden_close(&file);
}
END_TEST

START_TEST(every_file_of_the_folder_is_read) {
    char *unknown;
    const size_t found = golden_files(&unknown, files, COUNT(files));
    ck_assert_msg(unknown == NULL, "%s is in the folder, but not in the list", unknown);
    ck_assert_uint_eq(found, COUNT(files));
    free(unknown);
}
END_TEST

Suite *golden_suite(void) {
    Suite *suite = suite_create(MHA_PRECISION == 32 ? "golden (float)" : "golden (double)");
    for (wing chosen = WING_REFERENCE; chosen < WINGS; chosen++) {
        TCase *cases = wing_case("arrays", chosen);
        tcase_add_loop_test(cases, layer_has_the_golden_values, 0, (int)COUNT(files));
        suite_add_tcase(suite, cases);
    }
    TCase *others = tcase_create("folder");
    tcase_add_test(others, every_file_of_the_folder_is_read);
    suite_add_tcase(suite, others);
    return suite;
}
