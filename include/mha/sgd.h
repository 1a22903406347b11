/* Stochastic gradient descent, as torch.optim.SGD defines it. Reached through <mha/mha32.h> or
 * <mha/mha64.h>.
 *
 *   g = k dw, k = min(1, clip / |dw|) over all entries;   g += decay w
 *   v = momentum v + g;   w -= lr (nesterov ? g + momentum v : v)
 * torch starts v as a copy of g, which is what v = 0 gives here. */
#ifndef MHA_NAME
#error "include <mha/mha32.h> (float) or <mha/mha64.h> (double)"
#endif

typedef struct mha_sgd_options {
    double learning_rate;
    double momentum;     /* 0 for none; then v is g */
    double weight_decay; /* 0 for none */
    double clip;         /* largest gradient norm; 0 for no limit */
    bool nesterov;
} mha_sgd_options;

/* Euclidean norm of all entries, summed in double. */
double mha_gradient_norm(const mha_real *gradients, size_t count);

/* One update of weights and velocity (count). norm is mha_gradient_norm of the gradients.
 * MHA_ERROR_NOT_FINITE when the norm is not finite or a weight or velocity would become so; then
 * nothing has changed. MHA_ERROR_ARGUMENT for an option that is negative or not finite. */
mha_status mha_sgd_step(mha_real *weights, mha_real *velocity, const mha_real *gradients,
    size_t count, double norm, const mha_sgd_options *options, mha_error *error);
