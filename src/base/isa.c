/* MHA_KERNELS_X86 says that the kernels were compiled for v3 and v4 too. */
#include "base/isa.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mha/mode.h>

#if defined(MHA_KERNELS_X86)
#include <cpuid.h>
#endif

static const char *const names[] = {[ISA_BASELINE] = "baseline", [ISA_V3] = "v3", [ISA_V4] = "v4"};
enum { ISA_COUNT = sizeof names / sizeof *names, ASKED_SIZE = 32 };

#if defined(MHA_KERNELS_X86)
/* clang 14 does not know this feature by name. */
static bool has_f16c(void) {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & (unsigned)bit_F16C) != 0;
}

/* The compiler's test includes whether the system saves the wide registers. */
static isa best_here(void) {
    __builtin_cpu_init();
    if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
            __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && has_f16c())) {
        return ISA_BASELINE;
    }
    if (!(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl"))) {
        return ISA_V3;
    }
    return ISA_V4;
}
#else
static isa best_here(void) {
    return ISA_BASELINE;
}
#endif

typedef struct choice {
    isa chosen;
    bool forced; /* by MHA_ISA */
    bool refused;
    char asked[ASKED_SIZE]; /* the value of MHA_ISA that was refused, its beginning at least */
} choice;

static choice choose(void) {
    const isa best = best_here();
    const char *asked = getenv("MHA_ISA");
    if (asked == NULL || *asked == '\0') {
        return (choice){.chosen = best};
    }
    for (int set = ISA_BASELINE; set <= (int)best; set++) {
        if (strcmp(asked, names[set]) == 0) {
            return (choice){.chosen = (isa)set, .forced = true};
        }
    }
    choice refused = {.chosen = best, .refused = true};
    snprintf(refused.asked, sizeof refused.asked, "%s", asked);
    return refused;
}

/* The first to choose keeps it for all. Who comes while it is being kept goes by its own choice, which
 * is the same: nobody waits, not even in a process that was forked at that moment. */
static choice made_choice(void) {
    enum { NONE, BEING_KEPT, KEPT };
    static atomic_int state = NONE;
    static choice kept;
    if (atomic_load_explicit(&state, memory_order_acquire) == KEPT) {
        return kept;
    }
    const choice own = choose();
    int expected = NONE;
    if (atomic_compare_exchange_strong(&state, &expected, BEING_KEPT)) {
        kept = own;
        atomic_store_explicit(&state, KEPT, memory_order_release);
    }
    return own;
}

isa isa_chosen(void) {
    return made_choice().chosen;
}

bool isa_is_forced(void) {
    return made_choice().forced;
}

mha_status mha_isa(const char **name, mha_error *error) {
    const choice made = made_choice();
    *name = names[made.chosen];
    if (!made.refused) {
        return MHA_OK;
    }
    char here[64] = "";
    size_t length = 0;
    for (int set = ISA_BASELINE; set <= (int)best_here(); set++) {
        length += (size_t)snprintf(
            here + length, sizeof here - length, "%s%s", set == 0 ? "" : ", ", names[set]);
    }
    return mha_fail(
        error, MHA_ERROR_ARGUMENT, "MHA_ISA is '%s', this processor has %s", made.asked, here);
}
