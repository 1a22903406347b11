/* The stages of the four projections, which both wings share; each multiplies in its own way. */
#ifndef LAYER_PROJECTIONS_H
#define LAYER_PROJECTIONS_H

#include "base/real.h"

#define project_query_forward   MHA_NAME(project_query_forward)
#define project_query_backward  MHA_NAME(project_query_backward)
#define project_key_forward     MHA_NAME(project_key_forward)
#define project_key_backward    MHA_NAME(project_key_backward)
#define project_value_forward   MHA_NAME(project_value_forward)
#define project_value_backward  MHA_NAME(project_value_backward)
#define project_output_forward  MHA_NAME(project_output_forward)
#define project_output_backward MHA_NAME(project_output_backward)

/* The set of values that has this one. */
#define BIT(value) (1ul << (value))

void project_query_forward(mha_real *result, const mha_pass *pass);
void project_query_backward(const mha_pass *pass, const mha_real *dresult);
void project_key_forward(mha_real *result, const mha_pass *pass);
void project_key_backward(const mha_pass *pass, const mha_real *dresult);
void project_value_forward(mha_real *result, const mha_pass *pass);
void project_value_backward(const mha_pass *pass, const mha_real *dresult);
void project_output_forward(mha_real *result, const mha_pass *pass);
void project_output_backward(const mha_pass *pass, const mha_real *dresult);

#endif
