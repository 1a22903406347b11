/* Work for threads: passes of one layer over fixed numbers. */
#ifndef TESTS_THREADS_JOB_H
#define TESTS_THREADS_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include <mha/mask.h>
#include <mha/mode.h>
#include <mha/shape.h>

struct job;

/* NULL when the library refuses. */
struct job *job_make(const mha_shape *shape, mha_mode mode, size_t threads);
void job_free(struct job *job);

/* Makes `steps` training steps from the first weights and returns all that the last one wrote, which
 * the job keeps; NULL when the library refuses. */
const float *job_run(struct job *job, size_t steps);
size_t job_count(const struct job *job); /* of those numbers */

/* Whether a run of other gives the numbers that job has. */
bool job_agrees(const struct job *job, struct job *other, size_t steps);

/* In turn: every part of a step is worth four threads and more; several threads, with odd edges; that
 * of a field report, which is worth one. */
extern const mha_shape wide_shape, large_shape, small_shape;

#endif
