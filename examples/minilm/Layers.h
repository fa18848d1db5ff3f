// The steps of the encoder in terms of kernels; rows are tokens.
#pragma once

#include "Weights.h"
#include "smalti/array.h"

namespace smalti::minilm {

/// Row i is words[ids[i]] + positions[positions[i]] + types[0], normalised.
Array embedTokens(const Weights&, const Array& ids, const Array& positions, double epsilon);

enum class Activation : uint8_t { none, gelu };
/// x · weight + bias, through the activation.
Array linear(const Array& x, const Linear&, Activation = Activation::none);

/// LayerNorm of x, and of x · weight + bias + residual.
Array norm(const Array& x, const Norm&, double epsilon);
Array linearAddNorm(const Array& x, const Linear&, const Array& residual, const Norm&, double epsilon);

/// Attention among tokens of like segment: `segments` is [rows, tokens of a row]. `qkv` has each token's queries, keys
/// and values side by side, [rows × tokens, 3 × width]; the result is [rows × tokens, width].
Array attend(const Array& qkv, const Array& segments, int64_t heads);

/// weights · x.
Array weightedSums(const Array& weights, const Array& x);
/// Each row divided by its length; rows of zeros stay zeros.
Array normalizeRows(const Array& x);

/// x · yᵀ: the cosines, where rows have length 1.
Array products(const Array& x, const Array& y);

}  // namespace smalti::minilm
