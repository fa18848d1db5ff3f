// Candidates of the library's kernels: block sizes that are worth trying, the usual ones first.
#pragma once

#include "smalti/autotune.h"
#include "smalti/kernels/flash_attention.h"
#include "smalti/kernels/matmul.h"
#include "smalti/kernels/norm.h"

namespace smalti::kernels {

/// Of x and y as `matmul` takes them; the blocks of the options are not looked at. With a bias, or an activation that
/// has captures, the usual blocks are the only candidate.
Autotuned tuned_matmul(const ArrayType& x, const ArrayType& y, const MatmulOptions& options = {});
/// Of q, k and v as `flash_attention` takes them, without bias and segments (SM6701).
Autotuned tuned_flash_attention(const ArrayType& q, const ArrayType& k, const AttentionOptions& options = {});
/// Of x, y and group sizes as `grouped_matmul` takes them. What was found for types of operands holds for all sizes of
/// groups; the sizes must have values.
Autotuned tuned_grouped_matmul(const ArrayType& x, const ArrayType& y);
/// Of x [rows, columns].
Autotuned tuned_softmax(const ArrayType& x);
/// Of x [rows, columns], scale and shift [1, columns].
Autotuned tuned_layer_norm(const ArrayType& x, float epsilon = NormOptions().epsilon);
/// Of x [rows, columns] and scale [1, columns].
Autotuned tuned_rms_norm(const ArrayType& x, float epsilon = NormOptions().epsilon);

/// All of these, as `smalti tune` knows them.
std::span<const Tunable> tunables();

}  // namespace smalti::kernels
