/* The vocabulary of sources that are compiled for several precisions: MHA_PRECISION is 32 for
 * float, 64 for double and 128 for double complex, which only the forward routines of the readable
 * wing are compiled for. */
#ifndef BASE_REAL_H
#define BASE_REAL_H

#include <math.h>
#include <float.h>

#if MHA_PRECISION == 32
#include <mha/mha32.h>
#define REAL(constant) constant##f
#define REAL_INFINITY  INFINITY
#define REAL_SMALLEST  FLT_MIN /* smallest normal number */
#define real_re(x)     (x)
#define real_exp(x)    expf(x)
#define real_sqrt(x)   sqrtf(x)
#define real_log(x)    logf(x)
#elif MHA_PRECISION == 64
#include <mha/mha64.h>
#define REAL(constant) constant
#define REAL_INFINITY  ((double)INFINITY)
#define REAL_SMALLEST  DBL_MIN
#define real_re(x)     (x)
#define real_exp(x)    exp(x)
#define real_sqrt(x)   sqrt(x)
#define real_log(x)    log(x)
#elif MHA_PRECISION == 128
#include "base/mha_complex.h"
#define REAL(constant) constant
#define REAL_INFINITY  ((double)INFINITY)
#define REAL_SMALLEST  DBL_MIN
#define real_re(x)     creal(x)
#define real_exp(x)    cexp(x)
#define real_sqrt(x)   csqrt(x)
#define real_log(x)    clog(x)
#else
#error "define MHA_PRECISION as 32, 64 or 128"
#endif

/* The type of sums over a whole data set. */
typedef double wide;

#endif
