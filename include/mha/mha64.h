/* The door to the double precision: include this header, and every plain name of the library stands
 * for its mha_f64_ symbol and mha_real for double. One file opens one door, unless it defines
 * MHA_NO_SHORT_NAMES and spells the long names. */
#ifndef MHA_MHA64_H
#define MHA_MHA64_H

#if defined(MHA_MHA32_H) && !defined(MHA_NO_SHORT_NAMES)
#error                                                                                             \
    "one file uses one precision; define MHA_NO_SHORT_NAMES to include mha32.h and mha64.h together"
#endif

typedef double mha_f64_real;
#undef MHA_NAME
#define MHA_NAME(name) mha_f64_##name
#include <mha/numeric.h>

#ifdef MHA_NO_SHORT_NAMES
#undef MHA_NAME
#define MHA_NAME(name) mha_##name
#endif
#endif
