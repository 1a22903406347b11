/* Small functions with hand-written gradients, right ones and planted faults, for testing the
 * checker. */
#ifndef TESTS_GRADCHECK_FUNCTIONS_H
#define TESTS_GRADCHECK_FUNCTIONS_H

#include <stddef.h>

enum { COLUMNS = 4, LARGEST_ROWS = 1250, WEIGHTS = COLUMNS * COLUMNS, SPOILED = 6 };

/* y (rows,COLUMNS), a function of x (rows,COLUMNS) and w (w_rows,COLUMNS). */
typedef struct model {
    size_t rows;
    double x[LARGEST_ROWS * COLUMNS], dx[LARGEST_ROWS * COLUMNS];
    double y[LARGEST_ROWS * COLUMNS], dy[LARGEST_ROWS * COLUMNS];
    double w[WEIGHTS], dw[WEIGHTS];
} model;

typedef struct example {
    void (*forward)(model *m);  /* writes y */
    void (*backward)(model *m); /* adds to dx and dw */
    size_t w_rows;              /* 0 when there is no w */
    void (*spoil)(model *m);    /* plants a fault in the right gradients; may be NULL */
} example;

extern const example example_polynomial, example_identity, example_matrix_product,
    example_gated_product, example_softmax_row, example_layer_normalisation;
extern const example example_blocked_square; /* y[SPOILED] is -infinity, whatever x is */

/* Faults. With "entry" only dx[SPOILED] is wrong. */
extern const example example_fault_sign, example_fault_factor, example_fault_transposed,
    example_fault_all_zero, example_fault_entry, example_fault_pair, example_fault_nan,
    example_fault_infinity, example_fault_overwritten, example_fault_lost_path,
    example_fault_doubled, example_fault_without_row_term, example_fault_leaking;
/* w has no influence: the gradient of w is right, not quite zero (from dw[SPOILED] on), or NaN. */
extern const example example_unused_w, example_unused_w_not_zero, example_unused_w_nan;
/* A product whose backward routine forgets w. */
extern const example example_forgotten_w;

#endif
