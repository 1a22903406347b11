#include "io/stored.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "io/arrays.h"
#include "io/transpose.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "arrays are copied between memory and little-endian files without swapping bytes"
#endif

enum { CHUNK_BYTES = 1 << 16 }; /* read at a time */

/* Whether numbers change places on the way from the order of Fortran: for a moment they are then in
 * memory twice. */
static bool is_transposed(const mha_array *array, const stored_layout *layout, size_t count) {
    return layout->fortran_order && array->rank > 1 && count > 1;
}

static mha_status check_memory(size_t *count, const mha_array *array, const stored_layout *layout,
    size_t max_bytes, mha_error *error) {
    char shape[MHA_SHAPE_TEXT_SIZE];
    mha_array_shape_text(shape, array);
    size_t memory = 0;
    const char *name = layout->type->name;
    if (!array_measure(count, &memory, array, mha_dtype_bytes(layout->type->dtype))) {
        return mha_fail(error, MHA_ERROR_SIZE,
            "the axes of shape %s of %s need more than %zu bytes", shape, name,
            (size_t)PTRDIFF_MAX);
    }
    const bool twice = is_transposed(array, layout, *count);
    memory = twice ? 2 * memory : memory; /* below SIZE_MAX: memory is at most PTRDIFF_MAX */
    if (memory > max_bytes) {
        return mha_fail(error, MHA_ERROR_SIZE,
            "shape %s of %s needs %zu bytes of memory%s, more than the %zu allowed", shape, name,
            memory, twice ? " to be transposed" : "", max_bytes);
    }
    return MHA_OK;
}

/* Sets *count. */
static mha_status check_sizes(size_t *count, const mha_array *array, const stored_layout *layout,
    uint64_t left, size_t max_bytes, mha_error *error) {
    char shape[MHA_SHAPE_TEXT_SIZE];
    size_t needed = 0;
    const stored_dtype *type = layout->type;
    if (!array_measure(count, &needed, array, type->bytes)) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "shape %s of %s needs more bytes of data than the %llu that are there",
            mha_array_shape_text(shape, array), type->name, (unsigned long long)left);
    }
    if (needed != left) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "shape %s of %s needs %zu bytes of data, not the %llu that are there",
            mha_array_shape_text(shape, array), type->name, needed, (unsigned long long)left);
    }
    return check_memory(count, array, layout, max_bytes, error);
}

static void swap_bytes(unsigned char *numbers, size_t count, size_t bytes) {
    for (; count > 0; count--, numbers += bytes) {
        for (size_t low = 0, high = bytes - 1; low < high; low++, high--) {
            const unsigned char byte = numbers[low];
            numbers[low] = numbers[high];
            numbers[high] = byte;
        }
    }
}

/* Memory that grows as numbers come. */
typedef struct filling {
    unsigned char *data;
    size_t bytes;             /* of one number in memory */
    size_t count, done, room; /* numbers: in the end, so far, that there is memory for */
} filling;

/* Makes room for more numbers, at most twice as many as before if that is enough. */
static mha_status make_room(filling *f, size_t more, mha_error *error) {
    size_t room = f->room > f->count / 2 ? f->count : 2 * f->room;
    room = room < f->done + more ? f->done + more : room;
    if (f->data != NULL && room <= f->room) {
        return MHA_OK;
    }
    unsigned char *data = realloc(f->data, room > 0 ? room * f->bytes : 1);
    if (data == NULL) {
        return mha_fail(error, MHA_ERROR_MEMORY, "no memory for %zu of %zu numbers of %zu bytes",
            room, f->count, f->bytes);
    }
    f->data = data;
    f->room = room;
    return MHA_OK;
}

static mha_status refuse_number(
    const unsigned char *number, size_t index, const stored_dtype *type, mha_error *error) {
    uint64_t value = 0;
    memcpy(&value, number, type->bytes);
    return mha_fail(error, MHA_ERROR_FORMAT, "number %zu of the data is %llu, which %s cannot hold",
        index, (unsigned long long)value, mha_dtype_name(type->dtype));
}

static mha_status read_chunk(
    filling *f, size_t count, const stored_layout *layout, byte_source *source, mha_error *error) {
    unsigned char chunk[CHUNK_BYTES];
    const stored_dtype *type = layout->type;
    const size_t size = count * type->bytes;
    mha_status status = source->read(source->self, chunk, size, error);
    if (status != MHA_OK) {
        return status;
    }
    source->left -= size;
    if (layout->big_endian) {
        swap_bytes(chunk, count, type->bytes);
    }
    status = make_room(f, count, error);
    if (status != MHA_OK) {
        return status;
    }
    size_t bad = 0;
    if (!type->convert(f->data + f->done * f->bytes, chunk, count, &bad)) {
        return refuse_number(chunk + bad * type->bytes, f->done + bad, type, error);
    }
    f->done += count;
    return MHA_OK;
}

static mha_status read_numbers(
    filling *f, const stored_layout *layout, byte_source *source, mha_error *error) {
    const size_t most = CHUNK_BYTES / layout->type->bytes;
    mha_status status = f->count == 0 ? make_room(f, 0, error) : MHA_OK;
    while (status == MHA_OK && f->done < f->count) {
        const size_t left = f->count - f->done;
        status = read_chunk(f, left < most ? left : most, layout, source, error);
    }
    return status;
}

static mha_status make_row_major(filling *f, const mha_array *array, mha_error *error) {
    unsigned char *rows = malloc(f->count * f->bytes);
    if (rows == NULL) {
        return mha_fail(error, MHA_ERROR_MEMORY, "no memory to transpose %zu numbers of %zu bytes",
            f->count, f->bytes);
    }
    transpose_axes(rows, f->data, array->dims, array->rank, f->bytes);
    free(f->data);
    f->data = rows;
    return MHA_OK;
}

mha_status stored_read(mha_array *array, const stored_layout *layout, byte_source *source,
    size_t max_bytes, mha_error *error) {
    const stored_dtype *type = layout->type;
    filling f = {.bytes = mha_dtype_bytes(type->dtype)};
    array->data = NULL;
    array->dtype = type->dtype;
    array->stored = type->name;
    const size_t limit = max_bytes > 0 ? max_bytes : mha_max_bytes_default();
    mha_status status = check_sizes(&f.count, array, layout, source->left, limit, error);
    if (status == MHA_OK) {
        status = read_numbers(&f, layout, source, error);
    }
    if (status == MHA_OK && is_transposed(array, layout, f.count)) {
        status = make_row_major(&f, array, error);
    }
    if (status != MHA_OK) {
        free(f.data);
        return status;
    }
    array->data = f.data;
    return MHA_OK;
}
