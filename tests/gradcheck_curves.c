#include "gradcheck_curves.h"

#include <math.h>

#include "count.h"

static double draw_normal(double n) {
    return n;
}

static double draw_hundredth(double n) {
    return 0.01 * exp(0.3 * n);
}

/* About 0.003, of both signs. */
static double draw_near_zero(double n) {
    return 0.003 * copysign(exp(0.5 * n), n);
}

/* From 1e-12 to 1, of both signs. */
static double draw_any_size(double n) {
    return copysign(pow(10.0, -4.0 * fmin(fabs(n), 3.0)), n);
}

static double draw_tiny(double n) {
    return 1e-12 * n;
}

static double draw_huge(double n) {
    return 1e6 * n;
}

static double draw_third(double n) {
    return 0.3 * n;
}

static double draw_ten_thousandth(double n) {
    return 1e-4 * n;
}

static double draw_peak(double n) {
    return 0.3 + 1e-3 * n;
}

static double draw_sharp_peak(double n) {
    return 0.3 + 1e-4 * n;
}

static double draw_half(double n) {
    return 0.5 + 1e-4 * n;
}

static double logarithm(double x) {
    return log(x);
}

static long double logarithm_slope(long double x) {
    return 1.0L / x;
}

static double root(double x) {
    return sqrt(x);
}

static long double root_slope(long double x) {
    return 0.5L / sqrtl(x);
}

static double inverse(double x) {
    return 1.0 / x;
}

static long double inverse_slope(long double x) {
    return -1.0L / (x * x);
}

static double absolute(double x) {
    return fabs(x);
}

static long double absolute_slope(long double x) {
    return copysignl(1.0L, x);
}

static double rectified(double x) {
    return fmax(x, 0.0);
}

static long double rectified_slope(long double x) {
    return x > 0.0L ? 1.0L : 0.0L;
}

static double bent_kink(double x) {
    return sin(x) + 0.5 * fabs(x);
}

static long double bent_kink_slope(long double x) {
    return cosl(x) + copysignl(0.5L, x);
}

static double step_like(double x) {
    return tanh(1e4 * x);
}

static long double step_like_slope(long double x) {
    const long double c = coshl(1e4L * x);
    return 1e4L / (c * c);
}

static double growing(double x) {
    return exp(30.0 * x);
}

static long double growing_slope(long double x) {
    return 30.0L * expl(30.0L * x);
}

static double waves(double x) {
    return sin(40.0 * x);
}

static long double waves_slope(long double x) {
    return 40.0L * cosl(40.0L * x);
}

/* To the steps above 1e-2 it is zero. */
static double peak(double x) {
    const double u = x - 0.3;
    return exp(-1e6 * u * u);
}

static long double peak_slope(long double x) {
    const long double u = x - (long double)0.3;
    return -2e6L * u * expl(-1e6L * u * u);
}

static double sharp_peak(double x) {
    const double u = x - 0.3;
    return exp(-1e8 * u * u);
}

static long double sharp_peak_slope(long double x) {
    const long double u = x - (long double)0.3;
    return -2e8L * u * expl(-1e8L * u * u);
}

static double ninth_degree(double x) {
    const double s = x * x;
    return x * (1.0 + s * (-2.0 + s * (3.0 + s * (-1.0 + s * 0.5))));
}

static long double ninth_degree_slope(long double x) {
    const long double s = x * x;
    return 1.0L + s * (-6.0L + s * (15.0L + s * (-7.0L + s * 4.5L)));
}

static double cubic(double x) {
    return x * x * x - 2.0 * x;
}

static long double cubic_slope(long double x) {
    return 3.0L * x * x - 2.0L;
}

static double tiny_cubic(double x) {
    return 1e-12 * cubic(x);
}

static long double tiny_cubic_slope(long double x) {
    return 1e-12L * cubic_slope(x);
}

static double huge_cubic(double x) {
    return 1e6 * cubic(x);
}

static long double huge_cubic_slope(long double x) {
    return 1e6L * cubic_slope(x);
}

static double ratio(double x) {
    return exp(x) / (exp(x) + 3.0);
}

static long double ratio_slope(long double x) {
    const long double e = expl(x);
    return 3.0L * e / ((e + 3.0L) * (e + 3.0L));
}

/* Not finite at some steps, with finite ones on both sides of them. */
static double gapped(double x) {
    const double u = fabs(x - 0.5);
    return u > 1e-3 && u < 2e-2 ? (double)NAN : x * x * x * x;
}

static long double gapped_slope(long double x) {
    return 4.0L * x * x * x;
}

const curve curves[] = {
    {"log x", logarithm, logarithm_slope, draw_hundredth, 1e-8, NULL},
    {"sqrt x", root, root_slope, draw_hundredth, 1e-8, NULL},
    {"1 / x", inverse, inverse_slope, draw_near_zero, 1e-8, NULL},
    {"|x|", absolute, absolute_slope, draw_near_zero, 1e-8, NULL},
    {"relu x", rectified, rectified_slope, draw_near_zero, 1e-8, NULL},
    {"relu x, x of any size", rectified, rectified_slope, draw_any_size, 0.5, NULL},
    {"sin x + |x| / 2", bent_kink, bent_kink_slope, draw_near_zero, 1e-8, NULL},
    {"tanh 1e4 x", step_like, step_like_slope, draw_ten_thousandth, 1e-8, NULL},
    {"exp 30 x", growing, growing_slope, draw_third, 1e-8, NULL},
    {"sin 40 x", waves, waves_slope, draw_normal, 1e-8, NULL},
    {"exp -1e6 u^2", peak, peak_slope, draw_peak, 1e-8, NULL},
    {"exp -1e8 u^2", sharp_peak, sharp_peak_slope, draw_sharp_peak, 1e-8, NULL},
    {"degree 9", ninth_degree, ninth_degree_slope, draw_normal, 1e-8, NULL},
    {"degree 3 of tiny x", cubic, cubic_slope, draw_tiny, 1e-8, NULL},
    {"degree 3 of huge x", cubic, cubic_slope, draw_huge, 1e-8, NULL},
    {"tiny", tiny_cubic, tiny_cubic_slope, draw_normal, 1e-8, NULL},
    {"huge", huge_cubic, huge_cubic_slope, draw_normal, 1e-8, NULL},
    {"softmax of two", ratio, ratio_slope, draw_normal, 1e-8, NULL},
    {"x^4 with a gap", gapped, gapped_slope, draw_half, 1e-8, NULL},
};
const size_t curve_count = COUNT(curves);

static double offset(double x) {
    return 1e6 + x;
}

static long double offset_slope(long double x) {
    (void)x;
    return 1.0L;
}

static double cancelling(double x) {
    return (x * x + 1e6) - 1e6;
}

static long double cancelling_slope(long double x) {
    return 2.0L * x;
}

static double single_product(double x) {
    return (double)((float)x * 1.7F);
}

static long double single_product_slope(long double x) {
    (void)x;
    return (long double)1.7F;
}

static double single_affine(double x) {
    return (double)((float)x * 1.7F + 3.3F);
}

static double single(double x) {
    const float a = (float)x;
    return (double)(2.0F * tanhf(a) + a * a);
}

static long double single_slope(long double x) {
    const long double t = tanhl(x);
    return 2.0L * (1.0L - t * t) + 2.0L * x;
}

static double single_step_like(double x) {
    return (double)tanhf(1e3F * (float)x);
}

static long double single_step_like_slope(long double x) {
    const long double c = coshl(1e3L * x);
    return 1e3L / (c * c);
}

static double draw_thousandth(double n) {
    return 1e-3 * n;
}

const curve noisy_curves[] = {
    {"1e6 + x", offset, offset_slope, draw_normal, 5e-7, NULL},
    {"x^2 + 1e6 - 1e6", cancelling, cancelling_slope, draw_normal, 1e-5, NULL},
    {"single precision, 1.7 x", single_product, single_product_slope, draw_normal, 1e-3, NULL},
    {"single precision, 1.7 x + 3.3", single_affine, single_product_slope, draw_normal, 1e-3, NULL},
    {"single precision, 2 tanh x + x^2", single, single_slope, draw_normal, 1e-3, NULL},
    {"single precision, tanh 1e3 x", single_step_like, single_step_like_slope, draw_thousandth,
        1e-2, NULL},
};
const size_t noisy_curve_count = COUNT(noisy_curves);
