/* log.tsv, cut back to where a run goes on. */
#include "run/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <mha/io.h>

#include "files.h"
#include "memory.h"
#include "run/log.h"

/* The rows that a log must hold: those at multiples of every up to step, and that of step if last. */
struct wanted_rows {
    size_t next; /* step of the one that must come next */
    bool done;   /* none is left */
    size_t step, every;
    bool last;
};

static void want_next(struct wanted_rows *wanted) {
    const size_t next = wanted->next - wanted->next % wanted->every + wanted->every;
    if (next <= wanted->step) {
        wanted->next = next;
    } else if (wanted->last && wanted->next < wanted->step) {
        wanted->next = wanted->step;
    } else {
        wanted->done = true;
    }
}

/* Appends a line and its end; *room is the size of the memory. */
static mha_status keep_line(
    struct kept_log *kept, size_t *room, const char *line, mha_error *error) {
    const size_t length = strlen(line);
    if (*room - kept->size < length + 1) {
        const size_t grown = 2 * *room + length + 1;
        char *text = realloc(kept->text, grown);
        if (text == NULL) {
            return no_memory(error);
        }
        kept->text = text;
        *room = grown;
    }
    memcpy(kept->text + kept->size, line, length);
    kept->text[kept->size + length] = '\n';
    kept->size += length + 1;
    return MHA_OK;
}

/* Lines are read until none is wanted any more, or until one shows that one is missing. */
static mha_status keep_lines(struct kept_log *kept, struct wanted_rows *wanted, FILE *file,
    const char *path, mha_error *error) {
    char line[LOG_LINE_SIZE];
    bool complete;
    size_t room = 0;
    mha_status status = MHA_OK;
    for (size_t number = 1; status == MHA_OK && !wanted->done; number++) {
        struct log_row row;
        if (!log_next_line(line, &complete, file) || (!complete && feof(file))) {
            break;
        }
        if (number == 1 && strcmp(line, LOG_HEADER) == 0) {
            status = keep_line(kept, &room, line, error);
        } else if (number == 1) {
            status = mha_fail(error, MHA_ERROR_FORMAT, "%s:1: not the header of a log", path);
        } else if (!complete || !log_read_row(&row, line)) {
            status =
                mha_fail(error, MHA_ERROR_FORMAT, "%s:%zu: not a row of 7 numbers", path, number);
        } else if (row.step > wanted->next) {
            break;
        } else if (row.step < wanted->next) {
            kept->whole = false;
        } else {
            status = keep_line(kept, &room, line, error);
            want_next(wanted);
        }
    }
    if (status == MHA_OK && ferror(file)) {
        status = mha_fail(error, MHA_ERROR_FILE, "%s: %s", path, strerror(errno));
    } else if (status == MHA_OK && !wanted->done && wanted->next == wanted->step &&
               wanted->step % wanted->every != 0) {
        status = mha_fail(error, MHA_ERROR_FORMAT,
            "%s: the run was cut off at step %zu, which has no row: give more --steps", path,
            wanted->step);
    } else if (status == MHA_OK && !wanted->done) {
        status = mha_fail(error, MHA_ERROR_FORMAT,
            "%s: the row of step %zu is missing, and the run cannot go on from step %zu "
            "without it; mha train --weights starts anew from its weights",
            path, wanted->next, wanted->step);
    }
    return status;
}

mha_status run_keep_log(struct kept_log *kept, const char *folder, size_t step, size_t eval_every,
    bool last_row, mha_error *error) {
    *kept = (struct kept_log){.whole = true};
    struct wanted_rows wanted = {.step = step, .every = eval_every, .last = last_row};
    char *path = run_path(folder, RUN_LOG);
    FILE *file = NULL;
    mha_status status = path == NULL ? no_memory(error) : open_stream(&file, path, error);
    if (status == MHA_OK) {
        status = keep_lines(kept, &wanted, file, path, error);
        kept->whole = kept->whole && fgetc(file) == EOF && feof(file);
        fclose(file);
    }
    free(path);
    if (status != MHA_OK) {
        run_kept_log_free(kept);
    }
    return status;
}

mha_status run_cut_log(const struct kept_log *kept, const char *folder, mha_error *error) {
    if (kept->whole) {
        return MHA_OK;
    }
    char *path = run_path(folder, RUN_LOG);
    const mha_status status =
        path == NULL ? no_memory(error) : mha_file_replace(path, kept->text, kept->size, error);
    free(path);
    return status;
}

void run_kept_log_free(struct kept_log *kept) {
    free(kept->text);
    *kept = (struct kept_log){0};
}
