/* mha gradcheck --self-test: the checker against itself. */
#ifndef TRAIN_COMMANDS_GRADCHECK_SELF_TEST_H
#define TRAIN_COMMANDS_GRADCHECK_SELF_TEST_H

#include <mha/gradcheck.h>

/* Plants every fault in the layer, one at a time, and prints whether it is caught, by what, with what
 * margin, and where it is. The exit status: STATUS_FAILED when one is missed, found in
 * another stage or called something else, or when the right layer fails. */
int gradcheck_self_test(const mha_gradcheck_options *options);

#endif
