/* Which of the compiled kernels are used. MHA_KERNELS_X86 says that there are v3 and v4. */
#include "kernels/kernels.h"

#include "base/isa.h"

const kernels *kernels_get(void) {
#if defined(MHA_KERNELS_X86)
    switch (isa_chosen()) {
    case ISA_V4:
        return &kernels_v4;
    case ISA_V3:
        return &kernels_v3;
    case ISA_BASELINE:
        break;
    }
#endif
    return &kernels_baseline;
}

enum { NARROW = 16 };

const kernels *kernels_for(size_t width) {
#if defined(MHA_KERNELS_X86)
    if (width <= NARROW && isa_chosen() == ISA_V4 && !isa_is_forced()) {
        return &kernels_v3;
    }
#else
    (void)width;
#endif
    return kernels_get();
}
