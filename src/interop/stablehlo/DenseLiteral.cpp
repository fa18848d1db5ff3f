// dense<…>: one value, nested lists, or the raw bytes as a hex string.
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "interop/FloatLiterals.h"
#include "interop/stablehlo/Syntax.h"

namespace smalti::interop::stablehlo {

namespace {

bool bad(Cursor& literal, const ArrayType& type, std::string what, size_t at) {
  return literal.error({.code = "SM2008",
                        .message = fmt::format("a constant of type {} is malformed: {}", type.str(), what),
                        .place = {},
                        .have = fmt::format("`{}`", literal.source().quote(at)),
                        .help = "print the module again; do not elide large constants"},
                       at);
}

/// The stored bytes of a value given by its low bits (sub-byte signed types are sign-extended).
void store(DType t, uint64_t bits, std::byte* out) {
  const int width = bit_width(t), bytes = storage_bytes(t);
  if (t == DType::i2 || t == DType::i4)
    bits = static_cast<uint64_t>(static_cast<int64_t>(bits << (64 - width)) >> (64 - width));
  std::memcpy(out, &bits, bytes);
}

/// One number: true, false, a decimal, or 0x… (the bits of a float).
bool readNumber(Cursor& literal, const ArrayType& type, std::byte* out) {
  const DType t = part_of(type.dtype);
  const size_t at = literal.offset();
  const std::string_view word = literal.peekWord();
  if (t == DType::pred && (word == "true" || word == "false")) {
    *out = std::byte{word == "true"};
    literal.word();
    return true;
  }
  const std::string text(literal.number());
  if (text.empty())
    return bad(literal, type, word.empty() ? "a value expected" : "this is not a value of that type", at);
  const bool hex = text.find("0x") != std::string::npos;
  const int width = bit_width(t);
  errno = 0;
  if (hex && text[0] != '-') {
    const uint64_t bits = std::strtoull(text.c_str() + 2, nullptr, 16);
    if (errno || (width < 64 && bits >> width != 0))
      return bad(literal, type, fmt::format("more than {} bits", width), at);
    store(t, bits, out);
    return true;
  }
  if (is_float(t)) {
    if (!hex && !holdsDecimal(t, text)) return bad(literal, type, "the value is out of range", at);
    store(t, floatBits(t, text), out);
    return true;
  }
  if (text.find('.') != std::string::npos) return bad(literal, type, "an integer expected", at);
  if (is_unsigned_integer(t)) {
    const uint64_t value = std::strtoull(text.c_str(), nullptr, 10);
    if (errno || text[0] == '-' || (width < 64 && value >> width != 0))
      return bad(literal, type, "the value is out of range", at);
    store(t, value, out);
    return true;
  }
  const int64_t value = std::strtoll(text.c_str(), nullptr, 10);
  const bool fits = width >= 64 || (value >= -(int64_t{1} << (width - 1)) &&
                                    value < (int64_t{1} << (width - 1)) + (t == DType::pred ? 1 : 0));
  if (errno || !fits) return bad(literal, type, "the value is out of range", at);
  if (t == DType::pred)
    *out = std::byte{value != 0};
  else
    store(t, static_cast<uint64_t>(value), out);
  return true;
}

/// A number, or (real, imaginary).
bool readScalar(Cursor& literal, const ArrayType& type, std::byte* out) {
  if (!is_complex(type.dtype)) return readNumber(literal, type, out);
  const size_t at = literal.offset();
  if (!literal.take("(")) return bad(literal, type, "`(` expected", at);
  if (!readNumber(literal, type, out)) return false;
  if (!literal.take(",")) return bad(literal, type, "`,` between two parts expected", at);
  if (!readNumber(literal, type, out + storage_bytes(type.dtype) / 2)) return false;
  return literal.take(")") || bad(literal, type, "`)` expected", at);
}

bool readNested(Cursor& literal, const ArrayType& type, size_t dim, std::byte*& out) {
  if (dim == type.shape.size()) {
    if (!readScalar(literal, type, out)) return false;
    out += storage_bytes(type.dtype);
    return true;
  }
  const size_t at = literal.offset();
  if (!literal.take("[")) return bad(literal, type, "`[` expected", at);
  for (int64_t i = 0; i < type.shape[dim]; ++i) {
    const size_t here = literal.offset();
    if (i > 0 && !literal.take(","))
      return bad(literal, type, fmt::format("{} of {} elements in dimension {}", i, type.shape[dim], dim), here);
    if (!readNested(literal, type, dim + 1, out)) return false;
  }
  if (!literal.take("]"))
    return bad(literal, type, fmt::format("more than {} elements in dimension {}", type.shape[dim], dim), at);
  return true;
}

int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

/// "0x…": the elements' bytes, little endian; bool is one bit per element in older modules, one byte in newer ones.
bool readHexString(Cursor& literal, const ArrayType& type, Array& out, size_t at) {
  const auto text = literal.string();
  if (!text) return false;
  if (!text->starts_with("0x") || text->size() % 2 != 0) return bad(literal, type, "hex digits expected", at);
  std::string bytes;
  for (size_t i = 2; i < text->size(); i += 2) {
    const int high = hexDigit((*text)[i]), low = hexDigit((*text)[i + 1]);
    if (high < 0 || low < 0) return bad(literal, type, "hex digits expected", at);
    bytes += static_cast<char>(high * 16 + low);
  }
  const int64_t n = type.elements(), size = static_cast<int64_t>(bytes.size()), width = storage_bytes(type.dtype);
  const bool packed = type.dtype == DType::pred && n > 1 && size == (n + 7) / 8;
  const bool splat = size == width && n > 1 && !packed;
  if (!packed && !splat && size != n * width)
    return bad(literal, type, fmt::format("{} bytes instead of {}", size, n * width), at);
  auto array = Array::allocate(splat ? ArrayType{type.dtype, {}} : type);
  if (!array) return literal.error(std::move(array.error()), at);
  out = std::move(*array);
  if (is_complex(type.dtype)) {
    std::memcpy(out.data(), bytes.data(), static_cast<size_t>(out.bytes()));
    return true;
  }
  for (int64_t i = 0; i < out.elements(); ++i) {
    uint64_t bits = 0;
    if (packed)
      bits = (bytes[i / 8] >> (i % 8)) & 1;
    else
      std::memcpy(&bits, bytes.data() + i * width, width);
    const int valueBits = bit_width(type.dtype);
    if (type.dtype == DType::pred)
      bits = bits != 0;
    else if (valueBits < 8)
      bits &= (uint64_t{1} << valueBits) - 1;
    store(type.dtype, bits, out.data() + i * width);
  }
  return true;
}

}  // namespace

bool readDenseLiteral(Cursor& literal, const ArrayType& type, Array& out) {
  const size_t at = literal.offset();
  const int64_t n = type.elements();
  if (literal.atEnd()) {
    if (n != 0) return bad(literal, type, "no values", at);
    auto array = Array::allocate(type);
    if (!array) return literal.error(std::move(array.error()), at);
    out = std::move(*array);
    return true;
  }
  if (literal.peekSign("\"")) {
    if (!readHexString(literal, type, out, at)) return false;
  } else if (literal.peekSign("[")) {
    // Every element takes at least two characters of text, so the text bounds what is allocated.
    if (n > 0 && static_cast<size_t>(n) > literal.source().text().size())
      return bad(literal, type, fmt::format("fewer than {} values", n), at);
    auto array = Array::allocate(type);
    if (!array) return literal.error(std::move(array.error()), at);
    out = std::move(*array);
    std::byte* next = out.data();
    if (!readNested(literal, type, 0, next)) return false;
  } else {
    auto array = Array::allocate({type.dtype, {}});
    if (!array) return literal.error(std::move(array.error()), at);
    out = std::move(*array);
    if (!readScalar(literal, type, out.data())) return false;
  }
  if (!literal.atEnd()) return bad(literal, type, "text after the values", literal.offset());
  return true;
}

}  // namespace smalti::interop::stablehlo
