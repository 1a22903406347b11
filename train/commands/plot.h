/* The pictures of `mha plot`, one function each. argv[0] is "mha plot KIND"; the exit status is
 * returned. */
#ifndef TRAIN_COMMANDS_PLOT_H
#define TRAIN_COMMANDS_PLOT_H

int plot_loss(int argc, char **argv);
int plot_heads(int argc, char **argv);
int plot_bench(int argc, char **argv);
int plot_gradcheck(int argc, char **argv);

#endif
