#ifndef TRAIN_COMMANDS_BENCH_H
#define TRAIN_COMMANDS_BENCH_H

#include "command.h"

extern const struct command command_bench;

#endif
