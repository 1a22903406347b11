#include "kernels/burst.h"

#include "kernels/simd.h"

/* More than latency times units, and no more than registers hold and compilers unroll. */
enum { BURST_SUMS = VECTOR_BYTES == 32 || TILE_ROWS == 4 ? 12 : 16 };

mha_real burst(double *operations, size_t rounds) {
    vec sum[BURST_SUMS];
    for (size_t i = 0; i < BURST_SUMS; i++) {
        sum[i] = vec_all((mha_real)i);
    }
    const vec factor = vec_all(REAL(0.999)), term = vec_all(REAL(0.001));
    for (size_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < BURST_SUMS; i++) {
            sum[i] = vec_fma(sum[i], factor, term);
        }
    }
    for (size_t i = 1; i < BURST_SUMS; i++) {
        sum[0] += sum[i];
    }
    mha_real lane[VECTOR_LANES], total = REAL(0.0);
    memcpy(lane, sum, sizeof lane);
    for (size_t i = 0; i < VECTOR_LANES; i++) {
        total += lane[i];
    }
    *operations = 2.0 * BURST_SUMS * VECTOR_LANES * (double)rounds;
    return total;
}
