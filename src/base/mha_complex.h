/* The private door to the complex precision: derivatives by the complex step need the forward
 * routines for double complex. Never installed. */
#ifndef BASE_MHA_COMPLEX_H
#define BASE_MHA_COMPLEX_H

#include <complex.h>

typedef double complex mha_c128_real;
#undef MHA_NAME
#define MHA_NAME(name) mha_c128_##name
#include <mha/numeric.h>

#endif
