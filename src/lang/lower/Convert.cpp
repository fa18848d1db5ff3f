// Constants and conversions between dtypes.
#include <array>
#include <cstring>

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "eval/FloatFormats.h"
#include "lang/lower/Lowering.h"

namespace smalti::lang {
namespace {

void constant(Lowering& l, const Op& op) {
  const Array& value = std::get<Array>(*op.find("value"));
  const DType t = value.dtype();
  double number = t == DType::pred ? *value.as<uint8_t>() : eval::elementAsDouble(t, value.data());
  l.set(op.results[0], l.constant(l.mlirType(value.type()), number));
}

mlir::Value convertTo(Lowering& l, mlir::Value x, DType from, DType to, mlir::Type type) {
  const int fromBits = bit_width(from), toBits = bit_width(to);
  const auto i32Like = [&](mlir::Value v) -> mlir::Type {
    if (const auto vector = mlir::dyn_cast<mlir::VectorType>(v.getType()))
      return mlir::VectorType::get(vector.getShape(), l.b.getI32Type());
    return l.b.getI32Type();
  };
  if (to == DType::pred) {
    const mlir::Value zero = l.constant(x.getType(), 0);
    if (is_float(from)) return mlir::arith::CmpFOp::create(l.b, l.loc, mlir::arith::CmpFPredicate::UNE, x, zero);
    return mlir::arith::CmpIOp::create(l.b, l.loc, mlir::arith::CmpIPredicate::ne, x, zero);
  }
  if (is_float(from) && is_float(to)) {
    if (fromBits == toBits) {  // between formats of one width: by f32
      mlir::Type wide = l.b.getF32Type();
      if (const auto vector = mlir::dyn_cast<mlir::VectorType>(type))
        wide = mlir::VectorType::get(vector.getShape(), wide);
      return l.create1("arith.truncf", l.create1("arith.extf", x, wide), type);
    }
    return l.create1(fromBits < toBits ? "arith.extf" : "arith.truncf", x, type);
  }
  if (is_float(from)) return l.create1(is_unsigned_integer(to) ? "arith.fptoui" : "arith.fptosi", x, type);
  if (is_float(to)) {
    if (from == DType::pred) {
      x = l.create1("arith.extui", x, i32Like(x));
      return l.create1("arith.sitofp", x, type);
    }
    return l.create1(is_unsigned_integer(from) ? "arith.uitofp" : "arith.sitofp", x, type);
  }
  if (fromBits == toBits) return x;  // signedness only
  if (fromBits > toBits) return l.create1("arith.trunci", x, type);
  return l.create1(is_unsigned_integer(from) || from == DType::pred ? "arith.extui" : "arith.extsi", x, type);
}

void convert(Lowering& l, const Op& op) {
  const ArrayType &from = l.typeOf(op.operands[0]), &to = l.typeOf(op.results[0]);
  l.set(op.results[0], convertTo(l, l.value(op.operands[0]), from.dtype, to.dtype, l.mlirType(to)));
}

void bitcastConvert(Lowering& l, const Op& op) {
  const mlir::Value x = l.value(op.operands[0]);
  const mlir::Type type = l.mlirType(l.typeOf(op.results[0]));
  const bool vector = mlir::isa<mlir::VectorType>(type);
  l.set(op.results[0], x.getType() == type ? x : l.create1(vector ? "tpu.bitcast" : "arith.bitcast", x, type));
}

constexpr std::array kRows{
    LowerRow{"bitcast_convert", bitcastConvert},
    LowerRow{"constant", constant},
    LowerRow{"convert", convert},
};

}  // namespace

std::span<const LowerRow> convertRules() { return kRows; }

}  // namespace smalti::lang
