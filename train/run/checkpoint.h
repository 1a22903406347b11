/* checkpoint.npz: all that a run goes on from.
 *
 *   wq wk wv wo, velocity_wq velocity_wk velocity_wv velocity_wo   float32 (D,D)
 *   heads, step, best_step                                         int64
 *   loss, accuracy, relative_error, best_loss, seconds             float64
 *   settings        uint8: {"task":...,"settings":{...}} as run.json has them, in compact JSON
 *   settings_hash   int64: FNV-1a of these bytes
 * Batch n is a function of the seed and n, so that no random state is needed. */
#ifndef TRAIN_RUN_CHECKPOINT_H
#define TRAIN_RUN_CHECKPOINT_H

#include "run/write.h"
#include "trainer.h"

struct checkpoint {
    const struct task *task;
    struct settings settings; /* whose texts belong to the checkpoint */
    struct run_state state;
    mha_real *weights;  /* (4,D,D): wq wk wv wo */
    mha_real *velocity; /* (4,D,D) */
};

/* Replaces the checkpoint of a folder. */
mha_status checkpoint_write(const char *folder, const struct trainer *trainer,
    const struct run_state *state, mha_error *error);

/* Reads it, trusting nothing: MHA_ERROR_FILE, _FORMAT or _SIZE naming the file and what is wrong. On
 * failure *checkpoint holds nothing. */
mha_status checkpoint_read(struct checkpoint *checkpoint, const char *folder, mha_error *error);
void checkpoint_free(struct checkpoint *checkpoint);

/* Puts weights and velocity into a trainer; MHA_ERROR_SHAPE when that has another width. */
mha_status checkpoint_restore(
    struct trainer *trainer, const struct checkpoint *checkpoint, mha_error *error);

#endif
