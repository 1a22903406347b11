#include "gradcheck_chart.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { TEXT_SIZE = 256, PICTURE_WIDTH = 900, PICTURE_HEIGHT = 1000 };
enum { LEAST_COLUMNS = 64, LINES = 74 };

static void write_title(FILE *stream, const struct check_curves *curves, uint64_t seed) {
    char text[TEXT_SIZE];
    const mha_shape *shape = &curves->shape;
    snprintf(text, sizeof text,
        "Gradient check of a layer: masked %s-attention, B=%zu T=%zu S=%zu D=%zu h=%zu, seed "
        "%" PRIu64,
        curves->self_attention ? "self" : "cross", shape->batch, shape->target_length,
        shape->source_length, shape->width, shape->heads, seed);
    script_text(stream, "title", text);
}

static void write_step_names(FILE *stream, const struct check_curves *curves) {
    char text[TEXT_SIZE];
    script_array(stream, "step_names", 4);
    snprintf(text, sizeof text, "one central difference, the median of %zu entries of wq",
        curves->weights);
    script_element(stream, "step_names", 1, text);
    snprintf(text, sizeof text, "extrapolated from h = 2^-4, 2^-6, ...: off by %.0e",
        curves->extrapolated);
    script_element(stream, "step_names", 2, text);
    snprintf(text, sizeof text, "what the extrapolation says of itself: %.0e", curves->estimate);
    script_element(stream, "step_names", 3, text);
    snprintf(text, sizeof text, "backward against the complex step: %.0e", curves->agreement);
    script_element(stream, "step_names", 4, text);
    script_array(stream, "best_names", 2);
    script_element(stream, "best_names", 1, "the best step of all,");
    snprintf(text, sizeof text, "h = 2^-%zu: off by %.0e", curves->best + 1,
        curves->error[curves->best]);
    script_element(stream, "best_names", 2, text);
}

static void format_order(char *text, size_t size, double order) {
    if (isnan(order)) {
        snprintf(text, size, "gradient not finite");
    } else {
        snprintf(text, size, "order %.2f", order);
    }
}

/* Entries that are not finite have no place in the picture. */
static void format_caught(
    char *text, size_t size, const struct check_curves *curves, const char *fault) {
    size_t not_finite = 0;
    for (size_t i = 0; i < curves->count; i++) {
        not_finite += isfinite(curves->entries[i].wrong) ? 0 : 1;
    }
    const int used = snprintf(text, size, "%s: %zu %s off", fault, curves->caught,
        curves->caught == 1 ? "entry" : "entries");
    if (not_finite > 0) {
        snprintf(text + used, size - (size_t)used, ", %zu not finite", not_finite);
    }
}

static void write_other_names(FILE *stream, const struct check_curves *curves, const char *fault) {
    char text[TEXT_SIZE], order[32];
    script_array(stream, "taylor_names", 2);
    format_order(order, sizeof order, curves->right.order);
    snprintf(text, sizeof text, "right gradient, %s", order);
    script_element(stream, "taylor_names", 1, text);
    format_order(order, sizeof order, curves->wrong.order);
    snprintf(text, sizeof text, "%s in backward, %s", fault, order);
    script_element(stream, "taylor_names", 2, text);
    script_array(stream, "entry_names", 2);
    snprintf(text, sizeof text, "right gradient: all %zu entries", curves->count);
    script_element(stream, "entry_names", 1, text);
    format_caught(text, sizeof text, curves, fault);
    script_element(stream, "entry_names", 2, text);
}

static void write_fields(FILE *stream, const double *fields, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            fputc(' ', stream);
        }
        script_value(stream, fields[i]);
    }
    fputc('\n', stream);
}

/* gnuplot 5.4 crashes when all that it is to mark with a letter is one row without a value. */
static void write_taylor(FILE *stream, const mha_gradcheck_taylor *taylor, size_t index) {
    script_data_begin(stream, "taylor", index);
    for (size_t n = 0; n < taylor->count; n++) {
        write_fields(stream,
            (const double[]){taylor->step[n], taylor->remainder[n], taylor->rounding[n]}, 3);
    }
    for (size_t n = taylor->count; n < 2; n++) {
        fputs("NaN NaN NaN\n", stream);
    }
    script_data_end(stream);
}

static void write_data(FILE *stream, const struct check_curves *curves) {
    script_data_begin(stream, "steps", 1);
    for (size_t n = 0; n < CURVE_STEPS; n++) {
        write_fields(stream, (const double[]){curves->step[n], curves->error[n]}, 2);
    }
    script_data_end(stream);
    write_taylor(stream, &curves->right, 1);
    write_taylor(stream, &curves->wrong, 2);
    script_data_begin(stream, "entries", 1);
    for (size_t i = 0; i < curves->count; i++) {
        const struct curve_entry *entry = &curves->entries[i];
        write_fields(stream,
            (const double[]){entry->numeric / entry->largest, entry->right / entry->largest,
                entry->wrong / entry->largest},
            3);
    }
    script_data_end(stream);
}

/* Where the axes of the last panel end. */
static double limit_of(const struct check_curves *curves) {
    double limit = 1.0;
    for (size_t i = 0; i < curves->count; i++) {
        const struct curve_entry *entry = &curves->entries[i];
        const double wrong = fabs(entry->wrong / entry->largest);
        limit = isfinite(wrong) ? fmax(limit, wrong) : limit;
    }
    return 1.05 * limit;
}

/* The least of what may be rounding, and the largest remainder. */
static void write_taylor_range(FILE *stream, const struct check_curves *curves) {
    const mha_gradcheck_taylor *const both[] = {&curves->right, &curves->wrong};
    double low = (double)INFINITY, high = 0.0;
    for (size_t i = 0; i < 2; i++) {
        for (size_t n = 0; n < both[i]->count; n++) {
            low = fmin(low, both[i]->rounding[n]);
            high = fmax(high, both[i]->remainder[n]);
        }
    }
    script_number(stream, "taylor_low", low);
    script_number(stream, "taylor_high", high);
}

void gradcheck_chart_variables(FILE *stream, struct picture_size *size,
    const struct check_curves *curves, const char *fault, uint64_t seed, bool in_terminal) {
    if (in_terminal) {
        size->width = size->width < LEAST_COLUMNS ? LEAST_COLUMNS : size->width;
        size->height = LINES;
    } else {
        *size = (struct picture_size){PICTURE_WIDTH, PICTURE_HEIGHT};
    }
    write_title(stream, curves, seed);
    write_step_names(stream, curves);
    write_other_names(stream, curves, fault);
    script_number(stream, "truncation", curves->truncation);
    script_number(stream, "rounding", curves->rounding);
    script_number(stream, "extrapolated", curves->extrapolated);
    script_number(stream, "estimate", curves->estimate);
    script_number(stream, "agreement", fmax(curves->agreement, 0x1p-54)); /* 0 has no logarithm */
    script_number(stream, "best_step", curves->step[curves->best]);
    script_number(stream, "best_error", curves->error[curves->best]);
    script_number(stream, "right_factor", curves->right_factor);
    script_number(stream, "wrong_factor", curves->wrong_factor);
    write_taylor_range(stream, curves);
    script_number(stream, "limit", limit_of(curves));
    write_data(stream, curves);
}
