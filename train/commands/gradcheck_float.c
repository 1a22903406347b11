#include "gradcheck_float.h"

#include <math.h>
#include <stdio.h>

#include "checks/float/case.h"
#include "command.h"

void float_print_header(void) {
    print_check_heading();
    printf(" %-27s %6s %5s\n", "worst entry", "ulps", "bound");
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
    char entry[128];
    format_entry(entry, sizeof entry, report);
    print_check(subject, plan);
    printf(" %-27s %6.*f %5.2f %s\n", entry, report->error < 1000 ? 2 : 0, report->error,
        report->bound, report->passed ? "PASS" : "FAIL");
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
