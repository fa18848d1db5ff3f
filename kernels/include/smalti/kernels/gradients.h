// Kernels of the library with derivatives: each is a custom_vjp whose backward pass is kernels too, so that grad, vjp,
// jit and vmap work on functions of them.
#pragma once

#include "smalti/kernels/matmul.h"
#include "smalti/kernels/norm.h"
#include "smalti/transform.h"

namespace smalti::kernels {

/// matmul of floats, without bias and activation. Backward: two products, dx = dz @ yᵀ and dy = xᵀ @ dz.
Array matmul_with_gradient(const Array& x, const Array& y);

/// rms_norm of [rows, columns] and [columns]. The backward kernel goes over blocks of rows and collects the gradient of
/// the scale in an output block that stays.
Array rms_norm_with_gradient(const Array& x, const Array& scale, float epsilon = 1e-5f);
/// Takes x, scale as [1, columns] and the cotangent; gives those of x and of the scale, f32[1, columns].
PallasCall rms_norm_backward_call(const ArrayType& x, float epsilon = 1e-5f);

/// layer_norm of [rows, columns], [columns] and [columns].
Array layer_norm_with_gradient(const Array& x, const Array& scale, const Array& shift, float epsilon = 1e-5f);
/// Takes x, scale as [1, columns] and the cotangent; gives those of x, of the scale and of the shift.
PallasCall layer_norm_backward_call(const ArrayType& x, float epsilon = 1e-5f);

}  // namespace smalti::kernels
