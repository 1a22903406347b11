#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* Where there is no terminal: lines of a whole run, and the longest silence between two. */
enum { PLAIN_LINES = 10, SILENT_SECONDS = 30 };

double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_start(struct progress *progress, bool quiet, size_t steps) {
    *progress =
        (struct progress){.quiet = quiet, .terminal = isatty(STDERR_FILENO) == 1, .steps = steps};
}

static int terminal_columns(void) {
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    return 80;
}

/* "2:05", or "1:02:05" from an hour on. */
static void format_time(char *text, size_t size, double seconds) {
    const unsigned long whole = seconds < 1e9 ? (unsigned long)(seconds + 0.5) : 1000000000ul;
    if (whole < 3600) {
        snprintf(text, size, "%lu:%02lu", whole / 60, whole % 60);
    } else {
        snprintf(text, size, "%lu:%02lu:%02lu", whole / 3600, whole / 60 % 60, whole % 60);
    }
}

/* A line of its own has room for words; beside a bar the numbers are short. */
static void format_status(char *text, size_t size, const struct progress *progress, size_t step,
    double seconds, double loss, double accuracy) {
    const double rate = seconds > 0.0 ? (double)step / seconds : 0.0;
    char left[32], shown[48] = "", score[48] = "";
    format_time(left, sizeof left, rate > 0.0 ? (double)(progress->steps - step) / rate : 0.0);
    if (!isnan(accuracy)) {
        snprintf(score, sizeof score, progress->terminal ? ", %.1f %%" : ", accuracy %.2f %%",
            100.0 * accuracy);
    }
    if (!isnan(loss)) { /* there are held-out examples */
        snprintf(
            shown, sizeof shown, progress->terminal ? ", loss %.2g" : ", held-out loss %.4g", loss);
    }
    const int decimals = rate < 10.0 ? 2 : 0;
    if (progress->terminal) {
        snprintf(text, size, "%zu/%zu, %.*f steps/s, %s left%s%s", step, progress->steps, decimals,
            rate, left, shown, score);
    } else {
        snprintf(text, size, "step %zu of %zu, %.*f steps/s, %s left%s%s", step, progress->steps,
            decimals, rate, left, shown, score);
    }
}

/* The bar has what a usual status leaves of the line, so that its length stays the same. */
static void show_bar(const char *status, double fraction) {
    enum { USUAL_STATUS = 58, LONGEST = 40, SHORTEST = 8 };
    const int columns = terminal_columns() - 1;
    char bar[LONGEST + 4] = "";
    int width = columns - USUAL_STATUS;
    if (width >= SHORTEST) {
        width = width > LONGEST ? LONGEST : width;
        const int filled = (int)(fraction * width);
        bar[0] = '[';
        for (int i = 0; i < width; i++) {
            bar[1 + i] = i < filled ? '#' : '.';
        }
        memcpy(bar + 1 + width, "] ", 3);
    }
    const int room = columns - (int)strlen(bar);
    fprintf(stderr, "\r\033[K%s%.*s", bar, room > 0 ? room : 0, status);
    fflush(stderr);
}

void progress_show(
    struct progress *progress, size_t step, double seconds, double loss, double accuracy) {
    if (progress->quiet || progress->steps == 0) {
        return;
    }
    const double fraction = (double)step / (double)progress->steps;
    char status[160];
    if (progress->terminal) {
        if (seconds - progress->shown_at < 0.1 && step != progress->steps) {
            return;
        }
        progress->shown_at = seconds;
        format_status(status, sizeof status, progress, step, seconds, loss, accuracy);
        show_bar(status, fraction);
    } else if (fraction * PLAIN_LINES >= (double)(progress->lines_shown + 1) ||
               seconds - progress->shown_at >= SILENT_SECONDS) {
        progress->lines_shown = (size_t)(fraction * PLAIN_LINES);
        progress->shown_at = seconds;
        format_status(status, sizeof status, progress, step, seconds, loss, accuracy);
        fprintf(stderr, "%s\n", status);
    }
}

void progress_end(const struct progress *progress) {
    if (!progress->quiet && progress->terminal) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}
