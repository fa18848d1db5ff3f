// Ops on bit patterns: the laws that pin them down, and known answers.
#include "eval/Bits.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <limits>

#include "TestTensor.h"
#include "eval/FloatFormats.h"

namespace smalti::eval::test {
namespace {

constexpr DType kTypes[] = {
    DType::i2,       DType::i4,   DType::i8,  DType::i16, DType::i32,    DType::i64,      DType::u2,
    DType::u4,       DType::u8,   DType::u16, DType::u32, DType::f8e5m2, DType::f8e4m3fn, DType::f8e4m3b11fnuz,
    DType::f4e2m1fn, DType::bf16, DType::f16, DType::f32, DType::f64};

uint64_t lowBits(uint64_t x, int bits) { return bits == 64 ? x : x & ((uint64_t{1} << bits) - 1); }
/// The bits of an element without the spare ones of its storage.
uint64_t pattern(const TestTensor& t, int64_t i) { return lowBits(t.bitsAt(i), bit_width(t.dtype)); }

bool inStorageForm(const TestTensor& t) {
  if (bit_width(t.dtype) >= 8) return true;
  for (int64_t i = 0; i < t.elements(); ++i)
    if (std::byte(subByteStorage(t.dtype, static_cast<uint32_t>(t.bitsAt(i)))) != t.bytes[i]) return false;
  return true;
}

TEST(Bits, ReducedPrecisionRoundsThenDropsWhatHasNoExponent) {
  const auto reduced = [](DType t, uint64_t x, int exponentBits, int mantissaBits) {
    uint64_t out = 0;
    EXPECT_TRUE(reducePrecision(t, reinterpret_cast<const std::byte*>(&x), 1, exponentBits, mantissaBits,
                                reinterpret_cast<std::byte*>(&out)));
    return out;
  };
  const auto f32 = [&](float x, int exponentBits, int mantissaBits) {
    return std::bit_cast<float>(
        static_cast<uint32_t>(reduced(DType::f32, std::bit_cast<uint32_t>(x), exponentBits, mantissaBits)));
  };
  EXPECT_EQ(f32(1.1f, 5, 2), 1.f);
  EXPECT_EQ(f32(1.125f, 5, 2), 1.f) << "a tie goes to the even one";
  EXPECT_EQ(f32(-1.375f, 5, 2), -1.5f);
  EXPECT_EQ(f32(65519, 5, 10), 65504.f);
  EXPECT_EQ(f32(65520, 5, 10), std::numeric_limits<float>::infinity());
  EXPECT_EQ(f32(-1e6f, 5, 10), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(f32(std::nextafter(0x1p-14f, 0.f), 5, 10), 0x1p-14f) << "rounded first";
  EXPECT_TRUE(std::signbit(f32(-0x1p-15f, 5, 10)));
  EXPECT_EQ(f32(0x1p-15f, 5, 10), 0.f);
  EXPECT_EQ(f32(0x1p-149f, 8, 23), 0x1p-149f);
  EXPECT_EQ(f32(0x1.8p-127f, 8, 7), 0x1.8p-127f) << "with all of its exponent bits denormals stay";
  EXPECT_TRUE(std::isnan(f32(std::numeric_limits<float>::quiet_NaN(), 1, 0)));
  EXPECT_EQ(reduced(DType::f16, 0x0007, 5, 9), 0x0008u) << "a denormal's last bit";
  EXPECT_EQ(reduced(DType::bf16, 0x3f81, 8, 6), 0x3f80u);
  EXPECT_EQ(reduced(DType::f64, std::bit_cast<uint64_t>(1 + 0x1p-30), 11, 23), std::bit_cast<uint64_t>(1.0));
  EXPECT_FALSE(reducePrecision(DType::i32, nullptr, 0, 8, 23, nullptr));
  EXPECT_FALSE(reducePrecision(DType::f32, nullptr, 0, 0, 23, nullptr));
}

TEST(Bits, SD8_BitcastSplitsAndJoinsRowsLowBitsFirst) {
  Random r(1);
  for (DType from : kTypes)
    for (DType to : kTypes) {
      const int a = bit_width(from), b = bit_width(to);
      const int64_t blocks = r.in(1, 3), rows = r.in(1, 4), lanes = r.in(1, 20);
      const int64_t k = std::max(a, b) / std::min(a, b);
      const Shape wide{blocks, rows, lanes}, narrow{blocks, rows * k, lanes};
      const TestTensor in = r.tensor(from, a >= b ? wide : narrow, r.in(0, 4) == 0);
      TestTensor out(to, a >= b ? narrow : wide);
      bitcast(in.in(), out.out());
      const TestTensor &w = a >= b ? in : out, &n = a >= b ? out : in;
      forEachIndex(wide, [&](const Index& i) {
        for (int64_t j = 0; j < k; ++j) {
          const uint64_t part = lowBits(pattern(w, w.linear(i)) >> (j * std::min(a, b)), std::min(a, b));
          ASSERT_EQ(pattern(n, n.linear({i[0], i[1] * k + j, i[2]})), part) << name(from) << " to " << name(to);
        }
      });
      EXPECT_TRUE(inStorageForm(out)) << name(from) << " to " << name(to);
      EXPECT_TRUE(out.guardIntact());
    }
}

TEST(Bits, SD7_EvenRowIsTheLowHalf) {
  TestTensor in(DType::f32, {1, 1}), out(DType::bf16, {2, 1});
  in.as<uint32_t>()[0] = 0x12345678;
  bitcast(in.in(), out.out());
  EXPECT_EQ(out.as<uint16_t>()[0], 0x5678);
  EXPECT_EQ(out.as<uint16_t>()[1], 0x1234);
}

TEST(Bits, BitcastOfRank0And1AndEmptyTensors) {
  TestTensor scalar(DType::f32, {}), bits(DType::i32, {});
  scalar.as<float>()[0] = 1;
  bitcast(scalar.in(), bits.out());
  EXPECT_EQ(bits.as<int32_t>()[0], 0x3f800000);
  TestTensor none(DType::f32, {0, 4}), alsoNone(DType::bf16, {0, 4});
  bitcast(none.in(), alsoNone.out());
  EXPECT_TRUE(alsoNone.guardIntact());
}

TEST(Bits, SD8_BitcastThereAndBackIsTheIdentity) {
  EXPECT_TRUE(rc::check([] {
    const DType a = *rc::gen::elementOf(std::vector<DType>(std::begin(kTypes), std::end(kTypes)));
    const DType b = *rc::gen::elementOf(std::vector<DType>(std::begin(kTypes), std::end(kTypes)));
    const int64_t lanes = *rc::gen::inRange(1, 40), rows = *rc::gen::inRange(1, 5) * 32;
    Random r(*rc::gen::arbitrary<uint64_t>());
    const TestTensor in = r.tensor(a, {rows, lanes});
    TestTensor there(b, {rows * bit_width(a) / bit_width(b), lanes}), back(a, in.shape);
    bitcast(in.in(), there.out());
    bitcast(there.in(), back.out());
    RC_ASSERT(back.bytes == in.bytes);
  }));
}

struct Packing {
  DType word, part;
};
constexpr Packing kPackings[] = {{DType::i32, DType::i16}, {DType::i32, DType::i8}, {DType::i32, DType::i4},
                                 {DType::i32, DType::i2},  {DType::i16, DType::i8}, {DType::i16, DType::i4},
                                 {DType::u32, DType::u16}, {DType::u16, DType::u2}, {DType::i8, DType::i4},
                                 {DType::u8, DType::u4},   {DType::i32, DType::u8}};

TEST(Bits, SE18_PackPutsSourceKAtBitsKTimesWidthAndUnpackTakesItBack) {
  EXPECT_TRUE(rc::check([] {
    const Packing p = *rc::gen::elementOf(std::vector<Packing>(std::begin(kPackings), std::end(kPackings)));
    const Shape shape{*rc::gen::inRange(1, 9), *rc::gen::inRange(1, 200)};
    Random r(*rc::gen::arbitrary<uint64_t>());
    const int width = bit_width(p.part), count = bit_width(p.word) / width;
    std::vector<TestTensor> sources;
    std::vector<Input> ins;
    for (int k = 0; k < count; ++k) sources.push_back(r.tensor(p.word, shape, r.in(0, 5) == 0));
    for (const TestTensor& s : sources) ins.push_back(s.in());
    TestTensor packed(p.word, shape), back(p.word, shape);
    RC_ASSERT(packElementwise(ins, p.part, packed.out()));
    RC_ASSERT(packed.guardIntact());
    for (int k = 0; k < count; ++k) {
      RC_ASSERT(unpackElementwise(packed.in(), p.part, k, back.out()));
      for (int64_t i = 0; i < packed.elements(); ++i) {
        const uint64_t part = lowBits(sources[k].bitsAt(i), width);
        RC_ASSERT(lowBits(packed.bitsAt(i) >> (k * width), width) == part);
        const bool negative = is_signed_integer(p.part) && (part >> (width - 1));
        RC_ASSERT(back.bitsAt(i) == lowBits(negative ? part | ~uint64_t{0} << width : part, bit_width(p.word)));
      }
    }
  }));
}

TEST(Bits, SE18_FloatsAreRoundedToBf16) {
  Random r(2);
  const Shape shape{3, 300};
  const TestTensor low = floats(r, DType::f32, shape), high = floats(r, DType::f32, shape);
  const Input sources[] = {low.in(), high.in()};
  TestTensor packed(DType::i32, shape), back(DType::f32, shape);
  ASSERT_TRUE(packElementwise(sources, DType::bf16, packed.out()));
  ASSERT_TRUE(unpackElementwise(packed.in(), DType::bf16, 1, back.out()));
  for (int64_t i = 0; i < low.elements(); ++i) {
    const uint32_t expected = f32ToBf16(low.as<float>()[i]) | uint32_t{f32ToBf16(high.as<float>()[i])} << 16;
    ASSERT_EQ(packed.as<uint32_t>()[i], expected);
    ASSERT_EQ(back.as<float>()[i], bf16ToF32(f32ToBf16(high.as<float>()[i])));
  }
}

TEST(Bits, SE18_WhatDoesNotFitIsRefused) {
  TestTensor f(DType::f32, {2}), i(DType::i32, {2});
  const Input three[] = {i.in(), i.in(), i.in()}, mixed[] = {f.in()};
  EXPECT_FALSE(packElementwise(three, DType::i16, i.out()));
  EXPECT_FALSE(packElementwise(mixed, DType::i16, i.out()));
  EXPECT_FALSE(packElementwise({}, DType::i16, i.out()));
  EXPECT_FALSE(unpackElementwise(i.in(), DType::i16, 2, i.out()));
  EXPECT_FALSE(unpackElementwise(i.in(), DType::bf16, 0, i.out()));
}

constexpr DType kStochastic[] = {DType::bf16,     DType::f16,           DType::f8e5m2,
                                 DType::f8e4m3fn, DType::f8e4m3b11fnuz, DType::f4e2m1fn};

float convertOne(float x, uint32_t bits, DType t) {
  TestTensor value(DType::f32, {1}), random(DType::i32, {1}), out(t, {1});
  value.as<float>()[0] = x;
  random.as<uint32_t>()[0] = bits;
  EXPECT_TRUE(stochasticConvert(value.in(), random.in(), out.out()));
  return static_cast<float>(valueAt(out, 0));
}

TEST(Bits, SE19_LowBitsAreAddedBelowTheKeptMantissaAndTheRestIsCutOff) {
  // bf16 keeps the upper half of an f32: the low 16 bits of the random word are added to the lower half.
  EXPECT_TRUE(rc::check([] {
    const uint32_t raw = *rc::gen::arbitrary<uint32_t>(), bits = *rc::gen::arbitrary<uint32_t>();
    const float x = std::bit_cast<float>(raw);
    if (!std::isfinite(x)) return;
    const float expected = std::bit_cast<float>((raw + (bits & 0xffff)) & 0xffff0000u);
    const float got = convertOne(x, bits, DType::bf16);
    RC_ASSERT(std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(expected));
  }));
  // f8e4m3fn keeps three bits: 20 are dropped. 1.0625 is half way from 1 to 1.125.
  EXPECT_EQ(convertOne(1.0625f, 0, DType::f8e4m3fn), 1.0f);
  EXPECT_EQ(convertOne(1.0625f, 0x7ffff, DType::f8e4m3fn), 1.0f);
  EXPECT_EQ(convertOne(1.0625f, 0x80000, DType::f8e4m3fn), 1.125f);
  EXPECT_EQ(convertOne(1.0625f, 0xfff80000, DType::f8e4m3fn), 1.125f) << "bits above the dropped ones count not";
  EXPECT_EQ(convertOne(-1.0625f, 0x80000, DType::f8e4m3fn), -1.125f);
}

TEST(Bits, SE19_ValuesOfTheTypeStayAndOthersGoToANeighbour) {
  EXPECT_TRUE(rc::check([] {
    const DType t = *rc::gen::elementOf(std::vector<DType>(std::begin(kStochastic), std::end(kStochastic)));
    Random r(*rc::gen::arbitrary<uint64_t>());
    const float x = std::ldexp(r.normal(), static_cast<int>(r.in(-20, 3)));
    const uint32_t bits = static_cast<uint32_t>(r.bits());
    const float down = convertOne(x, 0, t), up = convertOne(x, ~0u, t), got = convertOne(x, bits, t);
    if (!std::isfinite(up) || (t == DType::f4e2m1fn && std::abs(x) > 6)) return;  // overflow
    RC_ASSERT(std::abs(down) <= std::abs(x));
    RC_ASSERT(got == down || got == up);
    RC_ASSERT(convertOne(down, bits, t) == down);
    RC_ASSERT((std::abs(up) > std::abs(x)) ==
              (down != x));  // with all ones added, whatever is inexact goes away from 0
  }));
}

TEST(Bits, SE19_SpecialValuesAreKept) {
  const float inf = std::numeric_limits<float>::infinity();
  for (DType t : {DType::bf16, DType::f16, DType::f8e5m2}) {
    EXPECT_EQ(convertOne(inf, ~0u, t), inf);
    EXPECT_EQ(convertOne(-inf, 1, t), -inf);
    EXPECT_TRUE(std::isnan(convertOne(NAN, 123, t)));
    EXPECT_TRUE(std::signbit(convertOne(-0.0f, ~0u, t)));
  }
  EXPECT_TRUE(std::isnan(convertOne(NAN, ~0u, DType::f8e4m3fn)));
  EXPECT_EQ(convertOne(0.0f, ~0u, DType::f8e4m3fn), 0.0f);
  EXPECT_EQ(convertOne(1e-30f, 0, DType::f8e4m3fn), 0.0f);
  EXPECT_EQ(convertOne(1e-40f, ~0u, DType::bf16),
            std::bit_cast<float>((std::bit_cast<uint32_t>(1e-40f) + 0xffff) & 0xffff0000u));
}

TEST(Bits, SE19_TheMeanOfManyIsTheValue) {
  Random r(3);
  const int64_t n = 20000;
  for (DType t : {DType::bf16, DType::f8e5m2, DType::f8e4m3fn, DType::f4e2m1fn, DType::i4, DType::i8}) {
    TestTensor value(DType::f32, {n}, true), random = r.tensor(DType::i32, {n}), out(t, {n});
    value.as<float>()[0] = 2.3f;
    ASSERT_TRUE(stochasticConvert(value.in(), random.in(), out.out()));
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += valueAt(out, i);
    EXPECT_NEAR(sum / n, 2.3, 0.02) << name(t);
  }
}

TEST(Bits, SE19_IntegersSaturateAndOtherTypesAreRefused) {
  EXPECT_EQ(convertOne(100.0f, 0, DType::i4), 7.0f);
  EXPECT_EQ(convertOne(-100.0f, 0, DType::i4), -8.0f);
  EXPECT_EQ(convertOne(NAN, 0, DType::i4), 0.0f);
  TestTensor value(DType::f32, {1}), bits(DType::i32, {1}), out(DType::f64, {1});
  EXPECT_FALSE(stochasticConvert(value.in(), bits.in(), out.out()));
  EXPECT_FALSE(stochasticConvert(bits.in(), bits.in(), value.out()));
}

TEST(Bits, SL2_PrngIsPhilox4x32With10Rounds) {
  // Known answers of the paper's own test vectors: counter and key all zero.
  Prng prng;
  const int32_t zero[] = {0, 0};
  prng.seed(zero);
  uint32_t out[4];
  prng.fill(out, 4);
  EXPECT_EQ(out[0], 0x6627e8d5u);
  EXPECT_EQ(out[1], 0xe169c58du);
  EXPECT_EQ(out[2], 0xbc57ac4cu);
  EXPECT_EQ(out[3], 0x9b00dbd8u);
}

TEST(Bits, SL2_SameSeedSameSequence) {
  auto draw = [](std::vector<int32_t> seed, int64_t n) {
    Prng prng;
    prng.seed(seed);
    std::vector<uint32_t> words(2 * n);
    prng.fill(words.data(), n);
    prng.fill(words.data() + n, n);
    return words;
  };
  EXPECT_EQ(draw({7}, 100), draw({7}, 100));
  EXPECT_NE(draw({7}, 100), draw({8}, 100));
  EXPECT_NE(draw({7, 0, 1}, 100), draw({7, 0, 2}, 100)) << "every word of the seed counts";
  const std::vector<uint32_t> words = draw({1}, 1000);
  EXPECT_NE(std::vector<uint32_t>(words.begin(), words.begin() + 1000),
            std::vector<uint32_t>(words.begin() + 1000, words.end()));
}

}  // namespace
}  // namespace smalti::eval::test
