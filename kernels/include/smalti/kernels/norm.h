// LayerNorm and RMSNorm of rows, whole or split along the columns.
#pragma once

#include "smalti/kernels/softmax.h"

namespace smalti::kernels {

struct NormOptions : RowOptions {
  float epsilon = 1e-5f;
};

/// (x - mean) / sqrt(variance + epsilon) * scale + shift along the last axis, computed in f32; scale and shift are
/// [columns].
Array layer_norm(const Array& x, const Array& scale, const Array& shift, const NormOptions& options = {});
/// The call behind it, of [rows, columns], [1, columns] and [1, columns].
PallasCall layer_norm_call(const ArrayType& x, const NormOptions& options = {});

/// x / sqrt(mean(x²) + epsilon) * scale.
Array rms_norm(const Array& x, const Array& scale, const NormOptions& options = {});
PallasCall rms_norm_call(const ArrayType& x, const NormOptions& options = {});

}  // namespace smalti::kernels
