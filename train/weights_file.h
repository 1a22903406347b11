/* Files of weights, in any layout. */
#ifndef TRAIN_WEIGHTS_FILE_H
#define TRAIN_WEIGHTS_FILE_H

#include <argp.h>

#include <mha/layouts.h>

/* Child parser for commands that read arrays: --max-bytes. Its input is a file_options. */
struct file_options {
    size_t max_bytes; /* largest array that is read; 0: not given, the default of <mha/io.h> */
};

extern const struct argp files_argp;

/* Child parser for commands that are told how weights lie in a file: --layout --prefix --heads. Its
 * input is a mha_layout_hint. */
extern const struct argp layout_argp;

/* Every number of the weights must be finite, also once it is rounded to dtype: MHA_ERROR_NOT_FINITE
 * naming the first that is not. path names the file in messages. */
mha_status weight_set_check(
    const mha_weight_set *set, mha_dtype dtype, const char *path, mha_error *error);

/* The layout of that name; argp_error for another. */
mha_layout parse_layout(const struct argp_state *state, const char *option, const char *text);

/* Where the library's text asks for something to be named, adds which option of layout_argp does it. */
mha_status name_layout_option(const mha_error *found, mha_error *error);

/* Takes the weights out of the file at path, as mha_weight_set_take does; the file's other arrays are
 * read past. On failure *set holds nothing. */
mha_status load_weight_set(mha_weight_set *set, const char *path, const mha_layout_hint *hint,
    size_t max_bytes, mha_error *error);

#endif
