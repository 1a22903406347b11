/* The layouts as tables: which names stand for weights, and where in its array each matrix lies. */
#ifndef IO_LAYOUTS_INTERNAL_H
#define IO_LAYOUTS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include <mha/layouts.h>

#define layout_namings   mha_layout_namings
#define layout_naming    mha_layout_naming
#define layout_bytes     mha_layout_bytes
#define layout_dims      mha_layout_dims
#define layout_placement mha_layout_placement
#define layout_is_torchs mha_layout_is_torchs
#define match_check      mha_match_check
#define match_heads      mha_match_heads
#define match_name       mha_match_name
#define weights_find     mha_weights_find

enum {
    LAYOUT_MATRICES = 4,    /* wq wk wv wo */
    LAYOUT_ARRAYS_MOST = 4, /* arrays that hold them */
    LAYOUT_NAME_SIZE = 24   /* longest name of one, without its prefix, and '\0' */
};

/* What may stand before the names of a naming. */
typedef enum prefix_rule { PREFIX_NEVER, PREFIX_MAYBE, PREFIX_ALWAYS } prefix_rule;

/* Names under which a file holds the weights. The array of wo is the last. */
typedef struct naming {
    mha_layout layout; /* MHA_LAYOUT_UNKNOWN: four square matrices, (in,out) or (out,in) */
    prefix_rule prefix;
    size_t count; /* 2 or 4 arrays */
    char names[LAYOUT_ARRAYS_MOST][LAYOUT_NAME_SIZE];
} naming;

enum { LAYOUT_NAMINGS = 26 };
extern const naming layout_namings[LAYOUT_NAMINGS];

/* The naming that a layout is written with. */
const naming *layout_naming(mha_layout layout);

/* Whether the layout is one of torch's, whose matrices stand as (out,in). */
bool layout_is_torchs(mha_layout layout);

/* The shape of one array of a layout. */
void layout_dims(size_t dims[2], mha_layout layout, size_t array, size_t width);

/* Bytes of the four matrices; MHA_ERROR_SIZE when they are too many. */
mha_status layout_bytes(
    size_t *bytes, mha_dtype dtype, size_t width, const char *path, mha_error *error);

/* Entry (i,j) of a matrix, (in,out), is number start + i in_stride + j out_stride of the array. */
typedef struct placement {
    size_t array;
    size_t start, in_stride, out_stride;
} placement;

placement layout_placement(mha_layout layout, size_t matrix, size_t width);

/* The weights of a file, found by their names. */
typedef struct match {
    const naming *naming;
    mha_layout layout;  /* of the naming, or as wanted */
    const char *prefix; /* the first prefix_length characters of it */
    size_t prefix_length;
    size_t found; /* arrays that are there */
    const mha_array *arrays[LAYOUT_ARRAYS_MOST];
} match;

/* What to look for in the arrays of the file at path. */
typedef struct weights_query {
    const mha_arrays *arrays;
    const char *path;
    mha_layout wanted;     /* MHA_LAYOUT_UNKNOWN: the names tell */
    const char *wanted_by; /* who wants it, for messages: "asked for" */
    const char *prefix;    /* NULL: the names tell */
} weights_query;

/* MHA_ERROR_FORMAT when names, wanted layout and prefix do not single out complete weights. */
mha_status weights_find(match *found, const weights_query *query, mha_error *error);

/* Names, from the left: prefix, name; cut after `size` bytes, the '\0' included. Returns text. */
char *match_name(char *text, size_t size, const match *m, const char *name);

/* That the arrays are floating, have the shapes of the layout and stand beside no biases but zeros:
 * MHA_ERROR_FORMAT. *width is D. */
mha_status match_check(
    size_t *width, const match *m, const mha_arrays *arrays, const char *path, mha_error *error);

/* The number of heads that array and metadata `heads` of a file tell, 0 when there is none. */
mha_status match_heads(size_t *heads, const mha_arrays *arrays, const char *path, mha_error *error);

#endif
