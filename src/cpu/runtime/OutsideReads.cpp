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

const std::byte* OutsideReads::read(const char* place, const std::byte* base, std::span<const ReadDimension> dims,
                                    DType dtype) {
  const int64_t element = storage_bytes(dtype);
  const auto bytes = continues_ ? copyBytes(dims, element) : std::nullopt;
  if (!bytes) return nullptr;
  Copy& copy = copies_[place];
  if (copy.bytes < *bytes) {
    copy.memory.reset(static_cast<std::byte*>(std::calloc(1, static_cast<size_t>(*bytes))));
    copy.bytes = copy.memory ? *bytes : 0;
    if (!copy.memory) return nullptr;
  }
  std::vector<int64_t> at(dims.size(), 0);
  while (true) {
    int64_t from = 0, to = 0;
    bool inside = true;
    for (size_t d = 0; d < dims.size(); ++d) {
      const int64_t index = dims[d].start + at[d] * dims[d].step;
      inside &= index >= 0 && index < dims[d].extent;
      from += index * dims[d].stride;
      to += at[d] * dims[d].step * dims[d].stride;
    }
    std::byte* target = copy.memory.get() + to * element;
    if (inside)
      std::memcpy(target, base + from * element, static_cast<size_t>(element));
    else
      eval::poison(dtype, poison_, target, 1);
    size_t d = dims.size();
    while (d > 0 && ++at[d - 1] == dims[d - 1].size) at[--d] = 0;
    if (d == 0) return copy.memory.get();
  }
}

std::vector<SourcePlace> OutsideReads::places() const {
  std::vector<SourcePlace> all;
  for (const auto& [text, copy] : copies_) all.push_back(placeFrom(text));
  return all;
}

}  // namespace smalti::cpu
