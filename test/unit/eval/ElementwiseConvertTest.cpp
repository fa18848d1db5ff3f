// Conversions between every pair of types, and select.
#include <map>
#include <string>

#include "ElementwiseTesting.h"

namespace smalti::eval::test {
namespace {

class Conversions : public OnEveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, Conversions, everyIsa(), isaName);

bool isWhole(DType t) { return !is_float(t); }

std::vector<DType> allTypes() {
  std::vector<DType> types = integerTypes();
  for (const DType t : floatTypes()) types.push_back(t);
  types.push_back(DType::f64);
  return types;
}

/// Every element of narrow types; limits and random ones of wide types.
Elements samples(DType t) {
  const int width = bit_width(t);
  std::vector<uint64_t> bits;
  if (width <= 8) {
    for (uint64_t x = 0; x < (uint64_t{1} << width); ++x) bits.push_back(x);
  } else if (is_float(t)) {
    Elements special(t, specialFloats());
    for (int64_t i = 0; i < special.size(); ++i) bits.push_back(special.raw(i));
  } else {
    const uint64_t minimum = uint64_t{1} << (width - 1);
    bits = {0,        1,       2, 3, 255, 256, minimum, minimum - 1, ~uint64_t{0}, ~uint64_t{127}, ~uint64_t{128},
            16777217, 16842753};
  }
  std::mt19937_64 random(static_cast<uint64_t>(t));
  for (int i = 0; i < 700; ++i) bits.push_back(is_float(t) ? random() : random() >> (random() % 64));
  Elements out(t, static_cast<int64_t>(bits.size()));
  for (size_t i = 0; i < bits.size(); ++i) out.setBits(static_cast<int64_t>(i), bits[i]);
  return out;
}

uint64_t integerBits(const Elements& e, int64_t i, bool isSigned) {
  const int width = bit_width(e.dtype);
  const uint64_t x = e.bits(i);
  return isSigned && width < 64 && (x >> (width - 1)) ? x | (~uint64_t{0} << width) : x;
}

float integerAsF32(uint64_t extended, bool isSigned) {
  return isSigned ? static_cast<float>(static_cast<int64_t>(extended)) : static_cast<float>(extended);
}

/// Truncation, saturation to `width` bits, NaN → 0.
uint64_t saturated(double x, int width, bool isSigned) {
  uint64_t word = 0;
  if (width == 1) {  // i1: 0 or 1, or as a signed number 0 or -1
    if (std::isnan(x)) return 0;
    return isSigned ? std::trunc(x) <= -1 : std::trunc(x) >= 1;
  }
  static const std::map<int, std::pair<DType, DType>> types = {
      {2, {DType::u2, DType::i2}},    {4, {DType::u4, DType::i4}},    {8, {DType::u8, DType::i8}},
      {16, {DType::u16, DType::i16}}, {32, {DType::u32, DType::i32}}, {64, {DType::u64, DType::i64}}};
  const auto [asUnsigned, asSigned] = types.at(width);
  elementFromDouble(isSigned ? asSigned : asUnsigned, x, &word);
  return word;
}

uint64_t asStored(DType t, uint64_t bits) {
  Elements e(t, 1);
  e.setBits(0, bits);
  return e.raw(0);
}

uint64_t floatAsStored(DType t, double x) {
  Elements e(t, 1);
  elementFromDouble(t, x, e.at(0));
  return e.raw(0);
}

void expectSame(const Elements& got, int64_t i, uint64_t expected, const std::string& what) {
  if (is_float(got.dtype)) {
    Elements e(got.dtype, 1);
    e.setBits(0, expected);
    if (std::isnan(e.value(0)) && std::isnan(got.value(i))) return;
  }
  ASSERT_EQ(got.raw(i), expected) << what;
}

/// The array conversion of one element, by the book.
uint64_t converted(const Elements& in, int64_t i, DType to) {
  const bool fromSigned = !is_unsigned_integer(in.dtype) && in.dtype != DType::pred;
  if (is_float(in.dtype)) {
    const double x = in.value(i);
    if (to == DType::pred) return x != 0;
    if (is_float(to)) return floatAsStored(to, x);
    return asStored(to, saturated(x, bit_width(to), !is_unsigned_integer(to)));
  }
  const uint64_t x = integerBits(in, i, fromSigned);
  if (to == DType::pred) return x != 0;
  if (to == DType::f64) {
    const double d = fromSigned ? static_cast<double>(static_cast<int64_t>(x)) : static_cast<double>(x);
    return std::bit_cast<uint64_t>(d);
  }
  if (is_float(to)) return floatAsStored(to, integerAsF32(x, fromSigned));
  return asStored(to, x);
}

TEST_P(Conversions, SE10_ArraysBetweenAnyTwoTypes) {
  for (const DType from : allTypes()) {
    const Elements in = samples(from);
    for (const DType to : allTypes()) {
      const Elements out = run(findArrayConvert(from, to), in, to);
      for (int64_t i = 0; i < in.size(); ++i)
        expectSame(out, i, converted(in, i, to),
                   std::string(name(from)) + " to " + std::string(name(to)) + " of " + std::to_string(in.value(i)));
    }
  }
}

TEST_P(Conversions, SE10_SignlessIntegersAreReadAsTheOpSays) {
  for (const DType from : allTypes()) {
    if (!isWhole(from) || is_unsigned_integer(from)) continue;
    const Elements in = samples(from);
    for (const DType to : allTypes()) {
      for (const bool isSigned : {true, false}) {
        if (is_float(to)) {
          const UnaryKernel kernel = findConvert(isSigned ? "arith.sitofp" : "arith.uitofp", from, to);
          const Elements out = run(kernel, in, to);
          for (int64_t i = 0; i < in.size(); ++i) {
            const uint64_t x = integerBits(in, i, isSigned);
            const double d = isSigned ? static_cast<double>(static_cast<int64_t>(x)) : static_cast<double>(x);
            const double expected = to == DType::f64 ? d : integerAsF32(x, isSigned);
            expectSame(out, i, floatAsStored(to, expected), std::string(name(from)) + " to " + std::string(name(to)));
          }
          continue;
        }
        for (const char* op :
             {isSigned ? "arith.extsi" : "arith.extui", isSigned ? "arith.index_cast" : "arith.index_castui"}) {
          const Elements out = run(findConvert(op, from, to), in, to);
          for (int64_t i = 0; i < in.size(); ++i)
            expectSame(out, i, asStored(to, integerBits(in, i, isSigned)),
                       std::string(op) + " " + std::string(name(from)) + " to " + std::string(name(to)));
        }
      }
    }
  }
}

TEST_P(Conversions, SE10_TruncatedIntegersKeepTheirLowBits) {
  for (const DType from : {DType::i64, DType::i32, DType::i16, DType::i8, DType::i4}) {
    const Elements in = samples(from);
    for (const DType to : {DType::i32, DType::i16, DType::i8, DType::i4, DType::i2, DType::pred}) {
      const Elements out = run(findConvert("arith.trunci", from, to), in, to);
      for (int64_t i = 0; i < in.size(); ++i)
        expectSame(out, i, asStored(to, integerBits(in, i, true)), std::string(name(from)) + std::string(name(to)));
    }
  }
}

TEST_P(Conversions, SE10_FloatsTruncateAndSaturateToTheResultsWidth) {
  for (const DType from : allTypes()) {
    if (!is_float(from)) continue;
    const Elements in = samples(from);
    for (const DType to : allTypes()) {
      if (!isWhole(to) || is_unsigned_integer(to)) continue;
      for (const bool isSigned : {true, false}) {
        const char* op = isSigned ? "arith.fptosi" : "arith.fptoui";
        const Elements out = run(findConvert(op, from, to), in, to);
        for (int64_t i = 0; i < in.size(); ++i)
          expectSame(out, i, asStored(to, saturated(in.value(i), bit_width(to), isSigned)),
                     std::string(op) + " " + std::string(name(from)) + " to " + std::string(name(to)) + " of " +
                         std::to_string(in.value(i)));
      }
    }
  }
}

TEST_P(Conversions, BitcastsKeepTheBits) {
  for (const DType from : allTypes()) {
    const Elements in = samples(from);
    for (const DType to : allTypes()) {
      const UnaryKernel kernel = findConvert("arith.bitcast", from, to);
      if (bit_width(from) != bit_width(to)) {
        EXPECT_EQ(kernel, nullptr);
        continue;
      }
      const Elements out = run(kernel, in, to);
      for (int64_t i = 0; i < in.size(); ++i)
        ASSERT_EQ(out.raw(i), asStored(to, in.bits(i))) << name(from) << " to " << name(to);
    }
  }
}

TEST_P(Conversions, TailsOfEveryLength) {
  const Elements in(DType::f32, specialFloats());
  for (const DType to : {DType::bf16, DType::f16, DType::f8e4m3fn, DType::i8, DType::i4}) {
    const UnaryKernel kernel = findArrayConvert(DType::f32, to);
    const Elements whole = run(kernel, in, to);
    for (int64_t n = 0; n < in.size(); ++n) {
      Elements out(to, n + 1);
      out.setBits(n, 1);
      const uint64_t guard = out.raw(n);
      kernel(in.bytes.data(), out.bytes.data(), n);
      EXPECT_EQ(out.raw(n), guard);
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(out.raw(i), whole.raw(i)) << name(to) << " " << n;
    }
  }
}

TEST(ConversionLookup, MismatchedTypesHaveNoKernel) {
  EXPECT_EQ(findConvert("arith.extf", DType::i32, DType::f32), nullptr);
  EXPECT_EQ(findConvert("arith.extsi", DType::i32, DType::f32), nullptr);
  EXPECT_EQ(findConvert("arith.fptosi", DType::f32, DType::f32), nullptr);
  EXPECT_EQ(findConvert("arith.sitofp", DType::f32, DType::f32), nullptr);
  EXPECT_EQ(findConvert("arith.nothing", DType::f32, DType::f32), nullptr);
}

class Select : public OnEveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, Select, everyIsa(), isaName);

TEST_P(Select, TakesEachOperandWhereTheConditionSays) {
  std::mt19937_64 random(11);
  for (const DType t : {DType::i8, DType::bf16, DType::f32, DType::i64}) {
    const int bytes = storage_bytes(t);
    for (const int64_t n : {0, 1, 9, 64, 1500}) {
      for (int splats = 0; splats < 8; ++splats) {
        const bool cSplat = splats & 1, aSplat = splats & 2, bSplat = splats & 4;
        std::vector<uint8_t> c(cSplat ? 1 : n);
        for (uint8_t& x : c) x = random() & 1;
        Elements a(t, aSplat ? 1 : n), b(t, bSplat ? 1 : n), out(t, n);
        for (int64_t i = 0; i < a.size(); ++i) a.setBits(i, random());
        for (int64_t i = 0; i < b.size(); ++i) b.setBits(i, random());
        select(c.data(), cSplat, a.bytes.data(), aSplat, b.bytes.data(), bSplat, out.bytes.data(), n, bytes);
        for (int64_t i = 0; i < n; ++i)
          ASSERT_EQ(out.raw(i), c[cSplat ? 0 : i] ? a.raw(aSplat ? 0 : i) : b.raw(bSplat ? 0 : i))
              << name(t) << " " << n;
      }
    }
  }
}

}  // namespace
}  // namespace smalti::eval::test
