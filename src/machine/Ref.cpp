// Views of buffers: composing them, and reading and writing through them.
#include <algorithm>
#include <cstring>

#include "base/RowMajor.h"
#include "base/Tiles.h"
#include "eval/Bits.h"
#include "eval/Shape.h"
#include "machine/Memory.h"
#include "machine/Shadow.h"

namespace smalti::machine {
namespace {

/// Strides of `newShape` over the same elements in the same order, or nullopt when no strides say it.
/// Dimensions are matched in groups of equal product; a group of the old shape must be dense in itself.
std::optional<Shape> reshapedStrides(const Shape& shape, const Shape& strides, std::span<const int64_t> newShape) {
  Shape result(newShape.size(), 1);
  if (num_elements(shape) == 0) return rowMajorStrides(newShape);
  size_t o = 0, n = 0;
  while (o < shape.size() || n < newShape.size()) {
    const size_t oBegin = o, nBegin = n;
    int64_t oldProduct = 1, newProduct = 1;
    if (o < shape.size()) oldProduct = shape[o++];
    if (n < newShape.size()) newProduct = newShape[n++];
    while (oldProduct != newProduct) {
      if (oldProduct < newProduct) {
        if (o == shape.size()) return std::nullopt;
        oldProduct *= shape[o++];
      } else {
        if (n == newShape.size()) return std::nullopt;
        newProduct *= newShape[n++];
      }
    }
    int64_t inner = -1;  // stride of the group's innermost non-unit dimension
    int64_t expected = -1;
    for (size_t d = o; d-- > oBegin;) {
      if (shape[d] == 1) continue;
      if (inner < 0)
        inner = strides[d];
      else if (strides[d] != expected)
        return std::nullopt;
      expected = strides[d] * shape[d];
    }
    int64_t stride = inner < 0 ? 1 : inner;
    for (size_t d = n; d-- > nBegin;) {
      result[d] = stride;
      stride *= newShape[d];
    }
  }
  return result;
}

/// Ones.
void fillStrided(std::byte* out, const Shape& strides, const Shape& shape) {
  const std::byte one{1};
  const Shape constant(shape.size(), 0);
  eval::copyStrided(&one, constant, out, strides, shape, 1);
}

/// A dense value and its mask (empty: all defined).
struct Dense {
  DType dtype;
  Shape shape;
  std::vector<std::byte> data;
  std::vector<uint8_t> mask;
  int64_t elements() const { return num_elements(shape); }
  eval::Input input() const { return {data.data(), dtype, shape, false}; }
  eval::Input maskInput() const { return {reinterpret_cast<const std::byte*>(mask.data()), DType::pred, shape, false}; }
};

Dense makeDense(DType dtype, Shape shape, bool masked) {
  Dense dense{dtype, std::move(shape), {}, {}};
  dense.data.resize(static_cast<size_t>(dense.elements() * storage_bytes(dtype)));
  if (masked) dense.mask.resize(static_cast<size_t>(dense.elements()));
  return dense;
}

/// The bit pattern's type: bitcasts of u4 and i4 storage are the same bits, but stored differently.
Dense bitcastDense(const Dense& from, DType dtype, const Shape& shape) {
  Dense to = makeDense(dtype, shape, !from.mask.empty());
  eval::bitcast(from.input(), {to.data.data(), dtype, to.shape});
  if (!from.mask.empty())
    bitcastMask(from.mask.data(), from.shape, bit_width(from.dtype), to.mask.data(), bit_width(dtype));
  return to;
}

Dense applyForward(Dense from, const RefTransform& t) {
  switch (t.kind) {
    case RefTransform::Kind::reshape:
      from.shape = t.shape;
      return from;
    case RefTransform::Kind::bitcast:
      return bitcastDense(from, t.dtype, t.shape);
    case RefTransform::Kind::slice: {
      Dense to = makeDense(from.dtype, t.shape, !from.mask.empty());
      const Shape ones(t.shape.size(), 1);
      eval::slice(from.input(), t.starts, ones, {to.data.data(), to.dtype, to.shape});
      if (!from.mask.empty())
        eval::slice(from.maskInput(), t.starts, ones,
                    {reinterpret_cast<std::byte*>(to.mask.data()), DType::pred, to.shape});
      return to;
    }
  }
  return from;
}

/// `before` as it is after writing `value` through the transform `t`.
Dense applyBackward(Dense value, Dense before, const RefTransform& t) {
  switch (t.kind) {
    case RefTransform::Kind::reshape:
      value.shape = before.shape;
      return value;
    case RefTransform::Kind::bitcast:
      return bitcastDense(value, before.dtype, before.shape);
    case RefTransform::Kind::slice: {
      const Shape strides = rowMajorStrides(before.shape), dense = rowMajorStrides(value.shape);
      int64_t offset = 0;
      for (size_t d = 0; d < strides.size(); ++d) offset += t.starts[d] * strides[d];
      const int bytes = storage_bytes(before.dtype);
      eval::copyStrided(value.data.data(), dense, before.data.data() + offset * bytes, strides, value.shape, bytes);
      if (!before.mask.empty())
        eval::copyStrided(reinterpret_cast<const std::byte*>(value.mask.data()), dense,
                          reinterpret_cast<std::byte*>(before.mask.data()) + offset, strides, value.shape, 1);
      return before;
    }
  }
  return value;
}

/// The strided window as a dense value.
Dense readWindow(const Ref& ref, bool masked) {
  Dense dense = makeDense(ref.buffer->type.dtype, ref.shape, masked);
  Ref window = ref;
  window.transforms.clear();
  window.read(dense.data.data(), masked ? dense.mask.data() : nullptr);
  return dense;
}

}  // namespace

int64_t Ref::dmaBytes() const { return elements() * bit_width(dtype()) / 8; }

Ref Ref::whole(Buffer& buffer) {
  Ref ref{.buffer = &buffer, .offset = 0, .shape = buffer.type.shape, .strides = rowMajorStrides(buffer.type.shape)};
  if (buffer.space == MemoryKind::hbm || buffer.space == MemoryKind::any) ref.padding = tilePadding(buffer.type);
  return ref;
}

Ref Ref::slice(std::span<const int64_t> starts, std::span<const int64_t> sizes) const {
  Ref result = *this;
  if (!strided()) {
    result.transforms.push_back({.kind = RefTransform::Kind::slice,
                                 .dtype = dtype(),
                                 .shape = Shape(sizes.begin(), sizes.end()),
                                 .starts = {starts.begin(), starts.end()}});
    return result;
  }
  for (size_t d = 0; d < starts.size(); ++d) result.offset += starts[d] * strides[d];
  result.shape.assign(sizes.begin(), sizes.end());
  sliceTiles(*this, starts, sizes, result);
  return result;
}

void sliceTiles(const Ref& ref, std::span<const int64_t> starts, std::span<const int64_t> sizes, Ref& view) {
  const size_t rank = starts.size();
  if (ref.padding.empty() && ref.present.empty()) {
    view.padding.clear();
    view.present.clear();
    return;
  }
  Shape padding(rank), present(rank);
  bool mayReach = false, whole = true;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t beyond = starts[d] + sizes[d] - ref.shape[d];  // < 0: the slice ends before the view does
    if (!ref.padding.empty() && beyond >= 0) padding[d] = ref.padding[d] - beyond;
    present[d] = std::min(sizes[d], ref.presentShape()[d] - starts[d]);
    mayReach |= padding[d] > 0;
    whole &= present[d] == sizes[d];
  }
  if (!mayReach) padding.clear();
  if (whole) present.clear();
  view.padding.assign(padding.begin(), padding.end());
  view.present.assign(present.begin(), present.end());
}

Ref Ref::squeeze(std::span<const int64_t> newShape) const { return reshape(newShape); }

Ref Ref::reshape(std::span<const int64_t> newShape) const {
  Ref result = *this;
  result.padding.clear();
  if (strided())
    if (auto newStrides = reshapedStrides(shape, strides, newShape)) {
      result.padding = paddingAfterReshape(shape, padding, newShape);
      result.shape.assign(newShape.begin(), newShape.end());
      result.strides = std::move(*newStrides);
      return result;
    }
  result.transforms.push_back({.kind = RefTransform::Kind::reshape,
                               .dtype = dtype(),
                               .shape = Shape(newShape.begin(), newShape.end()),
                               .starts = {}});
  return result;
}

Ref Ref::bitcast(DType to, std::span<const int64_t> newShape) const {
  if (to == dtype()) return reshape(newShape);
  Ref result = *this;
  result.padding.clear();
  result.transforms.push_back({.kind = RefTransform::Kind::bitcast,
                               .dtype = to,
                               .shape = Shape(newShape.begin(), newShape.end()),
                               .starts = {}});
  return result;
}

Ref Ref::on(Buffer& other) const {
  Ref result = *this;
  result.buffer = &other;
  return result;
}

bool Ref::read(std::byte* out, uint8_t* mask) const {
  if (!strided()) {
    const bool masked = !buffer->allDefined;
    Dense value = readWindow(*this, masked);
    for (const RefTransform& t : transforms) value = applyForward(std::move(value), t);
    std::copy(value.data.begin(), value.data.end(), out);
    if (!masked) {
      if (mask) std::memset(mask, 1, static_cast<size_t>(value.elements()));
      return true;
    }
    if (mask) std::copy(value.mask.begin(), value.mask.end(), mask);
    return allOnes(value.mask.data(), value.elements());
  }
  const Shape dense = rowMajorStrides(shape);
  const int bytes = buffer->elementBytes();
  const int64_t n = num_elements(shape);
  if (n == 0) return true;
  eval::copyStrided(buffer->data() + offset * bytes, strides, out, dense, presentShape(), bytes);
  if (buffer->allDefined && present.empty()) {
    if (mask) std::memset(mask, 1, static_cast<size_t>(n));
    return true;
  }
  std::vector<uint8_t> own;
  if (!mask) {
    own.resize(static_cast<size_t>(n));
    mask = own.data();
  }
  auto* to = reinterpret_cast<std::byte*>(mask);
  if (!present.empty()) std::memset(mask, 0, static_cast<size_t>(n));
  if (buffer->allDefined)
    fillStrided(to, dense, present);
  else
    eval::copyStrided(reinterpret_cast<const std::byte*>(buffer->defined.data()) + offset, strides, to, dense,
                      presentShape(), 1);
  return allOnes(mask, n);
}

void Ref::write(const std::byte* in, const uint8_t* mask) const {
  if (elements() == 0) return;
  if (!strided()) {
    const bool masked = mask || !buffer->allDefined;
    std::vector<Dense> states{readWindow(*this, masked)};
    for (const RefTransform& t : transforms) states.push_back(applyForward(states.back(), t));
    Dense value = std::move(states.back());
    std::copy_n(in, value.data.size(), value.data.begin());
    if (masked && mask) std::copy_n(mask, value.mask.size(), value.mask.begin());
    if (masked && !mask) std::fill(value.mask.begin(), value.mask.end(), 1);
    for (size_t k = transforms.size(); k-- > 0;)
      value = applyBackward(std::move(value), std::move(states[k]), transforms[k]);
    Ref window = *this;
    window.transforms.clear();
    window.write(value.data.data(), masked ? value.mask.data() : nullptr);
    return;
  }
  const Shape dense = rowMajorStrides(shape);
  const int bytes = buffer->elementBytes();
  eval::copyStrided(in, dense, buffer->data() + offset * bytes, strides, presentShape(), bytes);
  writeShadow(mask);
}

void Ref::writeShadow(const uint8_t* mask) const {
  if (!mask && buffer->allDefined) return;
  const int64_t n = num_elements(presentShape());
  if (!mask && n == buffer->type.elements() && std::find(strides.begin(), strides.end(), 0) == strides.end()) {
    buffer->allDefined = true;
    buffer->defined.clear();
    return;
  }
  buffer->materialiseShadow();
  const Shape dense = rowMajorStrides(shape);
  auto* shadow = reinterpret_cast<std::byte*>(buffer->defined.data()) + offset;
  if (mask) {
    eval::copyStrided(reinterpret_cast<const std::byte*>(mask), dense, shadow, strides, presentShape(), 1);
    return;
  }
  fillStrided(shadow, strides, presentShape());
}

}  // namespace smalti::machine
