/* Cases for the gradient checker: each routine by itself and the whole layer, on random inputs, in
 * double. */
#ifndef TRAIN_CHECKS_CASE_H
#define TRAIN_CHECKS_CASE_H

#include <mha/gradcheck.h>
#include <mha/mha64.h>

/* The kinds of mask that every routine is checked under. */
enum mask_kind {
    MASK_NONE,
    MASK_TOP_LEFT,
    MASK_BOTTOM_RIGHT,
    MASK_LENGTHS,  /* S - 1, S and 0 keys, in turn */
    MASK_EXPLICIT, /* random for each head; one query sees nothing, one key is seen by nobody */
    MASK_COMBINED, /* bottom-right, lengths and explicit */
    MASK_KIND_COUNT
};

const char *mask_kind_name(enum mask_kind kind);

/* What to check. */
struct check_plan {
    mha_shape shape;
    bool self_attention; /* the layer only; then T = S */
    enum mask_kind mask;
    uint64_t seed;     /* inputs come from default_rng([seed, 6, 1]) */
    mha_kernel kernel; /* of the layer; the single routines each have one */
    mha_mode mode;     /* of the layer and of check_fused_create */
    size_t threads;    /* likewise; 0: mha_default_threads() */
};

enum { CASE_BLOCKS = 6, CASE_ARRAYS = 60 };

/* One case, ready for mha_gradcheck_run(reports, &subject, ...). Owns all memory. */
struct check_case {
    mha_gradcheck_case subject;
    mha_gradcheck_block blocks[CASE_BLOCKS];
    mha_value block_value[CASE_BLOCKS];
    mha_gradcheck_output output;
    mha_shape shape;
    mha_mask mask_storage;
    const mha_mask *mask; /* NULL without one */
    size_t most_visible;  /* keys of the query that sees most */
    mha_rng rng;
    void *arrays[CASE_ARRAYS];
    size_t array_count;
    bool out_of_memory;

    /* what the callbacks of each kind of case need beside the blocks */
    double *result;  /* values of the output */
    double *weights; /* attention weights */
    mha_fused_weights saved;
    double *scratch;
    const mha_stage *stage;
    mha_pass pass;
    mha_fused *fused;
    mha_layer *layer;
    mha_tape *tape;
    const double *target;
    const int32_t *labels;
    unsigned char *counted;
    size_t answers, classes;

    /* of the complex step */
    size_t first_stage, last_stage;
    mha_complex *complex[MHA_VALUE_COUNT]; /* activations between them */
};

/* Each makes a case; on failure nothing is left to destroy. */
mha_status check_stage_create(struct check_case *made, const struct check_plan *plan,
    const mha_stage *stage, mha_error *error);
mha_status check_attention_create(
    struct check_case *made, const struct check_plan *plan, mha_error *error);
mha_status check_fused_create(
    struct check_case *made, const struct check_plan *plan, mha_error *error);
mha_status check_mse_create(
    struct check_case *made, const struct check_plan *plan, mha_error *error);
mha_status check_cross_entropy_create(
    struct check_case *made, const struct check_plan *plan, mha_error *error);
/* stages is NULL, or a table with one stage exchanged, which makes the kernel the reference. */
mha_status check_layer_create(struct check_case *made, const struct check_plan *plan,
    const mha_stage *stages, mha_error *error);

void check_case_destroy(struct check_case *made);

/* For the makers: */

/* Checks the shape, seeds the generator and makes the mask. */
mha_status case_begin(struct check_case *made, const struct check_plan *plan, mha_error *error);
/* Takes another mask, or NULL, in place of the plan's; before blocks are made. */
void case_take_mask(struct check_case *made, const mha_mask *mask);
/* Zeroed arrays that the case owns; NULL sets out_of_memory. */
void *case_array(struct check_case *made, size_t count, size_t size);
/* count numbers N(0,1). */
double *case_normal(struct check_case *made, size_t count);
/* A block of random values with its gradient, shaped as the value, named by the table. */
mha_gradcheck_block *case_block(struct check_case *made, mha_value value, bool zero_expected);
/* The output, shaped as the value; its values are returned. */
double *case_output(struct check_case *made, mha_value value);
/* Lets the complex step run stages first to last of mha_stages, from the blocks to the output. */
void case_stages(struct check_case *made, size_t first, size_t last);
/* The place in mha_stages of the stage that writes result. */
size_t case_stage_of(mha_value result);
/* Sets the callbacks; destroys the case when it ran out of memory. */
mha_status case_end(
    struct check_case *made, bool (*forward)(void *), bool (*backward)(void *), mha_error *error);

#endif
