#include "lang/transform/kernel/RefValue.h"

#include <algorithm>

#include "lang/ops/Support.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

/// The extent of a slice: the elements from its first to its last one, before strides are applied.
struct Extent {
  std::vector<Operand> starts;
  std::vector<int64_t> fixed;  ///< the starts, where all are known
  Shape sizes, taken;          ///< `taken`: how many of them the strides leave
  std::vector<int64_t> strides;
  bool isStatic = true, isStrided = false;

  explicit Extent(const PartOf& part) {
    size_t next = 0;
    for (const AxisIndex& a : part.axes) {
      isStatic = isStatic && !a.dynamicStart;
      starts.emplace_back(a.dynamicStart ? part.starts[next++] : Operand(a.start).array());
      fixed.push_back(a.start);
      const int64_t stride = a.stride == 0 ? 1 : a.stride;
      taken.push_back(a.stride == 0 ? 1 : a.size);
      sizes.push_back(taken.back() == 0 ? 0 : (taken.back() - 1) * stride + 1);
      strides.push_back(stride);
      isStrided = isStrided || sizes.back() != taken.back();
    }
  }
  Array of(const Array& whole) const {
    if (sizes == whole.shape()) return whole;
    if (!isStatic) return dynamic_slice(whole, starts, sizes);
    std::vector<int64_t> limits = fixed;
    for (size_t i = 0; i < limits.size(); ++i) limits[i] += sizes[i];
    return slice(whole, fixed, limits);
  }
};

/// The elements of `part` at their strides, and zeros between them.
Array spaced(Array part, const Extent& extent) {
  for (size_t axis = 0; axis < extent.sizes.size(); ++axis) {
    const int64_t count = extent.taken[axis], stride = extent.strides[axis];
    if (count == extent.sizes[axis]) continue;
    Shape apart = part.shape();
    apart.insert(apart.begin() + static_cast<ptrdiff_t>(axis) + 1, 1);
    part = reshapeTo(part, apart);
    std::vector<std::pair<int64_t, int64_t>> widths(apart.size());
    widths[axis + 1].second = stride - 1;
    part = pad(part, widths);
    apart = part.shape();
    apart[axis] *= stride;
    apart.erase(apart.begin() + static_cast<ptrdiff_t>(axis) + 1);
    part = reshapeTo(part, apart);
    std::vector<int64_t> limits = apart;
    limits[axis] = extent.sizes[axis];
    part = slice(part, std::vector<int64_t>(apart.size()), limits);
  }
  return part;
}

}  // namespace

Array readPart(const Array& whole, const PartOf& part) {
  if (part.kind == PartOf::Kind::reshape) return reshapeTo(whole, part.type.shape);
  if (part.kind == PartOf::Kind::bitcast) return bitcast_convert_type(whole, part.type.dtype);
  const Extent extent(part);
  Array region = extent.of(whole);
  if (extent.isStrided) region = slice(region, std::vector<int64_t>(extent.sizes.size()), extent.sizes, extent.strides);
  Shape sizes;
  for (const AxisIndex& a : part.axes) sizes.push_back(a.size);
  if (sizes != region.shape()) region = broadcastTo(region, sizes);
  return region.shape() == part.type.shape ? region : reshapeTo(region, part.type.shape);
}

Array withPart(const Array& whole, const PartOf& part, const Array& value) {
  if (part.kind == PartOf::Kind::reshape) return reshapeTo(value, whole.shape());
  if (part.kind == PartOf::Kind::bitcast) return bitcast_convert_type(value, whole.dtype());
  const Extent extent(part);
  Array region = value.shape() == extent.taken ? value : reshapeTo(value, extent.taken);
  if (extent.isStrided) {
    const Array isPart = spaced(full(extent.taken, 1, DType::i32), extent) != 0;
    region = where(isPart, spaced(region, extent), extent.of(whole));
  }
  return extent.sizes == whole.shape() ? region : dynamic_update_slice(whole, region, extent.starts);
}

}  // namespace smalti::lang
