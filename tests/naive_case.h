/* The naive pass over the arrays of a case file: gradients of a program that shares nothing with the layer. */
#ifndef TESTS_NAIVE_CASE_H
#define TESTS_NAIVE_CASE_H

#include "case_file.h"
#include "naive_pass.h"

/* The right pass over the file, whose gradients it writes; seen (CASE_FILE_MOST) becomes its mask. */
struct naive_pass naive_case(struct case_file *file, unsigned char *seen);

/* In the precision of the claims. */
void naive_case_compute(struct case_file *file, const struct naive_pass *pass);

#endif
