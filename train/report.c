#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void *allocate_zeroed(size_t count, size_t size) {
    return count == 0 || size == 0 ? calloc(1, 1) : calloc(count, size);
}

mha_status report(mha_error *error, mha_status status, const char *format, ...) {
    if (error != NULL) {
        error->status = status;
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return status;
}

mha_status no_memory(mha_error *error) {
    return report(error, MHA_ERROR_MEMORY, "not enough memory");
}
