#include "gradcheck_curves.h"

#include <check.h>
#include <math.h>

#include <mha/rng.h>

/* What is being checked. */
typedef struct curve_run {
    const curve *of;
    double x[CURVE_ENTRIES], dx[CURVE_ENTRIES], y[CURVE_ENTRIES], dy[CURVE_ENTRIES];
    double fault;
    curve_result result;
} curve_run;

static bool forward(void *context) {
    curve_run *run = context;
    for (size_t i = 0; i < CURVE_ENTRIES; i++) {
        run->y[i] = run->of->value(run->x[i]);
    }
    run->result.calls++;
    return true;
}

static double slope_at(const curve *of, double x) {
    return of->wrong_slope != NULL ? of->wrong_slope(x) : (double)of->slope((long double)x);
}

static bool backward(void *context) {
    curve_run *run = context;
    double gradient[CURVE_ENTRIES];
    size_t largest = 0;
    for (size_t i = 0; i < CURVE_ENTRIES; i++) {
        gradient[i] = run->dy[i] * slope_at(run->of, run->x[i]);
        largest = fabs(gradient[i]) > fabs(gradient[largest]) ? i : largest;
    }
    if (gradient[largest] != 0.0) {
        run->result.largest = largest;
    }
    gradient[largest] *= 1.0 + run->fault;
    for (size_t i = 0; i < CURVE_ENTRIES; i++) {
        run->dx[i] += gradient[i];
    }
    return true;
}

static void compare(void *observer, const mha_gradcheck_derivatives *seen) {
    curve_run *run = observer;
    double largest = 0.0;
    run->result.observed++;
    ck_assert_uint_eq(seen->count, CURVE_ENTRIES);
    for (size_t i = 0; i < seen->count; i++) {
        largest = fmax(largest, fabs(seen->numeric[i]));
    }
    for (size_t i = 0; i < seen->count; i++) {
        const long double exact = (long double)run->dy[i] * run->of->slope((long double)run->x[i]);
        const double error = (double)fabsl((long double)seen->numeric[i] - exact);
        const double allowed =
            fmax(MHA_GRADCHECK_ESTIMATES * seen->estimate[i], MHA_GRADCHECK_SHARE * largest);
        run->result.worst =
            error > 0.0 ? fmax(run->result.worst, error / allowed) : run->result.worst;
    }
}

curve_result check_curve(const curve *of, uint64_t seed, double fault) {
    curve_run run = {.of = of, .fault = fault};
    mha_rng rng;
    mha_rng_seed(&rng, (const uint64_t[]){seed, 71}, 2);
    for (size_t i = 0; i < CURVE_ENTRIES; i++) {
        run.x[i] = of->draw(mha_rng_normal(&rng));
    }
    const mha_gradcheck_block block = {"x", run.x, run.dx, 1, {CURVE_ENTRIES}, false};
    const mha_gradcheck_output output = {"y", run.y, run.dy, CURVE_ENTRIES, NULL};
    const mha_gradcheck_case subject = {&run, forward, backward, &block, 1, &output, 1, NULL};
    mha_gradcheck_options options = mha_gradcheck_defaults();
    options.seed = seed;
    options.observe = compare;
    options.observer = &run;
    ck_assert_int_eq(mha_gradcheck_run(&run.result.report, &subject, &options, NULL), MHA_OK);
    return run.result;
}

void assert_slope_fails(const curve *wrong, uint64_t seeds) {
    for (uint64_t seed = 0; seed < seeds; seed++) {
        const curve_result found = check_curve(wrong, seed, 0.0);
        ck_assert_msg(found.report.verdict == MHA_GRADCHECK_WRONG, "%s: %s", wrong->name,
            mha_gradcheck_verdict_text(found.report.verdict));
        ck_assert_msg(found.worst <= 1.0, "%s: %g", wrong->name, found.worst);
    }
}
