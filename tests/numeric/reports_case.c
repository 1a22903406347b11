#include "base/real.h"

#include <stdlib.h>
#include <string.h>

#include "reports_case.h"

static size_t count_of(const layer_case *c, mha_value value) {
    return mha_value_count(value, &c->shape);
}

static size_t weight_count(const layer_case *c) {
    return MHA_WEIGHT_COUNT * c->shape.width * c->shape.width;
}

static mha_real *filled(size_t count, mha_real value) {
    mha_real *array = malloc((count == 0 ? 1 : count) * sizeof *array);
    ck_assert_ptr_nonnull(array);
    for (size_t i = 0; i < count; i++) {
        array[i] = value;
    }
    return array;
}

void open_case(layer_case *c, mha_shape shape, bool self_attention) {
    *c = (layer_case){.shape = shape};
    const size_t targets = count_of(c, MHA_QUERY), sources = count_of(c, MHA_SOURCE);
    c->query = filled(targets, REAL(0.0));
    c->source = self_attention ? NULL : filled(sources, REAL(0.0));
    c->weights = filled(weight_count(c), REAL(0.0));
    c->output = filled(targets, (mha_real)NAN);
    c->doutput = filled(targets, REAL(1.0));
    c->dx_query = filled(targets, REAL(0.0));
    c->dx_source = self_attention ? NULL : filled(sources, REAL(0.0));
    c->dweights = filled(weight_count(c), REAL(0.0));
    c->computed = filled(count_of(c, MHA_ATTENTION_WEIGHTS), (mha_real)NAN);
    ck_assert_int_eq(mha_layer_create(&c->layer, &shape, wing_options(), NULL), MHA_OK);
    ck_assert_int_eq(mha_tape_create(&c->tape, &shape, wing_options(), NULL), MHA_OK);
}

void close_case(layer_case *c) {
    void *const arrays[] = {c->query, c->source, c->weights, c->output, c->doutput, c->dx_query,
        c->dx_source, c->dweights, c->computed};
    for (size_t i = 0; i < COUNT(arrays); i++) {
        free(arrays[i]);
    }
    mha_layer_destroy(c->layer);
    mha_tape_destroy(c->tape);
}

static void set_diagonals(layer_case *c, size_t first) {
    const size_t D = c->shape.width;
    for (size_t i = 0; i < weight_count(c); i++) {
        const size_t row = i / D % D, column = i % D;
        c->weights[i] = i / D / D >= first && row == column ? REAL(1.0) : REAL(0.0);
    }
}

void set_identity(layer_case *c) {
    set_diagonals(c, 0);
}

void set_uniform(layer_case *c) {
    set_diagonals(c, MHA_WV - MHA_WQ);
}

void set_numbers(mha_real *to, const wide *from, size_t count) {
    for (size_t i = 0; i < count; i++) {
        to[i] = (mha_real)from[i];
    }
}

void draw_case(layer_case *c, uint64_t seed) {
    mha_rng rng;
    mha_rng_seed(&rng, &seed, 1);
    const mha_weights weights = case_weights(c);
    mha_weights_draw(&weights, &rng, c->shape.width);
    mha_real *const arrays[] = {c->query, c->source, c->doutput};
    const size_t counts[] = {count_of(c, MHA_QUERY),
        c->source == NULL ? 0 : count_of(c, MHA_SOURCE), count_of(c, MHA_OUTPUT)};
    for (size_t a = 0; a < COUNT(arrays); a++) {
        for (size_t i = 0; i < counts[a]; i++) {
            arrays[a][i] = (mha_real)mha_rng_normal(&rng);
        }
    }
}

mha_weights case_weights(const layer_case *c) {
    return mha_weights_view(c->weights, c->shape.width);
}

mha_status try_forward(layer_case *c) {
    const mha_weights weights = case_weights(c);
    return mha_forward(
        c->output, c->tape, c->query, c->source, c->mask, &weights, c->layer, &c->shape, &c->error);
}

mha_status try_backward(layer_case *c) {
    const mha_weights dweights = mha_weights_view(c->dweights, c->shape.width);
    return mha_backward(
        c->dx_query, c->dx_source, &dweights, c->doutput, c->tape, c->layer, &c->shape, &c->error);
}

void run_forward(layer_case *c) {
    const mha_status status = try_forward(c);
    ck_assert_msg(status == MHA_OK, "forward: %s", c->error.text);
}

void run_backward(layer_case *c) {
    const mha_status status = try_backward(c);
    ck_assert_msg(status == MHA_OK, "backward: %s", c->error.text);
}

size_t leaves_of(leaf leaves[CASE_LEAVES], const layer_case *c) {
    const size_t matrix = c->shape.width * c->shape.width;
    size_t count = 0;
    leaves[count++] = (leaf){mha_value_shape_of(MHA_QUERY, &c->shape), c->query, c->dx_query};
    if (c->source != NULL) {
        leaves[count++] =
            (leaf){mha_value_shape_of(MHA_SOURCE, &c->shape), c->source, c->dx_source};
    }
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        leaves[count++] = (leaf){mha_value_shape_of((mha_value)(MHA_FIRST_WEIGHT + i), &c->shape),
            c->weights + i * matrix, c->dweights + i * matrix};
    }
    return count;
}

void clear_gradients(layer_case *c) {
    leaf leaves[CASE_LEAVES];
    const size_t count = leaves_of(leaves, c);
    for (size_t l = 0; l < count; l++) {
        for (size_t i = 0; i < leaves[l].shape.count; i++) {
            leaves[l].gradient[i] = REAL(0.0);
        }
    }
}

const mha_real *attention_of(const layer_case *c) {
    return wing_attention(c->computed, c->tape, c->mask, &c->shape);
}
