/* The task arrays: what is refused, and the words. */
#include "check_task_arrays.h"

#include <math.h>
#include <string.h>

#include "folder.h"
#include "task_arrays.h"

enum { N = 3, T = 2, D = 4 };

static const float zeros[256];
static const unsigned char ones[64] = {1, 1, 1, 1, 1, 1};
static const int64_t labels[N * T] = {0, 1, 2, 3, 0, -1};

#define QUERY  ARRAY_OF("query", MHA_FLOAT32, zeros, N, T, D)
#define TARGET ARRAY_OF("target", MHA_FLOAT32, zeros, N, T, D)
#define LABELS ARRAY_OF("labels", MHA_INT64, labels, N, T)

static const struct {
    mha_status status;
    const char *ending;
    mha_array arrays[MOST_ARRAYS];
} files[] = {
    {MHA_ERROR_FORMAT, ": no array 'query'", {TARGET}},
    {MHA_ERROR_FORMAT,
        ": no array 'target' (for mean squared error) or 'labels' (for cross-entropy)", {QUERY}},
    {MHA_ERROR_FORMAT,
        ": both target (for mean squared error) and labels (for cross-entropy): give one",
        {QUERY, TARGET, LABELS}},
    {MHA_ERROR_FORMAT, ": query is int64, floating numbers are needed",
        {ARRAY_OF("query", MHA_INT64, zeros, N, T, D), TARGET}},
    {MHA_ERROR_FORMAT, ": context is uint8, floating numbers are needed",
        {QUERY, ARRAY_OF("context", MHA_UINT8, zeros, N, T, D), TARGET}},
    {MHA_ERROR_FORMAT, ": target is bool, floating numbers are needed",
        {QUERY, ARRAY_OF("target", MHA_BOOL, zeros, N, T, D)}},
    {MHA_ERROR_FORMAT, ": query has shape (3, 4), (examples, target length, width) is needed",
        {ARRAY_OF("query", MHA_FLOAT32, zeros, N, D), TARGET}},
    {MHA_ERROR_SHAPE, ": query has shape (0, 2, 4), and no axis may be 0",
        {ARRAY_OF("query", MHA_FLOAT32, zeros, 0, T, D), TARGET}},
    {MHA_ERROR_SHAPE, ": query has shape (3, 0, 4), and no axis may be 0",
        {ARRAY_OF("query", MHA_FLOAT32, zeros, N, 0, D), TARGET}},
    {MHA_ERROR_SHAPE, ": query has shape (3, 2, 0), and no axis may be 0",
        {ARRAY_OF("query", MHA_FLOAT32, zeros, N, T, 0), TARGET}},
    {MHA_ERROR_SHAPE, ": context has shape (3, 0, 4), and no axis may be 0",
        {QUERY, ARRAY_OF("context", MHA_FLOAT32, zeros, N, 0, D), TARGET}},
    {MHA_ERROR_SHAPE,
        ": context (2, 5, 4) has 2 examples, query (3, 2, 4) has 3: give as many, or 1 for all",
        {QUERY, ARRAY_OF("context", MHA_FLOAT32, zeros, 2, 5, D), TARGET}},
    {MHA_ERROR_SHAPE, ": context (3, 5, 3) has width 3, query (3, 2, 4) has 4",
        {QUERY, ARRAY_OF("context", MHA_FLOAT32, zeros, N, 5, 3), TARGET}},
    {MHA_ERROR_SHAPE, ": target (3, 1, 4) has target length 1, query (3, 2, 4) has 2",
        {QUERY, ARRAY_OF("target", MHA_FLOAT32, zeros, N, 1, D)}},
    {MHA_ERROR_FORMAT, ": labels is float32, integers are needed",
        {QUERY, ARRAY_OF("labels", MHA_FLOAT32, zeros, N, T)}},
    {MHA_ERROR_FORMAT, ": labels is bool, integers are needed",
        {QUERY, ARRAY_OF("labels", MHA_BOOL, zeros, N, T)}},
    {MHA_ERROR_FORMAT, ": labels has shape (3, 2, 1), (examples, target length) is needed",
        {QUERY, ARRAY_OF("labels", MHA_INT64, labels, N, T, 1)}},
    {MHA_ERROR_SHAPE, ": labels (3, 1) has target length 1, query (3, 2, 4) has 2",
        {QUERY, ARRAY_OF("labels", MHA_INT64, labels, N, 1)}},
    {MHA_ERROR_SHAPE, ": count (2, 2) has example count 2, query (3, 2, 4) has 3",
        {QUERY, TARGET, ARRAY_OF("count", MHA_BOOL, ones, 2, T)}},
    {MHA_ERROR_FORMAT, ": count is float64, booleans are needed",
        {QUERY, TARGET, ARRAY_OF("count", MHA_FLOAT64, zeros, N, T)}},
    {MHA_ERROR_FORMAT, ": labels[1, 0] is -2, neither a class from 0 on nor -1 (does not count)",
        {QUERY, ARRAY_OF("labels", MHA_INT64, ((const int64_t[]){0, 1, -2, 3, 0, 0}), N, T)}},
    {MHA_ERROR_SHAPE, ": width 4 cannot hold the 7 classes of labels",
        {QUERY, ARRAY_OF("labels", MHA_INT64, ((const int64_t[]){0, 1, 6, 3, 0, 0}), N, T)}},
    {MHA_ERROR_SHAPE, ": width 4 cannot hold the 9223372036854775808 classes of labels",
        {QUERY,
            ARRAY_OF("labels", MHA_INT64, ((const int64_t[]){0, 1, INT64_MAX, 3, 0, 0}), N, T)}},
    {MHA_ERROR_SHAPE, ": width 1 cannot hold the 2 classes of labels",
        {ARRAY_OF("query", MHA_FLOAT32, zeros, N, T, 1),
            ARRAY_OF("labels", MHA_INT64, ((const int64_t[N *T]){0}), N, T)}},
    {MHA_ERROR_FORMAT, ": count[2, 1] is 2, neither 0 (does not count) nor 1 (counts)",
        {QUERY, TARGET, ARRAY_OF("count", MHA_INT64, ((const int64_t[]){0, 1, 0, 1, 0, 2}), N, T)}},
    {MHA_ERROR_FORMAT, ": no position of the 3 training examples counts",
        {QUERY, TARGET, ARRAY_OF("count", MHA_BOOL, zeros, N, T)}},
    {MHA_ERROR_FORMAT, ": no position of the 3 training examples counts",
        {QUERY, ARRAY_OF("labels", MHA_INT64, ((const int64_t[]){-1, -1, -1, -1, -1, -1}), N, T)}},
    {MHA_ERROR_FORMAT, ": no position of the 3 training examples counts",
        {QUERY, LABELS, ARRAY_OF("lengths", MHA_INT64, ((const int64_t[N]){0}), N)}},
    {MHA_ERROR_MASK,
        ": mask (3, 2) looks like padding (batch, source length), a rank-2 mask is (target length, "
        "source length) = (2, 2): give lengths, or a mask (3, 1, 1, 2)",
        {QUERY, TARGET, ARRAY_OF("mask", MHA_BOOL, ones, N, T)}},
    {MHA_ERROR_MASK, ": length 3 of sample 1 exceeds the source length 2",
        {QUERY, TARGET, ARRAY_OF("lengths", MHA_INT64, ((const int64_t[]){2, 3, 1}), N)}},
};
enum { FILES = sizeof files / sizeof *files };

START_TEST(unusable_files_are_refused) {
    examples_write("a.npz", files[_i].arrays);
    struct settings settings = arrays_settings("a.npz");
    assert_arrays_refused(&settings, files[_i].status, files[_i].ending);
}
END_TEST

START_TEST(data_must_be_named) {
    struct settings settings = task_find("arrays")->defaults;
    assert_arrays_refused(&settings, MHA_ERROR_ARGUMENT, "the task arrays needs --data FILE");
}
END_TEST

/* Number 11 is [1, 0, 3]; 1e39 is finite as a double alone. */
START_TEST(numbers_must_be_finite) {
    static const struct {
        const char *array, *ending;
        float number;
    } cases[] = {{"query", ": query[1, 0, 3] is nan", NAN},
        {"target", ": target[1, 0, 3] is inf", INFINITY},
        {"context", ": context[1, 0, 3] is -inf, and a query may see that row", -INFINITY}};
    float numbers[N * T * D] = {0};
    double doubles[N * T * D] = {0};
    doubles[11] = 1e39;
    for (size_t i = 0; i < 3; i++) {
        mha_array arrays[MOST_ARRAYS] = {
            QUERY, TARGET, ARRAY("context", MHA_FLOAT32, zeros, N, T, D)};
        numbers[11] = cases[i].number;
        arrays[i].data = numbers;
        examples_write("a.npz", arrays);
        struct settings settings = arrays_settings("a.npz");
        assert_arrays_refused(&settings, MHA_ERROR_NOT_FINITE, cases[i].ending);
        arrays[i].data = doubles;
        arrays[i].dtype = MHA_FLOAT64;
        examples_write("a.npz", arrays);
        char ending[128];
        snprintf(ending, sizeof ending, ": %s[1, 0, 3] is 1e+39, beyond the largest float%s",
            cases[i].array, i == 2 ? ", and a query may see that row" : "");
        assert_arrays_refused(&settings, MHA_ERROR_NOT_FINITE, ending);
    }
}
END_TEST

/* A row of a shared context is seen when any example sees it; a head is enough. */
START_TEST(context_rows_that_are_seen_must_be_finite) {
    static const float context[2 * D] = {0, 0, 0, 0, NAN, 0, 0, 0};
    unsigned char allowed[N * 2 * 1 * 2] = {1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0};
    const mha_array arrays[MOST_ARRAYS] = {QUERY, TARGET,
        ARRAY("context", MHA_FLOAT32, context, 1, 2, D),
        ARRAY("mask", MHA_BOOL, allowed, N, 2, 1, 2)};
    struct settings settings = arrays_settings("a.npz");
    settings.shape.heads = 2;
    examples_write("a.npz", arrays);
    struct trainer trainer = arrays_trainer(&settings);
    ck_assert_double_eq(loss_of_step(&trainer, 1), 0.0);
    trainer_destroy(&trainer);
    allowed[11] = 1; /* example 2, head 1, key 1 */
    examples_write("a.npz", arrays);
    assert_arrays_refused(
        &settings, MHA_ERROR_NOT_FINITE, ": context[0, 1, 0] is nan, and a query may see that row");
}
END_TEST

/* With N = h a mask of rank 3 might be of examples or of heads. */
START_TEST(ambiguous_masks_are_refused) {
    examples_write("a.npz",
        (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, zeros, 2, T, D),
            ARRAY("target", MHA_FLOAT32, zeros, 2, T, D), ARRAY("mask", MHA_BOOL, ones, 2, T, T)});
    struct settings settings = arrays_settings("a.npz");
    struct trainer trainer = arrays_trainer(&settings);
    trainer_destroy(&trainer);
    settings.shape.heads = 2;
    assert_arrays_refused(&settings, MHA_ERROR_MASK,
        ": a rank-3 mask could belong to 2 samples or to 2 heads: give (2, 1, 2, 2) or (1, 2, 2, "
        "2)");
}
END_TEST

START_TEST(settings_must_fit_the_data) {
    examples_write("a.npz", (const mha_array[MOST_ARRAYS]){
                                QUERY, ARRAY("context", MHA_FLOAT32, zeros, N, 5, D), TARGET});
    const struct settings good = arrays_settings("a.npz");
    struct settings settings = good;
    settings.shape.width = 8;
    assert_arrays_refused(&settings, MHA_ERROR_SHAPE, ": query has width 4, not 8");
    settings = good;
    settings.shape.target_length = 5;
    assert_arrays_refused(&settings, MHA_ERROR_SHAPE, ": query has target length 2, not 5");
    settings = good;
    settings.shape.source_length = 2;
    assert_arrays_refused(&settings, MHA_ERROR_SHAPE, ": context has source length 5, not 2");
    settings = good;
    settings.shape.heads = 3;
    assert_arrays_refused(&settings, MHA_ERROR_SHAPE, "width 4 is not divisible by 3 heads");
    settings = good;
    settings.shape.batch = 4;
    assert_arrays_refused(
        &settings, MHA_ERROR_SHAPE, ": batch 4 is more than the 3 training examples");
    settings.shape.batch = 3;
    settings.validation = 0.3;
    assert_arrays_refused(
        &settings, MHA_ERROR_SHAPE, ": batch 3 is more than the 2 training examples");
    settings = good;
    settings.causal = MHA_CAUSAL_SQUARE;
    assert_arrays_refused(&settings, MHA_ERROR_MASK,
        ": causal with target length 2 and source length 5 needs an alignment: top-left or "
        "bottom-right");
    settings.causal = MHA_CAUSAL_BOTTOM_RIGHT;
    struct trainer trainer = arrays_trainer(&settings);
    trainer_destroy(&trainer);
}
END_TEST

/* The file of held-out examples against that of training; both paths are in the words. */
static void assert_eval_refused(
    mha_status status, const char *ending, const mha_array *data, const mha_array *eval_data) {
    examples_write("data.npz", data);
    examples_write("eval.npz", eval_data);
    struct settings settings = arrays_settings("data.npz");
    settings.eval_data = folder_path("eval.npz");
    char text[2048];
    const char *named = strstr(ending, "data.npz");
    snprintf(text, sizeof text, "%.*s%s%s", (int)(named != NULL ? named - ending : 0), ending,
        named != NULL ? settings.data : "", named != NULL ? named + strlen("data.npz") : ending);
    assert_arrays_refused(&settings, status, text);
}

START_TEST(held_out_files_must_agree) {
    const mha_array data[MOST_ARRAYS] = {QUERY, TARGET}, classes[MOST_ARRAYS] = {QUERY, LABELS};
    assert_eval_refused(MHA_ERROR_FORMAT, " has labels, data.npz has target", data, classes);
    assert_eval_refused(MHA_ERROR_FORMAT, " has target, data.npz has labels", classes, data);
    assert_eval_refused(MHA_ERROR_FORMAT, " has a context, data.npz has none", data,
        (const mha_array[MOST_ARRAYS]){
            QUERY, TARGET, ARRAY("context", MHA_FLOAT32, zeros, N, T, D)});
    assert_eval_refused(MHA_ERROR_SHAPE, ": query has target length 3, data.npz has 2", data,
        (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, zeros, 1, 3, D),
            ARRAY("target", MHA_FLOAT32, zeros, 1, 3, D)});
    assert_eval_refused(MHA_ERROR_SHAPE, ": query has width 2, data.npz has 4", data,
        (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, zeros, 1, T, 2),
            ARRAY("target", MHA_FLOAT32, zeros, 1, T, 2)});
    assert_eval_refused(MHA_ERROR_SHAPE, ": labels[0, 1] is 4, the classes of data.npz are 0 to 3",
        classes,
        (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, zeros, 1, T, D),
            ARRAY("labels", MHA_INT64, ((const int64_t[]){3, 4}), 1, T)});
    assert_eval_refused(MHA_ERROR_FORMAT, ": no position of the 1 held-out examples counts",
        classes,
        (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, zeros, 1, T, D),
            ARRAY("labels", MHA_INT64, ((const int64_t[]){-1, -1}), 1, T)});
    assert_eval_refused(MHA_ERROR_NOT_FINITE, ": query[0, 0, 0] is nan", data,
        (const mha_array[MOST_ARRAYS]){
            ARRAY("query", MHA_FLOAT32, ((const float[T *D]){NAN}), 1, T, D),
            ARRAY("target", MHA_FLOAT32, zeros, 1, T, D)});
}
END_TEST

TCase *task_arrays_refusals(void) {
    TCase *refusals = tcase_create("refusals");
    tcase_add_checked_fixture(refusals, folder_make, folder_remove);
    tcase_add_loop_test(refusals, unusable_files_are_refused, 0, FILES);
    tcase_add_test(refusals, data_must_be_named);
    tcase_add_test(refusals, numbers_must_be_finite);
    tcase_add_test(refusals, context_rows_that_are_seen_must_be_finite);
    tcase_add_test(refusals, ambiguous_masks_are_refused);
    tcase_add_test(refusals, settings_must_fit_the_data);
    tcase_add_test(refusals, held_out_files_must_agree);
    return refusals;
}
