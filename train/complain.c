#include "command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void complain(const char *format, ...) {
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (char *c = line; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f) {
            *c = '?';
        }
    }
    fprintf(stderr, "mha: %s\n", line);
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
