#include "gradcheck_entries.h"

#include <check.h>
#include <math.h>

struct entries f;

static bool forward(void *context) {
    (void)context;
    for (size_t i = 0; i < f.count; i++) {
        f.y[i] = f.value(f.x[i]);
    }
    f.y[f.count] = f.constant;
    return true;
}

static bool backward(void *context) {
    (void)context;
    for (size_t i = 0; i < f.count; i++) {
        const double dy = f.most > 0.0 ? fmax(-f.most, fmin(f.most, f.dy[i])) : f.dy[i];
        f.dx[i] += dy * f.slope(f.x[i]);
    }
    return true;
}

mha_gradcheck_report check_entries(bool zero_expected, size_t entry_limit, uint64_t seed) {
    const mha_gradcheck_block block = {"x", f.x, f.dx, 1, {f.count}, zero_expected};
    const mha_gradcheck_output output = {"y", f.y, f.dy, f.count + 1, NULL};
    const mha_gradcheck_case subject = {NULL, forward, backward, &block, 1, &output, 1, NULL};
    mha_gradcheck_options options = mha_gradcheck_defaults();
    mha_gradcheck_report report;
    options.entry_limit = entry_limit;
    options.seed = seed;
    ck_assert_int_eq(mha_gradcheck_run(&report, &subject, &options, NULL), MHA_OK);
    return report;
}
