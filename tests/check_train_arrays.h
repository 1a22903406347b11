/* Shared by the tests of `mha train arrays`: its examples, and the program run on them. */
#ifndef TESTS_CHECK_TRAIN_ARRAYS_H
#define TESTS_CHECK_TRAIN_ARRAYS_H

#include <check.h>
#include <stdint.h>

/* Twelve examples: contexts and as targets their means; queries whose first three features tell the
 * class, and labels that name it. */
enum { N = 12, T = 4, S = 3, D = 6 };
struct train_examples {
    float query[N * T * D], context[N * S * D], target[N * T * D];
    int64_t labels[N * T];
};
extern struct train_examples made;

/* Fills `made`; the others fill it and write to a file queries, contexts and targets, or queries and
 * labels. */
void make_examples(void);
void write_regression(const char *file);
void write_classes(const char *file);

void assert_says(const char *text, const char *words);

/* Runs the words of a command, which must succeed, and looks for text on standard output. */
void run_and_find(const char *const *words, const char *text);

TCase *train_arrays_refusals(void);

#endif
