#define _GNU_SOURCE /* memfd_create */
#include "fuzz_reader.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mha/layouts.h>

enum { MAX_BYTES = 16 << 20 };

static volatile unsigned sink; /* so that no reading is left out */

static void require(bool condition, const char *what) {
    if (!condition) {
        fprintf(stderr, "fuzz: %s\n", what);
        abort();
    }
}

/* Every byte of every array, so that a sanitizer sees what is not there. */
static unsigned touch(const mha_arrays *arrays) {
    unsigned sum = 0;
    for (size_t i = 0; i < mha_arrays_count(arrays); i++) {
        const mha_array *array = mha_arrays_at(arrays, i);
        const size_t count = mha_array_count(array), bytes = mha_dtype_bytes(array->dtype);
        require(count <= MAX_BYTES / bytes, "an array is larger than was allowed");
        require(mha_arrays_find(arrays, array->name) == array, "an array is not found by its name");
        for (size_t j = 0; j < count * bytes; j++) {
            sum += ((const unsigned char *)array->data)[j];
        }
    }
    for (size_t i = 0; i < mha_arrays_skipped_count(arrays); i++) {
        sum += (unsigned)strlen(mha_arrays_skipped_at(arrays, i));
    }
    return sum;
}

static void check_refusal(mha_status status, const mha_error *error) {
    require(error->status == status, "the error has another status");
    require(error->text[0] != '\0', "the error has no text");
    require(strchr(error->text, '\n') == NULL, "the error has more than one line");
}

static void take_weights(const mha_arrays *arrays) {
    mha_weight_set set;
    mha_error error;
    const mha_status status =
        mha_weight_set_take(&set, arrays, "weights", &(mha_layout_hint){0}, &error);
    if (status == MHA_OK) {
        mha_weight_set_free(&set);
    } else {
        check_refusal(status, &error);
    }
}

/* What was read can be told apart from nothing else: writing and reading it gives the same arrays. */
static void write_back(const mha_arrays *arrays) {
    static char path[1024];
    if (path[0] == '\0') {
        const char *base = getenv("TMPDIR");
        snprintf(
            path, sizeof path, "%s/fuzz-%ld.npz", base != NULL ? base : "/tmp", (long)getpid());
    }
    const size_t count = mha_arrays_count(arrays);
    mha_array *copies = calloc(count + 1, sizeof *copies);
    require(copies != NULL, "no memory for copies");
    for (size_t i = 0; i < count; i++) {
        copies[i] = *mha_arrays_at(arrays, i);
    }
    mha_arrays *again = NULL;
    const mha_status status = mha_npz_write(path, copies, count, NULL);
    /* A name may be one that no .npz file can have. */
    require(status == MHA_OK || status == MHA_ERROR_ARGUMENT, "it cannot be written again");
    if (status == MHA_OK) {
        require(mha_npz_read(&again, path, MAX_BYTES, NULL) == MHA_OK, "it cannot be read again");
        require(mha_arrays_count(again) == count, "an array was lost");
        for (size_t i = 0; i < count; i++) {
            const mha_array *array = mha_arrays_at(again, i);
            require(array->dtype == copies[i].dtype && array->rank == copies[i].rank &&
                        memcmp(array->data, copies[i].data,
                            mha_array_count(array) * mha_dtype_bytes(array->dtype)) == 0,
                "an array has changed");
        }
        unlink(path);
    }
    mha_arrays_free(again);
    free(copies);
}

void fuzz_reader(array_reader *reader, const uint8_t *bytes, size_t size) {
    const int file = memfd_create("fuzz", 0);
    require(file >= 0 && write(file, bytes, size) == (ssize_t)size, "no file in memory");
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    mha_arrays *arrays = NULL;
    mha_error error;
    const mha_status status = reader(&arrays, path, MAX_BYTES, &error);
    if (status == MHA_OK) {
        sink += touch(arrays);
        take_weights(arrays);
        write_back(arrays);
        mha_arrays_free(arrays);
    } else {
        require(arrays == NULL, "there are arrays beside an error");
        check_refusal(status, &error);
    }
    close(file);
}
