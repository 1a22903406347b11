/* Apart from check_plot.h, whose maps are of the other precision. */
#ifndef TESTS_CHECK_PLOT_GRADCHECK_H
#define TESTS_CHECK_PLOT_GRADCHECK_H

#include <check.h>

TCase *plot_gradcheck_case(void);

#endif
