// What devices of a shard_map say to each other, with the names and arguments of jax.lax. Each takes the mesh axis (or
// axes) along which devices take part; what it returns is this device's. Inside kernels these are for you to write,
// with remote copies (dma.h).
//
//   auto mean = pl::pmean(gradient, "batch");
//   auto rows = pl::all_gather(x, "x", {.tiled = true});
//   auto next = pl::ppermute(x, "x", {{0, 1}, {1, 2}, {2, 3}, {3, 0}});
//
// Errors: SM6232 (an axis that no shard_map around has), SM6233 (arguments that do not fit the array or the devices).
#pragma once

#include <type_traits>
#include <utility>
#include <vector>

#include "smalti/control.h"
#include "smalti/mesh.h"
#include "smalti/operand.h"

namespace smalti {

/// Devices along the axes in groups that talk among themselves, by their index along these axes; empty: all together.
using AxisIndexGroups = std::vector<std::vector<int64_t>>;

struct ReduceOptions {
  AxisIndexGroups axis_index_groups{};
};
/// Sums over the devices; a bool counts as i32. A number that is the same everywhere is multiplied: psum(1, "x") is the
/// number of devices.
Array psum(const Operand& x, const AxisNames& axis_name, const ReduceOptions& options = {});
/// psum divided by the number of devices.
Array pmean(const Operand& x, const AxisNames& axis_name, const ReduceOptions& options = {});
Array pmax(const Operand& x, const AxisNames& axis_name, const ReduceOptions& options = {});
Array pmin(const Operand& x, const AxisNames& axis_name, const ReduceOptions& options = {});

struct GatherOptions {
  int64_t axis = 0;  ///< of the result
  AxisIndexGroups axis_index_groups{};
  /// The parts are joined along `axis`; else they are stacked along a new one.
  bool tiled = false;
};
/// What all devices have, in their order.
Array all_gather(const Operand& x, const AxisNames& axis_name, const GatherOptions& options = {});

struct ScatterOptions {
  int64_t scatter_dimension = 0;
  AxisIndexGroups axis_index_groups{};
  /// Each device gets a part of the dimension; else the dimension is as long as there are devices, and goes away.
  bool tiled = false;
};
/// psum, of which each device gets its part.
Array psum_scatter(const Operand& x, const AxisNames& axis_name, const ScatterOptions& options = {});

/// The array of the device `source` arrives at `target`, for each pair; who gets nothing has zeros. Devices along
/// several axes are counted in the mesh's order, here and in pshuffle (JAX has it so).
Array ppermute(const Operand& x, const AxisNames& axis_name, const std::vector<std::pair<int64_t, int64_t>>& perm);
/// Device i gets the array of device perm[i].
Array pshuffle(const Operand& x, const AxisNames& axis_name, const std::vector<int64_t>& perm);
/// Every device gets the array of the device `source`.
Array pbroadcast(const Operand& x, const AxisNames& axis_name, int64_t source);

struct AllToAllOptions {
  AxisIndexGroups axis_index_groups{};
  /// Parts of `split_axis` are joined along `concat_axis`; else `split_axis` is as long as there are devices and goes
  /// away, and `concat_axis` is new.
  bool tiled = false;
};
/// Device j gets part j of every device's array.
Array all_to_all(const Operand& x, const AxisNames& axis_name, int64_t split_axis, int64_t concat_axis,
                 const AllToAllOptions& options = {});

}  // namespace smalti
