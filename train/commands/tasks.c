/* mha tasks: what can be trained. */
#include "command.h"

#include <stdio.h>

#include "options.h"
#include "run/json.h"
#include "tasks/task.h"

/* Of tasks that read their examples from a file, the file says what they are. */
static void print_form(const struct task *task) {
    const mha_shape *shape = &task->defaults.shape;
    if (task->adapt != NULL) {
        printf("          self- or cross-attention, mean squared error or cross-entropy; goal: %s\n"
               "          sizes from the data, heads %zu\n",
            task->goal_text, shape->heads);
        return;
    }
    printf("          %s, %s; goal: %s\n", task->form.cross ? "cross-attention" : "self-attention",
        task->form.loss == TASK_MSE ? "mean squared error" : "cross-entropy", task->goal_text);
    printf("          batch %zu, target length %zu, source length %zu, width %zu, heads %zu%s\n",
        shape->batch, shape->target_length, shape->source_length, shape->width, shape->heads,
        task->defaults.causal == MHA_CAUSAL_OFF ? "" : ", causal");
}

static void print_task(const struct task *task) {
    const struct settings *s = &task->defaults;
    printf("%-9s %s\n", task->name, task->summary);
    print_form(task);
    printf("          %zu steps, lr %g, momentum %g, %s schedule", s->steps, s->sgd.learning_rate,
        s->sgd.momentum, schedule_name(s->schedule));
    if (s->warmup > 0) {
        printf(", warm-up %zu", s->warmup);
    }
    if (s->sgd.clip > 0.0) {
        printf(", clip %g", s->sgd.clip);
    }
    printf("\n");
}

static error_t parse(int key, char *text, struct argp_state *state) {
    if (key == ARGP_KEY_ARG) {
        usage_error(state, "unexpected argument '%s'", text);
    }
    return ARGP_ERR_UNKNOWN;
}

static int run(int argc, char **argv) {
    static const struct argp_child children[] = {{&help_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {.parser = parse,
        .doc = "List the tasks: what each shows, its default sizes and its best reachable score.",
        .children = children};
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    for (const struct task *const *task = task_table; *task != NULL; task++) {
        printf("%s", task == task_table ? "" : "\n");
        print_task(*task);
    }
    return finish_output(STATUS_DONE);
}

const struct command command_tasks = {
    "tasks", "list the tasks: what each shows, sizes, best score", run};
