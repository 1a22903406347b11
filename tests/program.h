/* Running the program `mha` as a user does, and looking at what it said. */
#ifndef TESTS_PROGRAM_H
#define TESTS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct outcome {
    int status; /* exit status; 128 + signal when a signal ended it */
    char *out;  /* standard output */
    char *err;  /* standard error */
};

/* Runs `mha WORD...` (the words end with NULL) in the folder; the environment variable MHA says
 * where the program is. Free the outcome with outcome_free. */
struct outcome run_program(const char *folder, const char *const *words);
void outcome_free(struct outcome *outcome);

/* The same with a limit on the size of files it may write, or its standard output on /dev/full. */
struct outcome run_program_limited(
    const char *folder, const char *const *words, size_t file_bytes, bool full_output);
/* The same with standard error closed; err is then empty. */
struct outcome run_program_deaf(const char *folder, const char *const *words);

/* Starts it and returns at once. */
pid_t start_program(const char *folder, const char *const *words);
/* The exit status, 128 + signal when a signal ended it. */
int wait_for_program(pid_t pid);

/* The words of a command, as the functions above take them. */
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
