/* Batches of task examples for tests. */
#ifndef TESTS_TASK_BATCH_H
#define TESTS_TASK_BATCH_H

#include "tasks/task.h"

/* Memory for a batch of a task, every number NaN and every label out of range, so that what fill
 * leaves out is seen. */
struct task_batch batch_make(const struct task *task, const mha_shape *shape);
void batch_free(struct task_batch *batch);

/* Bytes of the queries, sources, targets and labels of one sample; 0 for what the task has not. */
struct sample_bytes {
    size_t query, source, target, labels;
};
struct sample_bytes batch_sample_bytes(const struct task *task, const mha_shape *shape);

/* default_rng([seed, 1, n]), the stream of training batch n. */
mha_rng batch_stream(uint64_t seed, uint64_t n);

/* Opens a task, failing the test with the error's text when it refuses. */
struct task_data *task_opened(const struct task *task, const struct settings *settings);
void task_closed(const struct task *task, struct task_data *data);

/* The task refuses the settings with this status and exactly this text. */
void assert_refused(
    const struct task *task, const struct settings *settings, mha_status status, const char *text);

#endif
