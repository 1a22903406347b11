#include "base/real.h"

/* Heads side by side, side (B,L,h*d), and each by itself, apart (B,h,L,d): splitting writes apart
 * from side, combining writes side from apart, and the gradient of the one moves as the other. */
typedef struct geometry {
    size_t batch, length, heads, head_width;
} geometry;

/* One row of one head in both layouts: to[i] = from[i], or to[i] += from[i]. */
static void move_row(mha_real *to, const mha_real *from, size_t count, bool add) {
    for (size_t i = 0; i < count; i++) {
        to[i] = add ? to[i] + from[i] : from[i];
    }
}

static void move(mha_real *to, const mha_real *from, bool to_apart, bool add, geometry g) {
    for (size_t b = 0; b < g.batch; b++) {
        for (size_t h = 0; h < g.heads; h++) {
            for (size_t l = 0; l < g.length; l++) {
                const size_t side = ((b * g.length + l) * g.heads + h) * g.head_width;
                const size_t apart = ((b * g.heads + h) * g.length + l) * g.head_width;
                move_row(to + (to_apart ? apart : side), from + (to_apart ? side : apart),
                    g.head_width, add);
            }
        }
    }
}

void mha_split_heads_forward(mha_real *heads_out, const mha_real *x, size_t batch, size_t length,
    size_t heads, size_t head_width) {
    move(heads_out, x, true, false, (geometry){batch, length, heads, head_width});
}

void mha_split_heads_backward(mha_real *dx, const mha_real *dheads_out, size_t batch, size_t length,
    size_t heads, size_t head_width) {
    if (dx != NULL) {
        move(dx, dheads_out, false, true, (geometry){batch, length, heads, head_width});
    }
}

void mha_combine_heads_forward(mha_real *y, const mha_real *heads_in, size_t batch, size_t length,
    size_t heads, size_t head_width) {
    move(y, heads_in, false, false, (geometry){batch, length, heads, head_width});
}

void mha_combine_heads_backward(mha_real *dheads_in, const mha_real *dy, size_t batch,
    size_t length, size_t heads, size_t head_width) {
    if (dheads_in != NULL) {
        move(dheads_in, dy, true, true, (geometry){batch, length, heads, head_width});
    }
}
