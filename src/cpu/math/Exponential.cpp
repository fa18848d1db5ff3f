// exp, exp2, expm1, tanh: x = n ln2 + r with |r| ≤ ln2/2, and a polynomial in r; shorter ones by tables, or with less
// exact results.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "cpu/math/Families.h"
#include "cpu/math/Nvidia.h"
#include "cpu/math/Table.h"
#include "eval/MathCoefficients.h"
#include "ir/facts/Tolerance.h"
#include "llvm/IR/Instructions.h"

namespace smalti::cpu {

using namespace coefficients;
namespace {

/// 1.5 · 2^23: adding it rounds to a whole number n, which then is in the low bits. With 126 more, the bits moved up by
/// 23 are those of 2^(n-1): n may go from -125 to 128.
constexpr float kRound = 12582912.0f + 126.0f;

struct Reduced {
  Lanes rounded;    ///< n + kRound
  Lanes remainder;  ///< x - n ln2
};

Reduced reduce(Lanes x) {
  const Lanes rounded = fma(x, kLog2OfE[0], kRound);
  const Lanes n = rounded - kRound;
  return {rounded, fma(n, -kLn2[1], fma(n, -kLn2[0], x))};
}

Lanes halfOfPower(Lanes rounded) { return floatOf(bitsOf(rounded) << 23); }

/// Below these the results round to 0, as masked scores do. Some processors stop for hundreds of cycles where a result
/// is denormal, also for 0: avoid such inputs where possible.
constexpr double kMinExpArgument = -104, kMinExp2Argument = -151;
/// Below these they may be denormal.
constexpr double kMinNormalExpArgument = -86, kMinNormalExp2Argument = -124;

/// 2^n of half of `twice`. Where `isSmall`, n may be below -125: there by way of 2^64 times the value, so that
/// denormals are rounded once.
Lanes scaled(Lanes twice, Lanes rounded, Mask isSmall, Mask isZero) {
  const Lanes power = bitsOf(rounded) << 23;
  const Lanes y = twice * floatOf(select(isSmall, power + (int64_t{64} << 23), power));
  return y * select(isZero, 0.0, select(isSmall, 0x1p-64, y.constant(1.0)));
}

/// Adding it rounds to a whole 32nd, the number of which is then in the low bits.
constexpr double kRoundTo32nds = 393216.0;  // 1.5 · 2^18

/// 2^n (1 + y) for n in 32nds, the whole part by the exponent and the rest by a table. An infinite n mends what y is
/// then; for other n beyond all exponents 1 + y only has to be positive, and nothing at all where `isZero`.
Lanes powerOf32nds(Lanes rounded, Lanes n, Lanes y, Mask isZero) {
  const Lanes power = entry(kExp2Table, bitsOf(rounded));
  return scaledByPower(fma(power, y, power), n, isZero);
}

Lanes expByTable(llvm::ArrayRef<Lanes> operands) {
  const Lanes x = operands[0];
  const Lanes rounded = fma(x, kLog2OfE[0], kRoundTo32nds), n = rounded - kRoundTo32nds;
  const Lanes r = fma(n, -kLn2[1], fma(n, -kLn2[0], x));
  return powerOf32nds(rounded, n, polynomial(r, kExpPiece) * r, x < kMinExpArgument);
}

Lanes exp2OfNvidia(Lanes f, bool denormals = false) {
  return {f.code(), cpu::exp2OfNvidia(f.code(), f.value(), denormals)};
}

/// 2^n · 2^f with n + f = x log2(e). 2^n is always a normal number: for larger and smaller x, f is not small, and 2^f
/// or the product overflows, is rounded to a denormal or to 0. 2^f is within 2 ulp; the two roundings of f,
/// of 2^-26 each, are less than half a ulp more.
Lanes expByExp2(Lanes x) {
  // 1.5 · 2^23, as above, with the bias of exponents: the low bits, moved up, are those of 2^n.
  constexpr float kRoundWithBias = 12582912.0f + 127.0f;
  const Lanes inRange = atMost(atLeast(x, -87.3), 88.0);
  const Lanes rounded = fma(inRange, kLog2OfE[0], kRoundWithBias);
  const Lanes n = rounded - kRoundWithBias;
  const Lanes f = fma(x, kLog2OfE[1], fma(x, kLog2OfE[0], -n));
  return exp2OfNvidia(f) * floatOf(bitsOf(rounded) << 23);
}

Lanes exp(Lanes operand) {
  if (isForNvidia(operand.code())) return expByExp2(operand);
  if (hasWideLanes(operand)) return bySixteen(operand, expByTable);
  const Lanes x = atMost(atLeast(operand, kMinExpArgument), 88.8);
  const Reduced reduced = reduce(x);
  const Lanes r = reduced.remainder;
  const Lanes twice = fma(fma(polynomial(r, kExpm1), r, 1.0), r + r, 2.0);
  return scaled(twice, reduced.rounded, x < kMinNormalExpArgument, x <= kMinExpArgument);
}

Lanes exp2ByTable(llvm::ArrayRef<Lanes> operands) {
  const Lanes x = operands[0], rounded = x + kRoundTo32nds, n = rounded - kRoundTo32nds;
  const Lanes f = x - n;
  return powerOf32nds(rounded, n, polynomial(f, kExp2Piece) * f, x < kMinExp2Argument);
}

/// A value that replaces those that are less than a bound: select(x < bound, other, x).
struct Floor {
  Lanes x;
  double bound, other;
  bool isOrdered;  ///< NaN stays NaN
};

std::optional<Floor> floorOf(Lanes value) {
  auto* selected = llvm::dyn_cast<llvm::SelectInst>(value.value());
  auto* compared = selected ? llvm::dyn_cast<llvm::FCmpInst>(selected->getCondition()) : nullptr;
  if (!compared || compared->getOperand(0) != selected->getFalseValue()) return std::nullopt;
  const auto predicate = compared->getPredicate();
  const auto numberOf = [](llvm::Value* v) -> std::optional<double> {
    const auto* constant = llvm::dyn_cast<llvm::Constant>(v);
    if (constant && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
    const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
    if (!number || !number->getType()->isFloatTy()) return std::nullopt;
    return number->getValueAPF().convertToFloat();
  };
  const auto bound = numberOf(compared->getOperand(1)), other = numberOf(selected->getTrueValue());
  const bool isOrdered = predicate == llvm::CmpInst::FCMP_OLT;
  if ((!isOrdered && predicate != llvm::CmpInst::FCMP_ULT) || !bound || !other) return std::nullopt;
  return Floor{{value.code(), selected->getFalseValue()}, *bound, *other, isOrdered};
}

/// What a value can be besides NaN.
enum class Range : uint8_t {
  any,
  normal,       ///< at least kMinNormalExp2Argument
  normalOrZero  ///< or -∞: the result is 0
};

/// Kernels replace arguments whose results are negligible.
Range rangeOf(Lanes x) {
  const auto floor = floorOf(x);
  if (!floor || !(floor->bound >= kMinNormalExp2Argument)) return Range::any;
  if (floor->other >= kMinNormalExp2Argument) return Range::normal;
  return floor->other == -std::numeric_limits<double>::infinity() ? Range::normalOrZero : Range::any;
}

Lanes exp2(Lanes operand) {
  const Range range = rangeOf(operand);
  if (isForNvidia(operand.code())) return exp2OfNvidia(operand, range == Range::any);
  if (hasWideLanes(operand)) return bySixteen(operand, exp2ByTable);
  const Lanes x = atMost(range == Range::normal ? operand : atLeast(operand, kMinExp2Argument), 128.25);
  const Lanes rounded = x + kRound;
  const Lanes f = x - (rounded - kRound);
  const Lanes twice = fma(polynomial(f, kExp2), f + f, 2.0);
  if (range == Range::any) return scaled(twice, rounded, x < kMinNormalExp2Argument, x <= kMinExp2Argument);
  const Lanes y = twice * halfOfPower(rounded);
  return range == Range::normal ? y : select(x <= kMinExp2Argument, 0.0, y);
}

/// 2^(n + f) for n = rounded - kRound.
Lanes shortPower(Lanes rounded, Lanes f) { return fma(polynomial(f, kExp2Short), f + f, 2.0) * halfOfPower(rounded); }

Lanes shortExpByTable(llvm::ArrayRef<Lanes> operands) {
  const Lanes x = operands[0];
  const Lanes rounded = fma(x, kLog2OfE[0], kRoundTo32nds), n = rounded - kRoundTo32nds;
  const Lanes f = fma(x, kLog2OfE[0], -n);
  return powerOf32nds(rounded, n, polynomial(f, kExp2Piece) * f, x < kMinNormalExpArgument);
}

/// x log2(e) is rounded once, to 2^-18 at most, and log2(e) itself to less than half of that at -87.
Lanes approximateExp(Lanes operand, Tolerance allowed) {
  if (!covers(allowed, kShortExponentials)) return exp(operand);
  if (isForNvidia(operand.code())) return exp2OfNvidia(operand * kLog2OfE[0]);
  if (hasWideLanes(operand)) return bySixteen(operand, shortExpByTable);
  const Lanes x = atMost(atLeast(operand, kMinNormalExpArgument), 88.8);
  const Lanes rounded = fma(x, kLog2OfE[0], kRound);
  const Lanes y = shortPower(rounded, fma(x, kLog2OfE[0], kRound - rounded));
  return select(operand < kMinNormalExpArgument, 0.0, y);
}

/// The value before results that are negligible were replaced by others that are.
Lanes withoutFloor(Lanes x, double atol) {
  const auto floor = floorOf(x);
  const double negligible = std::log2(atol);
  return floor && floor->isOrdered && std::max(floor->bound, floor->other) <= negligible ? floor->x : x;
}

Lanes approximateExp2(Lanes operand, Tolerance allowed) {
  if (allowed.atol < kShortExponentials.atol) return exp2(operand);
  if (isForNvidia(operand.code())) return exp2OfNvidia(withoutFloor(operand, allowed.atol));
  if (hasWideLanes(operand) || allowed.rtol < kShortExponentials.rtol) return exp2(operand);
  const bool isNormal = rangeOf(operand) == Range::normal;
  const Lanes x = atMost(isNormal ? operand : atLeast(operand, kMinNormalExp2Argument), 128.25);
  const Lanes rounded = x + kRound, y = shortPower(rounded, x - (rounded - kRound));
  return isNormal ? y : select(operand < kMinNormalExp2Argument, 0.0, y);
}

Lanes expm1(Lanes operand) {
  const Reduced reduced = reduce(atMost(atLeast(operand, -30.0), 88.8));
  const Lanes r = reduced.remainder;
  const Lanes small = fma(polynomial(r, kExpm1), r * r, r);
  const Lanes half = halfOfPower(reduced.rounded);
  const Lanes y = fma(half, small, half - 0.5);
  // Halving a denormal is not exact.
  return withSign(select(magnitude(operand) < 0x1p-64, operand, y + y), operand);
}

/// A polynomial for each eighth of an octave of |x| + 5/8: the pieces get wider as tanh gets smoother.
Lanes tanhByTable(llvm::ArrayRef<Lanes> operands) {
  const Lanes x = operands[0];
  const Lanes a = atMost(magnitude(x), 9.1);  // where it is 1
  return withSign(forEachTile(a, shiftedRightUnsigned(bitsOf(a + 0.625), 20), kTanhTable), x);
}

/// x + x P(x²) near 0; above, 1 - 2 / (e^(2x) + 1), which is then above a half.
Lanes tanh(Lanes operand) {
  if (hasWideLanes(operand)) return bySixteen(operand, tanhByTable);
  const Lanes a = magnitude(operand), square = a * a;
  const Lanes small = fma(a * square, polynomial(square, kTanh), a);
  const Lanes twiceA = atMost(a + a, 20.0);
  const Lanes rounded = fma(twiceA, kLog2OfE[0], kRound);
  const Lanes f = fma(twiceA, kLog2OfE[0], kRound - rounded);
  const Lanes twice = fma(polynomial(f, kExp2Short), f + f, 2.0);
  const Lanes divisor = fma(twice, halfOfPower(rounded), 1.0);
  const Lanes large = 1.0 - (isForNvidia(operand.code())
                                 ? 2.0 * Lanes(operand.code(), reciprocalOfNvidia(operand.code(), divisor.value()))
                                 : 2.0 / divisor);
  return withSign(select(a < kTanhSplit, small, large), operand);
}

constexpr UnaryFunction kExponentialFunctions[] = {
    {"math.exp", exp},
    {"math.exp2", exp2},
    {"math.expm1", expm1},
    {"math.tanh", tanh},
};

constexpr Approximation kApproximations[] = {
    {"math.exp", approximateExp},
    {"math.exp2", approximateExp2},
};

}  // namespace

std::span<const Approximation> approximateExponentials() { return kApproximations; }
std::span<const UnaryFunction> exponentials() { return kExponentialFunctions; }

}  // namespace smalti::cpu
