// Communication between devices of a shard_map, with the names and arguments of jax.lax. Each takes the mesh axis (or
// axes) along which devices take part, and returns this device's result. Inside kernels, write collectives yourself
// with remote copies (dma.h).
//
//   auto mean = pl::pmean(gradient, "batch");
//   auto rows = pl::all_gather(x, "x", {.tiled = true});
//   auto next = pl::ppermute(x, "x", {{0, 1}, {1, 2}, {2, 3}, {3, 0}});
//
// Errors: SM6232 (no enclosing shard_map has the axis), SM6233 (arguments that do not fit the array or the devices).
#pragma once

#include <type_traits>
#include <utility>
#include <vector>

#include "smalti/control.h"
#include "smalti/mesh.h"
#include "smalti/operand.h"

namespace smalti {

/// Groups of devices that communicate among themselves, by index along the axes; empty: one group of all devices.
using AxisIndexGroups = std::vector<std::vector<int64_t>>;

struct ReduceOptions {
  AxisIndexGroups axis_index_groups{};
};
// The shapes below are for n devices along the axes (in a group, if there are groups).

/// Sums over the devices; a bool counts as i32. A number that is the same everywhere is multiplied: psum(1, "x") is the
/// number of devices.
Array psum(const Operand& x, const AxisNames& axis_name, const ReduceOptions& options = {});
/// psum divided by the number of devices; integers give f32.
Array pmean(const Operand& x, const AxisNames& axis_name, const ReduceOptions& options = {});
/// The largest and the smallest element over the devices, as `maximum` and `minimum`: NaN if a device has one.
Array pmax(const Operand& x, const AxisNames& axis_name, const ReduceOptions& options = {});
Array pmin(const Operand& x, const AxisNames& axis_name, const ReduceOptions& options = {});

struct GatherOptions {
  int64_t axis = 0;  ///< of the result
  AxisIndexGroups axis_index_groups{};
  /// True: parts are concatenated along `axis`; false: they are stacked along a new one.
  bool tiled = false;
};
/// The arrays of all devices, in the order of devices: [a, b] -> [n, a, b], tiled: [n·a, b] (for axis 0). Error SM6233:
/// groups of different sizes.
Array all_gather(const Operand& x, const AxisNames& axis_name, const GatherOptions& options = {});

struct ScatterOptions {
  int64_t scatter_dimension = 0;
  AxisIndexGroups axis_index_groups{};
  /// True: each device gets a part of the dimension; false: its size is the number of devices, and it is removed.
  bool tiled = false;
};
/// The part of psum that belongs to this device: [n, a] -> [a], tiled: [n·a, b] -> [a, b] (for dimension 0). Error
/// SM6233: the dimension is not n, tiled: not a multiple of n.
Array psum_scatter(const Operand& x, const AxisNames& axis_name, const ScatterOptions& options = {});

/// The array of device `source` goes to `target`, for each pair; devices that receive nothing get zeros. Devices along
/// several axes are numbered in the mesh's order, here and in pshuffle, as in JAX. Error SM6233: a device that does not
/// exist, or is the source or the target of two pairs.
Array ppermute(const Operand& x, const AxisNames& axis_name, const std::vector<std::pair<int64_t, int64_t>>& perm);
/// Device i gets the array of device perm[i]. Error SM6233: not a permutation of the n devices.
Array pshuffle(const Operand& x, const AxisNames& axis_name, const std::vector<int64_t>& perm);
/// Every device gets the array of the device `source`. Error SM6233: it does not exist.
Array pbroadcast(const Operand& x, const AxisNames& axis_name, int64_t source);

struct AllToAllOptions {
  AxisIndexGroups axis_index_groups{};
  /// True: parts of `split_axis` are concatenated along `concat_axis`; false: `split_axis` has the number of devices as
  /// its size and is removed, and `concat_axis` is new.
  bool tiled = false;
};
/// Device j gets part j of every device's array: split 0, concat 1: [n, a] -> [a, n], tiled: [n·a, b] -> [a, n·b].
/// Error SM6233: the split axis is not n, tiled: not a multiple of n.
Array all_to_all(const Operand& x, const AxisNames& axis_name, int64_t split_axis, int64_t concat_axis,
                 const AllToAllOptions& options = {});

}  // namespace smalti
