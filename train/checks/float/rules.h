/* The rules of float_magnitudes.h, one function a stage, forward and backward. */
#ifndef TRAIN_CHECKS_FLOAT_RULES_H
#define TRAIN_CHECKS_FLOAT_RULES_H

#include "checks/float/magnitudes.h"

/* y comes from a and b, and is off by up to `own` ulps by itself. */
void round_into(struct bounded *y, const struct bounded *a, const struct bounded *b, double own);

void project_forward(struct bounded_pass *pass, mha_value result);
void project_backward(struct bounded_pass *pass, mha_value result);
void scores_forward(struct bounded_pass *pass);
void scores_backward(struct bounded_pass *pass);
void context_forward(struct bounded_pass *pass);
void context_backward(struct bounded_pass *pass);
void scale_forward(struct bounded_pass *pass);
void scale_backward(struct bounded_pass *pass);
void softmax_forward(struct bounded_pass *pass);
void softmax_backward(struct bounded_pass *pass);

#endif
