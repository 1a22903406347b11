#include "io/fail.h"

#include <stdarg.h>
#include <stdio.h>

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

mha_status io_fail(mha_error *error, mha_status status, const char *format, ...) {
    char text[MHA_ERROR_TEXT_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    replace_control_characters(text);
    return mha_fail(error, status, "%s", text);
}
