#include "machine/observers/race/Footprint.h"

#include <algorithm>
#include <cstring>

#include "base/RowMajor.h"

namespace smalti::machine::race {
namespace {

/// Buffers up to here are written to see what a view without strides reaches.
constexpr int64_t kMaxTracedBytes = int64_t{1} << 24;

int64_t elementsIn(const Region& r) {
  int64_t n = 1;
  for (int64_t extent : r.shape) n *= std::max<int64_t>(0, extent);
  return n;
}

/// A region without gaps.
bool isDense(const Region& r) { return r.last() - r.offset + 1 == elementsIn(r); }

std::optional<Footprint> ofBytes(const Ref& ref, AllocationId allocation, std::vector<int64_t> bytes) {
  if (bytes.empty()) return std::nullopt;
  const int64_t size = ref.buffer->elementBytes(), first = bytes.front() / size, last = bytes.back() / size;
  return Footprint{{ref.buffer, first, {last - first + 1}, {1}, allocation}, std::move(bytes), true};
}

/// The bytes that change when ones are written to a buffer of zeros.
std::optional<Footprint> traced(const Ref& ref, AllocationId allocation) {
  Buffer zeros;
  zeros.type = ref.buffer->type;
  auto storage = Array::allocate(zeros.type);
  if (!storage || zeros.type.bytes() > kMaxTracedBytes) return std::nullopt;
  zeros.storage = std::move(*storage);
  const int64_t size = zeros.type.elements() * zeros.elementBytes();
  std::memset(zeros.data(), 0, static_cast<size_t>(size));
  const std::vector<std::byte> ones(static_cast<size_t>(ref.elements() * storage_bytes(ref.dtype())), std::byte{0xff});
  ref.on(zeros).write(ones.data(), nullptr);
  std::vector<int64_t> bytes;
  for (int64_t i = 0; i < size; ++i)
    if (zeros.data()[i] != std::byte{0}) bytes.push_back(i);
  return ofBytes(ref, allocation, std::move(bytes));
}

std::optional<Footprint> wrapped(std::optional<Region> region) {
  if (!region || elementsIn(*region) == 0) return std::nullopt;
  return Footprint{std::move(*region), {}, false};
}

/// The part of a view without strides that an access takes, or all of it where the access has steps.
Ref partOf(const MemoryAccess& access) {
  const bool steps = std::any_of(access.strides.begin(), access.strides.end(), [](int64_t s) { return s != 1; });
  return steps ? *access.ref : access.ref->slice(access.starts, access.sizes);
}

std::optional<Footprint> selectedOf(const MemoryAccess& access) {
  const Ref& ref = *access.ref;
  const Shape &bounds = ref.viewShape(), strides = ref.strided() ? ref.strides : rowMajorStrides(bounds);
  std::vector<int64_t> index(access.sizes.size(), 0), at;
  int64_t n = 1;
  for (int64_t size : access.sizes) n *= size;
  for (int64_t k = 0; k < n; ++k) {
    if (access.selected[access.selected.size() == 1 ? 0 : static_cast<size_t>(k)]) {
      int64_t offset = 0;
      for (size_t d = 0; d < index.size(); ++d)
        offset += (access.starts[d] + index[d] * (access.strides.empty() ? 1 : access.strides[d])) * strides[d];
      at.push_back(offset);
    }
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < access.sizes[d]) break;
      index[d] = 0;
    }
  }
  if (at.empty()) return std::nullopt;
  if (!ref.strided()) return traced(ref, idOf(*ref.buffer));
  std::vector<int64_t> bytes;
  const int size = ref.buffer->elementBytes();
  for (int64_t offset : at)
    for (int b = 0; b < size; ++b) bytes.push_back((ref.offset + offset) * size + b);
  std::ranges::sort(bytes);
  return ofBytes(ref, idOf(*ref.buffer), std::move(bytes));
}

template <class F>
void forEachByte(const Footprint& f, F&& take) {
  if (f.sparse) {
    for (int64_t b : f.bytes) take(b);
    return;
  }
  const Region& r = f.region;
  const int size = r.buffer->elementBytes();
  std::vector<int64_t> index(r.shape.size(), 0);
  for (int64_t k = elementsIn(r), at = r.offset; k > 0; --k) {
    for (int b = 0; b < size; ++b) take(at * size + b);
    for (size_t d = index.size(); d-- > 0;) {
      at += r.strides[d];
      if (++index[d] < r.shape[d]) break;
      at -= r.strides[d] * r.shape[d];
      index[d] = 0;
    }
  }
}

}  // namespace

std::optional<Footprint> footprintOf(const MemoryAccess& access) {
  if (access.masked && !access.selected.empty()) return selectedOf(access);
  if (auto region = regionOf(access)) return wrapped(std::move(region));
  return traced(partOf(access), idOf(*access.ref->buffer));
}

std::optional<Footprint> footprintOf(const Ref& ref) {
  if (auto region = regionOf(ref)) return wrapped(std::move(region));
  return traced(ref, idOf(*ref.buffer));
}

std::optional<Footprint> footprintOf(const PeerRef& ref) {
  auto footprint = footprintOf(ref.view);
  if (footprint) footprint->region.allocation = idOf(ref);
  return footprint;
}

bool meet(const Footprint& a, const Footprint& b) {
  if (!overlap(a.region, b.region)) return false;
  if (!a.sparse && !b.sparse) return true;
  const Footprint &known = a.sparse ? a : b, &other = a.sparse ? b : a;
  bool found = false;
  forEachByte(other, [&](int64_t at) { found = found || std::ranges::binary_search(known.bytes, at); });
  return found;
}

bool contains(const Footprint& outer, const Footprint& inner) {
  if (outer.sparse || outer.allocation() != inner.allocation()) return false;
  const Region &o = outer.region, &i = inner.region;
  if (!inner.sparse && o.offset == i.offset && o.shape == i.shape && o.strides == i.strides) return true;
  return isDense(o) && o.offset <= i.offset && i.last() <= o.last();
}

}  // namespace smalti::machine::race
