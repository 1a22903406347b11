/* The door of a file of the program that is compiled once a precision. A function of such a file is
 * called NAME_f32 and NAME_f64 outside, by `#define NAME PRECISE(NAME)`. */
#ifndef TRAIN_NUMERIC_DOOR_H
#define TRAIN_NUMERIC_DOOR_H

#if MHA_PRECISION == 32
#include <mha/mha32.h>
#define PRECISE(name) name##_f32
#elif MHA_PRECISION == 64
#include <mha/mha64.h>
#define PRECISE(name) name##_f64
#else
#error "MHA_PRECISION must be 32 or 64"
#endif

#endif
