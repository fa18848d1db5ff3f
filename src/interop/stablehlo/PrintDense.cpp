// Constants as text that gives back every bit.
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <llvm/ADT/APFloat.h>
#include <llvm/ADT/APInt.h>

#include "interop/FloatLiterals.h"
#include "interop/stablehlo/Syntax.h"

namespace smalti::interop::stablehlo {
namespace {

constexpr int64_t kMaxListed = 100;  // more are printed as a hex string, as MLIR does

uint64_t bitsOf(DType t, const std::byte* element) {
  uint64_t bits = 0;
  std::memcpy(&bits, element, storage_bytes(t));
  return bit_width(t) < 64 ? bits & ((uint64_t{1} << bit_width(t)) - 1) : bits;
}

std::string printFloat(DType t, uint64_t bits) {
  const llvm::fltSemantics& semantics = *floatSemantics(t);
  llvm::APFloat value(semantics, llvm::APInt(bit_width(t), bits));
  if (value.isFinite()) {
    bool lossy = false;
    llvm::APFloat wide = value;
    wide.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lossy);
    for (const int digits : {6, 9, 16}) {
      const std::string text = fmt::format("{:.{}e}", wide.convertToDouble(), digits);
      if (floatBits(t, text) == bits) return text;
    }
  }
  return fmt::format("0x{:0{}X}", bits, std::max(1, bit_width(t) / 4));
}

std::string printScalar(DType t, const std::byte* element) {
  if (is_complex(t)) {
    const DType part = part_of(t);
    return fmt::format("({},{})", printFloat(part, bitsOf(part, element)),
                       printFloat(part, bitsOf(part, element + storage_bytes(part))));
  }
  if (t == DType::pred) return *element != std::byte{0} ? "true" : "false";
  const uint64_t bits = bitsOf(t, element);
  if (is_float(t)) return printFloat(t, bits);
  if (is_unsigned_integer(t)) return std::to_string(bits);
  const int unused = 64 - bit_width(t);
  return std::to_string(static_cast<int64_t>(bits << unused) >> unused);
}

void printNested(const Array& value, size_t dim, int64_t& next, std::string& out) {
  if (dim == value.shape().size()) {
    out += printScalar(value.dtype(), value.data() + next++ * storage_bytes(value.dtype()));
    return;
  }
  out += '[';
  for (int64_t i = 0; i < value.shape()[dim]; ++i) {
    if (i > 0) out += ", ";
    printNested(value, dim + 1, next, out);
  }
  out += ']';
}

}  // namespace

std::string printDense(const Array& value, const ArrayType& type) {
  std::string literal;
  const int64_t n = value.elements();
  if (type.elements() == 0) {
    // dense<>
  } else if (n == 1) {
    literal = printScalar(value.dtype(), value.data());
  } else if (n > kMaxListed && bit_width(value.dtype()) >= 8) {
    literal.reserve(static_cast<size_t>(value.bytes()) * 2 + 4);
    literal = "\"0x";
    constexpr char kHex[] = "0123456789ABCDEF";
    for (int64_t i = 0; i < value.bytes(); ++i) {
      const auto byte = static_cast<unsigned>(value.data()[i]);
      literal += kHex[byte >> 4];
      literal += kHex[byte & 15];
    }
    literal += '"';
  } else {
    int64_t next = 0;
    printNested(value, 0, next, literal);
  }
  return fmt::format("dense<{}> : {}", literal, printType(type));
}

}  // namespace smalti::interop::stablehlo
