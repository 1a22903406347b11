#include <float.h>

#include "base/size.h"
#include "learn/checker.h"

static mha_status check_options(const mha_gradcheck_options *options, mha_error *error) {
    if (options->complex_tolerance >= 0.0 && options->complex_tolerance <= DBL_MAX) {
        return MHA_OK;
    }
    return mha_fail(error, MHA_ERROR_ARGUMENT, "complex tolerance %g must be from 0 to %g",
        options->complex_tolerance, DBL_MAX);
}

static const char *name_of(const char *name) {
    return name == NULL ? "no name" : name;
}

static mha_status check_case(checker_room *room, const mha_gradcheck_case *subject,
    const mha_gradcheck_options *options, mha_error *error) {
    *room = (checker_room){.moved = 1};
    for (size_t o = 0; o < subject->output_count; o++) {
        const mha_gradcheck_output *output = &subject->outputs[o];
        if ((output->count > 0 && (output->values == NULL || output->gradient == NULL)) ||
            !size_add(&room->outputs, room->outputs, output->count)) {
            return mha_fail(error, MHA_ERROR_ARGUMENT,
                "output %zu (%s) has no room for %zu values and their gradient", o,
                name_of(output->name), output->count);
        }
    }
    for (size_t b = 0; b < subject->block_count; b++) {
        const mha_gradcheck_block *block = &subject->blocks[b];
        const char *name = name_of(block->name);
        size_t count;
        if (block->rank < 1 || block->rank > MHA_GRADCHECK_RANK) {
            return mha_fail(error, MHA_ERROR_ARGUMENT, "block %zu (%s) has rank %zu, not 1 to %d",
                b, name, block->rank, MHA_GRADCHECK_RANK);
        }
        if (!checker_count_entries(&count, block)) {
            return mha_fail(error, MHA_ERROR_ARGUMENT, "block %zu (%s) has more than %zu entries",
                b, name, SIZE_MAX / sizeof(double));
        }
        if (count > 0 && (block->values == NULL || block->gradient == NULL)) {
            return mha_fail(error, MHA_ERROR_ARGUMENT,
                "block %zu (%s) has no room for %zu values and their gradient", b, name, count);
        }
        const bool large = count > options->entry_limit;
        const size_t compared = large ? options->directions : count;
        room->moved = large && count > room->moved ? count : room->moved;
        room->compared = compared > room->compared ? compared : room->compared;
    }
    return MHA_OK;
}

mha_status checker_check_arguments(checker_room *room, const void *reports,
    const mha_gradcheck_case *subject, const mha_gradcheck_options *options, mha_error *error) {
    if (reports == NULL || subject == NULL || options == NULL || subject->forward == NULL ||
        subject->backward == NULL || subject->blocks == NULL || subject->block_count == 0 ||
        (subject->outputs == NULL && subject->output_count > 0)) {
        return mha_fail(error, MHA_ERROR_ARGUMENT,
            "a gradient check needs reports, options, forward, backward, blocks and outputs");
    }
    const mha_status status = check_options(options, error);
    return status == MHA_OK ? check_case(room, subject, options, error) : status;
}
