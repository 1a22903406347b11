/* What both fuzz targets do with the bytes of a file. */
#ifndef TESTS_FUZZ_READER_H
#define TESTS_FUZZ_READER_H

#include <stddef.h>
#include <stdint.h>

#include <mha/io.h>

typedef mha_status array_reader(
    mha_arrays **arrays, const char *path, size_t max_bytes, mha_error *error);

/* Writes the bytes into a file in memory and reads it. What is read is touched to its last byte,
 * given to mha_weight_set_take, written back and read again; what is refused must say so in one
 * line. Aborts when any of this goes wrong. */
void fuzz_reader(array_reader *reader, const uint8_t *bytes, size_t size);

/* The entry point that libFuzzer calls. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif
