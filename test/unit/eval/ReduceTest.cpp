// Reductions against loops over multi-indices, on every instruction set this machine has.
#include "eval/Reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "OnEveryIsa.h"
#include "TestTensor.h"
#include "eval/FloatFormats.h"

namespace smalti::eval::test {
namespace {

class ReduceOnEveryIsa : public OnEveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, ReduceOnEveryIsa, everyIsa(), isaName);

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr DType kFloats[] = {DType::f32,      DType::bf16,          DType::f16,     DType::f8e5m2,
                             DType::f8e4m3fn, DType::f8e4m3b11fnuz, DType::f4e2m1fn};
constexpr DType kIntegers[] = {DType::i32, DType::i16, DType::i8, DType::i4, DType::i2,  DType::u32,
                               DType::u16, DType::u8,  DType::u4, DType::u2, DType::i64, DType::u64};

struct Case {
  Shape shape, out;
  Index dims;
};

Case anyCase(Random& r) {
  Case c;
  const int rank = static_cast<int>(r.in(0, 6));
  c.shape = r.shape(rank, rank <= 1 ? 300 : rank == 2 ? 90 : rank == 3 ? 14 : 5);
  c.dims = r.permutation(rank);
  c.dims.resize(r.in(0, rank));
  for (int d = 0; d < rank; ++d)
    if (std::find(c.dims.begin(), c.dims.end(), d) == c.dims.end()) c.out.push_back(c.shape[d]);
  return c;
}

/// The result's element that operand index i goes to.
int64_t target(const Case& c, const Index& i) {
  int64_t at = 0;
  for (size_t d = 0; d < i.size(); ++d)
    if (std::find(c.dims.begin(), c.dims.end(), static_cast<int64_t>(d)) == c.dims.end()) at = at * c.shape[d] + i[d];
  return at;
}

TEST_P(ReduceOnEveryIsa, SumsOfAnyDimsAreAccumulatedInF32AndRoundedOnce) {
  Random r(1);
  for (int trial = 0; trial < 300; ++trial) {
    const Case c = anyCase(r);
    const DType t = kFloats[r.in(0, 6)];
    const TestTensor in = floats(r, t, c.shape, r.in(0, 9) == 0), acc = floats(r, t, c.out, r.coin());
    TestTensor out(t, c.out);
    ASSERT_TRUE(multiReduce(ReduceKind::add, in.in(), c.dims, acc.in(), out.out()));
    std::vector<double> sum(out.elements()), size(out.elements());
    for (int64_t i = 0; i < out.elements(); ++i) sum[i] = valueAt(acc, i), size[i] = std::abs(sum[i]);
    forEachIndex(c.shape, [&](const Index& i) {
      const double x = valueAt(in, in.linear(i));
      sum[target(c, i)] += x;
      size[target(c, i)] += std::abs(x);
    });
    for (int64_t i = 0; i < out.elements(); ++i) {
      // Within the f32 error the sum may have, rounded to the type at either end of it.
      const float ends[] = {static_cast<float>(sum[i] - 2e-6 * size[i]), static_cast<float>(sum[i] + 2e-6 * size[i])};
      TestTensor rounded(t, {2});
      floatsFromF32(t, ends, rounded.bytes.data(), 2);
      if (std::isnan(valueAt(rounded, 0)) && std::isnan(valueAt(out, i))) continue;  // overflow in f8
      ASSERT_LE(valueAt(rounded, 0), valueAt(out, i)) << name(t) << " " << shape_str(c.shape);
      ASSERT_GE(valueAt(rounded, 1), valueAt(out, i)) << name(t) << " " << shape_str(c.shape);
    }
    EXPECT_TRUE(out.guardIntact());
  }
}

double extremeOf(double a, double b, bool isMax) {
  if (std::isnan(a) || std::isnan(b)) return NAN;
  if (a == b) return std::signbit(a) == isMax ? b : a;
  return (a > b) == isMax ? a : b;
}

TEST_P(ReduceOnEveryIsa, SE7_MaximumAndMinimumPropagateNaNAndOrderZeros) {
  Random r(2);
  const float special[] = {0.0f, -0.0f, kInf, -kInf, NAN, 1.0f, -1.0f};
  for (int trial = 0; trial < 300; ++trial) {
    const Case c = anyCase(r);
    const DType t = kFloats[r.in(0, 2)];
    TestTensor in = floats(r, t, c.shape, r.in(0, 9) == 0);
    const bool onlyZeros = r.in(0, 3) == 0;
    for (int64_t i = 0; i < in.stored(); ++i)
      if (onlyZeros || r.in(0, 40) == 0)
        floatsFromF32(t, &special[onlyZeros ? r.in(0, 1) : r.in(0, 6)], in.bytes.data() + i * storage_bytes(t), 1);
    const bool isMax = r.coin();
    TestTensor acc(t, c.out, true), out(t, c.out);
    const float identity = isMax ? -kInf : kInf;
    floatsFromF32(t, &identity, acc.bytes.data(), 1);
    ASSERT_TRUE(multiReduce(isMax ? ReduceKind::maximumf : ReduceKind::minimumf, in.in(), c.dims, acc.in(), out.out()));
    std::vector<double> expected(out.elements(), identity);
    forEachIndex(c.shape, [&](const Index& i) {
      double& e = expected[target(c, i)];
      e = extremeOf(e, valueAt(in, in.linear(i)), isMax);
    });
    for (int64_t i = 0; i < out.elements(); ++i) {
      const double x = valueAt(out, i);
      if (std::isnan(expected[i])) {
        ASSERT_TRUE(std::isnan(x));
      } else {
        ASSERT_EQ(x, expected[i]);
        ASSERT_EQ(std::signbit(x), std::signbit(expected[i]));
      }
    }
  }
}

TEST_P(ReduceOnEveryIsa, SE7_NaNInTheAccumulatorPropagates) {
  const TestTensor in = [] {
    TestTensor t(DType::f32, {3});
    std::fill_n(t.as<float>(), 3, 1.0f);
    return t;
  }();
  for (ReduceKind kind : {ReduceKind::maximumf, ReduceKind::minimumf, ReduceKind::add}) {
    TestTensor acc(DType::f32, {}), out(DType::f32, {});
    acc.as<float>()[0] = NAN;
    ASSERT_TRUE(multiReduce(kind, in.in(), Index{0}, acc.in(), out.out()));
    EXPECT_TRUE(std::isnan(out.as<float>()[0]));
  }
}

__int128 combineExact(ReduceKind kind, __int128 a, __int128 b) {
  switch (kind) {
    case ReduceKind::add:
      return a + b;
    case ReduceKind::mul:
      return a * b;
    case ReduceKind::maxsi:
    case ReduceKind::maxui:
      return std::max(a, b);
    case ReduceKind::minsi:
    case ReduceKind::minui:
      return std::min(a, b);
    case ReduceKind::andi:
      return a & b;
    case ReduceKind::ori:
      return a | b;
    default:
      return a ^ b;
  }
}

TEST_P(ReduceOnEveryIsa, IntegersOfEveryWidthWrap) {
  Random r(3);
  constexpr ReduceKind kKinds[] = {ReduceKind::add,   ReduceKind::mul,   ReduceKind::maxsi,
                                   ReduceKind::minsi, ReduceKind::maxui, ReduceKind::minui,
                                   ReduceKind::andi,  ReduceKind::ori,   ReduceKind::xori};
  for (ReduceKind kind : kKinds)
    for (DType t : kIntegers)
      for (int trial = 0; trial < 12; ++trial) {
        const Case c = anyCase(r);
        const TestTensor in = r.tensor(t, c.shape, r.in(0, 9) == 0), acc = r.tensor(t, c.out, r.coin());
        TestTensor out(t, c.out);
        ASSERT_TRUE(multiReduce(kind, in.in(), c.dims, acc.in(), out.out()));
        const bool isUnsigned = kind == ReduceKind::maxui || kind == ReduceKind::minui;
        const int bits = bit_width(t);
        // Every width as a number of 64 bits, signed or not as the kind reads it.
        auto wrapped = [&](uint64_t x) -> __int128 {
          x <<= 64 - bits;
          return isUnsigned ? static_cast<__int128>(x >> (64 - bits))
                            : static_cast<__int128>(static_cast<int64_t>(x) >> (64 - bits));
        };
        std::vector<__int128> expected(out.elements());
        for (int64_t i = 0; i < out.elements(); ++i) expected[i] = wrapped(acc.bitsAt(i));
        forEachIndex(c.shape, [&](const Index& i) {
          __int128& e = expected[target(c, i)];
          e = wrapped(static_cast<uint64_t>(combineExact(kind, e, wrapped(in.bitsAt(in.linear(i))))));
        });
        for (int64_t i = 0; i < out.elements(); ++i) {
          ASSERT_EQ(static_cast<int64_t>(wrapped(out.bitsAt(i))), static_cast<int64_t>(expected[i]))
              << name(t) << " kind " << static_cast<int>(kind) << " " << shape_str(c.shape);
          if (bits < 8) {
            const std::byte stored{subByteStorage(t, static_cast<uint32_t>(out.bitsAt(i)))};
            ASSERT_EQ(out.bytes[i], stored) << "not in storage form";
          }
        }
        EXPECT_TRUE(out.guardIntact());
      }
}

TEST(Reduce, BooleansAreOneBitIntegers) {
  TestTensor in(DType::pred, {4, 2}), acc(DType::pred, {4}, true), out(DType::pred, {4});
  const uint8_t values[] = {0, 0, 0, 1, 1, 0, 1, 1};
  std::copy_n(values, 8, in.as<uint8_t>());
  auto expect = [&](ReduceKind kind, uint8_t identity, std::vector<uint8_t> expected) {
    acc.setBits(0, identity);
    ASSERT_TRUE(multiReduce(kind, in.in(), Index{1}, acc.in(), out.out()));
    EXPECT_EQ(std::vector<uint8_t>(out.as<uint8_t>(), out.as<uint8_t>() + 4), expected);
  };
  expect(ReduceKind::andi, 1, {0, 0, 0, 1});
  expect(ReduceKind::ori, 0, {0, 1, 1, 1});
  expect(ReduceKind::xori, 0, {0, 1, 1, 0});
  expect(ReduceKind::add, 0, {0, 1, 1, 0});
  expect(ReduceKind::maxui, 0, {0, 1, 1, 1});
  expect(ReduceKind::maxsi, 1, {0, 0, 0, 1});
  expect(ReduceKind::minsi, 0, {0, 1, 1, 1});
}

TEST(Reduce, KindsThatDoNotExistForTheTypeAreRefused) {
  TestTensor f(DType::f32, {2}), i(DType::i32, {2}), d(DType::f64, {2});
  EXPECT_FALSE(multiReduce(ReduceKind::maxsi, f.in(), Index{}, f.in(), f.out()));
  EXPECT_FALSE(multiReduce(ReduceKind::xori, d.in(), Index{}, d.in(), d.out()));
  EXPECT_FALSE(multiReduce(ReduceKind::maximumf, i.in(), Index{}, i.in(), i.out()));
  EXPECT_FALSE(reduceKindFromName("addf"));
  EXPECT_EQ(reduceKindFromName("maximumf"), ReduceKind::maximumf);
  EXPECT_EQ(reduceKindFromName("xor"), ReduceKind::xori);
}

TEST(Reduce, AllInstructionSetsGiveTheSameBits) {
  Random r(4);
  const TestTensor in = floats(r, DType::f32, {70, 1000});
  TestTensor acc(DType::f32, {}, true);
  acc.setBits(0, 0);
  for (const Index& dims : {Index{0}, Index{1}, Index{0, 1}}) {
    Shape shape{70, 1000};
    for (size_t k = dims.size(); k-- > 0;) shape.erase(shape.begin() + dims[k]);
    std::vector<std::byte> first;
    const Isa before = activeIsa();
    for (Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
      if (!isaSupported(isa)) continue;
      setActiveIsa(isa);
      TestTensor out(DType::f32, shape);
      ASSERT_TRUE(multiReduce(ReduceKind::add, in.in(), dims, acc.in(), out.out()));
      if (first.empty()) first = out.bytes;
      EXPECT_EQ(out.bytes, first);
    }
    setActiveIsa(before);
  }
}

TEST(Reduce, LongSumsKeepTheirPrecision) {
  const int64_t n = 1 << 20;
  TestTensor in(DType::f32, {n, 3}), acc(DType::f32, {}, true);
  acc.setBits(0, 0);
  std::fill_n(in.as<float>(), n * 3, 0.1f);
  for (const Index& dims : {Index{0}, Index{0, 1}}) {
    const Shape shape = dims.size() == 1 ? Shape{3} : Shape{};
    TestTensor out(DType::f32, shape);
    ASSERT_TRUE(multiReduce(ReduceKind::add, in.in(), dims, acc.in(), out.out()));
    const double expected = static_cast<double>(n) * (dims.size() == 1 ? 1 : 3) * 0.1f;
    EXPECT_NEAR(out.as<float>()[0] / expected, 1, 2e-5);
  }
}

TEST_P(ReduceOnEveryIsa, SE13_FirstNaNElseFirstExtreme) {
  Random r(5);
  constexpr DType kTypes[] = {DType::f32, DType::bf16, DType::f16, DType::f64, DType::i32, DType::i8,
                              DType::u8,  DType::i4,   DType::u32, DType::i64, DType::u16, DType::pred};
  for (int trial = 0; trial < 400; ++trial) {
    const DType t = kTypes[r.in(0, std::size(kTypes) - 1)];
    const int rank = static_cast<int>(r.in(1, 4)), axis = static_cast<int>(r.in(0, rank - 1));
    const Shape shape = r.shape(rank, rank == 1 ? 300 : rank == 2 ? 80 : 9);
    const bool isMax = r.coin(), isSplat = r.in(0, 19) == 0;
    TestTensor in = is_float(t) ? floats(r, t, shape, isSplat) : r.tensor(t, shape, isSplat);
    for (int64_t i = 0; i < in.stored(); ++i) {  // ties and special values
      const float few[] = {-0.0f, 0.0f, 1.0f, kInf, -kInf, NAN};
      const float x = few[r.in(0, r.in(0, 9) == 0 ? 5 : 4)];
      if (r.in(0, 3) != 0) continue;
      if (t == DType::f64)
        in.as<double>()[i] = x;
      else if (is_float(t))
        floatsFromF32(t, &x, in.bytes.data() + i * storage_bytes(t), 1);
      else
        in.setBits(i, in.bitsAt(0));
    }
    Shape outShape = shape;
    outShape.erase(outShape.begin() + axis);
    TestTensor out(r.coin() ? DType::i32 : DType::i16, outShape);
    ASSERT_TRUE(reduceIndex(isMax, in.in(), axis, out.out()));
    auto value = [&](int64_t i) -> double {
      if (t == DType::i64) return static_cast<double>(static_cast<int64_t>(in.bitsAt(i)));
      return valueAt(in, in.splat ? 0 : i);
    };
    forEachIndex(outShape, [&](const Index& i) {
      Index j = i;
      j.insert(j.begin() + axis, 0);
      int64_t best = 0;
      double bestValue = shape[axis] == 0 ? 0 : value(in.linear(j));
      for (int64_t k = 1; k < shape[axis]; ++k) {
        j[axis] = k;
        const double x = value(in.linear(j));
        const bool beats = std::isnan(x) || (isMax ? x > bestValue : x < bestValue);
        if (!std::isnan(bestValue) && beats) best = k, bestValue = x;
      }
      ASSERT_EQ(valueAt(out, out.linear(i)), static_cast<double>(best)) << name(t) << " " << shape_str(shape);
    });
    EXPECT_TRUE(out.guardIntact());
  }
}

}  // namespace
}  // namespace smalti::eval::test
