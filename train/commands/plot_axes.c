/* The axes of loss curves. */
#include "plot_curves.h"

#include <math.h>
#include <stdint.h>

#include "memory.h"

enum { LARGEST_COUNT = 100 };

static const double largest_shown = 1e100;

/* A range narrower than this part of its values is none: gnuplot cannot draw it. */
static const double narrowest_range = 1e-6;

static bool is_drawable(double loss) {
    return fabs(loss) <= largest_shown;
}

static bool is_constant(double low, double high) {
    return high - low <= narrowest_range * fmax(fabs(low), fabs(high));
}

/* What is seen of all losses before the axis is chosen. */
struct loss_extent {
    double least, most, least_positive;
    size_t drawable, infinite, not_positive, rows, last_step;
    size_t first_step;
};

static void look_at(struct loss_extent *extent, double loss) {
    if (isnan(loss)) {
        return;
    }
    if (!is_drawable(loss)) {
        extent->infinite++;
        return;
    }
    extent->drawable++;
    extent->least = fmin(extent->least, loss);
    extent->most = fmax(extent->most, loss);
    if (loss > 0) {
        extent->least_positive = fmin(extent->least_positive, loss);
    } else {
        extent->not_positive++;
    }
}

static struct loss_extent measure(
    struct loss_axes *axes, const struct loss_curve *curves, size_t count) {
    struct loss_extent extent = {.least = (double)INFINITY,
        .most = -(double)INFINITY,
        .least_positive = (double)INFINITY,
        .first_step = SIZE_MAX};
    for (size_t c = 0; c < count; c++) {
        for (size_t i = 0; i < curves[c].count; i++) {
            const struct log_row *row = &curves[c].rows[i];
            look_at(&extent, row->loss);
            look_at(&extent, row->eval_loss);
            axes->training_loss |= is_drawable(row->loss);
            axes->accuracy |= isfinite(row->eval_accuracy);
            extent.first_step = row->step < extent.first_step ? row->step : extent.first_step;
            extent.last_step = row->step > extent.last_step ? row->step : extent.last_step;
            extent.rows++;
        }
    }
    return extent;
}

static void choose_y_range(struct loss_axes *axes, const struct loss_extent *extent) {
    axes->log_axis = extent->most > 0 && extent->most >= 10 * extent->least_positive &&
                     2 * extent->not_positive < extent->drawable;
    axes->not_positive = axes->log_axis ? extent->not_positive : 0;
    double low = extent->least, high = extent->most;
    if (axes->log_axis) {
        axes->y_low = extent->least_positive / 1.25;
        axes->y_high = high * 1.25;
    } else if (is_constant(low, high)) {
        axes->y_low = fmin(0, 2 * low);
        axes->y_high = high == 0 ? 1 : fmax(0, 2 * high);
    } else {
        double margin = 0.06 * (high - low);
        bool near_zero = low >= 0 && low < 0.5 * high;
        axes->y_low = near_zero ? 0 : low - margin;
        axes->y_high = high + margin;
        if (near_zero && low == 0) {
            axes->y_low = -0.02 * high; /* a curve on the axis would be hidden by it */
        }
    }
}

static void choose_x_range(struct loss_axes *axes, const struct loss_extent *extent) {
    axes->x_low = (double)extent->first_step;
    axes->x_high = (double)extent->last_step;
    if (is_constant(axes->x_low, axes->x_high)) {
        double margin = fmax(1, narrowest_range * axes->x_high);
        axes->x_low = fmax(0, axes->x_low - margin);
        axes->x_high += margin;
    }
}

static mha_status check_same_loss(const struct loss_curve *curves, size_t count, mha_error *error) {
    for (size_t c = 1; c < count; c++) {
        if (curves[c].loss != curves[0].loss) {
            bool first = curves[0].loss == TASK_CROSS_ENTROPY;
            return mha_fail(error, MHA_ERROR_ARGUMENT,
                "%.180s and %.180s do not fit on one axis: %s and %s", curves[0].name,
                curves[c].name, first ? "cross-entropy" : "mean squared error",
                first ? "mean squared error" : "cross-entropy");
        }
    }
    return MHA_OK;
}

mha_status loss_axes_of(
    struct loss_axes *axes, const struct loss_curve *curves, size_t count, mha_error *error) {
    *axes = (struct loss_axes){0};
    if (count > LARGEST_COUNT) {
        return mha_fail(error, MHA_ERROR_SIZE,
            "%zu runs are too many for one picture, which holds %d", count, (int)LARGEST_COUNT);
    }
    mha_status status = check_same_loss(curves, count, error);
    if (status != MHA_OK) {
        return status;
    }
    struct loss_extent extent = measure(axes, curves, count);
    const char *name = count == 0 ? "no run" : curves[0].name;
    const char *others = count > 1 ? " and the other runs" : "";
    if (extent.rows == 0) {
        return mha_fail(error, MHA_ERROR_FORMAT, "nothing to draw: the log of %.300s%s has 0 rows",
            name, others);
    }
    if (extent.drawable == 0) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "nothing to draw: the log of %.300s%s has %zu row%s and no finite loss", name, others,
            extent.rows, extent.rows == 1 ? "" : "s");
    }
    choose_y_range(axes, &extent);
    choose_x_range(axes, &extent);
    axes->infinite = extent.infinite;
    return MHA_OK;
}

double shown_loss(const struct loss_axes *axes, double loss) {
    return is_drawable(loss) && (!axes->log_axis || loss > 0) ? loss : (double)NAN;
}

bool loss_curve_is_visible(const struct loss_axes *axes, const struct loss_curve *curve) {
    for (size_t i = 0; i < curve->count; i++) {
        if (!isnan(shown_loss(axes, curve->rows[i].loss)) ||
            !isnan(shown_loss(axes, curve->rows[i].eval_loss))) {
            return true;
        }
    }
    return false;
}
