#include "interop/FloatLiterals.h"

#include <cmath>
#include <cstdlib>

#include <llvm/ADT/APFloat.h>

namespace smalti::interop {
namespace {

double asDouble(llvm::APFloat value) {
  bool lossy = false;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lossy);
  return value.convertToDouble();
}

}  // namespace

const llvm::fltSemantics* floatSemantics(DType t) {
  switch (t) {
    case DType::f4e2m1fn:
      return &llvm::APFloat::Float4E2M1FN();
    case DType::f8e5m2:
      return &llvm::APFloat::Float8E5M2();
    case DType::f8e4m3fn:
      return &llvm::APFloat::Float8E4M3FN();
    case DType::f8e4m3b11fnuz:
      return &llvm::APFloat::Float8E4M3B11FNUZ();
    case DType::f8e8m0fnu:
      return &llvm::APFloat::Float8E8M0FNU();
    case DType::bf16:
      return &llvm::APFloat::BFloat();
    case DType::f16:
      return &llvm::APFloat::IEEEhalf();
    case DType::f32:
      return &llvm::APFloat::IEEEsingle();
    case DType::f64:
      return &llvm::APFloat::IEEEdouble();
    default:
      return nullptr;
  }
}

double decimalValue(const std::string& decimal) { return std::strtod(decimal.c_str(), nullptr); }

uint64_t floatBits(DType t, const std::string& decimal) {
  llvm::APFloat value(decimalValue(decimal));
  if (t == DType::f8e8m0fnu && (value.isNegative() || !value.isFiniteNonZero())) return 0xff;  // its NaN
  bool lossy = false;
  value.convert(*floatSemantics(t), llvm::APFloat::rmNearestTiesToEven, &lossy);
  return value.bitcastToAPInt().getZExtValue();
}

bool holdsDecimal(DType t, const std::string& decimal) {
  const llvm::fltSemantics& semantics = *floatSemantics(t);
  if (!llvm::APFloat::semanticsHasNaN(semantics)) return std::abs(decimalValue(decimal)) <= largestFloat(t);
  return llvm::APFloat(semantics, llvm::APInt(bit_width(t), floatBits(t, decimal))).isFinite();
}

double largestFloat(DType t) { return asDouble(llvm::APFloat::getLargest(*floatSemantics(t))); }

}  // namespace smalti::interop
