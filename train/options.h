/* Options that several commands share, and the strict reading of numbers. */
#ifndef TRAIN_OPTIONS_H
#define TRAIN_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mha/mask.h>

/* argp_error with control characters of the text shown as '?'. */
void usage_error(const struct argp_state *state, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Strict: the whole text is one number within the bounds. On failure argp_error is called with a
 * line that names the option, the text and the bounds; it ends the program with status 2. */
size_t parse_size(const struct argp_state *state, const char *option, const char *text,
    size_t least, size_t most);
uint64_t parse_seed(const struct argp_state *state, const char *option, const char *text);
/* At least 1 byte; K, M or G behind the number stand for powers of 1024. */
size_t parse_bytes(const struct argp_state *state, const char *option, const char *text);
double parse_number(const struct argp_state *state, const char *option, const char *text,
    double least, double most);

/* Options of a shape and of a pass, of which only what was given is set. */
struct shape_options {
    size_t batch, target_length, source_length, width, heads; /* 0: not given */
    mha_causal causal;
    bool has_causal;
    uint64_t seed;
    bool has_seed;
};

/* Child parsers whose input is a shape_options:
 * --batch --target-length --source-length --width --heads; --causal[=...]; --causal[=...] --seed. */
extern const struct argp shape_argp;
extern const struct argp causal_argp;
extern const struct argp pass_argp;

/* Changes the sizes that were given; with one_length a length given alone stands for both. */
void apply_sizes(mha_shape *shape, const struct shape_options *given, bool one_length);

/* -h as --help: a child of every command's parser; has no input. */
extern const struct argp help_argp;

#endif
