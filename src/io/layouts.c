#include "io/layouts_internal.h"

#include <string.h>

#include "base/size.h"

static const char *const layout_names[MHA_LAYOUT_COUNT] = {
    [MHA_LAYOUT_UNKNOWN] = "unknown",
    [MHA_LAYOUT_LESSON] = "lesson",
    [MHA_LAYOUT_TORCH] = "torch",
    [MHA_LAYOUT_TORCH_LINEAR] = "torch-linear",
    [MHA_LAYOUT_COMBINED] = "combined",
};

const char *mha_layout_name(mha_layout layout) {
    return (unsigned)layout < MHA_LAYOUT_COUNT ? layout_names[layout] : "unknown";
}

bool mha_layout_from_name(mha_layout *layout, const char *name) {
    for (size_t i = MHA_LAYOUT_UNKNOWN + 1; i < MHA_LAYOUT_COUNT; i++) {
        if (strcmp(layout_names[i], name) == 0) {
            *layout = (mha_layout)i;
            return true;
        }
    }
    return false;
}

#define FOUR(q, k, v, o)                                                                           \
    4, {                                                                                           \
        q, k, v, o                                                                                 \
    }
#define SMALL(before, behind)                                                                      \
    FOUR(before "q" behind, before "k" behind, before "v" behind, before "o" behind)
#define CAPITAL(before, behind)                                                                    \
    FOUR(before "Q" behind, before "K" behind, before "V" behind, before "O" behind)
#define UNTOLD(names)                                                                              \
    { MHA_LAYOUT_UNKNOWN, PREFIX_MAYBE, names }

/* The first row of each layout is the one it is written with. */
const naming layout_namings[LAYOUT_NAMINGS] = {
    {MHA_LAYOUT_LESSON, PREFIX_NEVER, SMALL("w", "")},
    {MHA_LAYOUT_TORCH, PREFIX_MAYBE, 2, {"in_proj_weight", "out_proj.weight"}},
    {MHA_LAYOUT_TORCH_LINEAR, PREFIX_MAYBE,
        FOUR("q_proj.weight", "k_proj.weight", "v_proj.weight", "out_proj.weight")},
    {MHA_LAYOUT_COMBINED, PREFIX_NEVER, 2, {"w_qkv", "w_o"}},
    {MHA_LAYOUT_TORCH_LINEAR, PREFIX_MAYBE, SMALL("", "_proj.weight")},
    /* torch.nn.MultiheadAttention that was given kdim and vdim */
    {MHA_LAYOUT_TORCH_LINEAR, PREFIX_MAYBE,
        FOUR("q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight")},
    {MHA_LAYOUT_UNKNOWN, PREFIX_ALWAYS, SMALL("w", "")},
    UNTOLD(SMALL("w", ".weight")),
    UNTOLD(SMALL("w_", "")),
    UNTOLD(SMALL("w_", ".weight")),
    UNTOLD(SMALL("W", "")),
    UNTOLD(SMALL("W", ".weight")),
    UNTOLD(SMALL("W_", "")),
    UNTOLD(SMALL("W_", ".weight")),
    UNTOLD(CAPITAL("w", "")),
    UNTOLD(CAPITAL("w_", "")),
    UNTOLD(CAPITAL("W", "")),
    UNTOLD(CAPITAL("W_", "")),
    UNTOLD(CAPITAL("W_", ".weight")),
    UNTOLD(SMALL("", "")),
    UNTOLD(SMALL("", ".weight")),
    UNTOLD(CAPITAL("", "")),
    UNTOLD(SMALL("", "_proj")),
    UNTOLD(FOUR("q_proj", "k_proj", "v_proj", "out_proj")),
    UNTOLD(FOUR("to_q.weight", "to_k.weight", "to_v.weight", "to_out.weight")),
    UNTOLD(FOUR("to_q.weight", "to_k.weight", "to_v.weight", "to_out.0.weight")),
};

const naming *layout_naming(mha_layout layout) {
    const naming *row = layout_namings;
    while (row->layout != layout) {
        row++;
    }
    return row;
}

static bool is_packed(mha_layout layout) {
    return layout == MHA_LAYOUT_TORCH || layout == MHA_LAYOUT_COMBINED;
}

bool layout_is_torchs(mha_layout layout) {
    return layout == MHA_LAYOUT_TORCH || layout == MHA_LAYOUT_TORCH_LINEAR;
}

void layout_dims(size_t dims[2], mha_layout layout, size_t array, size_t width) {
    dims[0] = dims[1] = width;
    if (is_packed(layout) && array == 0) {
        dims[layout_is_torchs(layout) ? 0 : 1] = (LAYOUT_MATRICES - 1) * width;
    }
}

placement layout_placement(mha_layout layout, size_t matrix, size_t width) {
    const bool packed = is_packed(layout), last = matrix == LAYOUT_MATRICES - 1;
    placement p = {.array = packed ? last : matrix, .in_stride = width, .out_stride = 1};
    if (layout_is_torchs(layout)) {
        p.in_stride = 1;
        p.out_stride = width;
        p.start = packed && !last ? matrix * width * width : 0;
    } else if (packed && !last) {
        p.in_stride = (LAYOUT_MATRICES - 1) * width;
        p.start = matrix * width;
    }
    return p;
}

mha_status layout_bytes(
    size_t *bytes, mha_dtype dtype, size_t width, const char *path, mha_error *error) {
    size_t squared = 0;
    if (!size_multiply(&squared, width, width) ||
        !size_multiply(bytes, squared, LAYOUT_MATRICES * mha_dtype_bytes(dtype))) {
        return mha_fail(error, MHA_ERROR_SIZE, "%s: %d matrices of width %zu are too large", path,
            LAYOUT_MATRICES, width);
    }
    return MHA_OK;
}
