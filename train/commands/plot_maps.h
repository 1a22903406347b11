/* Attention maps: the weights of one example, a panel for each head, as variables of heads.gp or as
 * text. */
#ifndef TRAIN_COMMANDS_PLOT_MAPS_H
#define TRAIN_COMMANDS_PLOT_MAPS_H

#include <stdbool.h>
#include <stddef.h>

#include <mha/mha32.h>

#include "plot_picture.h"

enum { MAP_LABEL_SIZE = 32 };

struct attention_maps {
    const char *title;
    size_t heads, queries, keys;          /* h, T, S; at least 1 */
    const mha_real *weights;              /* (h,T,S) */
    const unsigned char *blocked;         /* (h,T,S), 1 where the mask blocks; NULL for nowhere */
    char (*query_labels)[MAP_LABEL_SIZE]; /* (T) */
    char (*key_labels)[MAP_LABEL_SIZE];   /* (S) */
    size_t averaged;                      /* 0; or the heads whose mean the one map is */
};

/* MHA_ERROR_SIZE when a map is empty or there is more to draw than a page can show. */
mha_status maps_check(const struct attention_maps *maps, mha_error *error);

/* mean (T,S) of the maps of all heads (h,T,S); NaN stays NaN. */
void maps_average(
    mha_real *mean, const mha_real *weights, size_t heads, size_t queries, size_t keys);

/* "head 3", or "mean of 8 heads". */
void map_name(char *text, size_t size, const struct attention_maps *maps, size_t head);

/* What a cell shows: a weight, a pair that the mask blocks, or a weight that is not finite. */
enum cell_kind { CELL_WEIGHT, CELL_BLOCKED, CELL_NOT_FINITE };
enum cell_kind map_cell(
    double *weight, const struct attention_maps *maps, size_t head, size_t t, size_t s);

/* Writes all variables and data of heads.gp and the size that the picture needs. */
void maps_variables(FILE *stream, struct picture_size *size, const struct attention_maps *maps);

/* MHA_ERROR_SIZE when one map alone needs more than `width` columns. */
mha_status maps_check_width(
    const struct attention_maps *maps, size_t width, bool utf8, mha_error *error);

/* Prints the maps in at most `width` columns where that is possible: as numbers when they are
 * small, else in shades (UTF-8) or tenths. */
void maps_print(FILE *out, const struct attention_maps *maps, size_t width, bool utf8);

#endif
