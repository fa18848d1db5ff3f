#include "interop/npy/Header.h"

#include <array>
#include <charconv>

#include <fmt/format.h>

#include "interop/npy/Npy.h"

namespace smalti::interop::npy {
namespace {

/// A reader of the one Python literal that headers are: {'key': 'text' | True | False | (1, 2), …}.
class Literal {
 public:
  explicit Literal(std::string_view text) : text_(text) {}

  bool take(char c) {
    skipSpace();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool takeWord(std::string_view word) {
    skipSpace();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  std::optional<std::string> string() {
    skipSpace();
    if (text_.empty() || (text_.front() != '\'' && text_.front() != '"')) return std::nullopt;
    const size_t end = text_.find(text_.front(), 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string value(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return value;
  }
  std::optional<int64_t> integer() {
    skipSpace();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc()) return std::nullopt;
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    takeWord("L");  // Python 2 wrote long integers so
    return value;
  }
  /// "(3, 4)", "(3,)", "()".
  std::optional<Shape> tuple() {
    if (!take('(')) return std::nullopt;
    Shape shape;
    while (!take(')')) {
      const auto dim = integer();
      if (!dim || *dim < 0 || shape.size() == kMaxRank) return std::nullopt;
      shape.push_back(*dim);
      if (!take(',')) {
        if (!take(')')) return std::nullopt;
        break;
      }
    }
    return shape;
  }
  bool atEnd() {
    skipSpace();
    return text_.empty();
  }

 private:
  void skipSpace() {
    const size_t n = text_.find_first_not_of(" \t\n\r\v\f");
    text_.remove_prefix(n == std::string_view::npos ? text_.size() : n);
  }
  std::string_view text_;
};

tl::unexpected<Diagnostic> malformed(const std::string& name, std::string what) {
  return fail({.code = "SM1002",
               .message = fmt::format("'{}' is not an .npy file that can be read: {}", name, what),
               .place = {},
               .help = "write it again with numpy.save"});
}

std::optional<Stored> storedFromDescr(const std::string& descr) {
  if (auto dtype = dtypeFromNumpyName(descr)) return Stored{dtype, storage_bytes(*dtype), false, descr};
  if (descr.size() < 3) return std::nullopt;
  int bytes = 0;
  const char order = descr[0], kind = descr[1];
  const auto [end, error] = std::from_chars(descr.data() + 2, descr.data() + descr.size(), bytes);
  if (error != std::errc() || end != descr.data() + descr.size()) return std::nullopt;
  if (order != '<' && order != '>' && order != '=' && order != '|') return std::nullopt;
  Stored stored{std::nullopt, bytes, order == '>', descr};
  if (kind == 'V' && (bytes == 1 || bytes == 2)) return stored;
  struct Row {
    char kind;
    int bytes;
    DType dtype;
  };
  static constexpr std::array kRows{
      Row{'b', 1, DType::pred}, Row{'i', 1, DType::i8},    Row{'i', 2, DType::i16}, Row{'i', 4, DType::i32},
      Row{'i', 8, DType::i64},  Row{'u', 1, DType::u8},    Row{'u', 2, DType::u16}, Row{'u', 4, DType::u32},
      Row{'u', 8, DType::u64},  Row{'f', 2, DType::f16},   Row{'f', 4, DType::f32}, Row{'f', 8, DType::f64},
      Row{'c', 8, DType::c64},  Row{'c', 16, DType::c128},
  };
  for (const Row& row : kRows)
    if (row.kind == kind && row.bytes == bytes) {
      stored.dtype = row.dtype;
      return stored;
    }
  return std::nullopt;
}

/// The text of the header without its closing newline, and where the elements begin.
Result<std::pair<std::string_view, int64_t>> headerText(std::string_view prefix, const std::string& name) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (!prefix.starts_with(kMagic) || prefix.size() < 10) return malformed(name, "it does not begin as one");
  const auto byte = [&](size_t i) { return static_cast<int64_t>(static_cast<unsigned char>(prefix[i])); };
  const int64_t version = byte(6);
  if (version < 1 || version > 3) return malformed(name, fmt::format("version {} is not known", version));
  const int64_t begin = version == 1 ? 10 : 12;
  if (static_cast<int64_t>(prefix.size()) < begin) return malformed(name, "the header is cut off");
  int64_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > kMaxHeaderBytes)
    return malformed(name, fmt::format("a header of {} bytes (at most {} are read)", length, kMaxHeaderBytes));
  if (begin + length > static_cast<int64_t>(prefix.size())) return malformed(name, "the header is cut off");
  return std::pair(prefix.substr(begin, length), begin + length);
}

}  // namespace

Result<Header> parseHeader(std::string_view prefix, const std::string& name) {
  const auto text = headerText(prefix, name);
  if (!text) return fail(text.error());
  Literal literal(text->first);
  Header header;
  header.dataOffset = text->second;
  bool haveDescr = false, haveOrder = false, haveShape = false;
  if (!literal.take('{')) return malformed(name, "the header is not a dictionary");
  bool open = true;
  while (open && !literal.take('}')) {
    const auto key = literal.string();
    if (!key || !literal.take(':')) return malformed(name, "the header is not a dictionary");
    if (*key == "descr" && !haveDescr) {
      haveDescr = true;
      const auto descr = literal.string();
      const auto stored = descr ? storedFromDescr(*descr) : std::nullopt;
      if (!stored)
        return fail(
            {.code = "SM1003",
             .message = fmt::format("'{}' contains elements of a type that kernels do not support", name),
             .place = {},
             .need = "bool, int, uint or float of 8 to 64 bits, complex of 64 or 128, or raw bytes of ml_dtypes' types",
             .have = descr ? fmt::format("descr '{}'", *descr) : "a structured type",
             .help = "convert the array before numpy.save"});
      header.stored = *stored;
    } else if (*key == "fortran_order" && !haveOrder) {
      haveOrder = true;
      header.fortranOrder = literal.takeWord("True");
      if (!header.fortranOrder && !literal.takeWord("False")) return malformed(name, "fortran_order is not a bool");
    } else if (*key == "shape" && !haveShape) {
      haveShape = true;
      auto shape = literal.tuple();
      if (!shape) return malformed(name, "the shape is not a tuple of dimensions");
      header.shape = std::move(*shape);
    } else {
      return malformed(name, fmt::format("unexpected key '{}' in the header", *key));
    }
    if (!literal.take(',')) {
      if (!literal.take('}')) return malformed(name, "the header is not a dictionary");
      open = false;
    }
  }
  if (!haveDescr || !haveOrder || !haveShape) return malformed(name, "descr, fortran_order or shape is missing");
  if (!literal.atEnd()) return malformed(name, "the header goes on after its end");
  header.dataBytes = header.stored.bytes;
  for (int64_t dim : header.shape)
    if (__builtin_mul_overflow(header.dataBytes, dim, &header.dataBytes))
      return malformed(name, "the shape has more elements than 64 bits count");
  return header;
}

}  // namespace smalti::interop::npy
