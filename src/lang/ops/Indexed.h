// Ops at positions that are computed, and padding: what programs have beyond kernels.
#pragma once

#include <span>
#include <vector>

#include "lang/trace/Tracer.h"

namespace smalti::lang {

/// Slices of all axes from starts that are computed, i32 scalars; a start outside is moved inside.
Array dynamicSlices(const Array&, std::span<const Array> starts, const Shape& sizes);
/// The array with the update written where the slice of its size would be read.
Array dynamicUpdateSlice(const Array&, const Array& update, std::span<const Array> starts);
/// stablehlo.gather of these dimension numbers.
Array gatherElements(const Array&, const Array& indices, ArrayType result, Attributes numbers);
/// stablehlo.scatter of these dimension numbers, which adds the updates.
Array addAt(const Array&, const Array& indices, const Array& updates, Attributes numbers);
/// Zeros with `size` elements along the axis, to which the updates are added at the indices. The transposition of
/// take_along_axis.
Array addAlongAxis(const Array& indices, const Array& updates, int64_t axis, int64_t size);
/// stablehlo.pad.
Array padWith(const Array&, const Array& value, const std::vector<int64_t>& low, const std::vector<int64_t>& high,
              const std::vector<int64_t>& interior);

}  // namespace smalti::lang
