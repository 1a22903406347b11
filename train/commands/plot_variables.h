/* What stands in front of a gnuplot script: assignments and data. No text can leave its quotes. */
#ifndef TRAIN_COMMANDS_PLOT_VARIABLES_H
#define TRAIN_COMMANDS_PLOT_VARIABLES_H

#include <stdio.h>

#include <mha/status.h>

/* Text in memory that is written as a stream. */
struct script {
    FILE *stream;
    char *text; /* valid from script_close to script_free, with a final 0 */
    size_t size;
};

mha_status script_open(struct script *made, mha_error *error);
mha_status script_close(
    struct script *made, mha_error *error); /* MHA_ERROR_MEMORY when text is missing */
void script_free(struct script *made);

/* name = 'text'. Control characters and bytes that are no UTF-8 are written as '?'. */
void script_text(FILE *stream, const char *name, const char *text);
/* array name[count], and name[index] = 'text' with index from 1. */
void script_array(FILE *stream, const char *name, size_t count);
void script_element(FILE *stream, const char *name, size_t index, const char *text);
/* name = value in 15 digits, so that whole numbers are exact; and a value alone, as a field of data,
 * in 9. NaN when it is not finite. The decimal sign is a point in every locale. */
void script_number(FILE *stream, const char *name, double value);
void script_value(FILE *stream, double value);

/* The lines before and after the rows of the data block "$name<index>", index from 1. */
void script_data_begin(FILE *stream, const char *name, size_t index);
void script_data_end(FILE *stream);

/* Bytes of the UTF-8 character at text; 0 when it is malformed or cannot be shown. */
size_t character_size(const char *text);
/* Places that text takes when it is shown: its characters, and one for every other byte. */
size_t text_length(const char *text);

#endif
