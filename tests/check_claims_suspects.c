/* Which stages alone would spoil what is wrong: of every stage, spoiled in every way, what is wrong is found by walking. */
#include "claims_cases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "case_file.h"
#include "checks/marks/suspects.h"

static struct case_file right, file;

static const mha_stage *spoiled_stage;
static unsigned long spoiled_inputs;

/* The right gradients, those by spoiled_inputs one and a half times. */
static void spoiled_backward(const mha_pass *pass, const mha_real *dresult) {
    static double apart[MHA_VALUE_COUNT][CASE_FILE_MOST];
    mha_pass changed = *pass;
    memset(apart, 0, sizeof apart);
    for (int value = 0; value < MHA_VALUE_COUNT; value++) {
        if ((spoiled_stage->inputs >> value & 1) != 0) {
            changed.gradient[value] = apart[value];
        }
    }
    spoiled_stage->backward(&changed, dresult);
    for (int value = 0; value < MHA_VALUE_COUNT; value++) {
        if ((spoiled_stage->inputs >> value & 1) == 0) {
            continue;
        }
        for (size_t i = 0; i < mha_value_count((mha_value)value, &pass->shape); i++) {
            pass->gradient[value][i] +=
                ((spoiled_inputs >> value & 1) != 0 ? 1.5 : 1.0) * apart[value][i];
        }
    }
}

static unsigned long find_wrong(void) {
    unsigned long wrong = 0;
    for (int value = 0; value < MHA_VALUE_COUNT; value++) {
        bool off = false;
        for (size_t i = 0; i < mha_value_count((mha_value)value, &file.shape); i++) {
            off = off || fabs(file.gradient[value][i] - right.gradient[value][i]) > 1e-9;
        }
        wrong |= off && (file.claimed >> value & 1) != 0 ? BIT_OF(value) : 0;
    }
    return wrong;
}

static bool names_stage(const char *text, const char *name) {
    char words[320], word[64];
    snprintf(words, sizeof words, ", %s,", text);
    snprintf(word, sizeof word, " %s,", name);
    return strstr(words, word) != NULL;
}

/* Bit 0: self-attention; then the stage. With all activations claimed few are left. */
START_TEST(the_spoiled_stage_is_suspected) {
    const bool self_attention = _i % 2 == 1;
    const mha_shape shape = case_file_shape(self_attention);
    mha_stage stages[MHA_STAGE_COUNT];
    case_file_fill(&right, &shape, self_attention, CASE_EXPLICIT, MHA_FLOAT64);
    case_file_fill(&file, &shape, self_attention, CASE_EXPLICIT, MHA_FLOAT64);
    memcpy(stages, mha_stages, sizeof stages);
    spoiled_stage = &mha_stages[_i / 2];
    stages[_i / 2].backward = spoiled_backward;
    const unsigned long inputs = spoiled_stage->inputs, leaves = file.claimed;
    for (spoiled_inputs = inputs; spoiled_inputs != 0;
         spoiled_inputs = (spoiled_inputs - 1) & inputs) {
        case_file_walk(&file, stages, &file.mask);
        for (int all = 0; all < 2; all++) {
            char text[256];
            file.claimed = all ? leaves | INTERMEDIATE : leaves;
            const unsigned long wrong = find_wrong();
            const size_t count =
                find_suspects(text, sizeof text, file.claimed, wrong, self_attention);
            ck_assert_msg(names_stage(text, spoiled_stage->name), "%s, inputs %lx: %s",
                spoiled_stage->name, spoiled_inputs, text);
            ck_assert_msg(!all || count <= 3, "%s: %s", spoiled_stage->name, text);
        }
    }
}
END_TEST

START_TEST(what_no_stage_spoils_alone) {
    char text[256] = "something";
    ck_assert_uint_eq(find_suspects(text, sizeof text, LEAVES, 0, false), 0);
    ck_assert_str_eq(text, "");
    const unsigned long two = BIT_OF(MHA_WK) | BIT_OF(MHA_WV);
    ck_assert_uint_eq(find_suspects(text, sizeof text, LEAVES, two, false), 0);
    ck_assert_str_eq(text, "");
    ck_assert_uint_eq(find_suspects(text, sizeof text, BIT_OF(MHA_WQ), BIT_OF(MHA_WQ), false), 9);
}
END_TEST

/* A text that does not fit ends where its room does, and all are counted. */
START_TEST(little_room) {
    for (size_t size = 1; size < 100; size++) {
        char text[100];
        memset(text, 'x', sizeof text);
        ck_assert_uint_eq(find_suspects(text, size, BIT_OF(MHA_WQ), BIT_OF(MHA_WQ), false), 9);
        ck_assert_ptr_nonnull(memchr(text, '\0', size));
        ck_assert(size == sizeof text || text[size] == 'x');
    }
}
END_TEST

TCase *claims_suspects(void) {
    TCase *tests = tcase_create("suspects");
    tcase_add_loop_test(tests, the_spoiled_stage_is_suspected, 0, 2 * MHA_STAGE_COUNT);
    tcase_add_test(tests, what_no_stage_spoils_alone);
    tcase_add_test(tests, little_room);
    return tests;
}
