// Kernels of the library with derivatives: each is a custom_vjp whose backward pass is kernels too, so that grad, vjp,
// jit and vmap work on functions of them.
#pragma once

#include "smalti/kernels/flash_attention.h"
#include "smalti/kernels/grouped_matmul.h"
#include "smalti/kernels/matmul.h"
#include "smalti/kernels/norm.h"
#include "smalti/transform.h"

namespace smalti::kernels {

/// matmul of floats, without bias and activation. Backward: two products, dx = dz @ yᵀ and dy = xᵀ @ dz.
Array matmul_with_gradient(const Array& x, const Array& y);

/// rms_norm of [rows, columns] and [columns]. The backward kernel goes over blocks of rows and collects the gradient of
/// the scale in an output block that is revisited.
Array rms_norm_with_gradient(const Array& x, const Array& scale, float epsilon = 1e-5f);
/// Takes x, scale as [1, columns] and the cotangent; gives those of x and of the scale, f32[1, columns].
PallasCall rms_norm_backward_call(const ArrayType& x, float epsilon = 1e-5f);

/// layer_norm of [rows, columns], [columns] and [columns].
Array layer_norm_with_gradient(const Array& x, const Array& scale, const Array& shift, float epsilon = 1e-5f);
/// Takes x, scale as [1, columns] and the cotangent; gives those of x, of the scale and of the shift.
PallasCall layer_norm_backward_call(const ArrayType& x, float epsilon = 1e-5f);

/// flash_attention without bias and segments. The forward pass keeps each row's sum, the backward pass computes the
/// weights again: one kernel collects the gradient of the queries over the keys, one those of keys and values over the
/// queries of all heads that share them.
Array flash_attention_with_gradient(const Array& q, const Array& k, const Array& v,
                                    const AttentionOptions& options = {});
/// Both take q, k, v, the cotangent, the logarithms of the sums, and sum(cotangent * result). The last two are f32, one
/// value for each query: [batch, heads, queries, 1] for the gradient of q, [batch, heads, 1, queries] for those of k,
/// v.
PallasCall flash_attention_backward_queries_call(const ArrayType& q, const ArrayType& k, const AttentionOptions&);
PallasCall flash_attention_backward_keys_call(const ArrayType& q, const ArrayType& k, const AttentionOptions&);

/// grouped_matmul of floats; the group sizes are not traced array. Backward: a grouped product with y transposed, and
/// for each group a product of its rows.
Array grouped_matmul_with_gradient(const Array& x, const Array& y, const Array& group_sizes,
                                   const GroupedMatmulOptions& options = {});
/// y's cotangent, f32 or x's dtype: takes the tiles of `group_tiles`, x and the cotangent of the product.
PallasCall grouped_matmul_backward_call(const ArrayType& x, const ArrayType& dz, int64_t groups,
                                        const GroupedTiles& tiles, int64_t block_m, const GroupedMatmulOptions&);
/// As grouped_tiles, but each group has a tile, one without rows too, and no tile is of no group.
GroupedTiles group_tiles(int64_t rows, int64_t block_m, const Array& group_sizes);

}  // namespace smalti::kernels
