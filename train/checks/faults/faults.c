#include "checks/faults/faults.h"

#include "checks/faults/wrong_backward.h"

const struct fault faults[] = {
    {"scale lost", {MHA_SCALED}, {wrong_scale_lost}, "scale", MARK_SCALE_LOST, "query source wq wk",
        false, false},
    {"sign of the query path", {MHA_SCORES}, {wrong_sign_of_query}, "scores", MARK_SIGN, "query wq",
        false, false},
    {"softmax row term dropped", {MHA_ATTENTION_WEIGHTS}, {wrong_row_term_dropped}, "softmax",
        MARK_SOFTMAX_ROWS, "query source wq wk", false, false},
    {"softmax row term unweighted", {MHA_ATTENTION_WEIGHTS}, {wrong_row_term_plain}, "softmax",
        MARK_SOFTMAX_ROWS, "query source wq wk", false, false},
    {"K and V exchanged", {MHA_K, MHA_V}, {wrong_key_into_value, wrong_value_into_key},
        "project_value", MARK_EXCHANGED, "wk wv", false, false},
    {"gradient of Wo transposed", {MHA_OUTPUT}, {wrong_output_weight_transposed}, "project_output",
        MARK_TRANSPOSED, "wo", false, false},
    {"Wo not transposed", {MHA_OUTPUT}, {wrong_weight_not_transposed}, "project_output",
        MARK_NOT_TRANSPOSED, "query source wq wk wv", false, false},
    {"mask forgotten", {MHA_ATTENTION_WEIGHTS}, {wrong_mask_forgotten}, "softmax",
        MARK_BLOCKED_PAIRS, "query source wq wk", false, false},
    {"mask off by one", {MHA_ATTENTION_WEIGHTS}, {wrong_mask_off_by_one}, "softmax",
        MARK_SEEN_PAIRS, "query source wq wk", false, false},
    {"one head skipped", {MHA_Q_HEADS}, {wrong_head_skipped}, "split_query", MARK_HEAD, "query wq",
        false, false},
    {"heads regrouped", {MHA_CONTEXT}, {wrong_heads_regrouped}, "combine", MARK_HEADS_REGROUPED,
        "query source wq wk wv", false, false},
    {"value path of the shared input lost", {MHA_V}, {wrong_path_not_added}, "project_value",
        MARK_PATH, "query", true, false},
    {"shared input overwritten", {MHA_K}, {wrong_path_overwritten}, "project_key", MARK_OVERWRITTEN,
        "query", true, false},
    {"gradient of Wk added twice", {MHA_K}, {wrong_added_twice}, "project_key", MARK_TWICE, "wk",
        false, false},
    {"first sample only", {MHA_CONTEXT_HEADS}, {wrong_first_sample_only}, "context", MARK_SAMPLE,
        "query source wq wk wv", false, false},
    {"one entry wrong by a hundredth", {MHA_Q}, {wrong_one_entry_wrong}, "project_query",
        MARK_ONE_ENTRY, "wq", false, false},
    {"one entry wrong in a large block", {MHA_Q}, {wrong_one_entry_wrong}, "project_query",
        MARK_ONE_ENTRY, "wq", false, true},
    {"one entry NaN", {MHA_V}, {wrong_one_entry_nan}, "project_value", MARK_NOT_FINITE, "wv", false,
        false},
    {"key projection without gradient", {MHA_K}, {wrong_nothing}, "project_key", MARK_MISSING,
        "source wk", false, false},
    {"Q and K exchanged", {MHA_SCORES}, {wrong_query_and_key_exchanged}, "scores", MARK_EXCHANGED,
        "query wq", true, false},
    {"half a millionth off in Wk", {MHA_K}, {wrong_millionth_of_wk}, "project_key", MARK_ONE_ENTRY,
        "wk", false, false},
    {"half a millionth off in a score", {MHA_SCALED}, {wrong_millionth_of_scores}, "scale",
        MARK_ONE_ENTRY, "query source wq wk", false, false},
    {"scale applied twice", {MHA_SCALED}, {wrong_scale_twice}, "scale", MARK_SCALE_TWICE,
        "query source wq wk", false, false},
    {"heads in another order", {MHA_CONTEXT}, {wrong_heads_permuted}, "combine",
        MARK_HEADS_PERMUTED, "query source wq wk wv", false, false},
    {"last query dropped", {MHA_OUTPUT}, {wrong_last_query_dropped}, "project_output",
        MARK_POSITION, "query source wq wk wv wo", false, false},
    {"V from the gradient of the weights", {MHA_CONTEXT_HEADS}, {wrong_value_from_wrong_weights},
        "context", MARK_UNKNOWN, "source wv", false, false},
    {"sign of the key path", {MHA_SCORES}, {wrong_key_path_negative}, "scores", MARK_SIGN,
        "source wk", false, false},
};
const size_t fault_count = sizeof faults / sizeof *faults;

struct check_plan fault_plan(bool self_attention, bool large, uint64_t seed) {
    return (struct check_plan){.shape = {.batch = 3,
                                   .target_length = self_attention ? 5 : 3,
                                   .source_length = 5,
                                   .width = large ? 66 : 6,
                                   .heads = 2},
        .self_attention = self_attention,
        .mask = MASK_COMBINED,
        .seed = seed,
        .kernel = MHA_KERNEL_REFERENCE};
}

void plant_fault(mha_stage stages[MHA_STAGE_COUNT], const struct fault *fault) {
    for (size_t i = 0; i < MHA_STAGE_COUNT; i++) {
        stages[i] = mha_stages[i];
        for (size_t j = 0; j < 2; j++) {
            if (fault->backward[j] != NULL && stages[i].result == fault->result[j]) {
                stages[i].backward = fault->backward[j];
            }
        }
    }
}
