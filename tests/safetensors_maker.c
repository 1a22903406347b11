#include "safetensors_maker.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array_assert.h"
#include "folder.h"

static const char file_name[] = "a.safetensors";

void safetensors_make_claiming(
    uint64_t claimed, const void *header, size_t size, const void *data, size_t data_size) {
    FILE *file = fopen(folder_path(file_name), "wb");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < 8; i++) {
        ck_assert_int_ne(fputc((int)(claimed >> 8 * i & 0xff), file), EOF);
    }
    ck_assert_uint_eq(fwrite(header, 1, size, file), size);
    if (data != NULL) {
        ck_assert_uint_eq(fwrite(data, 1, data_size, file), data_size);
    } else {
        for (size_t i = 0; i < data_size; i++) {
            ck_assert_int_ne(fputc((int)(i & 0xff), file), EOF);
        }
    }
    ck_assert_int_eq(fclose(file), 0);
}

void safetensors_make(const char *header, const void *data, size_t data_size) {
    const size_t size = strlen(header);
    safetensors_make_claiming(size, header, size, data, data_size);
}

mha_arrays *safetensors_read(void) {
    return read_arrays_with(mha_safetensors_read, file_name);
}

void safetensors_assert_refused_within(size_t max_bytes, mha_status expected, const char *words) {
    mha_error error = {0};
    mha_arrays *arrays = NULL;
    mha_status status = mha_safetensors_read(&arrays, folder_path(file_name), max_bytes, &error);
    ck_assert_msg(status != MHA_OK, "read, and not refused with \"%s\"", words);
    ck_assert_ptr_null(arrays);
    ck_assert_int_eq(status, error.status);
    ck_assert_msg(status == expected, "status %d of \"%s\"", (int)status, error.text);
    ck_assert_msg(strstr(error.text, file_name) != NULL, "\"%s\" lacks the file", error.text);
    ck_assert_msg(strstr(error.text, words) != NULL, "\"%s\" lacks \"%s\"", error.text, words);
    for (const char *at = error.text; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f) {
            ck_abort_msg("a control character in \"%s\"", error.text);
        }
    }
    ck_assert_int_eq(
        mha_safetensors_read(&arrays, folder_path(file_name), max_bytes, NULL), expected);
}

void safetensors_assert_refused(mha_status status, const char *words) {
    safetensors_assert_refused_within(0, status, words);
}

void safetensors_assert_header_refused(const char *header, size_t data_size, const char *words) {
    safetensors_make(header, NULL, data_size);
    safetensors_assert_refused(MHA_ERROR_FORMAT, words);
}
