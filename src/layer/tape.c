#include "layer/tape.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/size.h"
#include "layer/checks.h"

stage_list stages_for(const mha_layer_options *options) {
    stage_list stages;
    stages.at = mha_stages_of(&stages.count, options == NULL ? MHA_KERNEL_FUSED : options->kernel,
        options == NULL ? MHA_MODE_STORED : options->mode);
    return stages;
}

bool value_is_saved(mha_value value, stage_list stages) {
    bool is_result = false, is_read_back = false;
    for (size_t i = 0; i < stages.count; i++) {
        const mha_stage *const stage = &stages.at[i];
        is_result = is_result || stage->result == value || (stage->also_saves >> value & 1) != 0;
        is_read_back = is_read_back || (stage->reads_back >> value & 1) != 0;
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
            memory_round_up(mha_value_count((mha_value)i, shape) * sizeof(mha_real));
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

mha_status mha_tape_create(
    mha_tape **tape, const mha_shape *largest, const mha_layer_options *options, mha_error *error) {
    *tape = NULL;
    mha_status status = mha_shape_check(largest, error);
    if (status == MHA_OK) {
        status = check_options(options, error);
    }
    if (status != MHA_OK) {
        return status;
    }
    mha_tape *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return mha_fail(error, MHA_ERROR_MEMORY, "no memory for a tape");
    }
    made->stages = stages_for(options);
    unsigned long saved = 0;
    for (size_t i = 0; i < MHA_VALUE_COUNT; i++) {
        saved |= value_is_saved((mha_value)i, made->stages) ? 1ul << i : 0;
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

size_t mha_tape_entry_count(const mha_layer_options *options) {
    const stage_list stages = stages_for(options);
    size_t count = 0;
    for (size_t i = 0; i < MHA_VALUE_COUNT; i++) {
        count += value_is_saved((mha_value)i, stages) ? 1 : 0;
    }
    return count;
}

mha_tape_entry mha_tape_entry_at(
    size_t index, const mha_shape *shape, const mha_layer_options *options) {
    const stage_list stages = stages_for(options);
    size_t value = 0;
    while (value < MHA_VALUE_COUNT && !(value_is_saved((mha_value)value, stages) && index-- == 0)) {
        value++;
    }
    mha_tape_entry entry = {.value = (mha_value)value};
    if (value == MHA_VALUE_COUNT) {
        return entry;
    }
    entry.shape = mha_value_shape_of(entry.value, shape);
    entry.bytes = entry.shape.count * sizeof(mha_real);
    for (size_t i = 0; i < stages.count; i++) {
        entry.read_back_by |= (stages.at[i].reads_back >> value & 1) << i;
    }
    return entry;
}

mha_status mha_tape_bytes(
    size_t *bytes, const mha_shape *shape, const mha_layer_options *options, mha_error *error) {
    *bytes = 0;
    mha_status status = mha_shape_check(shape, error);
    if (status == MHA_OK) {
        status = check_options(options, error);
    }
    if (status != MHA_OK) {
        return status;
    }
    for (size_t i = 0; i < mha_tape_entry_count(options); i++) {
        if (!size_add(bytes, *bytes, mha_tape_entry_at(i, shape, options).bytes)) {
            return mha_fail(error, MHA_ERROR_SIZE, "the tape would exceed the address space");
        }
    }
    return MHA_OK;
}

const mha_real *mha_tape_value(const mha_tape *tape, mha_value value) {
    return tape == NULL || tape->layer == NULL ? NULL : tape->value[value];
}
