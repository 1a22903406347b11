/* All that has a precision. Reached through a door, once for each precision, so without a guard. */
#ifndef MHA_NAME
#error "include <mha/mha32.h> (float) or <mha/mha64.h> (double)"
#endif

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "-ffast-math and -ffinite-math-only remove NaN and infinity, which masks and checks rely on"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mha/declare.h>
#include <mha/status.h>
#include <mha/shape.h>
#include <mha/mask.h>
#include <mha/mode.h>
#include <mha/rng.h>
#include <mha/values.h>
#include <mha/names.h>

MHA_DECLARATIONS_BEGIN

#include <mha/ops.h>
#include <mha/fused.h>
#include <mha/stages.h>
#include <mha/layer.h>
#include <mha/loss.h>
#include <mha/sgd.h>

MHA_DECLARATIONS_END
