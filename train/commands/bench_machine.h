/* What the machine could do at best: its name, arithmetic and memory. */
#ifndef TRAIN_COMMANDS_BENCH_MACHINE_H
#define TRAIN_COMMANDS_BENCH_MACHINE_H

#include <stddef.h>

#include <mha/status.h>

/* The processor's model, "unknown" where the system does not tell. One line. */
enum { PROCESSOR_NAME_SIZE = 128, ISA_NAME_SIZE = 16 };
void processor_name(char name[PROCESSOR_NAME_SIZE]);

/* Floating-point operations a second of fused multiply-adds on registers alone, by that many threads
 * together: the best of many short bursts, since disturbances only slow. */
double fma_peak(size_t threads);

/* Bytes a second of threads together, over 256 MB: of a sum, and of a copy, whose bytes count where
 * they are read and where they are written. */
struct memory_speed {
    double read, copy;
};
mha_status memory_measure(struct memory_speed *speed, size_t threads, mha_error *error);

#endif
