#include "stop.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const int stop_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { STOP_SIGNALS = sizeof stop_signals / sizeof *stop_signals };

static volatile sig_atomic_t requested;
static struct sigaction before_catch[STOP_SIGNALS];
static bool is_caught[STOP_SIGNALS];

static void restore(void) {
    for (size_t i = 0; i < STOP_SIGNALS; i++) {
        if (is_caught[i]) {
            sigaction(stop_signals[i], &before_catch[i], NULL);
        }
    }
}

static void note_request(int number) {
    requested = number;
    restore();
    if (number == SIGHUP) { /* a terminal that goes sends it more than once */
        signal(SIGHUP, SIG_IGN);
    }
}

void stop_catch(void) {
    requested = 0;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = note_request;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < STOP_SIGNALS; i++) {
        sigaddset(&action.sa_mask, stop_signals[i]);
    }
    for (size_t i = 0; i < STOP_SIGNALS; i++) {
        sigaction(stop_signals[i], NULL, &before_catch[i]);
        is_caught[i] = before_catch[i].sa_handler != SIG_IGN;
        if (is_caught[i]) {
            sigaction(stop_signals[i], &action, NULL);
        }
    }
}

int stop_requested(void) {
    return requested;
}

void stop_release(void) {
    restore();
}

void stop_hold(sigset_t *before) {
    sigset_t held;
    sigemptyset(&held);
    for (size_t i = 0; i < STOP_SIGNALS; i++) {
        sigaddset(&held, stop_signals[i]);
    }
    sigprocmask(SIG_BLOCK, &held, before);
}

void stop_resume(const sigset_t *before) {
    sigprocmask(SIG_SETMASK, before, NULL);
}
