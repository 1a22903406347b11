/* The stages of the layer, in the order that forward walks; backward walks them from the end.
 * Reached through <mha/mha32.h> or <mha/mha64.h>.
 *
 * A user of the layer needs none of this. It is the seam for looking inside: a copy of the table
 * with one entry exchanged, given to mha_layer_create, plants a fault or replaces a stage: each entry
 * keeps its result and inputs, else MHA_ERROR_ARGUMENT. The tape
 * saves what the table mha_stages reads back, whatever the copy says. */
#ifndef MHA_NAME
#error "include <mha/mha32.h> (float) or <mha/mha64.h> (double)"
#endif

/* What the stages of one pass share. */
typedef struct mha_pass {
    mha_shape shape;
    const mha_mask *mask;                   /* NULL allows every pair */
    const mha_real *value[MHA_VALUE_COUNT]; /* leaves and activations */
    mha_real *gradient[MHA_VALUE_COUNT];    /* backward only; NULL is not wanted */
    mha_real *saved[MHA_VALUE_COUNT];       /* the activations that the tape saves */
    mha_fused *fused; /* the fused wing's scratch; NULL in the readable wing */
} mha_pass;

typedef struct mha_stage {
    const char *name;
    mha_value result;         /* the value that this stage writes */
    unsigned long also_saves; /* bit of each further value that it writes, for its backward */
    unsigned long inputs;     /* bit (1 << value) of each value it depends on */
    unsigned long reads_back; /* bit of each value that backward reads: leaves, or the tape */
    bool masked;              /* the mask matters to it */
    /* Writes result, reading pass->value[] of the inputs. */
    void (*forward)(mha_real *result, const mha_pass *pass);
    /* Adds to pass->gradient[] of the inputs that are wanted, given d(loss)/d(result). In the fused
     * wing, where each activation is the input of one stage, gradients of activations are written. */
    void (*backward)(const mha_pass *pass, const mha_real *dresult);
} mha_stage;

/* The readable wing. */
extern const mha_stage mha_stages[MHA_STAGE_COUNT];

/* The table of a wing and mode, and how many stages it has: mha_stages, or that of the fused wing, where
 * one stage, "attention", stands for all between the projections. */
const mha_stage *mha_stages_of(size_t *count, mha_kernel kernel, mha_mode mode);
