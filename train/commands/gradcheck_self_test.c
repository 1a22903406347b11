#include "gradcheck_self_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "checks/faults.h"
#include "command.h"
#include "memory.h"

/* What a check of the whole layer, or of one stage, found in the block that is farthest off. */
struct finding {
    mha_gradcheck_verdict verdict;
    double by_differences, by_complex; /* how many times the tolerance the error is */
};

static void see(struct finding *found, const mha_gradcheck_report *report,
    const mha_gradcheck_options *options) {
    if (report->verdict == MHA_GRADCHECK_PASS) {
        return;
    }
    if (found->verdict == MHA_GRADCHECK_PASS || report->verdict == MHA_GRADCHECK_WRONG) {
        found->verdict = report->verdict;
    }
    found->by_differences =
        fmax(found->by_differences, report->error / options->relative_tolerance);
    found->by_complex = fmax(found->by_complex, report->complex_error / options->complex_tolerance);
}

static mha_status check(struct finding *found, struct check_case *made,
    const mha_gradcheck_options *options, mha_error *error) {
    mha_gradcheck_report reports[CASE_BLOCKS];
    *found = (struct finding){.verdict = MHA_GRADCHECK_PASS};
    const mha_status status = mha_gradcheck_run(reports, &made->subject, options, error);
    for (size_t b = 0; status == MHA_OK && b < made->subject.block_count; b++) {
        see(found, &reports[b], options);
    }
    check_case_destroy(made);
    return status;
}

static mha_status check_layer(struct finding *found, const struct check_plan *plan,
    const mha_stage *stages, const mha_gradcheck_options *options, mha_error *error) {
    struct check_case made;
    const mha_status status = check_layer_create(&made, plan, stages, error);
    return status != MHA_OK ? status : check(found, &made, options, error);
}

/* A wrong backward may read more than the right one: all other values hold random numbers. */
static mha_status make_stage_case(struct check_case *made, const struct check_plan *plan,
    const mha_stage *stage, mha_error *error) {
    const mha_status status = check_stage_create(made, plan, stage, error);
    for (size_t i = 0; status == MHA_OK && i < MHA_VALUE_COUNT; i++) {
        if (made->pass.value[i] == NULL) {
            made->pass.value[i] = case_normal(made, mha_value_count((mha_value)i, &made->shape));
        }
    }
    if (status == MHA_OK && made->out_of_memory) {
        check_case_destroy(made);
        return no_memory(error);
    }
    return status;
}

/* The first stage on the way back whose backward, alone, is wrong: MHA_STAGE_COUNT where none is. */
static mha_status locate(size_t *place, const struct check_plan *plan, const mha_stage *stages,
    const mha_gradcheck_options *options, mha_error *error) {
    for (*place = MHA_STAGE_COUNT; *place > 0; --*place) {
        struct check_case made;
        struct finding found = {.verdict = MHA_GRADCHECK_PASS};
        mha_status status = make_stage_case(&made, plan, &stages[*place - 1], error);
        if (status == MHA_OK) {
            status = check(&found, &made, options, error);
        }
        if (status != MHA_OK || found.verdict != MHA_GRADCHECK_PASS) {
            --*place;
            return status;
        }
    }
    *place = MHA_STAGE_COUNT;
    return MHA_OK;
}

static const char *tests_of(const struct finding *found) {
    if (found->verdict == MHA_GRADCHECK_PASS) {
        return "nothing";
    }
    if (found->verdict != MHA_GRADCHECK_WRONG) {
        return mha_gradcheck_verdict_text(found->verdict) + strlen("FAIL ");
    }
    const bool by_differences = found->by_differences > 1, by_complex = found->by_complex > 1;
    return by_differences && by_complex ? "differences, complex step"
           : by_differences             ? "differences"
                                        : "complex step";
}

struct counts {
    size_t caught, located;
};

static mha_status try_fault(struct counts *counts, const struct fault *fault,
    const mha_gradcheck_options *options, mha_error *error) {
    mha_stage stages[MHA_STAGE_COUNT];
    struct finding found = {.verdict = MHA_GRADCHECK_PASS};
    size_t place = MHA_STAGE_COUNT;
    plant_fault(stages, fault);
    struct check_plan plan = fault_plan(fault->self_attention, fault->large, options->seed);
    mha_status status = check_layer(&found, &plan, stages, options, error);
    if (status == MHA_OK) {
        plan = fault_plan(
            fault->self_attention, false, options->seed); /* a large stage shows no more */
        status = locate(&place, &plan, stages, options, error);
    }
    if (status != MHA_OK) {
        return status;
    }
    const bool caught = found.verdict != MHA_GRADCHECK_PASS;
    const char *where = place < MHA_STAGE_COUNT ? mha_stages[place].name : "none";
    const bool right_place = strcmp(where, fault->stage) == 0;
    char margin[32] = "-";
    const double most = fmax(found.by_differences, found.by_complex);
    if (most > 0) {
        snprintf(margin, sizeof margin, "%.1e", most);
    }
    printf("%-36s %-7s %-26s %9s  %s%s\n", fault->name, caught ? "caught" : "missed",
        tests_of(&found), margin, where, right_place ? "" : " (not where it is)");
    counts->caught += caught;
    counts->located += right_place;
    return MHA_OK;
}

/* The layer as it is, by the plans of all faults. */
static mha_status try_right_layer(
    bool *passes, const mha_gradcheck_options *options, mha_error *error) {
    *passes = true;
    mha_status status = MHA_OK;
    for (int i = 0; i < 4 && status == MHA_OK; i++) {
        const struct check_plan plan = fault_plan((i & 1) != 0, (i & 2) != 0, options->seed);
        struct finding found = {.verdict = MHA_GRADCHECK_PASS};
        status = check_layer(&found, &plan, NULL, options, error);
        *passes = *passes && status == MHA_OK && found.verdict == MHA_GRADCHECK_PASS;
    }
    return status;
}

int gradcheck_self_test(const mha_gradcheck_options *options) {
    struct counts counts = {0, 0};
    bool passes;
    mha_error error;
    mha_status status = try_right_layer(&passes, options, &error);
    if (status == MHA_OK) {
        printf("%-36s %-7s %-26s %9s  %s\n", "fault", "", "by", "margin", "first wrong stage");
    }
    for (size_t i = 0; i < fault_count && status == MHA_OK; i++) {
        status = try_fault(&counts, &faults[i], options, &error);
    }
    if (status != MHA_OK) {
        complain("%s", error.text);
        return STATUS_USAGE;
    }
    printf("%zu of %zu faults caught, %zu found in the right stage; the right layer %s\n",
        counts.caught, fault_count, counts.located, passes ? "passes" : "FAILS");
    return finish_output(counts.caught == fault_count && passes ? STATUS_DONE : STATUS_FAILED);
}
