/* Held-out examples: of a task that has a fixed set of them, or drawn, and then kept between
 * evaluations where they are small. */
#include "trainer.h"

#include <stdlib.h>

#include "memory.h"

enum { KEPT_BYTES_MOST = 1 << 22 };

size_t held_out_count(const struct trainer *trainer) {
    const struct task *task = trainer->task;
    return task->held_out_count == NULL ? HELD_OUT_EXAMPLES : task->held_out_count(trainer->data);
}

mha_rng held_out_begin(const struct trainer *trainer, uint64_t stream) {
    const uint64_t entropy[] = {trainer->settings.seed, stream};
    mha_rng rng;
    mha_rng_seed(&rng, entropy, 2);
    return rng;
}

void held_out_next(struct trainer *trainer, mha_rng *rng, size_t first, size_t count) {
    if (trainer->task->held_out_count != NULL) {
        trainer->task->fill_held_out(&trainer->batch, first, count, trainer->data);
    } else {
        trainer->task->fill(&trainer->batch, count, rng, trainer->data);
    }
}

/* Numbers of one example. */
struct example_sizes {
    size_t query, source, target, labels;
};

static struct example_sizes sizes_of(const struct trainer *trainer) {
    const mha_shape *shape = &trainer->settings.shape;
    const struct task_form *form = &trainer->form;
    const size_t targets = shape->target_length * shape->width;
    return (struct example_sizes){.query = targets,
        .source = form->cross ? shape->source_length * shape->width : 0,
        .target = form->loss == TASK_MSE ? targets : 0,
        .labels = form->loss == TASK_MSE ? 0 : shape->target_length * form->answers};
}

static bool is_small(const struct example_sizes *sizes) {
    const size_t most = KEPT_BYTES_MOST / HELD_OUT_EXAMPLES / sizeof(mha_real);
    return sizes->query <= most && sizes->source <= most && sizes->labels <= most &&
           sizes->query + sizes->source + sizes->target + sizes->labels <= most;
}

void held_out_forget(struct trainer *trainer) {
    free(trainer->held_out.examples.query); /* the block that they all stand in */
    free(trainer->held_out.examples.labels);
    trainer->held_out = (struct held_out){.stream = 0};
}

/* Memory for the examples; nothing where there is none, or where they would take much of it. */
static void make_room(struct trainer *trainer) {
    struct task_batch *kept = &trainer->held_out.examples;
    const struct example_sizes sizes = sizes_of(trainer);
    if (!is_small(&sizes)) {
        return;
    }
    const size_t numbers = sizes.query + sizes.source + sizes.target;
    mha_real *block = allocate_zeroed(HELD_OUT_EXAMPLES * numbers, sizeof *block);
    int32_t *labels = allocate_zeroed(HELD_OUT_EXAMPLES * sizes.labels, sizeof *labels);
    if (block == NULL || labels == NULL) {
        free(block);
        free(labels);
        return;
    }
    *kept = (struct task_batch){.shape = trainer->settings.shape, .query = block, .labels = labels};
    kept->shape.batch = HELD_OUT_EXAMPLES;
    kept->source = sizes.source == 0 ? NULL : block + HELD_OUT_EXAMPLES * sizes.query;
    kept->target = sizes.target == 0 ? NULL : block + HELD_OUT_EXAMPLES * (numbers - sizes.target);
}

bool held_out_keep(struct trainer *trainer, uint64_t stream) {
    struct held_out *held_out = &trainer->held_out;
    if (held_out->stream != stream) {
        held_out_forget(trainer);
        held_out->stream = stream;
        if (trainer->task->held_out_count == NULL) {
            make_room(trainer);
        }
        if (held_out->examples.query != NULL) {
            mha_rng rng = held_out_begin(trainer, stream);
            trainer->task->fill(&held_out->examples, HELD_OUT_EXAMPLES, &rng, trainer->data);
        }
    }
    return held_out->examples.query != NULL;
}

void held_out_show(struct trainer *trainer, size_t first) {
    const struct task_batch *kept = &trainer->held_out.examples;
    const struct example_sizes sizes = sizes_of(trainer);
    struct task_batch *batch = &trainer->batch;
    batch->query = kept->query + first * sizes.query;
    batch->source = kept->source == NULL ? NULL : kept->source + first * sizes.source;
    batch->target = kept->target == NULL ? NULL : kept->target + first * sizes.target;
    batch->labels = kept->labels + first * sizes.labels;
}
