/* Which stage alone, going wrong on the way back, would spoil just those gradients that are wrong. */
#ifndef TRAIN_CHECKS_SUSPECTS_H
#define TRAIN_CHECKS_SUSPECTS_H

#include <stdbool.h>
#include <stddef.h>

/* Sets of values are bits (1 << value). claimed: the gradients that were given, wrong: those of them that are
 * not right. In self-attention the query stands for the source too. Fills text with the names of the stages,
 * "" when there are none, and returns how many there are. */
size_t find_suspects(
    char *text, size_t size, unsigned long claimed, unsigned long wrong, bool self_attention);

#endif
