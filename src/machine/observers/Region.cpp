#include "machine/observers/Region.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/RowMajor.h"

namespace smalti::machine {
namespace {

bool sliced(const Ref& ref) {
  return std::any_of(ref.transforms.begin(), ref.transforms.end(),
                     [](const RefTransform& t) { return t.kind == RefTransform::Kind::slice; });
}

bool isEmpty(const Region& r) {
  return std::any_of(r.shape.begin(), r.shape.end(), [](int64_t n) { return n <= 0; });
}

/// One progression per dimension of the buffer.
struct Extent {
  int64_t start = 0, count = 1, step = 1;
  int64_t end() const { return start + (count - 1) * step; }
};

constexpr size_t kMaxDims = 8;
using Extents = std::array<Extent, kMaxDims>;

/// The region in the buffer's own coordinates, when its dimensions are the buffer's.
bool extents(const Region& r, Extents& out) {
  const Shape& shape = r.buffer->type.shape;
  if (shape.size() > kMaxDims) return false;
  std::array<int64_t, kMaxDims> stride;
  rowMajorStrides(shape, stride);
  int64_t rest = r.offset;
  for (size_t d = 0; d < shape.size(); ++d) {
    out[d].start = rest / stride[d];
    rest %= stride[d];
  }
  for (size_t v = 0; v < r.shape.size(); ++v) {
    if (r.shape[v] == 1) continue;
    size_t d = 0;
    while (d < shape.size() && (shape[d] == 1 || stride[d] > r.strides[v])) ++d;
    if (d == shape.size() || r.strides[v] % stride[d] != 0 || out[d].count != 1) return false;
    out[d].count = r.shape[v];
    out[d].step = r.strides[v] / stride[d];
    if (out[d].end() >= shape[d]) return false;
  }
  return true;
}

bool meet(const Extent& a, const Extent& b) {
  if (a.end() < b.start || b.end() < a.start) return false;
  if (a.step == 1 && b.step == 1) return true;
  for (int64_t i = 0; i < a.count; ++i) {
    const int64_t at = a.start + i * a.step - b.start;
    if (at >= 0 && at % b.step == 0 && at / b.step < b.count) return true;
  }
  return false;
}

template <class F>
void forEachElement(const Region& r, F&& f) {
  std::vector<int64_t> index(r.shape.size(), 0);
  int64_t at = r.offset;
  while (true) {
    f(at);
    int d = static_cast<int>(index.size()) - 1;
    for (; d >= 0; --d) {
      at += r.strides[d];
      if (++index[d] < r.shape[d]) break;
      at -= r.strides[d] * r.shape[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

}  // namespace

int64_t Region::last() const {
  int64_t at = offset;
  for (size_t d = 0; d < shape.size(); ++d) at += (shape[d] - 1) * strides[d];
  return at;
}

std::optional<Region> regionOf(const Ref& ref) {
  if (sliced(ref)) return std::nullopt;
  return Region{ref.buffer, ref.offset, ref.presentShape(), ref.strides, idOf(*ref.buffer)};
}

std::optional<Region> regionOf(const PeerRef& ref) {
  auto region = regionOf(ref.view);
  if (region) region->allocation = idOf(ref);
  return region;
}

std::optional<Region> regionOf(const MemoryAccess& access) {
  const Ref& ref = *access.ref;
  if (!ref.strided()) {
    const Shape& view = ref.viewShape();
    for (size_t d = 0; d < view.size() && d < access.sizes.size(); ++d)
      if (access.sizes[d] != view[d]) return std::nullopt;
    return regionOf(ref);
  }
  Region r{ref.buffer, ref.offset, ref.shape, ref.strides, idOf(*ref.buffer)};
  for (size_t d = 0; d < access.starts.size(); ++d) {
    r.offset += access.starts[d] * ref.strides[d];
    r.shape[d] = access.sizes[d];
    if (d < access.strides.size()) {
      r.strides[d] *= access.strides[d];
      if (access.strides[d] == 0) r.shape[d] = 1;
    }
  }
  return r;
}

bool overlap(const Region& a, const Region& b) {
  if (a.allocation != b.allocation || isEmpty(a) || isEmpty(b)) return false;
  if (a.last() < b.offset || b.last() < a.offset) return false;
  Extents ea, eb;
  if (extents(a, ea) && extents(b, eb)) {
    for (size_t d = 0; d < a.buffer->type.shape.size(); ++d)
      if (!meet(ea[d], eb[d])) return false;
    return true;
  }
  std::vector<bool> taken(static_cast<size_t>(a.last() - a.offset + 1));
  forEachElement(a, [&](int64_t at) { taken[at - a.offset] = true; });
  bool found = false;
  forEachElement(b, [&](int64_t at) {
    const int64_t i = at - a.offset;
    found |= i >= 0 && i < static_cast<int64_t>(taken.size()) && taken[i];
  });
  return found;
}

bool anyUndefined(const Region& r) {
  if (r.buffer->allDefined || isEmpty(r)) return false;
  const bool rows = !r.shape.empty() && r.strides.back() == 1;
  Region starts = r;  // the first element of each contiguous row, or every element
  if (rows) starts.shape.back() = 1;
  const int64_t run = rows ? r.shape.back() : 1;
  bool found = false;
  forEachElement(starts, [&](int64_t at) {
    found = found || std::memchr(r.buffer->defined.data() + at, 0, static_cast<size_t>(run)) != nullptr;
  });
  return found;
}

}  // namespace smalti::machine
