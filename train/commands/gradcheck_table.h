/* The table of `mha gradcheck`: one line a check, and what they come to. */
#ifndef TRAIN_COMMANDS_GRADCHECK_TABLE_H
#define TRAIN_COMMANDS_GRADCHECK_TABLE_H

#include "checks/subjects.h"

/* Counts over all lines. */
struct table_sum {
    size_t checks, failures, entries;
    double worst_margin, worst_complex, least_order;
};

/* What one check has found. */
struct table_line {
    const struct subject *subject;
    const struct check_plan *plan;
    const struct check_case *made;
    const mha_gradcheck_report *reports; /* of each of its blocks */
    double order;                        /* of the Taylor test */
};

void table_heading(void);

/* Prints the block that fails first, else the one with the largest share of what is allowed, and adds to the
 * sum. Whether all passed. */
bool table_add(struct table_sum *sum, const struct table_line *line);

void table_end(const struct table_sum *sum);

/* "wq[3,1]", or "wq along a direction". */
void table_entry_text(
    char *text, size_t size, const mha_gradcheck_block *block, const mha_gradcheck_report *report);

/* Whether the order of a Taylor test is that of a right gradient: nearer to 2 than to 1, or above. */
bool taylor_passes(double order);

#endif
