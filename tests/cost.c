#include "cost.h"

#include <check.h>
#include <stdio.h>
#include <time.h>

#include "child.h"
#include "folder.h"

/* The address sanitizer keeps what was freed, and has bytes of its own around every piece of memory. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum { KILOBYTES_MOST = (SANITIZED ? 2 : 1) * 44 * 1024, SECONDS_MOST = 1 };

/* The most memory that this process has had, in kilobytes; -1 when that is not told. */
static long peak(void) {
    long kilobytes = -1;
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && kilobytes < 0 && fgets(line, sizeof line, status) != NULL) {
        if (sscanf(line, "VmHWM: %ld", &kilobytes) != 1) {
            kilobytes = -1;
        }
    }
    if (status != NULL) {
        fclose(status);
    }
    return kilobytes;
}

struct attempt {
    array_reader *reader;
    const char *name;
    size_t max_bytes;
};

/* FAILED is also how a child ends that a sanitizer stops. */
enum { CHEAP, FAILED, READ, SLOW, LARGE };

static int cost_of(const void *self) {
    const struct attempt *attempt = self;
    mha_arrays *arrays = NULL;
    const long before = peak();
    const clock_t start = clock();
    const mha_status status =
        attempt->reader(&arrays, folder_path(attempt->name), attempt->max_bytes, NULL);
    const clock_t ticks = clock() - start;
    const long after = peak(), kilobytes = after - before;
    if (before <= 0 || after <= 0) {
        return FAILED;
    }
    if (status == MHA_OK) {
        return READ;
    }
    if (ticks > SECONDS_MOST * CLOCKS_PER_SEC) {
        return SLOW;
    }
    return kilobytes > KILOBYTES_MOST ? LARGE : CHEAP;
}

void assert_cheaply_refused(array_reader *reader, const char *name, size_t max_bytes) {
    static const char *const words[] = {[CHEAP] = "cheap",
        [FAILED] = "failed",
        [READ] = "not refused",
        [SLOW] = "slow",
        [LARGE] = "large"};
    const int found = status_of_child(cost_of, &(struct attempt){reader, name, max_bytes});
    ck_assert_msg(found == CHEAP, "%s: %s", name, found <= LARGE ? words[found] : words[FAILED]);
}
