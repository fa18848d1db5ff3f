// tensor<…> and function types.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "interop/Limits.h"
#include "interop/stablehlo/Syntax.h"
#include "ir/program/PlainOps.h"

namespace smalti::interop::stablehlo {
namespace {

struct ElementName {
  std::string_view mlir;
  DType dtype;
};
constexpr std::array kElementNames{
    ElementName{"i1", DType::pred},
    ElementName{"i2", DType::i2},
    ElementName{"i4", DType::i4},
    ElementName{"i8", DType::i8},
    ElementName{"i16", DType::i16},
    ElementName{"i32", DType::i32},
    ElementName{"i64", DType::i64},
    ElementName{"ui2", DType::u2},
    ElementName{"ui4", DType::u4},
    ElementName{"ui8", DType::u8},
    ElementName{"ui16", DType::u16},
    ElementName{"ui32", DType::u32},
    ElementName{"ui64", DType::u64},
    ElementName{"f4E2M1FN", DType::f4e2m1fn},
    ElementName{"f8E5M2", DType::f8e5m2},
    ElementName{"f8E4M3FN", DType::f8e4m3fn},
    ElementName{"f8E4M3B11FNUZ", DType::f8e4m3b11fnuz},
    ElementName{"f8E8M0FNU", DType::f8e8m0fnu},
    ElementName{"bf16", DType::bf16},
    ElementName{"f16", DType::f16},
    ElementName{"f32", DType::f32},
    ElementName{"f64", DType::f64},
    ElementName{"index", DType::index},
    ElementName{"complex<f32>", DType::c64},
    ElementName{"complex<f64>", DType::c128},
};

bool refuseType(Cursor& cursor, size_t at, std::string message, std::string help) {
  return cursor.error({.code = "SM2003",
                       .message = std::move(message),
                       .place = {},
                       .have = fmt::format("`{}`", cursor.source().quote(at)),
                       .help = std::move(help)},
                      at);
}

}  // namespace

std::optional<DType> elementTypeFromName(std::string_view mlirName) {
  for (const auto& [name, dtype] : kElementNames)
    if (name == mlirName) return dtype;
  return std::nullopt;
}

std::string_view elementTypeName(DType dtype) {
  for (const ElementName& e : kElementNames)
    if (e.dtype == dtype) return e.mlir;
  return "none";
}

std::string printType(const ArrayType& type) {
  std::string text = "tensor<";
  for (const int64_t d : type.shape) text += d == kUnknownDim ? "?x" : fmt::format("{}x", d);
  return fmt::format("{}{}>", text, elementTypeName(type.dtype));
}

/// The `x` after a dimension.
bool SyntaxReader::takeDim(ArrayType& out, int64_t dim, size_t begin) {
  if (cursor_.raw() != 'x') return cursor_.expected("`x` after a dimension");
  cursor_.advance();
  out.shape.push_back(dim);
  return out.shape.size() <= limits::kMaxRank ||
         refuseType(cursor_, begin, fmt::format("an array has more than {} dimensions", limits::kMaxRank),
                    "use fewer dimensions");
}

bool SyntaxReader::arrayType(ArrayType& out) {
  const size_t begin = cursor_.offset();
  const std::string_view word = cursor_.peekWord();
  if (word != "tensor")
    return refuseType(cursor_, begin, "only arrays (tensor<…>) are values of a Program",
                      "return arrays from the jitted function; tuples, tokens and keys are not supported");
  cursor_.word();
  if (!cursor_.expect("<")) return false;
  out.shape.clear();
  while (true) {
    const char c = cursor_.peek();
    if (c == '*')
      return refuseType(cursor_, begin, "arrays of unknown rank cannot be run", "lower arrays of known rank");
    if (c == '?') {
      cursor_.take("?");
      if (!takeDim(out, kUnknownDim, begin)) return false;
      continue;
    }
    if (c < '0' || c > '9') break;
    int64_t dim = 0;
    for (; cursor_.raw() >= '0' && cursor_.raw() <= '9'; cursor_.advance())
      if (__builtin_mul_overflow(dim, int64_t{10}, &dim) || __builtin_add_overflow(dim, cursor_.raw() - '0', &dim))
        return refuseType(cursor_, begin, "a dimension does not fit 64 bits", "use smaller arrays");
    if (!takeDim(out, dim, begin)) return false;
  }
  const size_t element = cursor_.offset();
  std::string name(cursor_.word());
  if (name == "complex") {
    if (!cursor_.expect("<")) return false;
    name = fmt::format("complex<{}>", cursor_.word());
    if (!cursor_.expect(">")) return false;
  }
  const auto dtype = elementTypeFromName(name);
  if (name.empty()) return cursor_.expected("an element type");
  if (!dtype)
    return refuseType(
        cursor_, element, fmt::format("arrays of `{}` are not supported", name),
        "use bool, integers, float8 (e5m2, e4m3fn, e4m3b11fnuz, e8m0fnu), bfloat16, float16, float32, float64, "
        "complex64 or complex128");
  out.dtype = *dtype;
  int64_t bytes = storage_bytes(*dtype);
  if (std::find(out.shape.begin(), out.shape.end(), 0) == out.shape.end())
    for (int64_t d : out.shape)
      if (d != kUnknownDim && __builtin_mul_overflow(bytes, d, &bytes))
        return refuseType(cursor_, begin, "an array has more bytes than 64 bits count", "use smaller arrays");
  if (cursor_.peekSign(","))
    return refuseType(cursor_, begin, "array types with an encoding are not supported",
                      "lower without bounded dynamic shapes or sparsity");
  return cursor_.expect(">");
}

bool SyntaxReader::typeList(std::vector<Type>& out, int depth) {
  if (!cursor_.expect("(")) return false;
  while (!cursor_.peekSign(")")) {
    if (!out.empty() && !cursor_.expect(",")) return false;
    if (!type(out.emplace_back(), depth)) return false;
  }
  return cursor_.expect(")");
}

bool SyntaxReader::functionType(Type& out, int depth) {
  out.kind = Type::Kind::function;
  if (!typeList(out.inputs, depth) || !cursor_.expect("->")) return false;
  if (cursor_.peekSign("(")) return typeList(out.results, depth);
  return type(out.results.emplace_back(), depth);
}

bool SyntaxReader::type(Type& out, int depth) {
  if (tooDeep(depth) || !spend()) return false;
  const size_t begin = cursor_.offset();
  bool read = true;
  const std::string_view word = cursor_.peekWord();
  if (cursor_.peekSign("(")) {
    read = functionType(out, depth + 1);
  } else if (word == "tensor") {
    out.kind = Type::Kind::array;
    read = arrayType(out.array);
  } else if (cursor_.take("!") || !word.empty()) {
    cursor_.suffixId();
    if (cursor_.take("<")) read = cursor_.balanced('>').has_value() && cursor_.expect(">");
  } else {
    return cursor_.expected("a type");
  }
  if (read) out.text = cursor_.textFrom(begin);
  return read;
}

}  // namespace smalti::interop::stablehlo
