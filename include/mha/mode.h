/* How a layer computes attention, and with which instructions. Precision-free. */
#ifndef MHA_MODE_H
#define MHA_MODE_H

#include <stddef.h>

#include <mha/declare.h>
#include <mha/status.h>

MHA_DECLARATIONS_BEGIN

/* Two wings with one contract. */
typedef enum mha_kernel {
    MHA_KERNEL_FUSED,    /* scores, mask, softmax and context in one sweep of tiles: fast */
    MHA_KERNEL_REFERENCE /* one operator after the other, every step an array: readable */
} mha_kernel;

/* What the tape keeps of the attention weights. Results have the same bits in both modes. */
typedef enum mha_mode {
    MHA_MODE_STORED, /* the weights themselves, (B,h,T,S) */
    MHA_MODE_TILED   /* two numbers a row; backward computes the weights again. Fused only */
} mha_mode;

/* The instruction set that the library computes with: "baseline" (what the compiler was told),
 * "v3" (x86-64 with AVX2 and FMA) or "v4" (AVX-512): the highest that the processor has, or the one
 * that the environment variable MHA_ISA names. Where v4 is picked and MHA_ISA does not name it, layers
 * of a width up to 16 run on v3, faster there and with the same bits. Decided once in a process. MHA_ERROR_ARGUMENT, and
 * *name is what is used instead, when MHA_ISA names something else or what the processor lacks. */
mha_status mha_isa(const char **name, mha_error *error);

/* The threads that work of this process is shared among when a layer is asked for 0: what OpenMP
 * says (OMP_NUM_THREADS), but no more than the processors there are, since threads wait for each
 * other awake; 1 in a library without OpenMP, and in a process forked after it was loaded. */
size_t mha_default_threads(void);

MHA_DECLARATIONS_END
#endif
