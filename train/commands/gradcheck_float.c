#include "gradcheck_float.h"

#include <math.h>
#include <stdio.h>

#include "checks/float_case.h"
#include "command.h"
#include "options.h"

enum { KEY_FLOAT = 0x280 };

static const struct argp_option float_options[] = {
    {"float", KEY_FLOAT, NULL, 0,
        "Hold every routine in float, forward and backward, against double, in ulps of the sum of "
        "magnitudes of each entry",
        2},
    {0}};

static error_t parse_float(int key, char *text, struct argp_state *state) {
    (void)text;
    if (key != KEY_FLOAT) {
        return ARGP_ERR_UNKNOWN;
    }
    *(bool *)state->input = true;
    return 0;
}

const struct argp float_argp = {.options = float_options, .parser = parse_float};

bool float_goes_with(bool self_test, const mha_gradcheck_options *check) {
    const mha_gradcheck_options defaults = mha_gradcheck_defaults();
    if (self_test) {
        complain("--float does not go with --self-test, whose faults are those of double");
        return false;
    }
    if (check->step != defaults.step || check->relative_tolerance != defaults.relative_tolerance ||
        check->absolute_tolerance != defaults.absolute_tolerance) {
        complain("--float takes no differences and has bounds of its own: --eps, --rtol and --atol "
                 "do not go with it");
        return false;
    }
    return true;
}

#define FLOAT_TEXT "%-32s %-12s %3"

void float_print_header(void) {
    printf(FLOAT_TEXT "s %-12s %-27s %6s %5s\n", "check", "kernel", "thr", "B T S D h",
        "worst entry", "ulps", "bound");
}

static void format_entry(char *text, size_t size, const struct float_report *report) {
    size_t used =
        (size_t)snprintf(text, size, "%s%s", report->is_gradient ? "d" : "", report->name);
    for (size_t i = 0; i < report->rank && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%zu%s", i == 0 ? "[" : ",",
            report->index[i], i + 1 == report->rank ? "]" : "");
    }
}

static void print_line(const struct subject *subject, const struct check_plan *plan,
    const struct float_report *report) {
    char what[64], kernel[32], sizes[128], entry[128];
    format_check(what, sizeof what, subject, plan);
    format_kernel(kernel, sizeof kernel, subject);
    const mha_shape *const shape = &plan->shape;
    snprintf(sizes, sizeof sizes, "%zu %zu %zu %zu %zu", shape->batch, shape->target_length,
        shape->source_length, shape->width, shape->heads);
    format_entry(entry, sizeof entry, report);
    printf(FLOAT_TEXT "zu %-12s %-27s %6.*f %5.2f %s\n", what, kernel, plan->threads, sizes, entry,
        report->error < 1000 ? 2 : 0, report->error, report->bound,
        report->passed ? "PASS" : "FAIL");
}

bool float_check(const struct subject *subject, const struct check_plan *plan,
    bool along_directions, void *context) {
    (void)along_directions; /* all entries are compared at any length */
    struct float_tally *const tally = context;
    struct float_case made;
    mha_error error;
    mha_status status = float_case_create(&made, subject, plan, &error);
    if (status == MHA_OK) {
        status = routine_pass_f32(&made.call, &error);
        if (status == MHA_OK) {
            struct float_report reports[FLOAT_REPORTS];
            const size_t count = float_case_judge(reports, &made);
            const struct float_report *const worst = &reports[float_worst_report(reports, count)];
            print_line(subject, plan, worst);
            tally->checks++;
            tally->failures += worst->passed ? 0 : 1;
            for (size_t i = 0; i < count; i++) {
                tally->entries += reports[i].entries;
            }
            const double share = worst->bound > 0 ? worst->error / worst->bound : worst->error;
            tally->largest_share = fmax(tally->largest_share, share);
        }
        float_case_destroy(&made);
    }
    if (status != MHA_OK) {
        complain("%s: %s", subject->name, error.text);
    }
    return status == MHA_OK;
}

int float_finish(const struct float_tally *tally) {
    printf("%zu checks, %zu failed; %zu entries in float compared with double, the farthest off by "
           "%.2f of its bound\n",
        tally->checks, tally->failures, tally->entries, tally->largest_share);
    return finish_output(tally->failures == 0 ? STATUS_DONE : STATUS_FAILED);
}
