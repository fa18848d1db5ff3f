#include "machine/flat/Box.h"

#include <algorithm>

#include <fmt/format.h>

namespace smalti::machine::flat {
namespace {

[[gnu::noinline]] void undefinedIndex(Frame& frame, Reach reach) {
  if (frame.observer)
    frame.observer->undefinedUse(frame.core->actor(), UndefinedUse::address, frame.place(),
                                 reach == Reach::load ? "an index of a load" : "an index of a store");
}

/// The last index of one dimension of a box, saturated to 64 bits: the kernel may compute any start.
int64_t lastIndex(int64_t first, int64_t size, int64_t stride) {
  int64_t last = 0;
  return __builtin_add_overflow(first, (size - 1) * stride, &last) ? INT64_MAX : last;
}

}  // namespace

namespace {

bool liesWithin(const Shape& bounds, const BoxShape& shape, const Box& box) {
  for (size_t d = 0; d < shape.sizes.size(); ++d) {
    const int64_t start = box.starts[d];
    if (shape.sizes[d] == 0) continue;
    // No overflow: sizes and strides are bounded by vector types and by the check of `start`.
    if (start < 0 || start >= bounds[d] || (shape.sizes[d] - 1) * shape.stride(d) >= bounds[d] - start) return false;
  }
  return true;
}

/// Whether the run continues after an out-of-bounds load. Those outside a partially present slice are already reported.
[[gnu::noinline]] bool continues(Frame& frame, const BoxShape& shape, const Box& box) {
  if (liesWithin(box.ref->viewShape(), shape, box)) return true;
  Diagnostic d = outOfBounds(shape, box, Reach::load);
  // Without numbers, so that all findings at one place are merged.
  d.message = fmt::format("out-of-bounds read of {}: elements outside are undefined", describe(*box.ref));
  d.help = "harmless if nothing uses those elements; otherwise clamp the index, or make the ref large enough";
  d.place = frame.place();
  return frame.core->continuesAfter(std::move(d));
}

}  // namespace

bool isInside(const BoxShape& shape, const Box& box) { return liesWithin(boundsOf(*box.ref), shape, box); }

bool resolveBox(Frame& frame, const BoxShape& shape, Reach reach, Box& box, bool mayReachOutside) {
  const Ref& ref = frame.refs[shape.ref];
  box.ref = &ref;
  const size_t rank = shape.sizes.size();
  for (size_t d = 0; d < rank; ++d) {
    const Slot& index = frame.slots[shape.indices[d].slot];
    if (index.mask) [[unlikely]]
      undefinedIndex(frame, reach);
    box.starts[d] = static_cast<int64_t>(index.bits);  // of type index: kept inline
  }
  if (ref.viewShape().size() != rank)
    return frame.fail({.code = "SM4016",
                       .message = fmt::format("{} indices for {}", rank, describe(ref)),
                       .place = {},
                       .need = fmt::format("{} indices", ref.viewShape().size()),
                       .have = fmt::format("{}", rank)});
  if (!mayReachOutside && !isInside(shape, box)) [[unlikely]] {
    if (reach == Reach::store || !continues(frame, shape, box)) return frame.fail(outOfBounds(shape, box, reach));
    box.outside = true;
    return true;
  }
  // A box across the edge (of a masked store) has no single offset: its elements are located one by one.
  if (!ref.strided() || (mayReachOutside && !isInside(shape, box))) return true;
  placeInBuffer(shape, box);
  return true;
}

void placeInBuffer(const BoxShape& shape, Box& box) {
  const Ref& ref = *box.ref;
  int64_t expected = 1;
  box.contiguous = true;
  box.offset = ref.offset;
  for (size_t d = shape.sizes.size(); d-- > 0;) {
    box.steps[d] = ref.strides[d] * shape.stride(d);
    box.offset += box.starts[d] * ref.strides[d];
    if (shape.sizes[d] != 1) box.contiguous &= box.steps[d] == expected;
    expected *= shape.sizes[d];
  }
}

std::string describe(const Ref& ref) {
  const Buffer& buffer = *ref.buffer;
  std::string text = fmt::format("'{}' ({} {})", buffer.name, name(buffer.space), buffer.type.str());
  const ArrayType seen{ref.dtype(), ref.viewShape()};
  if (seen.shape != buffer.type.shape || seen.dtype != buffer.type.dtype)
    text += fmt::format(", seen as {}", seen.str());
  return text;
}

Diagnostic outOfBounds(const BoxShape& shape, const Box& box, Reach reach) {
  const Shape& bounds = box.ref->viewShape();
  std::string range, need, have;
  for (size_t d = 0; d < shape.sizes.size(); ++d) {
    const int64_t first = box.starts[d], last = lastIndex(first, shape.sizes[d], shape.stride(d));
    range += fmt::format("{}{}", d ? ", " : "",
                         first == last ? fmt::format("{}", first) : fmt::format("{}..{}", first, last));
    if (shape.stride(d) > 1 && shape.sizes[d] > 1) range += fmt::format(" by {}", shape.stride(d));
    if ((first < 0 || last >= bounds[d]) && need.empty()) {
      need = fmt::format("indices 0..{} in dimension {}", bounds[d] - 1, d);
      have = first == last ? fmt::format("{}", first) : fmt::format("{}..{}", first, last);
    }
  }
  return {.code = "SM4010",
          .message = fmt::format("out-of-bounds {}: [{}] of {}", reach == Reach::load ? "read" : "write", range,
                                 describe(*box.ref)),
          .place = {},
          .need = need,
          .have = have,
          .help = reach == Reach::load ? "clamp the index, or make the block or scratch shape large enough"
                                       : "clamp the index, or store with a mask that excludes elements outside"};
}

void reportAccess(Frame& frame, const BoxShape& shape, const Box& box, MemoryAccess::Kind kind,
                  std::span<const uint8_t> selected) {
  if (!frame.observer) return;
  const size_t rank = shape.sizes.size();
  frame.observer->access(frame.core->actor(), {.kind = kind,
                                               .ref = box.ref,
                                               .starts = {box.starts.data(), rank},
                                               .sizes = shape.sizes,
                                               .strides = shape.strides,
                                               .masked = !selected.empty(),
                                               .place = &frame.place(),
                                               .selected = selected});
}

void reportLoadOverEdge(Frame& frame, const BoxShape& shape, const Box& box) {
  if (!frame.observer) return;
  const size_t rank = shape.sizes.size();
  const Shape& bounds = boundsOf(*box.ref);
  std::array<int64_t, kMaxRank> starts{}, sizes{};
  for (size_t d = 0; d < rank && box.ref->strided(); ++d) {
    const int64_t start = box.starts[d], stride = shape.stride(d), size = shape.sizes[d];
    // Elements before the ref. As unsigned: an index may be any number.
    const uint64_t distance = uint64_t{0} - static_cast<uint64_t>(start);
    const bool isBefore =
        start < 0 && (stride == 0 || (distance - 1) / static_cast<uint64_t>(stride) + 1 >= static_cast<uint64_t>(size));
    if (isBefore || start >= bounds[d]) continue;
    const int64_t before =
        start < 0 ? static_cast<int64_t>((distance - 1) / static_cast<uint64_t>(stride)) + 1 : int64_t{0};
    starts[d] = start + before * stride;
    if (starts[d] >= bounds[d]) continue;
    sizes[d] = stride == 0 ? size : std::min(size - before, (bounds[d] - 1 - starts[d]) / stride + 1);
  }
  frame.observer->access(frame.core->actor(), {.kind = MemoryAccess::Kind::load,
                                               .ref = box.ref,
                                               .starts = {starts.data(), rank},
                                               .sizes = {sizes.data(), rank},
                                               .strides = shape.strides,
                                               .outside = true,
                                               .place = &frame.place()});
}

void signExtend(DType kept, std::byte* elements, int64_t n) {
  const int shift = 8 - bit_width(kept);
  auto* e = reinterpret_cast<int8_t*>(elements);
  for (int64_t i = 0; i < n; ++i)
    e[i] = static_cast<int8_t>(static_cast<int8_t>(static_cast<uint8_t>(e[i]) << shift) >> shift);
}

void zeroExtend(DType kept, std::byte* elements, int64_t n) {
  const auto mask = static_cast<uint8_t>((1 << bit_width(kept)) - 1);
  auto* e = reinterpret_cast<uint8_t*>(elements);
  for (int64_t i = 0; i < n; ++i) e[i] &= mask;
}

}  // namespace smalti::machine::flat
