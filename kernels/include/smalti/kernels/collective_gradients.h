// Kernels of several devices with derivatives: each is a custom_vjp, for the function of a shard_map. The cotangent of
// what all devices have is summed over them, as that of psum is.
#pragma once

#include "smalti/kernels/collective_matmul.h"
#include "smalti/kernels/ring_attention.h"
#include "smalti/transform.h"

namespace smalti::kernels {

/// Backward: the permutation to the left.
Array right_permute_with_gradient(const Array& x, const std::string& axis, const CollectiveOptions& options = {});
/// Backward: reduce_scatter_rows.
Array all_gather_rows_with_gradient(const Array& x, const std::string& axis, GatherPath path = GatherPath::ring,
                                    const CollectiveOptions& options = {});
/// Backward: all_gather_rows.
Array reduce_scatter_rows_with_gradient(const Array& x, const std::string& axis, const CollectiveOptions& options = {});
/// Backward: all_reduce_rows.
Array all_reduce_rows_with_gradient(const Array& x, const std::string& axis, const CollectiveOptions& options = {});
/// Backward: all_to_all_parts.
Array all_to_all_parts_with_gradient(const Array& x, const std::string& axis, const CollectiveOptions& options = {});

/// Backward: dx by matmul_reduce_scatter, dw by a product with all rows of x.
Array all_gather_matmul_with_gradient(const Array& x, const Array& w, const std::string& axis,
                                      const CollectiveOptions& options = {});
/// Backward: dx by all_gather_matmul, dw by a product with all rows of the cotangent.
Array matmul_reduce_scatter_with_gradient(const Array& x, const Array& w, const std::string& axis,
                                          const CollectiveOptions& options = {});

/// Backward: keys and values go around the ring once for the sums of the weights, and once more with their cotangents,
/// which have come home after the last step. In plain ops; a step needs scores [heads, length, length].
Array ring_attention_with_gradient(const Array& q, const Array& k, const Array& v, const std::string& axis,
                                   const RingAttentionOptions& options = {});

}  // namespace smalti::kernels
