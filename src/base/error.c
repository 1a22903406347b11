#include <mha/status.h>

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

/* C0 controls and DEL are one byte; C1 controls are 0xC2 and a byte from 0x80 to 0x9F in UTF-8. */
static void replace_control_characters(char *text) {
    for (char *at = text; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)at[0];
        unsigned char next = (unsigned char)at[1];
        if (byte < 0x20 || byte == 0x7f) {
            *at = '?';
        } else if (byte == 0xc2 && next >= 0x80 && next <= 0x9f) {
            at[0] = '?';
            at[1] = '?';
        }
    }
}

mha_status mha_fail(mha_error *error, mha_status status, const char *format, ...) {
    if (error != NULL) {
        error->status = status;
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
        replace_control_characters(error->text);
    }
    return status;
}
