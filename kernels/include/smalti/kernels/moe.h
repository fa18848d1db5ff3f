// Mixture of experts over the devices of a shard_map: rows go to the device of their expert, and come back to be added
// up with their weights. As many rows travel as there are; nothing is dropped and nothing padded on the wire.
#pragma once

#include "smalti/kernels/collectives.h"

namespace smalti::kernels {

/// The routing of rows, shared by dispatch and combine.
struct Routing {
  Array device;    ///< i32[rows]: index along the axis of the device that each row goes to
  Array place;     ///< i32[rows]: its place among the rows that go there from here
  Array received;  ///< i32[n]: how many rows come here from each device
};
/// `device` i32[rows] of values in [0, n).
Routing moe_route(const Array& device, const std::string& axis);

/// x f32[rows, r, c] (a row is an array of r x c, as a TPU copies it: c a multiple of 128) → f32[n, rows, r, c]: the
/// rows that came from each device, in its order; behind its `received` ones are zeros.
Array moe_dispatch(const Array& x, const Routing& routing, const std::string& axis,
                   const CollectiveOptions& options = {});
PallasCall moe_dispatch_call(const ArrayType& x, const std::string& axis, const CollectiveOptions& options = {});

/// The way back: y f32[n, rows, r, c], what became of the rows that were dispatched here → f32[rows, r, c], each row as
/// it was sent.
Array moe_combine(const Array& y, const Routing& routing, const std::string& axis,
                  const CollectiveOptions& options = {.collective_id = 1});
PallasCall moe_combine_call(const ArrayType& y, const std::string& axis, const CollectiveOptions& options = {});

}  // namespace smalti::kernels
