#include <mha/mask.h>

#include <inttypes.h>
#include <stdio.h>

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* The dims of an explicit mask in the order (B,h,T,S), 1 where an axis is missing. */
typedef struct extents {
    size_t b, h, t, s;
} extents;

static extents extents_of(const mha_mask *mask) {
    const size_t *dims = mask->dims;
    switch (mask->rank) {
    case 2:
        return (extents){1, 1, dims[0], dims[1]};
    case 3:
        return (extents){dims[0], 1, dims[1], dims[2]};
    default:
        return (extents){dims[0], dims[1], dims[2], dims[3]};
    }
}

/* "(2, 1, 4, 6)" */
typedef struct dims_text {
    char text[128];
} dims_text;

static dims_text show_dims(const size_t *dims, size_t rank) {
    dims_text result = {"("};
    size_t used = 1;
    for (size_t i = 0; i < rank; i++) {
        int written = snprintf(result.text + used, sizeof result.text - used, "%zu%s", dims[i],
            i + 1 < rank ? ", " : ")");
        used += (size_t)written;
    }
    return result;
}

static mha_status check_causal(const mha_mask *mask, const mha_shape *shape, mha_error *error) {
    if (mask->causal < MHA_CAUSAL_OFF || mask->causal > MHA_CAUSAL_BOTTOM_RIGHT) {
        return mha_fail(error, MHA_ERROR_MASK, "causal value %d is none of the known alignments",
            (int)mask->causal);
    }
    if (mask->causal == MHA_CAUSAL_SQUARE && shape->target_length != shape->source_length) {
        return mha_fail(error, MHA_ERROR_MASK,
            "causal with target length %zu and source length %zu needs an alignment: top-left or "
            "bottom-right",
            shape->target_length, shape->source_length);
    }
    return MHA_OK;
}

static mha_status check_lengths(const mha_mask *mask, const mha_shape *shape, mha_error *error) {
    for (size_t b = 0; mask->lengths != NULL && b < shape->batch; b++) {
        if (mask->lengths[b] < 0) {
            return mha_fail(error, MHA_ERROR_MASK, "length %" PRId64 " of sample %zu is below 0",
                mask->lengths[b], b);
        }
        if ((uint64_t)mask->lengths[b] > shape->source_length) {
            return mha_fail(error, MHA_ERROR_MASK,
                "length %" PRId64 " of sample %zu exceeds the source length %zu", mask->lengths[b],
                b, shape->source_length);
        }
    }
    return MHA_OK;
}

static mha_status refuse_dims(const mha_mask *mask, const mha_shape *shape, mha_error *error) {
    const size_t B = shape->batch, h = shape->heads;
    const size_t T = shape->target_length, S = shape->source_length;
    const size_t *dims = mask->dims;
    const size_t expected[] = {B, h, T, S};
    const size_t first = 4 - mask->rank;
    const dims_text given = show_dims(dims, mask->rank);
    if (mask->rank == 2 && dims[0] == B && dims[1] == S) {
        return mha_fail(error, MHA_ERROR_MASK,
            "mask %s looks like padding (batch, source length), a rank-2 mask is (target length, "
            "source length) = (%zu, %zu): give lengths, or a mask (%zu, 1, 1, %zu)",
            given.text, T, S, B, S);
    }
    if (mask->rank == 3) {
        const size_t expected_3[] = {B, T, S};
        return mha_fail(error, MHA_ERROR_MASK,
            "mask %s does not fit (batch, target length, source length) = %s", given.text,
            show_dims(expected_3, 3).text);
    }
    return mha_fail(error, MHA_ERROR_MASK, "mask %s does not fit %s = %s", given.text,
        mask->rank == 2 ? "(target length, source length)"
                        : "(batch, heads, target length, source length), where any may be 1,",
        show_dims(expected + first, mask->rank).text);
}

static bool dims_fit(const mha_mask *mask, const mha_shape *shape) {
    const extents e = extents_of(mask);
    const bool broadcasts = mask->rank == 4;
    return ((broadcasts && e.t == 1) || e.t == shape->target_length) &&
           ((broadcasts && e.s == 1) || e.s == shape->source_length) &&
           (mask->rank == 2 || (broadcasts && e.b == 1) || e.b == shape->batch) &&
           (mask->rank != 4 || e.h == 1 || e.h == shape->heads);
}

/* The first byte that is neither 0 nor 1; count where there is none. */
static size_t first_above_one(const unsigned char *bytes, size_t count) {
    enum { RUN = 4096 }; /* looked at as a whole first, which takes a vector at a time */
    size_t begin = 0;
    for (unsigned char seen = 0; begin < count; begin += RUN) {
        const size_t end = count - begin < RUN ? count : begin + RUN;
        for (size_t i = begin; i < end; i++) {
            seen |= bytes[i];
        }
        if (seen > 1) {
            break;
        }
    }
    while (begin < count && bytes[begin] < 2) {
        begin++;
    }
    return begin < count ? begin : count;
}

static mha_status check_allowed(const mha_mask *mask, const mha_shape *shape, mha_error *error) {
    if (mask->rank == 0 && mask->allowed == NULL) {
        return MHA_OK;
    }
    if (mask->rank < 2 || mask->rank > 4) {
        return mha_fail(error, MHA_ERROR_MASK, "a mask of rank %zu is not 2, 3 or 4", mask->rank);
    }
    if (mask->rank == 3 && shape->batch == shape->heads && shape->batch > 1) {
        return mha_fail(error, MHA_ERROR_MASK,
            "a rank-3 mask could belong to %zu samples or to %zu heads: give (%zu, 1, %zu, %zu) or "
            "(1, %zu, %zu, %zu)",
            shape->batch, shape->heads, shape->batch, shape->target_length, shape->source_length,
            shape->heads, shape->target_length, shape->source_length);
    }
    if (!dims_fit(mask, shape)) {
        return refuse_dims(mask, shape, error);
    }
    const extents e = extents_of(mask);
    const size_t count = e.b * e.h * e.t * e.s;
    if (mask->allowed == NULL && count > 0) {
        return mha_fail(error, MHA_ERROR_ARGUMENT, "a mask of rank %zu has no bytes", mask->rank);
    }
    const size_t wrong = first_above_one(mask->allowed, count);
    if (wrong < count) {
        return mha_fail(error, MHA_ERROR_MASK,
            "mask entry %zu is %d, neither 0 (blocked) nor 1 (allowed)", wrong,
            (int)mask->allowed[wrong]);
    }
    return MHA_OK;
}

mha_status mha_mask_check(const mha_mask *mask, const mha_shape *shape, mha_error *error) {
    if (mask == NULL) {
        return MHA_OK;
    }
    mha_status status = check_causal(mask, shape, error);
    if (status == MHA_OK) {
        status = check_lengths(mask, shape, error);
    }
    if (status == MHA_OK) {
        status = check_allowed(mask, shape, error);
    }
    return status;
}

/* Leading keys that a causal mask lets query t see. */
static size_t causal_limit(mha_causal causal, const mha_shape *shape, size_t t) {
    const size_t T = shape->target_length, S = shape->source_length;
    switch (causal) {
    case MHA_CAUSAL_SQUARE:
    case MHA_CAUSAL_TOP_LEFT:
        return smaller(t + 1, S);
    case MHA_CAUSAL_BOTTOM_RIGHT: /* t + 1 + S - T, not below 0 */
        return t + 1 + S < T ? 0 : t + 1 + S - T;
    default:
        return S;
    }
}

mha_mask_row mha_mask_row_at(
    const mha_mask *mask, const mha_shape *shape, size_t b, size_t h, size_t t) {
    mha_mask_row row = {.limit = shape->source_length, .allowed = NULL};
    if (mask == NULL) {
        return row;
    }
    row.limit = causal_limit(mask->causal, shape, t);
    if (mask->lengths != NULL) {
        row.limit = smaller(row.limit, (size_t)mask->lengths[b]);
    }
    if (mask->allowed != NULL) {
        const extents e = extents_of(mask);
        const size_t row_index =
            ((e.b == 1 ? 0 : b) * e.h + (e.h == 1 ? 0 : h)) * e.t + (e.t == 1 ? 0 : t);
        row.allowed = mask->allowed + row_index * e.s;
        if (e.s == 1) { /* one byte for the whole row */
            row.limit = row.allowed[0] != 0 ? row.limit : 0;
            row.allowed = NULL;
        }
    }
    return row;
}

bool mha_mask_sees_source(const mha_mask *mask, const mha_shape *shape, size_t b, size_t s) {
    const size_t T = shape->target_length;
    if (T == 0) {
        return false;
    }
    if (mask == NULL || mask->allowed == NULL) { /* the last query sees what any query sees */
        return s < mha_mask_row_at(mask, shape, b, 0, T - 1).limit;
    }
    /* From the last query on, which sees most under a causal mask. */
    const extents e = extents_of(mask);
    const size_t heads = e.h > 1 ? shape->heads : 1;
    const size_t least = e.t > 1 ? 0 : T - 1; /* one row of bytes: the last query decides */
    for (size_t t = T; t-- > least;) {
        for (size_t h = 0; h < heads; h++) {
            const mha_mask_row row = mha_mask_row_at(mask, shape, b, h, t);
            if (mha_mask_row_allows(&row, s)) {
                return true;
            }
        }
    }
    return false;
}
