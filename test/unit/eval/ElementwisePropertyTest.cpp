// Laws that ops obey for all operands.
#include "ElementwiseTesting.h"

#include <rapidcheck/gtest.h>  // after gtest's own header, which it needs

namespace smalti::eval::test {
namespace {

template <class T>
T apply(const char* op, DType t, T a, T b) {
  T out{};
  findBinary(op, t)(&a, &b, &out, 1, Splat::none);
  return out;
}
bool compare(const char* op, DType t, float a, float b) {
  uint8_t out = 2;
  findBinary(op, t)(&a, &b, &out, 1, Splat::none);
  return out == 1;
}
template <class To, class From>
To convert(const char* op, DType from, DType to, From x) {
  To out{};
  findConvert(op, from, to)(&x, &out, 1);
  return out;
}
float anyFloat() { return std::bit_cast<float>(*rc::gen::arbitrary<uint32_t>()); }

RC_GTEST_PROP(ElementwiseLaws, SE8_QuotientTimesDivisorPlusRemainderIsTheDividend, (int32_t a, int32_t b)) {
  const int32_t q = apply("arith.divsi", DType::i32, a, b), r = apply("arith.remsi", DType::i32, a, b);
  RC_ASSERT(static_cast<uint32_t>(a) == static_cast<uint32_t>(q) * static_cast<uint32_t>(b) + static_cast<uint32_t>(r));
  const uint16_t x = static_cast<uint16_t>(a), y = static_cast<uint16_t>(b);
  const uint16_t uq = apply("arith.divui", DType::u16, x, y), ur = apply("arith.remui", DType::u16, x, y);
  RC_ASSERT(x == static_cast<uint16_t>(uint32_t{uq} * y + ur));
  RC_ASSERT(y == 0 || ur < y);
}

RC_GTEST_PROP(ElementwiseLaws, SE9_ShiftingTwiceIsShiftingBySum, (uint32_t x)) {
  const uint32_t i = *rc::gen::inRange(0u, 40u), j = *rc::gen::inRange(0u, 40u);
  for (const char* op : {"arith.shli", "arith.shrui", "arith.shrsi"})
    RC_ASSERT(apply(op, DType::u32, apply(op, DType::u32, x, i), j) == apply(op, DType::u32, x, i + j));
}

RC_GTEST_PROP(ElementwiseLaws, SE6_UnorderedComparesNegateTheOpposite, ()) {
  const float a = anyFloat(), b = anyFloat();
  RC_ASSERT(compare("arith.cmpf.ult", DType::f32, a, b) == !compare("arith.cmpf.oge", DType::f32, a, b));
  RC_ASSERT(compare("arith.cmpf.ugt", DType::f32, a, b) == !compare("arith.cmpf.ole", DType::f32, a, b));
  RC_ASSERT(compare("arith.cmpf.one", DType::f32, a, b) == !compare("arith.cmpf.oeq", DType::f32, a, b));
  RC_ASSERT(compare("arith.cmpf.uno", DType::f32, a, b) == !compare("arith.cmpf.ord", DType::f32, a, b));
  RC_ASSERT(compare("arith.cmpf.one", DType::f32, a, a) == std::isnan(a));
}

RC_GTEST_PROP(ElementwiseLaws, SE7_MaximumCommutesAndIsMinusMinimum, ()) {
  const float a = anyFloat(), b = anyFloat();
  const float larger = apply("arith.maximumf", DType::f32, a, b);
  RC_ASSERT(same(larger, apply("arith.maximumf", DType::f32, b, a)));
  RC_ASSERT(same(larger, -apply("arith.minimumf", DType::f32, -a, -b)));
  RC_ASSERT(std::isnan(larger) == (std::isnan(a) || std::isnan(b)));
}

RC_GTEST_PROP(ElementwiseLaws, SE10_NarrowToF32AndBackIsTheSame, (uint16_t bits)) {
  for (const DType t : {DType::bf16, DType::f16}) {
    const float wide = convert<float>("arith.extf", t, DType::f32, bits);
    const uint16_t back = convert<uint16_t>("arith.truncf", DType::f32, t, wide);
    RC_ASSERT(back == bits || std::isnan(wide));
  }
}

RC_GTEST_PROP(ElementwiseLaws, SE10_RoundingIsMonotonic, ()) {
  const float a = anyFloat(), b = anyFloat();
  RC_PRE(a <= b);
  for (const DType t : {DType::bf16, DType::f16, DType::f8e5m2}) {
    Elements in(DType::f32, {a, b});
    const Elements out = run(findArrayConvert(DType::f32, t), in, t);
    RC_ASSERT(out.value(0) <= out.value(1));
  }
}

RC_GTEST_PROP(ElementwiseLaws, SE11_RoundedNumbersAreWholeAndNear, ()) {
  const Elements in(DType::f32, {anyFloat()});
  const double x = in.value(0);
  for (const char* op : {"math.round", "math.roundeven", "math.floor", "math.ceil", "math.trunc"}) {
    const double y = run(findUnary(op, DType::f32), in, DType::f32).value(0);
    if (std::isnan(x)) RC_ASSERT(std::isnan(y));
    if (!std::isfinite(x)) continue;
    RC_ASSERT(y == std::trunc(y) && std::signbit(y) == std::signbit(x));
    RC_ASSERT(std::fabs(y - x) <= 1);
  }
}

RC_GTEST_PROP(ElementwiseLaws, SE10_SmallIntegersSurviveFloats, (int16_t x)) {
  const float wide = convert<float>("arith.sitofp", DType::i16, DType::f32, x);
  RC_ASSERT(convert<int16_t>("arith.fptosi", DType::f32, DType::i16, wide) == x);
}

}  // namespace
}  // namespace smalti::eval::test
