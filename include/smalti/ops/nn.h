// Functions of jax.nn, composed of ops as in jax.nn: the same inside kernels and outside. Integers give f32, except
// where noted; floats keep their dtype. Errors: SM6305 (no such axis), SM6307 (an axis of size 0).
#pragma once

#include "smalti/ops/elementwise.h"
#include "smalti/ops/reduce.h"

namespace smalti {

/// max(x, 0); integers stay integers. Its derivative at 0 is 0.
Array relu(const Operand& x);
/// min(max(x, 0), 6); integers stay integers. Its derivative at 0 and at 6 is 0.
Array relu6(const Operand& x);
/// x where x >= 0, else negative_slope * x.
Array leaky_relu(const Operand& x, double negative_slope = 0.01);
inline Array sigmoid(const Operand& x) { return logistic(x); }
/// x * sigmoid(x).
Array silu(const Operand& x);
/// x times the normal distribution function of x: computed by tanh if `approximate`, else by erf.
Array gelu(const Operand& x, bool approximate = true);
/// log(1 + exp(x)), without overflow.
Array softplus(const Operand& x);
/// log(sum(exp(x))), without overflow; over all axes by default; -inf of no elements.
Array logsumexp(const Operand& x, Axes axes = {});
/// x - logsumexp(x) along the axis.
Array log_softmax(const Operand& x, int64_t axis = -1);

}  // namespace smalti
