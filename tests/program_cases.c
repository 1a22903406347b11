#include "program_cases.h"

#include <stdlib.h>
#include <string.h>

#include "folder.h"

/* A refusal: status 2, nothing on standard output, one line (argp adds its own on --help) that
 * holds the text, and an untouched folder. */
void assert_program_refuses(const char *const *words, const char *text) {
    const size_t before = folder_count();
    struct outcome outcome = run_program(folder_path(""), words);
    ck_assert_msg(outcome.status == 2, "status %d: %s", outcome.status, outcome.err);
    ck_assert_str_eq(outcome.out, "");
    ck_assert_msg(strstr(outcome.err, text) != NULL, "'%s' is not in: %s", text, outcome.err);
    const char *end = strchr(outcome.err, '\n');
    ck_assert_ptr_nonnull(end);
    ck_assert_msg(end[1] == '\0' || strncmp(end + 1, "Try `mha ", 9) == 0, "%s", outcome.err);
    ck_assert_uint_eq(folder_count(), before);
    outcome_free(&outcome);
}

struct outcome run_well(const char *const *words) {
    struct outcome outcome = run_program(folder_path(""), words);
    ck_assert_msg(outcome.status == 0, "status %d: %s", outcome.status, outcome.err);
    return outcome;
}

void assert_json_holds(const char *name, const char *text) {
    size_t size;
    char *json = (char *)folder_read(&size, name);
    json[size - 1] = '\0';
    ck_assert_msg(strstr(json, text) != NULL, "%s is not in %s", text, json);
    free(json);
}

struct outcome train_briefly(const char *folder, const char *seed) {
    return run_well(WORDS("train", "reverse", "--quiet", "--steps", "12", "--batch", "8",
        "--eval-every", "5", "--seed", seed, "-o", folder));
}
