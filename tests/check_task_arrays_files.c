/* The task arrays: formats, kinds of numbers, and the fingerprint of what was read. */
#include "check_task_arrays.h"

#include <stdio.h>
#include <string.h>

#include "folder.h"
#include "task_arrays.h"

/* Two examples of two positions and two features, exact in every precision. */
static const float floats[] = {1, -2, 0.5f, 3, -0.25f, 8, 1.5f, -1};
static const double doubles[] = {1, -2, 0.5, 3, -0.25, 8, 1.5, -1};
static const uint16_t halves[] = {0x3c00, 0xc000, 0x3800, 0x4200, 0xb400, 0x4800, 0x3e00, 0xbc00};
static const uint16_t brains[] = {0x3f80, 0xc000, 0x3f00, 0x4040, 0xbe80, 0x4100, 0x3fc0, 0xbf80};
static const int64_t labels[] = {0, 1, -1, 1};

/* A .safetensors file by hand: query of a 16-bit dtype, and labels. */
static void write_safetensors(const char *file, const char *dtype, const uint16_t *numbers) {
    unsigned char bytes[512] = {0};
    char *header = (char *)bytes + 8;
    snprintf(header, sizeof bytes - 8,
        "{\"query\":{\"dtype\":\"%s\",\"shape\":[2,2,2],\"data_offsets\":[0,16]},"
        "\"labels\":{\"dtype\":\"I8\",\"shape\":[2,2],\"data_offsets\":[16,20]}}",
        dtype);
    const size_t length = strlen(header);
    bytes[0] = (unsigned char)length;
    for (size_t i = 0; i < 8; i++) {
        bytes[8 + length + 2 * i] = (unsigned char)(numbers[i] & 0xff);
        bytes[8 + length + 2 * i + 1] = (unsigned char)(numbers[i] >> 8);
    }
    for (size_t i = 0; i < 4; i++) {
        bytes[8 + length + 16 + i] = (unsigned char)labels[i];
    }
    folder_write(file, bytes, 8 + length + 20);
}

/* The query's examples in the order of the file. */
static void assert_query(const char *file) {
    struct settings settings = arrays_settings(file);
    settings.eval_data = settings.data;
    struct trainer trainer = arrays_trainer(&settings);
    ck_assert_int_eq(trainer.form.loss, TASK_CROSS_ENTROPY);
    ck_assert_uint_eq(trainer.form.classes, 2);
    mha_rng rng = held_out_begin(&trainer, STREAM_HELD_OUT);
    held_out_next(&trainer, &rng, 0, 2);
    ck_assert_mem_eq(trainer.batch.query, floats, sizeof floats);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(trainer.batch.labels[i], labels[i]);
    }
    trainer_destroy(&trainer);
}

START_TEST(every_format_and_precision_is_read) {
    static const char *const files[] = {"a.npz", "a.safetensors"};
    for (size_t i = 0; i < 2; i++) {
        examples_write(
            files[i], (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, floats, 2, 2, 2),
                          ARRAY("labels", MHA_INT64, labels, 2, 2)});
        assert_query(files[i]);
        examples_write(
            files[i], (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT64, doubles, 2, 2, 2),
                          ARRAY("labels", MHA_INT64, labels, 2, 2)});
        assert_query(files[i]);
    }
    write_safetensors("half.safetensors", "F16", halves);
    assert_query("half.safetensors");
    write_safetensors("brain.safetensors", "BF16", brains);
    assert_query("brain.safetensors");
}
END_TEST

/* 1/3 to the nearest float, which is above it. */
START_TEST(doubles_are_rounded_to_floats) {
    const double third[] = {1.0 / 3.0};
    examples_write(
        "a.npz", (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT64, third, 1, 1, 1),
                     ARRAY("target", MHA_FLOAT64, third, 1, 1, 1)});
    struct settings settings = arrays_settings("a.npz");
    struct trainer trainer = arrays_trainer(&settings);
    trainer.task->fill_step(&trainer.batch, 1, trainer.data);
    ck_assert_double_eq((double)trainer.batch.query[0], 0x1.555556p-2);
    ck_assert_double_eq((double)trainer.batch.target[0], 0x1.555556p-2);
    trainer_destroy(&trainer);
}
END_TEST

START_TEST(settings_have_the_sizes_of_the_data) {
    static const float context[2 * 5 * 2] = {0};
    examples_write(
        "a.npz", (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, floats, 2, 2, 2),
                     ARRAY("context", MHA_FLOAT32, context, 2, 5, 2),
                     ARRAY("target", MHA_FLOAT32, floats, 2, 2, 2)});
    struct settings settings = arrays_settings("a.npz");
    settings.shape.heads = 2;
    struct trainer trainer = arrays_trainer(&settings);
    const mha_shape expected = {2, 2, 5, 2, 2};
    ck_assert_mem_eq(&trainer.settings.shape, &expected, sizeof expected);
    ck_assert_int_eq(trainer.settings.loss, TASK_MSE);
    ck_assert(trainer.form.cross);
    ck_assert_uint_ne(trainer.settings.fingerprint, 0);
    trainer_destroy(&trainer);
}
END_TEST

static uint64_t fingerprint_of(const char *file, const mha_array *arrays) {
    examples_write(file, arrays);
    struct settings settings = arrays_settings(file);
    struct trainer trainer = arrays_trainer(&settings);
    const uint64_t fingerprint = trainer.settings.fingerprint;
    ck_assert_uint_eq(fingerprint, trainer.task->fingerprint(trainer.data));
    trainer_destroy(&trainer);
    return fingerprint;
}

START_TEST(fingerprint_is_that_of_what_is_read) {
    static const float changed[] = {1, -2, 0.5f, 3, -0.25f, 8, 1.5f, -1.5f};
    static const unsigned char seen[] = {1, 1, 1, 1}, some[] = {1, 1, 0, 1};
    static const int64_t lengths[] = {2, 2}, shorter[] = {2, 1};
    const mha_array base[MOST_ARRAYS] = {ARRAY("query", MHA_FLOAT32, floats, 2, 2, 2),
        ARRAY("context", MHA_FLOAT32, floats, 2, 2, 2),
        ARRAY("target", MHA_FLOAT32, floats, 2, 2, 2), ARRAY("mask", MHA_BOOL, seen, 2, 2),
        ARRAY("lengths", MHA_INT64, lengths, 2), ARRAY("count", MHA_BOOL, seen, 2, 2)};
    uint64_t found[8];
    found[0] = fingerprint_of("a.npz", base);
    const void *const data[] = {changed, changed, changed, some, shorter, some};
    mha_array arrays[MOST_ARRAYS];
    for (size_t i = 0; i < 6; i++) {
        memcpy(arrays, base, sizeof arrays);
        arrays[i].data = data[i];
        found[i + 1] = fingerprint_of("b.npz", arrays);
    }
    memcpy(arrays, base, sizeof arrays);
    arrays[5].dtype = MHA_UINT8; /* of the same bytes */
    found[7] = fingerprint_of("b.npz", arrays);
    for (size_t i = 0; i < 8; i++) {
        for (size_t j = 0; j < i; j++) {
            ck_assert_msg(found[i] != found[j], "%zu and %zu have one fingerprint", i, j);
        }
    }
    /* The same arrays elsewhere, and one that the task does not read. */
    memcpy(arrays, base, sizeof arrays);
    arrays[7] = ARRAY("wq", MHA_FLOAT32, floats, 2, 2);
    ck_assert_uint_eq(fingerprint_of("c.safetensors", base), found[0]);
    ck_assert_uint_eq(fingerprint_of("d.npz", arrays), found[0]);
}
END_TEST

/* What a run knows of its data is compared when it is opened again. */
START_TEST(other_data_are_refused) {
    const mha_array arrays[MOST_ARRAYS] = {ARRAY("query", MHA_FLOAT32, floats, 2, 2, 2),
        ARRAY("target", MHA_FLOAT32, floats, 2, 2, 2)};
    struct settings settings = arrays_settings("a.npz");
    settings.fingerprint = fingerprint_of("a.npz", arrays);
    struct trainer trainer = arrays_trainer(&settings);
    trainer_destroy(&trainer);
    settings.fingerprint++;
    mha_error error;
    ck_assert_int_eq(
        trainer_create(&trainer, task_find("arrays"), &settings, &error), MHA_ERROR_FORMAT);
    ck_assert_ptr_nonnull(strstr(error.text, "a.npz has changed: its fingerprint is "));
}
END_TEST

TCase *task_arrays_files(void) {
    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, folder_make, folder_remove);
    tcase_add_test(files, every_format_and_precision_is_read);
    tcase_add_test(files, doubles_are_rounded_to_floats);
    tcase_add_test(files, settings_have_the_sizes_of_the_data);
    tcase_add_test(files, fingerprint_is_that_of_what_is_read);
    tcase_add_test(files, other_data_are_refused);
    return files;
}
