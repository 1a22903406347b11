#include "gradcheck_table.h"

#include <math.h>
#include <stdio.h>

#include "gradcheck_sweep.h"

void table_heading(void) {
    print_check_heading();
    printf(" %-22s %8s %8s %8s %6s  %s\n", "worst entry", "error", "of bar", "complex", "order",
        "verdict");
}

void table_entry_text(
    char *text, size_t size, const mha_gradcheck_block *block, const mha_gradcheck_report *report) {
    size_t used = (size_t)snprintf(text, size, "%s", block->name);
    if (report->directional) {
        snprintf(text + used, size - used, " along a direction");
        return;
    }
    for (size_t i = 0; i < block->rank && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%zu%s", i == 0 ? "[" : ",",
            report->index[i], i + 1 == block->rank ? "]" : "");
    }
}

bool taylor_passes(double order) {
    return order >= 1.5;
}

static size_t worst_block(const struct table_line *line) {
    const mha_gradcheck_report *reports = line->reports;
    size_t worst = 0;
    for (size_t i = 0; i < line->made->subject.block_count; i++) {
        if (reports[i].verdict != MHA_GRADCHECK_PASS) {
            return i;
        }
        worst = reports[i].margin > reports[worst].margin ? i : worst;
    }
    return worst;
}

static void format_order(char *text, size_t size, double order) {
    if (isinf(order)) {
        snprintf(text, size, "linear");
    } else {
        snprintf(text, size, "%.2f", order);
    }
}

/* The numbers behind a failure. */
static void print_numbers(const mha_gradcheck_report *report) {
    printf("    analytic %+.15e\n    numeric  %+.15e within %.1e by differences\n",
        report->analytic, report->numeric, report->estimate);
    if (!isnan(report->complex_step)) {
        printf("             %+.15e by the complex step\n", report->complex_step);
    }
}

static void print_line(const struct table_line *line, size_t worst, bool passes) {
    const mha_gradcheck_report *report = &line->reports[worst];
    char entry[96], order[16];
    table_entry_text(entry, sizeof entry, &line->made->blocks[worst], report);
    format_order(order, sizeof order, line->order);
    const bool by_order = !passes && report->verdict == MHA_GRADCHECK_PASS;
    print_check(line->subject, line->plan);
    printf(" %-22s %8.1e %8.1e %8.1e %6s  %s\n", entry, report->error, report->margin,
        report->complex_error, order,
        by_order ? "FAIL Taylor's order" : mha_gradcheck_verdict_text(report->verdict));
    if (!passes && !by_order) {
        print_numbers(report);
    }
}

bool table_add(struct table_sum *sum, const struct table_line *line) {
    const size_t worst = worst_block(line);
    const bool passes =
        line->reports[worst].verdict == MHA_GRADCHECK_PASS && taylor_passes(line->order);
    print_line(line, worst, passes);
    sum->least_order = sum->checks == 0 ? line->order : fmin(sum->least_order, line->order);
    sum->checks++;
    sum->failures += passes ? 0 : 1;
    for (size_t i = 0; i < line->made->subject.block_count; i++) {
        const mha_gradcheck_report *report = &line->reports[i];
        sum->entries += report->checked;
        sum->worst_margin = fmax(sum->worst_margin, report->margin);
        sum->worst_complex = fmax(sum->worst_complex, report->complex_error);
    }
    return passes;
}

void table_end(const struct table_sum *sum) {
    char order[16];
    format_order(order, sizeof order, sum->least_order);
    printf(
        "%zu checks, %zu failed; %zu derivatives: differences take %.2g of their error bars, the "
        "complex step is within %.1e, the least order is %s\n",
        sum->checks, sum->failures, sum->entries, sum->worst_margin, sum->worst_complex, order);
}
