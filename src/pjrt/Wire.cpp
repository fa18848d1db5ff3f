#include "pjrt/Wire.h"

namespace smalti::pjrt::wire {
namespace {

constexpr int kNumberKind = 0, kEightBytesKind = 1, kBytesKind = 2, kFourBytesKind = 5;
constexpr int kKindBits = 3;
constexpr int kLongestVarintBytes = 10;
constexpr int kVarintBits = 7;
constexpr uint64_t kMore = 1U << kVarintBits;

std::string varintText(uint64_t value) {
  std::string text;
  for (; value >= kMore; value >>= kVarintBits) text += static_cast<char>((value & (kMore - 1)) | kMore);
  return text + static_cast<char>(value);
}

std::string tag(int number, int kind) {
  return varintText(static_cast<uint64_t>(number) << kKindBits | static_cast<uint64_t>(kind));
}

}  // namespace

std::string field(int number, uint64_t value) { return tag(number, kNumberKind) + varintText(value); }

std::string field(int number, std::string_view bytes) {
  std::string text = tag(number, kBytesKind) + varintText(bytes.size());
  return text.append(bytes);
}

std::string packed(uint64_t value) { return varintText(value); }

std::optional<uint64_t> Reader::varint() {
  uint64_t value = 0;
  for (int i = 0; i < kLongestVarintBytes && !rest_.empty(); ++i) {
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & (kMore - 1)) << (kVarintBits * i);
    if (byte < kMore) return value;
  }
  return std::nullopt;
}

std::optional<Field> Reader::next() {
  const auto key = varint();
  if (!key) return std::nullopt;
  Field result{.number = static_cast<int>(*key >> kKindBits), .bytes = {}};
  uint64_t size = 0;
  switch (*key & ((1U << kKindBits) - 1)) {
    case kNumberKind: {
      const auto value = varint();
      if (!value) return std::nullopt;
      result.value = *value;
      return result;
    }
    case kBytesKind: {
      const auto length = varint();
      if (!length) return std::nullopt;
      size = *length;
      break;
    }
    case kEightBytesKind:
      size = 8;
      break;
    case kFourBytesKind:
      size = 4;
      break;
    default:
      return std::nullopt;
  }
  if (size > rest_.size()) return std::nullopt;
  result.bytes = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return result;
}

}  // namespace smalti::pjrt::wire
