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

/* Their entries in a table of stages. */
#define PROJECT_QUERY                                                                              \
    {                                                                                              \
        "project_query", MHA_Q, 0, BIT(MHA_QUERY) | BIT(MHA_WQ), BIT(MHA_QUERY) | BIT(MHA_WQ),     \
            false, project_query_forward, project_query_backward                                   \
    }
#define PROJECT_KEY                                                                                \
    {                                                                                              \
        "project_key", MHA_K, 0, BIT(MHA_SOURCE) | BIT(MHA_WK), BIT(MHA_SOURCE) | BIT(MHA_WK),     \
            true, project_key_forward, project_key_backward                                        \
    }
#define PROJECT_VALUE                                                                              \
    {                                                                                              \
        "project_value", MHA_V, 0, BIT(MHA_SOURCE) | BIT(MHA_WV), BIT(MHA_SOURCE) | BIT(MHA_WV),   \
            true, project_value_forward, project_value_backward                                    \
    }
#define PROJECT_OUTPUT                                                                             \
    {                                                                                              \
        "project_output", MHA_OUTPUT, 0, BIT(MHA_CONTEXT) | BIT(MHA_WO),                           \
            BIT(MHA_CONTEXT) | BIT(MHA_WO), false, project_output_forward, project_output_backward \
    }

#endif
