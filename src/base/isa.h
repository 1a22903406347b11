/* The instruction set that kernels are picked by; mha_isa of <mha/mode.h> is its public side. */
#ifndef BASE_ISA_H
#define BASE_ISA_H

#include <stdbool.h>

#define isa_chosen    mha_isa_chosen
#define isa_is_forced mha_isa_is_forced

/* In ascending order: a processor that has one has those before it. */
typedef enum isa { ISA_BASELINE, ISA_V3, ISA_V4 } isa;

/* Always the same in one process: what MHA_ISA names when the processor has it, else the best. */
isa isa_chosen(void);

/* Whether MHA_ISA names it. */
bool isa_is_forced(void);

#endif
