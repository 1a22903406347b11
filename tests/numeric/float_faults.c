#include "base/real.h"

#include "float_faults.h"

#define float_faults       MHA_NAME(float_faults)
#define float_fault_stages MHA_NAME(float_fault_stages)

/* x in so many bits. */
static mha_real coarse(mha_real x, int bits) {
    int exponent;
    const double mantissa = frexp((double)x, &exponent);
    return (mha_real)ldexp(rint(ldexp(mantissa, bits)), exponent - bits);
}

/* x moved up by n units in its last place as a float. */
static mha_real moved(mha_real x, double n) {
    int exponent;
    frexp((double)x, &exponent);
    return (mha_real)((double)x + n * ldexp(1, exponent - 24));
}

/* The projection of queries, each sum with something wrong in it. */

typedef enum sum_fault { SMALLEST_DROPPED, PRODUCT_COARSE, SUM_COARSE } sum_fault;

static mha_real faulty_sum(const mha_real *x, const mha_real *w, size_t D, sum_fault fault) {
    size_t smallest = 0;
    for (size_t k = 1; k < D; k++) {
        const double a = fabs((double)x[k] * (double)w[k * D]);
        smallest = a < fabs((double)x[smallest] * (double)w[smallest * D]) ? k : smallest;
    }
    mha_real sum = REAL(0.0);
    for (size_t k = 0; k < D; k++) {
        const mha_real product = x[k] * w[k * D];
        if (fault == SMALLEST_DROPPED && k == smallest) {
            continue;
        }
        sum += fault == PRODUCT_COARSE && k == 0 ? coarse(product, 16) : product;
        sum = fault == SUM_COARSE ? coarse(sum, 20) : sum;
    }
    return sum;
}

static void faulty_projection(mha_real *result, const mha_pass *pass, sum_fault fault) {
    const size_t D = pass->shape.width;
    for (size_t i = 0; i < pass->shape.batch * pass->shape.target_length * D; i++) {
        result[i] =
            faulty_sum(pass->value[MHA_QUERY] + i / D * D, pass->value[MHA_WQ] + i % D, D, fault);
    }
}

static void smallest_dropped(mha_real *result, const mha_pass *pass) {
    faulty_projection(result, pass, SMALLEST_DROPPED);
}

static void product_coarse(mha_real *result, const mha_pass *pass) {
    faulty_projection(result, pass, PRODUCT_COARSE);
}

static void sum_coarse(mha_real *result, const mha_pass *pass) {
    faulty_projection(result, pass, SUM_COARSE);
}

static const mha_stage *right_stage(mha_value result) {
    const mha_stage *stage = mha_stages;
    while (stage->result != result) {
        stage++;
    }
    return stage;
}

static void entry_moved(mha_real *result, const mha_pass *pass) {
    right_stage(MHA_OUTPUT)->forward(result, pass);
    result[7] = moved(result[7], 64);
}

static void copy_moved(mha_real *result, const mha_pass *pass) {
    right_stage(MHA_CONTEXT)->forward(result, pass);
    result[3] = moved(result[3], 1);
}

static void scale_constant_off(mha_real *result, const mha_pass *pass) {
    const mha_real scale = moved(REAL(1.0) / real_sqrt((mha_real)mha_head_width(&pass->shape)), 3);
    for (size_t i = 0; i < mha_value_count(MHA_SCALED, &pass->shape); i++) {
        result[i] = pass->value[MHA_SCORES][i] * scale;
    }
}

/* Softmax. */

typedef enum softmax_fault { EXP_OFF, EXP_COARSE, INVERSE_COARSE } softmax_fault;

static mha_real faulty_exp(double x, softmax_fault fault) {
    const mha_real e = (mha_real)exp(x);
    return fault == EXP_OFF      ? e * (mha_real)(1 + 1e-5 * sin(20 * x))
           : fault == EXP_COARSE ? coarse(e, 18)
                                 : e;
}

static void faulty_softmax(mha_real *result, const mha_pass *pass, softmax_fault fault) {
    right_stage(MHA_ATTENTION_WEIGHTS)->forward(result, pass);
    const size_t S = pass->shape.source_length;
    for (size_t row = 0; row < mha_value_count(MHA_ATTENTION_WEIGHTS, &pass->shape); row += S) {
        const mha_real *const x = pass->value[MHA_MASKED] + row;
        double maximum = -HUGE_VAL;
        for (size_t s = 0; s < S; s++) {
            maximum = fmax(maximum, (double)x[s]);
        }
        mha_real sum = REAL(0.0);
        for (size_t s = 0; s < S; s++) {
            sum += isfinite(x[s]) ? faulty_exp((double)x[s] - maximum, fault) : REAL(0.0);
        }
        const mha_real inverse =
            fault == INVERSE_COARSE ? coarse(REAL(1.0) / sum, 16) : REAL(1.0) / sum;
        for (size_t s = 0; s < S; s++) {
            if (isfinite(x[s])) {
                result[row + s] = faulty_exp((double)x[s] - maximum, fault) * inverse;
            }
        }
    }
}

static void exp_off(mha_real *result, const mha_pass *pass) {
    faulty_softmax(result, pass, EXP_OFF);
}

static void exp_coarse(mha_real *result, const mha_pass *pass) {
    faulty_softmax(result, pass, EXP_COARSE);
}

static void inverse_coarse(mha_real *result, const mha_pass *pass) {
    faulty_softmax(result, pass, INVERSE_COARSE);
}

/* Backward. */

static void row_term_coarse(const mha_pass *pass, const mha_real *dresult) {
    const size_t S = pass->shape.source_length;
    const mha_real *const weights = pass->value[MHA_ATTENTION_WEIGHTS];
    for (size_t row = 0; row < mha_value_count(MHA_ATTENTION_WEIGHTS, &pass->shape); row += S) {
        mha_real dot = REAL(0.0);
        for (size_t s = row; s < row + S; s++) {
            dot += weights[s] * dresult[s];
        }
        for (size_t s = row; s < row + S; s++) {
            pass->gradient[MHA_MASKED][s] += weights[s] * (dresult[s] - coarse(dot, 16));
        }
    }
}

static void gradient_entry_moved(const mha_pass *pass, const mha_real *dresult) {
    right_stage(MHA_V)->backward(pass, dresult);
    mha_real *const entry = &pass->gradient[MHA_WV][5];
    *entry = moved(*entry, 64);
}

static void copied_gradient_moved(const mha_pass *pass, const mha_real *dresult) {
    right_stage(MHA_K_HEADS)->backward(pass, dresult);
    mha_real *const entry = &pass->gradient[MHA_K][2];
    *entry = moved(*entry, -1);
}

const float_fault float_faults[FLOAT_FAULTS] = {
    {"smallest term dropped", MHA_Q, "q", true},
    {"one product in 16 bits", MHA_Q, "q", true},
    {"sums in 20 bits", MHA_Q, "q", false},
    {"one entry 64 ulps off", MHA_OUTPUT, "output", false},
    {"one copied entry an ulp off", MHA_CONTEXT, "context", false},
    {"scale 3 ulps off", MHA_SCALED, "scaled", false},
    {"exponential 1e-5 off", MHA_ATTENTION_WEIGHTS, "attention_weights", true},
    {"exponential in 18 bits", MHA_ATTENTION_WEIGHTS, "attention_weights", false},
    {"inverse of the sum in 16 bits", MHA_ATTENTION_WEIGHTS, "attention_weights", true},
    {"row term of softmax in 16 bits", MHA_ATTENTION_WEIGHTS, "dmasked", true},
    {"one entry of a gradient 64 ulps off", MHA_V, "dwv", false},
    {"one copied entry of a gradient an ulp off", MHA_K_HEADS, "dk", false},
};

const void *float_fault_stages(size_t i) {
    static mha_stage stages[MHA_STAGE_COUNT];
    static void (*const forward[FLOAT_FAULTS])(mha_real *, const mha_pass *) = {smallest_dropped,
        product_coarse, sum_coarse, entry_moved, copy_moved, scale_constant_off, exp_off,
        exp_coarse, inverse_coarse};
    static void (*const backward[FLOAT_FAULTS])(const mha_pass *, const mha_real *) = {
        [9] = row_term_coarse, [10] = gradient_entry_moved, [11] = copied_gradient_moved};
    for (size_t stage = 0; stage < MHA_STAGE_COUNT; stage++) {
        stages[stage] = mha_stages[stage];
        if (stages[stage].result == float_faults[i].result) {
            stages[stage].forward = forward[i] != NULL ? forward[i] : stages[stage].forward;
            stages[stage].backward = backward[i] != NULL ? backward[i] : stages[stage].backward;
        }
    }
    return stages;
}
