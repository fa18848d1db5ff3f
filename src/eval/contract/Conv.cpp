// A convolution as products: a row for each output position holds what its window sees, and is multiplied with the
// weights, group by group and some rows at a time.
#include "eval/Conv.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "eval/Scratch.h"
#include "eval/Shape.h"
#include "eval/shape/Strides.h"

namespace smalti::eval {
namespace {

/// Rows of windows that are laid out at once: a block of this size, or enough rows to amortise the packing of weights.
constexpr int64_t kWindowBytes = 1 << 20, kMaxWindowBytes = 64 << 20;
constexpr int64_t kMinRows = 256;

DimList stridesOf(const Input& in) {
  return in.splat ? DimList(static_cast<int>(in.shape.size()), 0) : rowMajorStrides(in.shape);
}

/// A tensor under other dimensions, and where its elements are.
struct Layout {
  DimList shape, strides;
  void add(int64_t size, int64_t stride) {
    shape.push(size);
    strides.push(stride);
  }
  bool isDense() const {
    const DimList dense = rowMajorStrides(shape);
    for (int d = 0; d < shape.size(); ++d)
      if (shape[d] != 1 && strides[d] != dense[d]) return false;
    return true;
  }
};

const std::byte* dense(const std::byte* data, const Layout& layout, int bytes, Scratch& scratch) {
  if (layout.isDense()) return data;
  auto* copy = scratch.get<std::byte>(productOf(layout.shape) * bytes);
  copyStrided(data, layout.strides, copy, rowMajorStrides(layout.shape), layout.shape, bytes);
  return copy;
}

class Convolution {
 public:
  Convolution(Dims lhs, Dims rhs, Dims out, const ConvDims& dims)
      : dims_(dims),
        lhs_(lhs),
        rhs_(rhs),
        out_(out),
        spatial_(static_cast<int>(dims.lhsSpatial.size())),
        groups_(dims.featureGroups * dims.batchGroups),
        inputs_(rhs[dims.rhsInput]),
        outputs_(rhs[dims.rhsOutput] / groups_),
        features_(lhs[dims.lhsFeature]) {
    for (int d = 0; d < spatial_; ++d) {
      window_.push(rhs[dims.rhsSpatial[d]]);
      positions_.push(out[dims.outSpatial[d]]);
    }
    rows_ = out[dims.outBatch] * productOf(positions_);
    taps_ = productOf(window_);
  }

  int64_t depth() const { return taps_ * inputs_; }
  int64_t outputs() const { return outputs_; }

  /// [batch, space…, features]
  Layout lhsLayout(Dims strides) const {
    Layout l;
    l.add(lhs_[dims_.lhsBatch], strides[dims_.lhsBatch]);
    for (const int64_t d : dims_.lhsSpatial) l.add(lhs_[d], strides[d]);
    l.add(features_, strides[dims_.lhsFeature]);
    return l;
  }
  /// [group, window…, input features, output features]
  Layout rhsLayout(Dims strides) const {
    Layout l;
    l.add(groups_, strides[dims_.rhsOutput] * outputs_);
    for (const int64_t d : dims_.rhsSpatial) l.add(rhs_[d], strides[d]);
    l.add(inputs_, strides[dims_.rhsInput]);
    l.add(outputs_, strides[dims_.rhsOutput]);
    return l;
  }
  /// [group, batch, space…, features]
  Layout outLayout(Dims strides) const {
    Layout l;
    l.add(groups_, strides[dims_.outFeature] * outputs_);
    l.add(out_[dims_.outBatch], strides[dims_.outBatch]);
    for (const int64_t d : dims_.outSpatial) l.add(out_[d], strides[d]);
    l.add(outputs_, strides[dims_.outFeature]);
    return l;
  }

  /// multiply(windows, rows, group, offset of the rows' results in outLayout) for all rows. Without `lhs` (in
  /// lhsLayout) windows are null. Positions outside lhs are filled with bytes of `outside`.
  template <class Multiply>
  void run(const std::byte* lhs, int bytes, int outside, Multiply multiply) const {
    static thread_local constinit ThreadScratch windows;
    const int64_t rowBytes = depth() * bytes;
    const int64_t wanted = std::min(std::max(kMinRows, kWindowBytes / rowBytes), kMaxWindowBytes / rowBytes);
    const int64_t atOnce = std::clamp<int64_t>(wanted, 1, rows_);
    std::byte* block = lhs ? windows.get<std::byte>(atOnce * rowBytes) : nullptr;
    for (int64_t group = 0; group < groups_; ++group)
      for (int64_t row = 0; row < rows_; row += atOnce) {
        const int64_t count = std::min(atOnce, rows_ - row);
        for (int64_t r = 0; lhs && r < count; ++r) see(lhs, bytes, outside, group, row + r, block + r * rowBytes);
        multiply(block, count, group, (group * rows_ + row) * outputs_);
      }
  }

 private:
  /// What the window of a row sees: [window…, input features].
  void see(const std::byte* lhs, int bytes, int outside, int64_t group, int64_t row, std::byte* to) const {
    static thread_local constinit ThreadScratch coordinates;
    int64_t total = 0;
    for (const int64_t size : window_) total += size;
    int64_t* next = coordinates.get<int64_t>(total);
    std::array<const int64_t*, kMaxDims> offsets;
    int64_t stride = features_;
    for (int d = spatial_; d-- > 0; row /= positions_[d]) {
      offsets[static_cast<size_t>(d)] = next;
      next = findOffsets(d, row % positions_[d], stride, next);
      stride *= lhs_[dims_.lhsSpatial[d]];
    }
    const int64_t batch = row + (dims_.batchGroups > 1 ? group * out_[dims_.outBatch] : 0);
    lhs += (batch * stride + (dims_.featureGroups > 1 ? group * inputs_ : 0)) * bytes;
    const auto run = static_cast<size_t>(inputs_ * bytes);
    Odometer<0> tap(window_, {});
    do {
      int64_t offset = 0;
      bool inside = true;
      for (int d = 0; d < spatial_; ++d) {
        const int64_t along = offsets[static_cast<size_t>(d)][tap.index(d)];
        inside &= along >= 0;
        offset += along;
      }
      if (inside)
        std::memcpy(to, lhs + offset * bytes, run);
      else
        std::memset(to, outside, run);
      to += run;
    } while (tap.next());
  }

  /// For each place in the window at a position along dimension `d`: the offset into lhs; -1: outside, or between
  /// elements. Returns the end of the list.
  int64_t* findOffsets(int d, int64_t position, int64_t stride, int64_t* to) const {
    const int64_t size = lhs_[dims_.lhsSpatial[d]], dilation = dims_.lhsDilation[d];
    for (int64_t k = 0; k < window_[d]; ++k) {
      const int64_t place = dims_.reversed[d] ? window_[d] - 1 - k : k;
      const int64_t at = position * dims_.strides[d] + place * dims_.rhsDilation[d] - dims_.padding[2 * d];
      const bool inside = at >= 0 && (dilation == 1 || at % dilation == 0) && at / dilation < size;
      *to++ = inside ? at / dilation * stride : -1;
    }
    return to;
  }

  const ConvDims& dims_;
  Dims lhs_, rhs_, out_;
  int spatial_;
  int64_t groups_, inputs_, outputs_, features_;
  DimList window_, positions_;
  int64_t rows_ = 0, taps_ = 0;
};

constexpr int64_t kRow[] = {0}, kColumn[] = {1};
const DotDims kPlain{kColumn, kRow, kRow, kColumn, {}, {}};

}  // namespace

bool conv(Input lhs, Input rhs, const ConvDims& dims, Input acc, Output out, DotNumerics numerics, bool lhsUnsigned,
          bool rhsUnsigned) {
  static thread_local constinit ThreadScratch lhsCopy, rhsCopy, accCopy, result;
  const Convolution c(lhs.shape, rhs.shape, out.shape, dims);
  const int lhsBytes = storage_bytes(lhs.dtype), rhsBytes = storage_bytes(rhs.dtype);
  const int accBytes = storage_bytes(acc.dtype), outBytes = storage_bytes(out.dtype);
  const std::byte* elements = dense(lhs.data, c.lhsLayout(stridesOf(lhs)), lhsBytes, lhsCopy);
  const std::byte* weights = dense(rhs.data, c.rhsLayout(stridesOf(rhs)), rhsBytes, rhsCopy);
  const Layout outLayout = c.outLayout(rowMajorStrides(out.shape));
  const std::byte* start = acc.splat ? acc.data : dense(acc.data, outLayout, accBytes, accCopy);
  const bool inPlace = outLayout.isDense();
  std::byte* sums = inPlace ? out.data : result.get<std::byte>(out.elements() * outBytes);
  bool ok = true;
  c.run(elements, lhsBytes, 0, [&](const std::byte* windows, int64_t rows, int64_t group, int64_t at) {
    const int64_t a[] = {rows, c.depth()}, b[] = {c.depth(), c.outputs()}, r[] = {rows, c.outputs()};
    ok = ok && dotGeneral({windows, lhs.dtype, a, false},
                          {weights + group * c.depth() * c.outputs() * rhsBytes, rhs.dtype, b, false}, kPlain,
                          {start + (acc.splat ? 0 : at * accBytes), acc.dtype, r, acc.splat},
                          {sums + at * outBytes, out.dtype, r}, numerics, lhsUnsigned, rhsUnsigned);
  });
  if (ok && !inPlace)
    copyStrided(sums, rowMajorStrides(outLayout.shape), out.data, outLayout.strides, outLayout.shape, outBytes);
  return ok;
}

void convMask(Input lhs, Input rhs, const ConvDims& dims, uint8_t* out, Dims outShape) {
  static thread_local constinit ThreadScratch lhsCopy, rhsCopy, result;
  const Convolution c(lhs.shape, rhs.shape, outShape, dims);
  const std::byte* elements = lhs.data ? dense(lhs.data, c.lhsLayout(stridesOf(lhs)), 1, lhsCopy) : nullptr;
  const std::byte* weights = rhs.data ? dense(rhs.data, c.rhsLayout(stridesOf(rhs)), 1, rhsCopy) : nullptr;
  const Layout outLayout = c.outLayout(rowMajorStrides(outShape));
  const bool inPlace = outLayout.isDense();
  auto* bytes = reinterpret_cast<std::byte*>(out);
  std::byte* masks = inPlace ? bytes : result.get<std::byte>(productOf(outShape));
  const DimList ordered = rowMajorStrides(outLayout.shape);
  if (!inPlace) copyStrided(bytes, outLayout.strides, masks, ordered, outLayout.shape, 1);
  c.run(elements, 1, 1, [&](const std::byte* windows, int64_t rows, int64_t group, int64_t at) {
    const int64_t a[] = {rows, c.depth()}, b[] = {c.depth(), c.outputs()};
    const std::byte* w = weights ? weights + group * c.depth() * c.outputs() : nullptr;
    dotGeneralMask(reinterpret_cast<const uint8_t*>(windows), a, reinterpret_cast<const uint8_t*>(w), b, kPlain,
                   reinterpret_cast<uint8_t*>(masks + at), rows * c.outputs());
  });
  if (!inPlace) copyStrided(masks, ordered, bytes, outLayout.strides, outLayout.shape, 1);
}

}  // namespace smalti::eval
