/* A picture: where it goes, which kind it is, and the way from variables and script to a file. */
#ifndef TRAIN_COMMANDS_PLOT_PICTURE_H
#define TRAIN_COMMANDS_PLOT_PICTURE_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include <mha/status.h>

#include "plot_variables.h"

enum picture_kind { PICTURE_TEXT, PICTURE_PNG, PICTURE_SVG, PICTURE_PDF };

/* The options that all pictures share: -o and --keep-script; NULL is not given. A child parser
 * whose input is a picture_options. */
struct picture_options {
    const char *output;
    const char *kept_script;
};

extern const struct argp picture_argp;

/* The kind that the ending of output asks for, PICTURE_TEXT without one. MHA_ERROR_ARGUMENT for
 * another ending, for a file name with control characters, and for a script that is to be kept but
 * would replace the picture or could not hold its name. */
mha_status picture_kind_of(
    enum picture_kind *kind, const struct picture_options *options, mha_error *error);

/* Whether the bytes are a whole picture: gnuplot reports success on some failures. */
mha_status picture_check(enum picture_kind kind, const char *bytes, size_t size, mha_error *error);

/* Size in pixels of 1/96 inch, or in columns and lines of the terminal. */
struct picture_size {
    size_t width, height;
};

/* The terminal's size, 80 by 24 when it is unknown, and at most 240 by 80. */
struct picture_size terminal_size(void);
/* The columns of the terminal that standard output is; 0 when it is none. */
size_t terminal_width(void);
/* Whether texts may leave ASCII: the locale of the environment is in UTF-8. */
bool terminal_is_utf8(void);

/* Says on standard error when a picture of this kind would lack its letters. */
void tell_missing_fonts(enum picture_kind kind);

/* Draws the fixed script `name` with these variables: into the file that the options name, which is
 * replaced as a whole, or as text on standard output. On failure no file is left or changed, but
 * for a picture whose script could not be written. */
mha_status picture_draw(const struct picture_options *options, const struct picture_size *size,
    const char *name, const struct script *variables, mha_error *error);

#endif
