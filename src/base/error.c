#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

#define STATUS_TEXT(name, text) [name] = text,
static const char *const status_texts[] = {MHA_STATUS_LIST(STATUS_TEXT)};
#undef STATUS_TEXT

const char *mha_status_text(mha_status status) {
    size_t index = (size_t)status;
    if (index >= sizeof status_texts / sizeof *status_texts) {
        return "unknown status";
    }
    return status_texts[index];
}

const char *mha_version(void) {
    return "0.1.0";
}

mha_status mha_fail(mha_error *error, mha_status status, const char *format, ...) {
    if (error != NULL) {
        error->status = status;
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return status;
}
