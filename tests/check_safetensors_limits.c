/* What a broken .safetensors file costs before it is refused. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mha/io.h>

#include "cost.h"
#include "folder.h"
#include "safetensors_cases.h"
#include "safetensors_maker.h"

static void assert_refused_at_little_cost(
    size_t max_bytes, mha_status expected, const char *words) {
    assert_cheaply_refused(mha_safetensors_read, "a.safetensors", max_bytes);
    safetensors_assert_refused_within(max_bytes, expected, words);
}

enum { HEADER_MOST = 400000 };

/* The longest header of this form that is read. A '#' in the unit becomes a number that counts. */
static void make_longest(const char *open, const char *unit, const char *close) {
    char *text = malloc(HEADER_MOST + 1);
    ck_assert_ptr_nonnull(text);
    const char *mark = strchr(unit, '#');
    size_t length = (size_t)snprintf(text, HEADER_MOST, "%s", open);
    for (unsigned i = 0; length + strlen(unit) + strlen(close) + 16 < HEADER_MOST; i++) {
        if (mark == NULL) {
            memcpy(text + length, unit, strlen(unit));
            length += strlen(unit);
        } else {
            length += (size_t)snprintf(text + length, HEADER_MOST - length, "%.*s%u%s",
                (int)(mark - unit), unit, i, mark + 1);
        }
    }
    length += (size_t)snprintf(text + length, HEADER_MOST - length, "%s", close);
    memset(text + length, ' ', HEADER_MOST - length);
    safetensors_make_claiming(HEADER_MOST, text, HEADER_MOST, NULL, 0);
    free(text);
}

/* The forms of JSON that take most memory a byte, and some that look like headers to the end. */
static const struct {
    const char *open, *unit, *close, *words;
} forms[] = {
    {"{\"a\":[", "{},", "0]}", "tensor a: its entry is not an object"},
    {"{\"a\":[", "[],", "0]}", "tensor a: its entry is not an object"},
    {"{\"a\":[", "[{}],", "0]}", "tensor a: its entry is not an object"},
    {"{\"a\":[", "0,", "0]}", "tensor a: its entry is not an object"},
    {"{\"a\":[", "\"\",", "0]}", "tensor a: its entry is not an object"},
    {"{", "\"#\":{},", "\"a\":0}", "tensor 0: its entry has no 'dtype'"},
    {"{\"__metadata__\":{", "\"#\":\"\",", "\"a\":0}}", "the value of a in __metadata__"},
    {"{\"__metadata__\":{", "\"#\":[{}],", "\"a\":\"\"}}", "the value of 0 in __metadata__"},
    {"{", "\"#\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},", "\"a\":0}",
        "tensor a: its entry is not an object"},
    {"{\"a\":", "[", "]", "maximum parsing depth"},
    {"{\"a\":", "{\"a\":", "0", "maximum parsing depth"},
    {"{\"a\":\"", "x", "", "premature end of input"},
};
enum { FORMS = sizeof forms / sizeof *forms };

START_TEST(long_headers_cost_little) {
    make_longest(forms[_i].open, forms[_i].unit, forms[_i].close);
    assert_refused_at_little_cost(0, MHA_ERROR_FORMAT, forms[_i].words);
}
END_TEST

/* Makes the file larger, by a hole in it. */
static void grow_file(off_t size) {
    const int file = open(folder_path("a.safetensors"), O_WRONLY);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(ftruncate(file, size), 0);
    ck_assert_int_eq(close(file), 0);
}

START_TEST(large_files_cost_little) {
    const off_t gigabyte = 1 << 30;
    safetensors_make_claiming(100000000, "{", 1, NULL, 0);
    grow_file(100000008);
    assert_refused_at_little_cost(
        0, MHA_ERROR_FORMAT, "a header of 100000000 bytes is longer than 400000");
    safetensors_make_claiming(HEADER_MOST, "{", 1, NULL, 0);
    grow_file(gigabyte);
    assert_refused_at_little_cost(
        0, MHA_ERROR_FORMAT, "the header is not usable, byte 2 of 400000");
    static const char of_one[] = "{" ENTRY("x", "U8", "[1073741824]", "[0,1073741824]") "}";
    safetensors_make(of_one, NULL, 0);
    grow_file(8 + (off_t)strlen(of_one) + gigabyte);
    assert_refused_at_little_cost(1 << 20, MHA_ERROR_SIZE,
        "tensor x: its 1073741824 numbers of uint8 need more than the 1048576");
    static const char of_two[] = "{" ENTRY("x", "U8", "[1073741824]", "[0,1073741824]") "," ENTRY(
        "y", "U8", "[2]", "[1073741824,1073741825]") "}";
    safetensors_make(of_two, NULL, 0);
    grow_file(8 + (off_t)strlen(of_two) + gigabyte + 1);
    assert_refused_at_little_cost(
        (size_t)2 << 30, MHA_ERROR_FORMAT, "tensor y: shape (2,) of U8 needs 2 bytes");
}
END_TEST

TCase *safetensors_limit_case(void) {
    TCase *limits = tcase_create("limits");
    tcase_add_checked_fixture(limits, folder_make, folder_remove);
    tcase_set_tags(limits, "fork"); /* memory is measured */
    tcase_add_loop_test(limits, long_headers_cost_little, 0, FORMS);
    tcase_add_test(limits, large_files_cost_little);
    return limits;
}
