/* Gradients of a pass with a mistake in it beside the right ones, and how the program explains them. */
#ifndef TESTS_CASE_EXPLAINED_H
#define TESTS_CASE_EXPLAINED_H

#include "case_file.h"

extern struct case_file file, right;

/* Makes both alike; the test then spoils `file`. */
void fill_both(const mha_shape *shape, bool self_attention, enum case_mask mask, int in_float);

/* The names of those claims of the file that are not those of the right one, within a share of the largest. */
void list_wrong(char *words, size_t size);

/* The program calls just those wrong, and gives the mistake and the stage for all of them. */
void assert_explained(const char *mistake, const char *stage);

#endif
