// Collectives as kernels of remote copies and semaphores, for the function of a shard_map: each takes this device's
// part and returns its result. `axis` is an axis of the mesh; devices along it take part.
//
// Two kernels that run one after the other in a program have `collective_id`s of their own, unless they talk along the
// same pattern (S-G9).
#pragma once

#include <string>

#include "smalti/pallas_call.h"

namespace smalti::kernels {

struct CollectiveOptions {
  int64_t collective_id = 0;
};

/// The array of the left neighbour: ppermute by one. x stays in HBM, as in the three all-gathers and all_to_all.
Array right_permute(const Array& x, const std::string& axis, const CollectiveOptions& options = {});
PallasCall right_permute_call(const ArrayType& x, const std::string& axis, const CollectiveOptions& options = {});

/// The algorithm of an all-gather.
enum class GatherPath : uint8_t {
  direct,         ///< each device writes its part to every other
  ring,           ///< each step, on to the right neighbour
  bidirectional,  ///< half of the rows to the right, half to the left
};
/// f32[rows, …] of each of n devices → f32[n · rows, …], in their order. Rows is even for `bidirectional`.
Array all_gather_rows(const Array& x, const std::string& axis, GatherPath path = GatherPath::ring,
                      const CollectiveOptions& options = {});
PallasCall all_gather_rows_call(const ArrayType& x, const std::string& axis, GatherPath path,
                                const CollectiveOptions& options = {});

/// f32[n · rows, …] → f32[rows, …]: the sum over the devices, of which device i gets rows i · rows …. By a ring; what a
/// device has must fit into VMEM. Sums of floats of 16 bits are rounded at each step.
Array reduce_scatter_rows(const Array& x, const std::string& axis, const CollectiveOptions& options = {});
PallasCall reduce_scatter_rows_call(const ArrayType& x, const std::string& axis, const CollectiveOptions& options = {});

/// The sum over the devices: reduce-scatter and all-gather in one kernel. Rows are a multiple of the devices.
Array all_reduce_rows(const Array& x, const std::string& axis, const CollectiveOptions& options = {});
PallasCall all_reduce_rows_call(const ArrayType& x, const std::string& axis, const CollectiveOptions& options = {});

/// f32[n, …] → f32[n, …]: part j goes to device j, where it is part `this device`.
Array all_to_all_parts(const Array& x, const std::string& axis, const CollectiveOptions& options = {});
PallasCall all_to_all_parts_call(const ArrayType& x, const std::string& axis, const CollectiveOptions& options = {});

}  // namespace smalti::kernels
