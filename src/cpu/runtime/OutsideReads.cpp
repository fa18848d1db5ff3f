#include "cpu/runtime/OutsideReads.h"

#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

namespace smalti::cpu {
namespace {

/// The largest copy, in bytes. Little of it is touched, and untouched pages are not allocated.
constexpr int64_t kMaxCopyBytes = int64_t{4} << 30;

/// Bytes from the first element to the end of the last one; nullopt: too many.
std::optional<int64_t> copyBytes(std::span<const ReadDimension> dims, int64_t element) {
  int64_t last = 0;
  for (const ReadDimension& d : dims) {
    int64_t far = 0;
    if (d.size < 1 || d.step < 0 || d.stride < 0 || __builtin_mul_overflow(d.size - 1, d.step, &far) ||
        __builtin_mul_overflow(far, d.stride, &far) || __builtin_add_overflow(last, far, &last) ||
        last >= kMaxCopyBytes / element)
      return std::nullopt;
  }
  return (last + 1) * element;
}

/// "file:line:column"
SourcePlace placeFrom(std::string_view text) {
  SourcePlace place;
  for (int* number : {&place.column, &place.line}) {
    const size_t colon = text.rfind(':');
    if (colon == text.npos) return {};
    std::from_chars(text.data() + colon + 1, text.data() + text.size(), *number);
    text = text.substr(0, colon);
  }
  place.file = text;
  return place;
}

}  // namespace

std::byte* OutsideReads::memoryOf(Copy& copy, std::span<const ReadDimension> dims, DType dtype) const {
  const auto bytes = continues_ ? copyBytes(dims, storage_bytes(dtype)) : std::nullopt;
  if (!bytes) return nullptr;
  if (copy.bytes < *bytes) {
    copy.memory.reset(static_cast<std::byte*>(std::calloc(1, static_cast<size_t>(*bytes))));
    copy.bytes = copy.memory ? *bytes : 0;
  }
  return copy.memory.get();
}

const std::byte* OutsideReads::read(const char* place, const std::byte* base, std::span<const ReadDimension> dims,
                                    DType dtype) {
  std::byte* memory = memoryOf(copies_[place], dims, dtype);
  if (memory) copyInside(memory, base, dims, dtype);
  return memory;
}

const std::byte* OutsideReads::block(int operand, std::span<const ReadDimension> dims, DType dtype) {
  Copy& copy = blocks_[operand];
  const int64_t before = copy.bytes;
  std::byte* memory = memoryOf(copy, dims, dtype);
  if (copy.bytes > before) copyInside(memory, nullptr, dims, dtype);
  return memory;
}

void OutsideReads::copyInside(std::byte* to, const std::byte* base, std::span<const ReadDimension> dims,
                              DType dtype) const {
  const int64_t element = storage_bytes(dtype);
  std::vector<int64_t> at(dims.size(), 0);
  while (true) {
    int64_t source = 0, target = 0;
    bool inside = base != nullptr;
    for (size_t d = 0; d < dims.size(); ++d) {
      const int64_t index = dims[d].start + at[d] * dims[d].step;
      inside &= index >= 0 && index < dims[d].extent;
      source += index * dims[d].stride;
      target += at[d] * dims[d].step * dims[d].stride;
    }
    if (inside)
      std::memcpy(to + target * element, base + source * element, static_cast<size_t>(element));
    else
      eval::poison(dtype, poison_, to + target * element, 1);
    size_t d = dims.size();
    while (d > 0 && ++at[d - 1] == dims[d - 1].size) at[--d] = 0;
    if (d == 0) return;
  }
}

ReadsOutsideRefs OutsideReads::seen() const {
  ReadsOutsideRefs all;
  for (const auto& [text, copy] : copies_) all.loads.push_back(placeFrom(text));
  for (const auto& [operand, copy] : blocks_) all.blocks.push_back(operand);
  return all;
}

}  // namespace smalti::cpu
