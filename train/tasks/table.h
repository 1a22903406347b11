/* The tasks by name, each defined in the file of its name. */
#ifndef TRAIN_TASKS_TABLE_H
#define TRAIN_TASKS_TABLE_H

#include "task.h"

extern const struct task task_copy;
extern const struct task task_reverse;
extern const struct task task_shift;
extern const struct task task_offsets;
extern const struct task task_retrieve;
extern const struct task task_recall;
extern const struct task task_mean;
extern const struct task task_teacher;
extern const struct task task_letters;
extern const struct task task_arrays;

#endif
