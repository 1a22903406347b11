/* The private door to the complex precision, which the readable wing's forward is compiled for:
 * <mha/complex.h> is its public side. Never installed, and no shared library shows its names. */
#ifndef BASE_MHA_COMPLEX_H
#define BASE_MHA_COMPLEX_H

#include <complex.h>

/* What has no precision is shown as everywhere. */
#include <mha/mask.h>
#include <mha/mode.h>
#include <mha/rng.h>
#include <mha/shape.h>
#include <mha/status.h>
#include <mha/values.h>

#undef MHA_DECLARATIONS_BEGIN
#undef MHA_DECLARATIONS_END
#define MHA_DECLARATIONS_BEGIN
#define MHA_DECLARATIONS_END

typedef double complex mha_c128_real;
#undef MHA_NAME
#define MHA_NAME(name) mha_c128_##name
#include <mha/numeric.h>

#endif
