#include "gradcheck_self_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "checks/faults/faults.h"
#include "checks/marks/locate.h"
#include "command.h"
#include "gradcheck_table.h"

/* What a check of the whole layer found in the block that is farthest off. */
struct finding {
    mha_gradcheck_verdict verdict;
    double by_differences, by_complex; /* how many times what is allowed the error is */
    double order;                      /* of the Taylor test */
};

static void see(struct finding *found, const mha_gradcheck_report *report,
    const mha_gradcheck_options *options) {
    if (report->verdict == MHA_GRADCHECK_PASS) {
        return;
    }
    if (found->verdict == MHA_GRADCHECK_PASS || report->verdict == MHA_GRADCHECK_WRONG) {
        found->verdict = report->verdict;
    }
    found->by_differences = fmax(found->by_differences, report->margin);
    found->by_complex = fmax(found->by_complex, report->complex_error / options->complex_tolerance);
}

static mha_status check(struct finding *found, const struct check_case *made,
    const mha_gradcheck_options *options, mha_error *error) {
    mha_gradcheck_report reports[CASE_BLOCKS];
    mha_gradcheck_taylor taylor;
    *found = (struct finding){.verdict = MHA_GRADCHECK_PASS};
    mha_status status = mha_gradcheck_run(reports, &made->subject, options, error);
    for (size_t b = 0; status == MHA_OK && b < made->subject.block_count; b++) {
        see(found, &reports[b], options);
    }
    if (status == MHA_OK) {
        status = mha_gradcheck_taylor_run(&taylor, &made->subject, options, error);
        found->order = taylor.order;
    }
    return status;
}

static mha_status check_layer(struct finding *found, const struct check_plan *plan,
    const mha_stage *stages, const mha_gradcheck_options *options, mha_error *error) {
    struct check_case made;
    mha_status status = check_layer_create(&made, plan, stages, error);
    if (status == MHA_OK) {
        status = check(found, &made, options, error);
        check_case_destroy(&made);
    }
    return status;
}

static mha_status locate_fault(struct place *place, const struct check_plan *plan,
    const mha_stage *stages, const mha_gradcheck_options *options, mha_error *error) {
    struct check_case made;
    mha_status status = check_layer_create(&made, plan, stages, error);
    if (status == MHA_OK) {
        status = locate(place, &made, plan, stages, options, error);
        check_case_destroy(&made);
    }
    return status;
}

/* Which tests see it, and by how much: in units of what is allowed, or the order. */
static void print_tests(const struct finding *found) {
    const char *between = "";
    if (found->verdict != MHA_GRADCHECK_PASS && found->verdict != MHA_GRADCHECK_WRONG) {
        printf("%s", mha_gradcheck_verdict_text(found->verdict) + strlen("FAIL "));
        between = ", ";
    }
    if (found->by_differences > 1) {
        printf("%sdifferences %.1e", between, found->by_differences);
        between = ", ";
    }
    if (found->by_complex > 1) {
        printf("%scomplex step %.1e", between, found->by_complex);
        between = ", ";
    }
    if (isfinite(found->order) && !taylor_passes(found->order)) {
        printf("%sorder %.2f", between, found->order);
    }
}

struct counts {
    size_t caught, located, diagnosed;
    size_t known; /* faults that leave a known mark */
};

static void print_fault(struct counts *counts, const struct fault *fault,
    const struct finding *found, const struct place *place) {
    const bool caught = found->verdict != MHA_GRADCHECK_PASS || !taylor_passes(found->order);
    const char *where = place->stage < MHA_STAGE_COUNT ? mha_stages[place->stage].name : "no stage";
    const bool right_place = strcmp(where, fault->stage) == 0;
    const bool right_mark = place->diagnosis.mark == fault->mark;
    printf("%-36s %-7s ", fault->name, caught ? "caught" : "missed");
    print_tests(found);
    printf("\n    %s%s, %s: %s%s\n", where, right_place ? "" : " (not where it is)", place->entry,
        place->diagnosis.text, right_mark ? "" : " (not what it is)");
    counts->caught += caught;
    counts->located += right_place;
    counts->known += fault->mark != MARK_UNKNOWN;
    counts->diagnosed += right_mark && fault->mark != MARK_UNKNOWN;
}

static mha_status try_fault(struct counts *counts, const struct fault *fault,
    const mha_gradcheck_options *options, mha_error *error) {
    mha_stage stages[MHA_STAGE_COUNT];
    struct finding found;
    struct place place;
    plant_fault(stages, fault);
    struct check_plan plan = fault_plan(fault->self_attention, fault->large, options->seed);
    mha_status status = check_layer(&found, &plan, stages, options, error);
    if (status == MHA_OK) {
        /* Large matrices show no more of a stage. */
        plan = fault_plan(fault->self_attention, false, options->seed);
        status = locate_fault(&place, &plan, stages, options, error);
    }
    if (status == MHA_OK) {
        print_fault(counts, fault, &found, &place);
    }
    return status;
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
        *passes = *passes && status == MHA_OK && found.verdict == MHA_GRADCHECK_PASS &&
                  taylor_passes(found.order);
    }
    return status;
}

int gradcheck_self_test(const mha_gradcheck_options *options) {
    struct counts counts = {0, 0, 0, 0};
    bool passes;
    mha_error error;
    mha_status status = try_right_layer(&passes, options, &error);
    if (status == MHA_OK) {
        printf("fault, and by which tests it is caught, in units of what is allowed\n"
               "    first wrong stage, entry that is farthest off: diagnosis\n");
    }
    for (size_t i = 0; i < fault_count && status == MHA_OK; i++) {
        status = try_fault(&counts, &faults[i], options, &error);
    }
    if (status != MHA_OK) {
        complain("%s", error.text);
        return STATUS_USAGE;
    }
    printf(
        "%zu of %zu faults caught, %zu found in the right stage, %zu diagnosed rightly; the right "
        "layer %s\n",
        counts.caught, fault_count, counts.located, counts.diagnosed, passes ? "passes" : "FAILS");
    const bool proven = passes && counts.caught == fault_count && counts.located == fault_count &&
                        counts.diagnosed == counts.known;
    return finish_output(proven ? STATUS_DONE : STATUS_FAILED);
}
