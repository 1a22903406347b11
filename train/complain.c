#include "command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* mha_fail knows what a control character is. */
const char *printable(char shown[SHOWN_SIZE], const char *text) {
    mha_error cleaned;
    mha_fail(&cleaned, MHA_OK, "%s", text);
    snprintf(shown, SHOWN_SIZE, "%s", cleaned.text);
    return shown;
}

void complain(const char *format, ...) {
    char line[SHOWN_SIZE], shown[SHOWN_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(stderr, "mha: %s\n", printable(shown, line));
}

int finish_output(int status) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return status;
    }
    static int told; /* once: the output is checked again when the program ends */
    if (!told) {
        told = 1;
        complain("standard output: %s", errno != 0 ? strerror(errno) : "not all could be written");
    }
    return STATUS_USAGE;
}
