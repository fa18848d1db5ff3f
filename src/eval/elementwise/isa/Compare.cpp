// arith.cmpf. C++ comparisons are ordered (false for NaN) except !=.
#include "eval/elementwise/isa/Families.h"
#include "eval/elementwise/isa/Formats.h"
#include "eval/elementwise/isa/Loops.h"

namespace smalti::eval::SMALTI_ISA {
namespace {

struct Equal {
  static bool apply(float a, float b) { return a == b; }
};
struct NotEqual {
  static bool apply(float a, float b) { return a != b; }
};
struct Less {
  static bool apply(float a, float b) { return a < b; }
};
struct LessEqual {
  static bool apply(float a, float b) { return a <= b; }
};
struct Greater {
  static bool apply(float a, float b) { return a > b; }
};
struct GreaterEqual {
  static bool apply(float a, float b) { return a >= b; }
};
struct Ordered {
  static bool apply(float a, float b) { return (a == a) & (b == b); }
};
template <class Opposite>
struct Not {
  static bool apply(float a, float b) { return !Opposite::apply(a, b); }
};
struct LessOrGreater {
  static bool apply(float a, float b) { return (a < b) | (a > b); }
};
template <bool value>
struct Always {
  static bool apply(float a, float b) { return value; }
};

template <class Op>
constexpr BinaryRow row(std::string_view name) {
  return {name, binaryLoop<F32, Pred, Op>, binaryLoop<Bf16, Pred, Op>};
}

constexpr BinaryRow kRows[] = {
    row<Always<false>>("arith.cmpf.false"),
    row<Equal>("arith.cmpf.oeq"),
    row<Greater>("arith.cmpf.ogt"),
    row<GreaterEqual>("arith.cmpf.oge"),
    row<Less>("arith.cmpf.olt"),
    row<LessEqual>("arith.cmpf.ole"),
    row<NotEqual>("arith.cmpf.one"),  // JAX lowers != to it, which must be true for NaN (S-E6)
    row<Ordered>("arith.cmpf.ord"),
    row<Not<LessOrGreater>>("arith.cmpf.ueq"),
    row<Not<LessEqual>>("arith.cmpf.ugt"),
    row<Not<Less>>("arith.cmpf.uge"),
    row<Not<GreaterEqual>>("arith.cmpf.ult"),
    row<Not<Greater>>("arith.cmpf.ule"),
    row<NotEqual>("arith.cmpf.une"),
    row<Not<Ordered>>("arith.cmpf.uno"),
    row<Always<true>>("arith.cmpf.true"),
};

}  // namespace

Rows<BinaryRow> floatCompareRows() { return SMALTI_ROWS(kRows); }

}  // namespace smalti::eval::SMALTI_ISA
