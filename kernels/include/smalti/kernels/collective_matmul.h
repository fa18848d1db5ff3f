// Matrix products over the devices of a shard_map, whose communication hides behind the product: rows of x, or partial
// sums, travel around the ring along an axis of the mesh while the matrix unit works on the data that has arrived.
#pragma once

#include "smalti/kernels/collectives.h"

namespace smalti::kernels {

/// x f32[m, k] of each of n devices and w f32[k, p]: all rows of x, times w, f32[n · m, p]. What a device has, and the
/// result, must fit into VMEM. Products are accumulated in f32; x and w are floats.
Array all_gather_matmul(const Array& x, const Array& w, const std::string& axis, const CollectiveOptions& options = {});
PallasCall all_gather_matmul_call(const ArrayType& x, const ArrayType& w, const std::string& axis,
                                  const CollectiveOptions& options = {});

/// x f32[n · m, k] and w f32[k, p], whose inner dimension is split over n devices: the sum of the products, of which
/// device i gets rows i · m …, f32[m, p]. Partial sums travel as f32.
Array matmul_reduce_scatter(const Array& x, const Array& w, const std::string& axis,
                            const CollectiveOptions& options = {});
PallasCall matmul_reduce_scatter_call(const ArrayType& x, const ArrayType& w, const std::string& axis,
                                      const CollectiveOptions& options = {});

}  // namespace smalti::kernels
