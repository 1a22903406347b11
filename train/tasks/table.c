#include "table.h"

#include <string.h>

const struct task *const task_table[] = {&task_copy, &task_reverse, &task_shift, &task_offsets,
    &task_retrieve, &task_recall, &task_mean, &task_teacher, &task_letters, &task_arrays, NULL};

const struct task *task_find(const char *name) {
    for (const struct task *const *entry = task_table; *entry != NULL; entry++) {
        if (strcmp((*entry)->name, name) == 0) {
            return *entry;
        }
    }
    return NULL;
}
