/* One run of gnuplot: the script goes in through a pipe, the picture and the complaints come out
 * through two others. */
#include "gnuplot.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gnuplot_process.h"
#include "memory.h"

/* Bytes; more than that gnuplot is not read, but ended. */
enum { LARGEST_PICTURE = 1 << 28, LARGEST_COMPLAINT = 1 << 16 };

struct buffer {
    char *bytes; /* size bytes and a final 0 */
    size_t size, capacity;
};

static bool buffer_add(struct buffer *into, const char *bytes, size_t size) {
    if (into->size + size + 1 > into->capacity) {
        size_t capacity = 2 * (into->size + size) + 4096;
        char *larger = realloc(into->bytes, capacity);
        if (larger == NULL) {
            return false;
        }
        into->bytes = larger;
        into->capacity = capacity;
    }
    if (size > 0) {
        memcpy(into->bytes + into->size, bytes, size);
    }
    into->size += size;
    into->bytes[into->size] = '\0';
    return true;
}

/* Writes what the pipe takes; closes it when all is written or nobody reads any more. */
static void feed(int *end, const char *script, size_t size, size_t *written) {
    ssize_t step = write(*end, script + *written, size - *written);
    if (step >= 0) {
        *written += (size_t)step;
    } else if (errno != EAGAIN && errno != EINTR) {
        gnuplot_close(end);
        return;
    }
    if (*written == size) {
        gnuplot_close(end);
    }
}

/* Reads once, and closes at the end. False when memory is short. Of more than `most` bytes the rest
 * is dropped. */
static bool drain(int *end, struct buffer *into, size_t most) {
    char bytes[16384];
    ssize_t size = read(*end, bytes, sizeof bytes);
    if (size <= 0) {
        if (size == 0 || errno != EINTR) {
            gnuplot_close(end);
        }
        return true;
    }
    size_t room = most - into->size;
    return buffer_add(into, bytes, (size_t)size < room ? (size_t)size : room);
}

/* The line that tells what went wrong: gnuplot repeats the command first, then says "line N: ...",
 * behind the name of the script. */
static const char *error_line(char *complaints) {
    static const char name[] = "\"" GNUPLOT_SCRIPT_NAME "\" ";
    const char *first = NULL;
    char *rest = complaints;
    for (char *line; (line = strtok_r(rest, "\n", &rest)) != NULL;) {
        line += strspn(line, " \t\r");
        if (strncmp(line, name, sizeof name - 1) == 0) {
            line += sizeof name - 1;
        }
        if (strncmp(line, "line ", 5) == 0 && strstr(line, "arning:") == NULL) {
            return line;
        }
        if (first == NULL && *line != '\0') {
            first = line;
        }
    }
    return first != NULL ? first : "it gave no reason";
}

static mha_status check_limits(
    const struct buffer *output, struct buffer *complaints, mha_error *error) {
    if (output->size == LARGEST_PICTURE) {
        return mha_fail(
            error, MHA_ERROR_SIZE, "the picture has more than %d bytes", (int)LARGEST_PICTURE - 1);
    }
    if (complaints->size == LARGEST_COMPLAINT) {
        return mha_fail(error, MHA_ERROR_SIZE, "gnuplot complained in more than %d bytes: %.300s",
            (int)LARGEST_COMPLAINT - 1, error_line(complaints->bytes));
    }
    return MHA_OK;
}

static mha_status talk(struct gnuplot_process *process, struct buffer *output,
    struct buffer *complaints, const char *script, size_t size, mha_error *error) {
    size_t written = 0;
    mha_status status = MHA_OK;
    while (status == MHA_OK && (process->output >= 0 || process->complaints >= 0)) {
        struct pollfd ends[3] = {{process->input, POLLOUT, 0}, {process->output, POLLIN, 0},
            {process->complaints, POLLIN, 0}};
        if (poll(ends, 3, -1) < 0) {
            if (errno == EINTR) {
                continue;
            }
            return mha_fail(error, MHA_ERROR_FILE, "gnuplot: poll failed: %s", strerror(errno));
        }
        bool enough_memory = true;
        if (ends[0].revents != 0) {
            feed(&process->input, script, size, &written);
        }
        if (ends[1].revents != 0) {
            enough_memory = drain(&process->output, output, LARGEST_PICTURE);
        }
        if (ends[2].revents != 0 && enough_memory) {
            enough_memory = drain(&process->complaints, complaints, LARGEST_COMPLAINT);
        }
        status = enough_memory ? check_limits(output, complaints, error) : no_memory(error);
    }
    return status;
}

static mha_status finish(struct gnuplot_process *process, struct buffer *complaints,
    mha_status status, mha_error *error) {
    int exit_status = 0;
    mha_status ended =
        gnuplot_end(&exit_status, process, status != MHA_OK, status == MHA_OK ? error : NULL);
    if (status != MHA_OK || ended != MHA_OK) {
        return status != MHA_OK ? status : ended;
    }
    if (exit_status != 0) {
        return mha_fail(error, MHA_ERROR_FILE, "gnuplot failed with status %d: %.300s", exit_status,
            error_line(complaints->bytes));
    }
    return MHA_OK;
}

mha_status gnuplot_run(
    char **bytes, size_t *size, const char *script, size_t script_size, mha_error *error) {
    struct buffer output = {0}, complaints = {0};
    struct gnuplot_process process;
    *bytes = NULL;
    *size = 0;
    mha_status status = gnuplot_start(&process, error);
    if (status == MHA_OK) {
        if (buffer_add(&output, "", 0) && buffer_add(&complaints, "", 0)) {
            status = talk(&process, &output, &complaints, script, script_size, error);
        } else {
            status = no_memory(error);
        }
        status = finish(&process, &complaints, status, error);
    }
    free(complaints.bytes);
    if (status != MHA_OK) {
        free(output.bytes);
        return status;
    }
    *bytes = output.bytes;
    *size = output.size;
    return MHA_OK;
}
