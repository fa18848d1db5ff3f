// Values of generated code, written as formulas. A Lanes is a scalar or a vector of float, double, i32 or i64; an
// arithmetic operand becomes a constant of the other operand's type.
#pragma once

#include <type_traits>

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"

namespace smalti::cpu {

class Lanes {
 public:
  Lanes(llvm::IRBuilderBase& code, llvm::Value* value) : code_(&code), value_(value) {}

  llvm::IRBuilderBase& code() const { return *code_; }
  llvm::Value* value() const { return value_; }
  llvm::Type* type() const { return value_->getType(); }
  bool isFloat() const { return type()->isFPOrFPVectorTy(); }

  /// A number of this type in every lane; the conversions to float and double round to nearest.
  template <class Number>
  Lanes constant(Number c) const {
    static_assert(std::is_arithmetic_v<Number>);
    if (isFloat()) return {*code_, llvm::ConstantFP::get(type(), static_cast<double>(c))};
    return {*code_, llvm::ConstantInt::get(type(), static_cast<uint64_t>(static_cast<int64_t>(c)), true)};
  }

 private:
  llvm::IRBuilderBase* code_;
  llvm::Value* value_;
};

/// One bit per lane.
class Mask {
 public:
  Mask(llvm::IRBuilderBase& code, llvm::Value* value) : code_(&code), value_(value) {}
  llvm::IRBuilderBase& code() const { return *code_; }
  llvm::Value* value() const { return value_; }

 private:
  llvm::IRBuilderBase* code_;
  llvm::Value* value_;
};

Lanes operator+(Lanes a, Lanes b);
Lanes operator-(Lanes a, Lanes b);
Lanes operator*(Lanes a, Lanes b);
Lanes operator/(Lanes a, Lanes b);
Lanes operator-(Lanes a);
Lanes operator&(Lanes a, Lanes b);
Lanes operator^(Lanes a, Lanes b);
Lanes operator<<(Lanes a, int count);
/// Copies of the sign come in.
Lanes operator>>(Lanes a, int count);
/// Zeros come in.
Lanes shiftedRightUnsigned(Lanes a, int count);

/// Ordered: false for NaN. Integers are compared as signed numbers.
Mask operator<(Lanes a, Lanes b);
Mask operator>(Lanes a, Lanes b);
Mask operator<=(Lanes a, Lanes b);
Mask operator>=(Lanes a, Lanes b);
Mask operator==(Lanes a, Lanes b);
Mask operator!=(Lanes a, Lanes b);  ///< true for NaN
Mask operator&(Mask a, Mask b);
Mask operator|(Mask a, Mask b);
Mask isNan(Lanes x);

#define SMALTI_WITH_CONSTANT(Result, op)                                          \
  template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>> \
  Result operator op(Lanes a, Number b) {                                         \
    return a op a.constant(b);                                                    \
  }                                                                               \
  template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>> \
  Result operator op(Number a, Lanes b) {                                         \
    return b.constant(a) op b;                                                    \
  }
SMALTI_WITH_CONSTANT(Lanes, +)
SMALTI_WITH_CONSTANT(Lanes, -)
SMALTI_WITH_CONSTANT(Lanes, *)
SMALTI_WITH_CONSTANT(Lanes, /)
SMALTI_WITH_CONSTANT(Lanes, &)
SMALTI_WITH_CONSTANT(Mask, <)
SMALTI_WITH_CONSTANT(Mask, >)
SMALTI_WITH_CONSTANT(Mask, <=)
SMALTI_WITH_CONSTANT(Mask, >=)
SMALTI_WITH_CONSTANT(Mask, ==)
SMALTI_WITH_CONSTANT(Mask, !=)
#undef SMALTI_WITH_CONSTANT

Lanes select(Mask c, Lanes a, Lanes b);
template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
Lanes select(Mask c, Number a, Lanes b) {
  return select(c, b.constant(a), b);
}

/// a * b + c, rounded once.
Lanes fma(Lanes a, Lanes b, Lanes c);
template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
Lanes fma(Lanes a, Number b, Lanes c) {
  return fma(a, a.constant(b), c);
}
template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
Lanes fma(Lanes a, Lanes b, Number c) {
  return fma(a, b, a.constant(c));
}
template <class Left, class Right, class = std::enable_if_t<std::is_arithmetic_v<Left> && std::is_arithmetic_v<Right>>>
Lanes fma(Lanes a, Left b, Right c) {
  return fma(a, a.constant(b), a.constant(c));
}

Lanes magnitude(Lanes x);
Lanes withSign(Lanes magnitude, Lanes sign);
Lanes squareRoot(Lanes x);
Lanes truncated(Lanes x);
Lanes roundedToEven(Lanes x);
/// x clamped to the bound; NaN stays.
Lanes atMost(Lanes x, double bound);
Lanes atLeast(Lanes x, double bound);

/// The bits of floats as integers, and back.
Lanes bitsOf(Lanes x);
Lanes floatOf(Lanes bits);
/// Signed i32 to the nearest float; float to i32, for values that fit.
Lanes toFloat(Lanes x);
Lanes toInteger(Lanes x);
/// float to double; double to float, rounded.
Lanes widened(Lanes x);
Lanes narrowed(Lanes x);

/// True where the processor that the code is for has instructions on sixteen floats (AVX-512).
bool hasWideLanes(Lanes like);
/// f of the operands, sixteen lanes at a time; lanes that they lack are 0.
Lanes bySixteen(llvm::ArrayRef<Lanes> operands, llvm::function_ref<Lanes(llvm::ArrayRef<Lanes>)> f);

/// x · 2^⌊n⌋, rounded once, of sixteen lanes; 0 where `isZero`, without a stop for what would be too small. Where n is
/// infinite it is 0 or infinity, also for NaN x.
Lanes scaledByPower(Lanes x, Lanes n, Mask isZero);

/// c[0] + c[1] x + c[2] x² + …
template <class Number, int kCount>
Lanes polynomial(Lanes x, const Number (&c)[kCount]) {
  Lanes p = x.constant(c[kCount - 1]);
  for (int i = kCount - 2; i >= 0; --i) p = fma(p, x, c[i]);
  return p;
}

}  // namespace smalti::cpu
