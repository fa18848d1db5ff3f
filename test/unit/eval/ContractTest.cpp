// Matrix products against a triple loop over multi-indices, on every instruction set this machine has.
#include "eval/Contract.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <thread>

#include "OnEveryIsa.h"
#include "TestTensor.h"
#include "eval/FloatFormats.h"
#include "eval/bits/Widen.h"

namespace smalti::eval::test {
namespace {

class ContractOnEveryIsa : public OnEveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, ContractOnEveryIsa, everyIsa(), isaName);

struct Problem {
  DotDims dims() const { return {lc, rc, lf, rf, lb, rb}; }
  Index lc, rc, lf, rf, lb, rb;
  Shape lhs, rhs, out;
};

/// Random dims: some batch, contracting and free dims, in any places of the operands.
Problem randomProblem(Random& r, int64_t largest) {
  Problem p;
  const int batch = static_cast<int>(r.in(0, 2)), contracting = static_cast<int>(r.in(0, 2));
  const int lhsFree = static_cast<int>(r.in(0, 3)), rhsFree = static_cast<int>(r.in(0, 3));
  const Shape b = r.shape(batch, 3), k = r.shape(contracting, largest), m = r.shape(lhsFree, largest),
              n = r.shape(rhsFree, largest);
  auto place = [&](const Shape& free, Shape& shape, Index& bd, Index& cd, Index& fd) {
    const int rank = static_cast<int>(b.size() + k.size() + free.size());
    const Index at = r.coin() ? r.permutation(rank) : [&] {
      Index sorted(rank);
      for (int d = 0; d < rank; ++d) sorted[d] = d;
      return sorted;
    }();
    shape.resize(rank);
    size_t next = 0;
    for (int64_t d : b) bd.push_back(at[next]), shape[at[next++]] = d;
    for (int64_t d : free) fd.push_back(at[next]), shape[at[next++]] = d;
    for (int64_t d : k) cd.push_back(at[next]), shape[at[next++]] = d;
  };
  place(m, p.lhs, p.lb, p.lc, p.lf);
  place(n, p.rhs, p.rb, p.rc, p.rf);
  for (const Shape* s : {&b, &m, &n}) p.out.insert(p.out.end(), s->begin(), s->end());
  return p;
}

/// Calls f(out index, lhs index, rhs index) for every product term; out indices in order.
void forEachTerm(const Problem& p, const TestTensor& lhs, const TestTensor& rhs,
                 const std::function<void(int64_t, int64_t, int64_t)>& term) {
  int64_t o = 0;
  forEachIndex(p.out, [&](const Index& i) {
    Index a(p.lhs.size()), b(p.rhs.size());
    size_t next = 0;
    for (size_t d = 0; d < p.lb.size(); ++d, ++next) a[p.lb[d]] = b[p.rb[d]] = i[next];
    for (int64_t d : p.lf) a[d] = i[next++];
    for (int64_t d : p.rf) b[d] = i[next++];
    Shape k;
    for (int64_t d : p.lc) k.push_back(p.lhs[d]);
    forEachIndex(k, [&](const Index& q) {
      for (size_t d = 0; d < q.size(); ++d) a[p.lc[d]] = b[p.rc[d]] = q[d];
      term(o, lhs.linear(a), rhs.linear(b));
    });
    ++o;
  });
}

/// A product of floats is right when each element is within the error that f32 sums of such terms may have.
void expectFloatProduct(const Problem& p, const TestTensor& lhs, const TestTensor& rhs, const TestTensor& acc,
                        const TestTensor& out, double outEpsilon) {
  const int64_t n = out.elements();
  std::vector<double> sum(n, 0), size(n, 0);
  forEachTerm(p, lhs, rhs, [&](int64_t o, int64_t a, int64_t b) {
    const double x = valueAt(lhs, a) * valueAt(rhs, b);
    sum[o] += x;
    size[o] += std::abs(x);
  });
  for (int64_t i = 0; i < n; ++i) {
    const double expected = sum[i] + valueAt(acc, i);
    const double allowed = 1e-6 * (size[i] + std::abs(valueAt(acc, i))) + outEpsilon * std::abs(expected) + 1e-30;
    ASSERT_NEAR(valueAt(out, i), expected, allowed) << "element " << i << " of " << shape_str(out.shape);
  }
  EXPECT_TRUE(out.guardIntact());
}

TEST_P(ContractOnEveryIsa, SE4_AnyContractingAndBatchDims) {
  Random r(1);
  for (int trial = 0; trial < 100; ++trial) {
    const Problem p = randomProblem(r, trial % 4 == 0 ? 12 : 5);
    const TestTensor lhs = floats(r, DType::f32, p.lhs, r.in(0, 9) == 0),
                     rhs = floats(r, DType::f32, p.rhs, r.in(0, 9) == 0), acc = floats(r, DType::f32, p.out, r.coin());
    TestTensor out(DType::f32, p.out);
    ASSERT_TRUE(dotGeneral(lhs.in(), rhs.in(), p.dims(), acc.in(), out.out()));
    expectFloatProduct(p, lhs, rhs, acc, out, 0);
  }
}

/// m×k by k×n (or n×k), lhs transposed or not.
Problem matrices(int64_t m, int64_t n, int64_t k, bool lhsTransposed, bool rhsTransposed) {
  Problem p;
  p.lc = {lhsTransposed ? 0 : 1}, p.lf = {lhsTransposed ? 1 : 0};
  p.rc = {rhsTransposed ? 1 : 0}, p.rf = {rhsTransposed ? 0 : 1};
  p.lhs = lhsTransposed ? Shape{k, m} : Shape{m, k};
  p.rhs = rhsTransposed ? Shape{n, k} : Shape{k, n};
  p.out = {m, n};
  return p;
}

TEST_P(ContractOnEveryIsa, SE4_TransposedOperandsOfAllSizesAroundTheBlocks) {
  Random r(2);
  const int64_t kSizes[][3] = {{1, 1, 1},    {1, 128, 64},  {128, 1, 64},  {7, 33, 5},    {14, 32, 256}, {15, 31, 257},
                               {29, 65, 17}, {128, 128, 8}, {300, 40, 20}, {20, 33, 513}, {3, 1030, 40}, {33, 48, 300}};
  for (const auto& [m, n, k] : kSizes)
    for (int transposed = 0; transposed < 4; ++transposed) {
      const Problem p = matrices(m, n, k, transposed & 1, transposed & 2);
      const TestTensor lhs = floats(r, DType::f32, p.lhs), rhs = floats(r, DType::f32, p.rhs),
                       acc = floats(r, DType::f32, p.out);
      TestTensor out(DType::f32, p.out);
      ASSERT_TRUE(dotGeneral(lhs.in(), rhs.in(), p.dims(), acc.in(), out.out()));
      expectFloatProduct(p, lhs, rhs, acc, out, 0);
    }
}

TEST_P(ContractOnEveryIsa, WholePanelsReadInPlaceNeedNoScratch) {
  Random r(12);
  const Problem p = matrices(16, 128, 128, false, false);
  const TestTensor lhs = floats(r, DType::f32, p.lhs), rhs = floats(r, DType::f32, p.rhs),
                   acc = floats(r, DType::f32, p.out, true);
  TestTensor out(DType::f32, p.out);
  std::thread([&] { dotGeneral(lhs.in(), rhs.in(), p.dims(), acc.in(), out.out()); }).join();  // no scratch yet there
  expectFloatProduct(p, lhs, rhs, acc, out, 0);
}

TEST_P(ContractOnEveryIsa, SE2_NarrowFloatsAccumulateInF32AndRoundOnce) {
  Random r(3);
  constexpr DType kTypes[] = {DType::f32,      DType::bf16,          DType::f16,     DType::f8e5m2,
                              DType::f8e4m3fn, DType::f8e4m3b11fnuz, DType::f4e2m1fn};
  for (DType lt : kTypes)
    for (DType rt : kTypes) {
      const DType ot = kTypes[r.in(0, 2)];
      const double epsilon = ot == DType::bf16 ? 1.0 / 256 : ot == DType::f16 ? 1.0 / 2048 : 0;
      const Problem p = matrices(r.in(1, 20), r.in(1, 40), r.in(1, 100), r.coin(), r.coin());
      const TestTensor lhs = floats(r, lt, p.lhs), rhs = floats(r, rt, p.rhs), acc = floats(r, ot, p.out, r.coin());
      TestTensor out(ot, p.out);
      ASSERT_TRUE(dotGeneral(lhs.in(), rhs.in(), p.dims(), acc.in(), out.out()));
      expectFloatProduct(p, lhs, rhs, acc, out, epsilon);
    }
}

TEST_P(ContractOnEveryIsa, SE2_IntegersTimesFloatsAccumulateInF32) {
  Random r(31);
  for (DType it : {DType::i4, DType::i8, DType::i16, DType::i32})
    for (DType ft : {DType::f32, DType::bf16, DType::f8e5m2})
      for (bool integerOnTheLeft : {false, true}) {
        const Problem p = matrices(r.in(1, 20), r.in(1, 40), r.in(1, 100), r.coin(), r.coin());
        const TestTensor integers = r.tensor(it, integerOnTheLeft ? p.lhs : p.rhs);
        const TestTensor reals = floats(r, ft, integerOnTheLeft ? p.rhs : p.lhs),
                         acc = floats(r, DType::f32, p.out, r.coin());
        const TestTensor &lhs = integerOnTheLeft ? integers : reals, &rhs = integerOnTheLeft ? reals : integers;
        TestTensor out(DType::f32, p.out);
        ASSERT_TRUE(dotGeneral(lhs.in(), rhs.in(), p.dims(), acc.in(), out.out()));
        expectFloatProduct(p, lhs, rhs, acc, out, 0);
      }
}

TEST(Contract, SE2_Bf16ResultIsTheRoundedF32Result) {
  Random r(4);
  const Problem p = matrices(40, 70, 200, false, true);
  const TestTensor lhs = floats(r, DType::bf16, p.lhs), rhs = floats(r, DType::bf16, p.rhs), zero32 = [] {
    TestTensor z(DType::f32, {40, 70}, true);
    z.setBits(0, 0);
    return z;
  }();
  TestTensor zero16(DType::bf16, {40, 70}, true);
  zero16.setBits(0, 0);
  TestTensor wide(DType::f32, p.out), narrow(DType::bf16, p.out);
  ASSERT_TRUE(dotGeneral(lhs.in(), rhs.in(), p.dims(), zero32.in(), wide.out()));
  ASSERT_TRUE(dotGeneral(lhs.in(), rhs.in(), p.dims(), zero16.in(), narrow.out()));
  for (int64_t i = 0; i < wide.elements(); ++i) ASSERT_EQ(narrow.as<uint16_t>()[i], f32ToBf16(wide.as<float>()[i]));
}

TEST_P(ContractOnEveryIsa, SE2_IntegersOfAnyMixAccumulateInI32WithWrapAround) {
  Random r(5);
  constexpr DType kTypes[] = {DType::i2,  DType::i4, DType::i8, DType::i16,
                              DType::i32, DType::u4, DType::u8, DType::u16};
  constexpr DType kResults[] = {DType::i32, DType::i8, DType::i16, DType::u32, DType::i4};
  for (DType lt : kTypes)
    for (DType rt : kTypes)
      for (int trial = 0; trial < 2; ++trial) {
        const bool lhsUnsigned = r.coin(), rhsUnsigned = r.coin();
        const Problem p =
            trial == 0 ? matrices(r.in(1, 20), r.in(1, 40), r.in(1, 300), r.coin(), r.coin()) : randomProblem(r, 6);
        const TestTensor lhs = r.tensor(lt, p.lhs, r.in(0, 9) == 0), rhs = r.tensor(rt, p.rhs, r.in(0, 9) == 0);
        const DType ot = kResults[r.in(0, 4)];
        const TestTensor acc = r.tensor(ot, p.out, r.coin());
        TestTensor out(ot, p.out);
        ASSERT_TRUE(
            dotGeneral(lhs.in(), rhs.in(), p.dims(), acc.in(), out.out(), DotNumerics::full, lhsUnsigned, rhsUnsigned));
        std::vector<uint32_t> sum(out.elements(), 0);
        forEachTerm(p, lhs, rhs, [&](int64_t o, int64_t a, int64_t b) {
          sum[o] += static_cast<uint32_t>(static_cast<int64_t>(valueAt(lhs, a, lhsUnsigned))) *
                    static_cast<uint32_t>(static_cast<int64_t>(valueAt(rhs, b, rhsUnsigned)));
        });
        for (int64_t i = 0; i < out.elements(); ++i) {
          const int32_t expected =
              static_cast<int32_t>(sum[i] + static_cast<uint32_t>(static_cast<int64_t>(valueAt(acc, i))));
          std::byte stored[4];
          integersFromI32(ot, &expected, stored, 1);
          ASSERT_EQ(0, std::memcmp(stored, out.bytes.data() + i * storage_bytes(ot), storage_bytes(ot)));
        }
        EXPECT_TRUE(out.guardIntact());
      }
}

TEST_P(ContractOnEveryIsa, SE2_ExtremeBytesAreExactOverLongContractions) {
  const int64_t k = 3000;
  const Problem p = matrices(3, 5, k, false, false);
  TestTensor lhs(DType::u8, p.lhs), rhs(DType::u8, p.rhs), acc(DType::i32, p.out, true), out(DType::i32, p.out);
  std::memset(lhs.bytes.data(), 255, lhs.elements());
  std::memset(rhs.bytes.data(), 255, rhs.elements());
  acc.setBits(0, 1);
  ASSERT_TRUE(dotGeneral(lhs.in(), rhs.in(), p.dims(), acc.in(), out.out()));
  for (int64_t i = 0; i < 15; ++i) ASSERT_EQ(out.as<int32_t>()[i], 255 * 255 * k + 1);
}

TEST_P(ContractOnEveryIsa, ZeroSizesGiveTheAccumulatorOrNothing) {
  Random r(6);
  for (const Shape& s : {Shape{3, 4, 0}, Shape{0, 4, 5}, Shape{3, 0, 5}, Shape{0, 0, 0}}) {
    const Problem p = matrices(s[0], s[1], s[2], false, false);
    const TestTensor lhs = floats(r, DType::f32, p.lhs), rhs = floats(r, DType::f32, p.rhs),
                     acc = floats(r, DType::f32, p.out);
    TestTensor out(DType::f32, p.out);
    ASSERT_TRUE(dotGeneral(lhs.in(), rhs.in(), p.dims(), acc.in(), out.out()));
    for (int64_t i = 0; i < out.elements(); ++i) EXPECT_EQ(out.as<float>()[i], acc.as<float>()[i]);
    EXPECT_TRUE(out.guardIntact());
  }
}

TEST_P(ContractOnEveryIsa, NaNAndInfinityStayInTheirRowsAndColumns) {
  Random r(7);
  const float inf = std::numeric_limits<float>::infinity();
  for (DotNumerics numerics : {DotNumerics::full, DotNumerics::bf16x1, DotNumerics::bf16x3, DotNumerics::bf16x6})
    for (int transposed = 0; transposed < 4; ++transposed) {
      const Problem p = matrices(37, 45, 50, transposed & 1, transposed & 2);
      TestTensor lhs = floats(r, DType::f32, p.lhs), rhs = floats(r, DType::f32, p.rhs);
      TestTensor acc(DType::f32, p.out, true), out(DType::f32, p.out);
      acc.setBits(0, 0);
      auto l = [&](int64_t i, int64_t k) -> float& {
        return lhs.as<float>()[transposed & 1 ? k * 37 + i : i * 50 + k];
      };
      auto q = [&](int64_t k, int64_t j) -> float& {
        return rhs.as<float>()[transposed & 2 ? j * 50 + k : k * 45 + j];
      };
      for (int64_t j = 0; j < 45; ++j) q(3, j) = j == 7 ? 0.0f : 1.0f;  // exact in bf16: its lower parts are 0
      l(5, 3) = inf;
      l(6, 3) = -inf;
      l(8, 20) = NAN;
      ASSERT_TRUE(dotGeneral(lhs.in(), rhs.in(), p.dims(), acc.in(), out.out(), numerics));
      for (int64_t i = 0; i < 37; ++i)
        for (int64_t j = 0; j < 45; ++j) {
          const float x = out.as<float>()[i * 45 + j];
          if (i == 8 || ((i == 5 || i == 6) && j == 7))
            ASSERT_TRUE(std::isnan(x)) << i << "," << j;
          else if (i == 5 || i == 6)
            ASSERT_EQ(x, i == 5 ? inf : -inf) << i << "," << j;
          else
            ASSERT_TRUE(std::isfinite(x)) << i << "," << j;
        }
    }
}

TEST_P(ContractOnEveryIsa, SE3_OnePassRoundsTheOperandsToBf16AndMorePassesComeNearer) {
  Random r(8);
  const Problem p = matrices(40, 50, 300, false, true);
  const TestTensor lhs = floats(r, DType::f32, p.lhs), rhs = floats(r, DType::f32, p.rhs);
  TestTensor rounded[2] = {lhs, rhs};
  for (TestTensor& t : rounded)
    for (int64_t i = 0; i < t.elements(); ++i) t.as<float>()[i] = bf16ToF32(f32ToBf16(t.as<float>()[i]));
  TestTensor acc(DType::f32, p.out, true), one(DType::f32, p.out), three = one, six = one, reference = one;
  acc.setBits(0, 0);
  ASSERT_TRUE(dotGeneral(lhs.in(), rhs.in(), p.dims(), acc.in(), one.out(), DotNumerics::bf16x1));
  ASSERT_TRUE(dotGeneral(lhs.in(), rhs.in(), p.dims(), acc.in(), three.out(), DotNumerics::bf16x3));
  ASSERT_TRUE(dotGeneral(lhs.in(), rhs.in(), p.dims(), acc.in(), six.out(), DotNumerics::bf16x6));
  ASSERT_TRUE(dotGeneral(rounded[0].in(), rounded[1].in(), p.dims(), acc.in(), reference.out()));
  std::vector<double> exact(one.elements(), 0), size(one.elements(), 0);
  forEachTerm(p, lhs, rhs, [&](int64_t o, int64_t a, int64_t b) {
    exact[o] += valueAt(lhs, a) * valueAt(rhs, b);
    size[o] += std::abs(valueAt(lhs, a) * valueAt(rhs, b));
  });
  double worst[3] = {};
  for (int64_t i = 0; i < one.elements(); ++i) {
    ASSERT_EQ(one.as<float>()[i], reference.as<float>()[i]);
    const TestTensor* results[] = {&one, &three, &six};
    for (int k = 0; k < 3; ++k)
      worst[k] = std::max(worst[k], std::abs(results[k]->as<float>()[i] - exact[i]) / size[i]);
  }
  EXPECT_GT(worst[0], 1e-5);
  EXPECT_LT(worst[0], 1.0 / 128);
  EXPECT_LT(worst[1], 4e-5);
  EXPECT_LT(worst[2], 1e-6);
}

TEST(Contract, SE3_OperandsThatAreNotF32AreNotRounded) {
  Random r(9);
  const Problem p = matrices(20, 20, 64, false, false);
  const TestTensor lhs = floats(r, DType::f16, p.lhs), rhs = floats(r, DType::bf16, p.rhs);
  TestTensor acc(DType::f32, p.out, true), full(DType::f32, p.out);
  acc.setBits(0, 0);
  ASSERT_TRUE(dotGeneral(lhs.in(), rhs.in(), p.dims(), acc.in(), full.out()));
  for (DotNumerics numerics : {DotNumerics::bf16x1, DotNumerics::bf16x3, DotNumerics::bf16x6}) {
    TestTensor out(DType::f32, p.out);
    ASSERT_TRUE(dotGeneral(lhs.in(), rhs.in(), p.dims(), acc.in(), out.out(), numerics));
    EXPECT_EQ(out.bytes, full.bytes);
  }
}

TEST(Contract, DtypesWithoutAProductAreRefused) {
  const Shape s{2, 2};
  TestTensor f(DType::f32, s), i(DType::i32, s), b(DType::pred, s);
  const Problem p = matrices(2, 2, 2, false, false);
  EXPECT_FALSE(dotGeneral(f.in(), i.in(), p.dims(), i.in(), i.out()));
  EXPECT_FALSE(dotGeneral(b.in(), b.in(), p.dims(), i.in(), i.out()));
  EXPECT_FALSE(dotGeneral(i.in(), i.in(), p.dims(), i.in(), f.out()));
}

TEST(Contract, IntegersMayBeSummedAsFloats) {
  const Shape s{2, 2};
  TestTensor x(DType::i8, s), acc(DType::f32, s), out(DType::f32, s);
  for (int64_t i = 0; i < 4; ++i) {
    x.setBits(i, 0xfd);  // -3
    acc.setBits(i, std::bit_cast<uint32_t>(.5f));
  }
  ASSERT_TRUE(dotGeneral(x.in(), x.in(), matrices(2, 2, 2, false, false).dims(), acc.in(), out.out()));
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(out.bitsAt(i), std::bit_cast<uint32_t>(18.5f));
}

TEST(Contract, F64) {
  Random r(10);
  const Problem p = randomProblem(r, 6);
  const TestTensor lhs = floats(r, DType::f64, p.lhs), rhs = floats(r, DType::f64, p.rhs),
                   acc = floats(r, DType::f64, p.out);
  TestTensor out(DType::f64, p.out);
  ASSERT_TRUE(dotGeneral(lhs.in(), rhs.in(), p.dims(), acc.in(), out.out()));
  expectFloatProduct(p, lhs, rhs, acc, out, 0);
}

TEST(Contract, MaskOfAProductIsThatOfRowsAndColumns) {
  Random r(11);
  for (int trial = 0; trial < 100; ++trial) {
    const Problem p = randomProblem(r, 6);
    TestTensor lhs(DType::pred, p.lhs), rhs(DType::pred, p.rhs), out(DType::pred, p.out);
    for (TestTensor* t : {&lhs, &rhs, &out})
      for (int64_t i = 0; i < t->elements(); ++i) t->setBits(i, r.in(0, 30) != 0);
    std::vector<uint8_t> expected(out.as<uint8_t>(), out.as<uint8_t>() + out.elements());
    forEachTerm(p, lhs, rhs, [&](int64_t o, int64_t a, int64_t b) { expected[o] &= lhs.bitsAt(a) & rhs.bitsAt(b); });
    // A contraction over nothing has no terms, and every row and column of it is defined.
    dotGeneralMask(lhs.as<uint8_t>(), lhs.shape, rhs.as<uint8_t>(), rhs.shape, p.dims(), out.as<uint8_t>(),
                   out.elements());
    for (int64_t i = 0; i < out.elements(); ++i) ASSERT_EQ(out.as<uint8_t>()[i], expected[i]);
    EXPECT_TRUE(out.guardIntact());
  }
}

}  // namespace
}  // namespace smalti::eval::test
