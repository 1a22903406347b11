/* Files for `mha gradcheck --case`: random arrays of one pass, and gradients that the tests spoil. */
#ifndef TESTS_CASE_FILE_H
#define TESTS_CASE_FILE_H

#include <check.h>

#include <mha/io.h>
#include <mha/mha64.h>

#include "program.h"

enum { CASE_FILE_MOST = 4096, CASE_FILE_LEAVES = 6, CASE_FILE_EXTRA = 4 };

/* Sets of values are bits (1 << value). */
#define BIT_OF(value) (1ul << (value))
#define LEAVES        (BIT_OF(CASE_FILE_LEAVES) - 1)
#define INTERMEDIATE                                                                               \
    (BIT_OF(MHA_Q) | BIT_OF(MHA_K) | BIT_OF(MHA_V) | BIT_OF(MHA_Q_HEADS) | BIT_OF(MHA_K_HEADS) |   \
        BIT_OF(MHA_V_HEADS) | BIT_OF(MHA_SCORES) | BIT_OF(MHA_SCALED) | BIT_OF(MHA_MASKED) |       \
        BIT_OF(MHA_ATTENTION_WEIGHTS) | BIT_OF(MHA_CONTEXT_HEADS))

struct case_file {
    mha_shape shape;
    bool self_attention;
    mha_dtype dtype, claimed_dtype; /* of what goes in, and of the claims; the same at first */
    unsigned long claimed;
    const char *causal; /* the option, or NULL */
    mha_mask mask;      /* points to the two below */
    unsigned char allowed[CASE_FILE_MOST];
    int64_t lengths[16];
    double leaf[CASE_FILE_LEAVES][CASE_FILE_MOST];
    double grad_output[CASE_FILE_MOST];
    double gradient[MHA_VALUE_COUNT][CASE_FILE_MOST]; /* in self-attention query holds all of it */
    mha_array extra[CASE_FILE_EXTRA];                 /* take the place of arrays of their names */
    size_t extra_count;
};

enum case_mask { CASE_OPEN, CASE_EXPLICIT, CASE_LENGTHS, CASE_CAUSAL, CASE_MASKS };

/* Leaves N(0,1), weights N(0,1)/sqrt(D), all claims of leaves, the right ones. Numbers are floats where dtype is
 * MHA_FLOAT32. */
void case_file_fill(struct case_file *made, const mha_shape *shape, bool self_attention,
    enum case_mask mask, mha_dtype dtype);

/* B=2 T=3 S=4 D=8 h=2, in self-attention S=3. */
mha_shape case_file_shape(bool self_attention);

/* Sets the gradients to those of a pass by these stages, under the mask or another. */
void case_file_walk(struct case_file *made, const mha_stage *stages, const mha_mask *mask);
/* Sets those of the leaves to what the layer computes in float. */
void case_file_walk_in_float(struct case_file *made);

void case_file_write(const struct case_file *file, const char *name);

/* Writes case.npz and checks it. */
struct outcome case_file_check(const struct case_file *file);

/* Checks it: just those arrays of `wrong` (words, "" for none) are called FAIL, all other claims PASS, the exit
 * status is 1 or 0, and standard output holds all words (ended by NULL). */
void assert_case_called(
    const struct case_file *file, const char *what, const char *wrong, const char *const *texts);

/* The file is refused with one line that holds the text. */
void assert_case_refused(const struct case_file *file, const char *text);

/* "grad_wq" of MHA_WQ. */
const char *case_file_name(mha_value value);

#endif
