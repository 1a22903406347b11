/* The test cases of resume_suite. */
#ifndef TESTS_CHECK_RESUME_H
#define TESTS_CHECK_RESUME_H

#include <check.h>

TCase *resume_refusals(void);    /* options that --resume refuses, and runs in use */
TCase *resume_starts(void);      /* starts that were cut short */
TCase *resume_checkpoints(void); /* broken checkpoints */
TCase *resume_logs(void);        /* logs, cut back or refused */
TCase *resume_full_disks(void);  /* files that cannot be written */
TCase *resume_kills(void);       /* kill -9 at random moments */

#endif
