#include "checks/marks/suspects.h"

#include <stdio.h>

#include <mha/mha64.h>

#define BIT(value) (1ul << (value))

/* The value and all that its gradient is handed on to. */
static unsigned long reach_of(mha_value value) {
    unsigned long reach = BIT(value);
    for (size_t i = MHA_STAGE_COUNT; i-- > 0;) {
        if ((reach >> mha_stages[i].result & 1) != 0) {
            reach |= mha_stages[i].inputs;
        }
    }
    return reach;
}

static unsigned long reach_of_all(unsigned long values) {
    unsigned long reach = 0;
    for (int value = 0; value < MHA_VALUE_COUNT; value++) {
        reach |= (values >> value & 1) != 0 ? reach_of((mha_value)value) : 0;
    }
    return reach;
}

/* Whether some of the stage's inputs, gone wrong, spoil just these. */
static bool is_suspect(
    const mha_stage *stage, unsigned long claimed, unsigned long wrong, bool self_attention) {
    for (unsigned long some = stage->inputs; some != 0; some = (some - 1) & stage->inputs) {
        unsigned long spoiled = reach_of_all(some);
        if (self_attention && (spoiled & BIT(MHA_SOURCE)) != 0) {
            spoiled |= BIT(MHA_QUERY);
        }
        if ((spoiled & claimed) == wrong) {
            return true;
        }
    }
    return false;
}

size_t find_suspects(
    char *text, size_t size, unsigned long claimed, unsigned long wrong, bool self_attention) {
    size_t found = 0, used = 0;
    text[0] = '\0';
    for (size_t i = MHA_STAGE_COUNT; i-- > 0 && wrong != 0;) {
        if (is_suspect(&mha_stages[i], claimed, wrong, self_attention)) {
            if (used < size) {
                used += (size_t)snprintf(
                    text + used, size - used, "%s%s", found == 0 ? "" : ", ", mha_stages[i].name);
            }
            found++;
        }
    }
    return found;
}
