#include "gradcheck_setup.h"

#include <string.h>

#include <mha/rng.h>

setup under_test;

static bool call_forward(void *context) {
    setup *called = context;
    called->example->forward(&called->m);
    return ++called->calls != called->failing_call;
}

static bool call_backward(void *context) {
    setup *called = context;
    called->example->backward(&called->m);
    if (called->example->spoil != NULL) {
        called->example->spoil(&called->m);
    }
    return ++called->calls != called->failing_call;
}

void prepare_check(const example *chosen, size_t rows, double scale) {
    mha_rng rng;
    mha_rng_seed(&rng, (const uint64_t[]){1, 2}, 2);
    memset(&under_test, 0, sizeof under_test);
    memset(under_test.m.dx, 0xff, sizeof under_test.m.dx); /* NaN */
    memset(under_test.m.dw, 0xff, sizeof under_test.m.dw);
    under_test.m.rows = rows;
    under_test.example = chosen;
    for (size_t i = 0; i < rows * COLUMNS; i++) {
        under_test.m.x[i] = scale * mha_rng_normal(&rng);
    }
    if (scale == 1.0 && rows > 0) {
        under_test.m.x[1] = -0.0;
    }
    for (size_t i = 0; i < WEIGHTS; i++) {
        under_test.m.w[i] = mha_rng_normal(&rng);
    }
    under_test.blocks[0] =
        (mha_gradcheck_block){"x", under_test.m.x, under_test.m.dx, 2, {rows, COLUMNS}, false};
    under_test.blocks[1] = (mha_gradcheck_block){
        "w", under_test.m.w, under_test.m.dw, 2, {chosen->w_rows, COLUMNS}, false};
    under_test.output =
        (mha_gradcheck_output){"y", under_test.m.y, under_test.m.dy, rows * COLUMNS, NULL};
    under_test.subject = (mha_gradcheck_case){&under_test, call_forward, call_backward,
        under_test.blocks, chosen->w_rows > 0 ? 2 : 1, &under_test.output, 1, NULL};
    under_test.options = mha_gradcheck_defaults();
}

void run_check(void) {
    static double x_before[LARGEST_ROWS * COLUMNS], w_before[WEIGHTS];
    memcpy(x_before, under_test.m.x, sizeof x_before);
    memcpy(w_before, under_test.m.w, sizeof w_before);
    ck_assert_int_eq(
        mha_gradcheck_run(under_test.reports, &under_test.subject, &under_test.options, NULL),
        MHA_OK);
    ck_assert_mem_eq(x_before, under_test.m.x, sizeof x_before);
    ck_assert_mem_eq(w_before, under_test.m.w, sizeof w_before);
}

void assert_check_verdict(size_t block, mha_gradcheck_verdict expected) {
    ck_assert_str_eq(mha_gradcheck_verdict_text(under_test.reports[block].verdict),
        mha_gradcheck_verdict_text(expected));
}

void assert_check_passes(void) {
    for (size_t b = 0; b < under_test.subject.block_count; b++) {
        assert_check_verdict(b, MHA_GRADCHECK_PASS);
        ck_assert(under_test.reports[b].margin >= 0.0 && under_test.reports[b].margin <= 1.0);
        ck_assert(under_test.reports[b].error <= 1e-6);
    }
}

void assert_check_index(size_t block, size_t entry) {
    ck_assert_uint_eq(under_test.reports[block].index[0], entry / COLUMNS);
    ck_assert_uint_eq(under_test.reports[block].index[1], entry % COLUMNS);
}
