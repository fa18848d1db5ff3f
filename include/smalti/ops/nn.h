// Functions of jax.nn, composed of ops as in jax.nn: the same inside kernels and outside.
#pragma once

#include "smalti/ops/elementwise.h"
#include "smalti/ops/reduce.h"

namespace smalti {

/// max(x, 0).
Array relu(const Operand& x);
/// min(max(x, 0), 6).
Array relu6(const Operand& x);
Array leaky_relu(const Operand& x, double negative_slope = 0.01);
inline Array sigmoid(const Operand& x) { return logistic(x); }
/// x * sigmoid(x).
Array silu(const Operand& x);
/// By tanh when `approximate`, else by erf.
Array gelu(const Operand& x, bool approximate = true);
/// log(1 + exp(x)), stable.
Array softplus(const Operand& x);
/// log(sum(exp(x))), numerically stable; over all axes by default.
Array logsumexp(const Operand& x, Axes axes = {});
/// x - logsumexp(x).
Array log_softmax(const Operand& x, int64_t axis = -1);

}  // namespace smalti
