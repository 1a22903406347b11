#include "golden_file.h"

#include <check.h>
#include <dirent.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mha/rng.h>

#define ENDING ".npz"

static const char *golden_folder(void) {
    const char *folder = getenv("MHA_GOLDEN");
    ck_assert_msg(folder != NULL, "MHA_GOLDEN must name the folder of the golden arrays");
    return folder;
}

static const mha_array *golden_array(const golden_file *file, const char *name) {
    const mha_array *array = mha_arrays_find(file->arrays, name);
    ck_assert_msg(array != NULL, "%s holds no %s", file->name, name);
    return array;
}

static int64_t golden_integer(const golden_file *file, const char *name) {
    const mha_array *array = golden_array(file, name);
    ck_assert_msg(
        array->dtype == MHA_INT64 && array->rank == 0, "%s: %s is no integer", file->name, name);
    return *(const int64_t *)array->data;
}

bool golden_has(const golden_file *file, const char *name) {
    return mha_arrays_find(file->arrays, name) != NULL;
}

static void read_shape(golden_file *file) {
    const mha_array *query = golden_array(file, "query");
    const mha_array *source = golden_array(file, golden_has(file, "context") ? "context" : "query");
    ck_assert_uint_eq(query->rank, 3);
    ck_assert_uint_eq(source->rank, 3);
    file->shape = (mha_shape){query->dims[0], query->dims[1], source->dims[1], query->dims[2],
        (size_t)golden_integer(file, "heads")};
    ck_assert_int_eq(mha_shape_check(&file->shape, NULL), MHA_OK);
}

static void read_mask(golden_file *file) {
    const int64_t causal = golden_integer(file, "causal");
    static const mha_causal alignments[] = {
        MHA_CAUSAL_OFF, MHA_CAUSAL_SQUARE, MHA_CAUSAL_TOP_LEFT, MHA_CAUSAL_BOTTOM_RIGHT};
    ck_assert_msg(causal >= 0 && causal < 4, "%s: causal is %lld", file->name, (long long)causal);
    file->mask.causal = alignments[causal];
    if (golden_has(file, "lengths")) {
        const mha_array *lengths = golden_array(file, "lengths");
        ck_assert_int_eq(lengths->dtype, MHA_INT64);
        ck_assert_uint_eq(mha_array_count(lengths), file->shape.batch);
        file->mask.lengths = lengths->data;
    }
    if (golden_has(file, "mask")) {
        const mha_array *mask = golden_array(file, "mask");
        ck_assert_int_eq(mask->dtype, MHA_BOOL);
        ck_assert_uint_le(mask->rank, 4);
        file->mask.allowed = mask->data;
        file->mask.rank = mask->rank;
        memcpy(file->mask.dims, mask->dims, mask->rank * sizeof *mask->dims);
    }
    mha_error error;
    ck_assert_msg(mha_mask_check(&file->mask, &file->shape, &error) == MHA_OK, "%s: %s", file->name,
        error.text);
}

/* The handbook's layer: (D,3D) with the columns of q, k, v in turn, then wo, times sqrt(2/D). */
static void draw_matrices(golden_file *file) {
    const size_t D = file->shape.width;
    const double scale = sqrt(2.0 / (double)D);
    mha_legacy_rng rng;
    mha_legacy_rng_seed(&rng, (uint32_t)golden_integer(file, "seed"));
    file->drawn = malloc(MHA_WEIGHT_COUNT * D * D * sizeof *file->drawn);
    ck_assert_ptr_nonnull(file->drawn);
    for (size_t row = 0; row < D; row++) {
        for (size_t column = 0; column < 3 * D; column++) {
            file->drawn[(column / D * D + row) * D + column % D] =
                mha_legacy_rng_normal(&rng) * scale;
        }
    }
    for (size_t i = 3 * D * D; i < 4 * D * D; i++) {
        file->drawn[i] = mha_legacy_rng_normal(&rng) * scale;
    }
}

void golden_open(golden_file *file, const char *name) {
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/%s" ENDING, golden_folder(), name);
    ck_assert(length > 0 && (size_t)length < sizeof path);
    *file = (golden_file){.name = name};
    mha_error error;
    ck_assert_msg(mha_npz_read(&file->arrays, path, 0, &error) == MHA_OK, "%s", error.text);
    read_shape(file);
    read_mask(file);
    if (golden_has(file, "seed")) {
        draw_matrices(file);
    }
}

void golden_close(golden_file *file) {
    mha_arrays_free(file->arrays);
    free(file->drawn);
}

const double *golden_numbers(const golden_file *file, const char *name, mha_value value) {
    const mha_array *array = golden_array(file, name);
    const mha_value_shape shape = mha_value_shape_of(value, &file->shape);
    ck_assert_msg(array->dtype == MHA_FLOAT64, "%s: %s is %s, not float64", file->name, name,
        mha_dtype_name(array->dtype));
    char text[MHA_SHAPE_TEXT_SIZE];
    ck_assert_msg(array->rank == shape.rank &&
                      memcmp(array->dims, shape.dims, shape.rank * sizeof *shape.dims) == 0,
        "%s: %s has the shape %s", file->name, name, mha_array_shape_text(text, array));
    return array->data;
}

const double *golden_matrix(const golden_file *file, mha_value value) {
    const size_t D = file->shape.width;
    return file->drawn == NULL
               ? golden_numbers(file, mha_value_shape_of(value, &file->shape).name, value)
               : file->drawn + (size_t)(value - MHA_FIRST_WEIGHT) * D * D;
}

static bool is_named(const char *entry, size_t length, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strlen(names[i]) == length && memcmp(entry, names[i], length) == 0) {
            return true;
        }
    }
    return false;
}

size_t golden_files(char **unknown, const char *const *names, size_t count) {
    DIR *folder = opendir(golden_folder());
    ck_assert_msg(folder != NULL, "%s is no folder", golden_folder());
    size_t found = 0;
    *unknown = NULL;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        const size_t size = strlen(entry->d_name), ending = strlen(ENDING);
        if (size < ending || strcmp(entry->d_name + size - ending, ENDING) != 0) {
            continue;
        }
        found++;
        if (*unknown == NULL && !is_named(entry->d_name, size - ending, names, count)) {
            *unknown = strdup(entry->d_name);
        }
    }
    closedir(folder);
    return found;
}
