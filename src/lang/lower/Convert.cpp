// Constants and conversions between dtypes, as rules of several ops need them.
#include <cmath>

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "eval/FloatFormats.h"
#include "lang/lower/DialectLowering.h"

namespace smalti::lang {
namespace {

/// A vector for vector types, otherwise a scalar.
mlir::Type like(DialectLowering& l, mlir::Value x, DType element) {
  Shape shape;
  if (const auto vector = mlir::dyn_cast<mlir::VectorType>(x.getType())) shape = vector.getShape();
  return l.mlirType({element, shape});
}

mlir::Value toPred(DialectLowering& l, mlir::Value x, DType from) {
  if (bit_width(from) < 32)
    x = is_float(from) ? l.create1("arith.extf", x, like(l, x, DType::f32))
                       : l.create1(is_signed_integer(from) ? "arith.extsi" : "arith.extui", x, like(l, x, DType::i32));
  const mlir::Value zero = l.constant(x.getType(), 0);
  if (is_float(from)) return mlir::arith::CmpFOp::create(l.b, l.loc, mlir::arith::CmpFPredicate::ONE, x, zero);
  return mlir::arith::CmpIOp::create(l.b, l.loc, mlir::arith::CmpIPredicate::ne, x, zero);
}

/// Between integers by 32 bits.
mlir::Value integerTo(DialectLowering& l, mlir::Value x, DType from, DType to, mlir::Type type) {
  const int fromBits = bit_width(from), toBits = bit_width(to);
  if (fromBits == toBits) return x;  // signedness only
  if (fromBits < 32) {
    x = l.create1(is_signed_integer(from) ? "arith.extsi" : "arith.extui", x, like(l, x, DType::i32));
    return toBits == 32 ? x : l.create1("arith.trunci", x, type);
  }
  return l.create1("arith.trunci", x, type);
}

/// Conversions to integers of fewer than 32 bits clip first, so that all of them saturate.
mlir::Value floatToInteger(DialectLowering& l, mlir::Value x, DType from, DType to, mlir::Type type) {
  if (bit_width(from) < 32) x = l.create1("arith.extf", x, like(l, x, DType::f32));
  const char* round = is_unsigned_integer(to) ? "arith.fptoui" : "arith.fptosi";
  const int bits = bit_width(to);
  if (bits == 32) return l.create1(round, x, type);
  const bool isUnsigned = is_unsigned_integer(to);
  const double low = isUnsigned ? 0 : -std::ldexp(1.0, bits - 1),
               high = std::ldexp(1.0, isUnsigned ? bits : bits - 1) - 1;
  x = l.create1("arith.maximumf", {x, l.constant(x.getType(), low)}, x.getType());
  x = l.create1("arith.minimumf", {x, l.constant(x.getType(), high)}, x.getType());
  return l.create1("arith.trunci", l.create1(round, x, like(l, x, DType::i32)), type);
}

}  // namespace

/// As Pallas' lowering does: narrow types meet in 32 bits.
mlir::Value convertTo(DialectLowering& l, mlir::Value x, DType from, DType to) {
  if (from == to) return x;
  const mlir::Type type = like(l, x, to);
  if (to == DType::pred) return toPred(l, x, from);
  if (from == DType::pred) {
    x = l.create1("arith.extui", x, like(l, x, DType::i32));
    return convertTo(l, x, DType::i32, to);
  }
  if (!is_float(from) && !is_float(to)) return integerTo(l, x, from, to, type);
  if (is_float(from) && !is_float(to)) return floatToInteger(l, x, from, to, type);
  const mlir::Type wide = like(l, x, DType::f32);
  if (!is_float(from)) {
    const char* toFloat = is_unsigned_integer(from) ? "arith.uitofp" : "arith.sitofp";
    if (bit_width(from) == 32) return l.create1(toFloat, x, type);  // rounds once
    x = l.create1(toFloat, integerTo(l, x, from, DType::i32, like(l, x, DType::i32)), wide);
  } else if (from != DType::f32) {
    x = l.create1("arith.extf", x, wide);
  }
  return to == DType::f32 ? x : l.create1("arith.truncf", x, type);
}

void lowerConstant(DialectLowering& l, const Op& op) {
  const Array& value = std::get<Array>(*op.find("value"));
  const DType t = value.dtype();
  double number = t == DType::pred ? *value.as<uint8_t>() : eval::elementAsDouble(t, value.data());
  l.set(op.results[0], l.constant(l.mlirType(value.type()), number));
}

}  // namespace smalti::lang
