#include "layer/tape.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/size.h"

bool value_is_saved(mha_value value) {
    bool is_result = false, is_read_back = false;
    for (size_t i = 0; i < MHA_STAGE_COUNT; i++) {
        is_result = is_result || mha_stages[i].result == value;
        is_read_back = is_read_back || (mha_stages[i].reads_back >> value & 1) != 0;
    }
    return is_result && is_read_back;
}

/* One walk for sizing and for pointing: with a block, value[] is set; without, only *bytes. */
static bool carve(size_t *bytes, mha_real *value[MHA_VALUE_COUNT], mha_real *block,
    unsigned long which, const mha_shape *shape) {
    *bytes = 0;
    for (size_t i = 0; i < MHA_VALUE_COUNT; i++) {
        value[i] = NULL;
        if ((which >> i & 1) == 0) {
            continue;
        }
        if (block != NULL) {
            value[i] = block + *bytes / sizeof *block;
        }
        const size_t entry =
            memory_round_up(mha_value_shape_of((mha_value)i, shape).count * sizeof(mha_real));
        if (!size_add(bytes, *bytes, entry)) {
            return false;
        }
    }
    return true;
}

mha_status values_carve(mha_real **block, size_t *bytes, mha_real *value[MHA_VALUE_COUNT],
    unsigned long which, const mha_shape *shape, const char *what, mha_error *error) {
    if (!carve(bytes, value, NULL, which, shape)) {
        return mha_fail(error, MHA_ERROR_SIZE, "the %s would exceed the address space", what);
    }
    *block = memory_allocate(*bytes);
    if (*block == NULL) {
        return mha_fail(
            error, MHA_ERROR_MEMORY, "no memory for the %zu bytes of the %s", *bytes, what);
    }
    carve(bytes, value, *block, which, shape);
    return MHA_OK;
}

mha_status mha_tape_create(mha_tape **tape, const mha_shape *largest, mha_error *error) {
    *tape = NULL;
    mha_status status = mha_shape_check(largest, error);
    if (status != MHA_OK) {
        return status;
    }
    mha_tape *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return mha_fail(error, MHA_ERROR_MEMORY, "no memory for a tape");
    }
    unsigned long saved = 0;
    for (size_t i = 0; i < MHA_VALUE_COUNT; i++) {
        saved |= value_is_saved((mha_value)i) ? 1ul << i : 0;
    }
    made->largest = *largest;
    status = values_carve(&made->block, &made->bytes, made->value, saved, largest, "tape", error);
    if (status != MHA_OK) {
        free(made);
        return status;
    }
    *tape = made;
    return MHA_OK;
}

void mha_tape_destroy(mha_tape *tape) {
    if (tape != NULL) {
        free(tape->block);
        free(tape);
    }
}

size_t mha_tape_entry_count(void) {
    size_t count = 0;
    for (size_t i = 0; i < MHA_VALUE_COUNT; i++) {
        count += value_is_saved((mha_value)i) ? 1 : 0;
    }
    return count;
}

mha_tape_entry mha_tape_entry_at(size_t index, const mha_shape *shape) {
    size_t value = 0;
    while (value < MHA_VALUE_COUNT && !(value_is_saved((mha_value)value) && index-- == 0)) {
        value++;
    }
    mha_tape_entry entry = {.value = (mha_value)value};
    if (value == MHA_VALUE_COUNT) {
        return entry;
    }
    entry.shape = mha_value_shape_of(entry.value, shape);
    entry.bytes = entry.shape.count * sizeof(mha_real);
    for (size_t i = 0; i < MHA_STAGE_COUNT; i++) {
        entry.read_back_by |= (mha_stages[i].reads_back >> value & 1) << i;
    }
    return entry;
}

mha_status mha_tape_bytes(size_t *bytes, const mha_shape *shape, mha_error *error) {
    *bytes = 0;
    const mha_status status = mha_shape_check(shape, error);
    if (status != MHA_OK) {
        return status;
    }
    for (size_t i = 0; i < mha_tape_entry_count(); i++) {
        if (!size_add(bytes, *bytes, mha_tape_entry_at(i, shape).bytes)) {
            return mha_fail(error, MHA_ERROR_SIZE, "the tape would exceed the address space");
        }
    }
    return MHA_OK;
}

const mha_real *mha_tape_value(const mha_tape *tape, mha_value value) {
    return tape == NULL || tape->layer == NULL ? NULL : tape->value[value];
}
