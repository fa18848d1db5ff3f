// Convolutions against a loop over everything that goes into an element.
#include "eval/Conv.h"

#include <gtest/gtest.h>

#include <cmath>

#include "TestTensor.h"

namespace smalti::eval::test {
namespace {

struct Convolved {
  ConvDims dims() const {
    ConvDims d = numbers;
    d.lhsSpatial = lhsSpatial;
    d.rhsSpatial = rhsSpatial;
    d.outSpatial = outSpatial;
    d.strides = strides;
    d.padding = padding;
    d.lhsDilation = lhsDilation;
    d.rhsDilation = rhsDilation;
    d.reversed = {reversed.data(), strides.size()};
    return d;
  }
  ConvDims numbers;
  Index lhsSpatial, rhsSpatial, outSpatial, strides, padding, lhsDilation, rhsDilation;
  std::array<bool, 3> reversed{};
  Shape lhs, rhs, out;
};

/// Dimensions in any places of the operands; every attribute takes part. Windows may see nothing but padding.
Convolved anyConvolution(Random& r) {
  while (true) {
    Convolved p;
    const int spatial = static_cast<int>(r.in(0, 3)), rank = spatial + 2;
    const Index lhsAt = r.permutation(rank), rhsAt = r.permutation(rank), outAt = r.permutation(rank);
    const int64_t groups = r.in(1, 3);
    const bool ofBatches = r.coin();
    p.numbers = {lhsAt[0], lhsAt[1], rhsAt[0], rhsAt[1], outAt[0], outAt[1]};
    (ofBatches ? p.numbers.batchGroups : p.numbers.featureGroups) = groups;
    const int64_t batch = r.in(1, 3), inputs = r.in(1, 5), outputs = groups * r.in(1, 4);
    p.lhs.resize(rank), p.rhs.resize(rank), p.out.resize(rank);
    p.lhs[lhsAt[0]] = batch * p.numbers.batchGroups;
    p.lhs[lhsAt[1]] = inputs * p.numbers.featureGroups;
    p.rhs[rhsAt[0]] = inputs;
    p.rhs[rhsAt[1]] = outputs;
    p.out[outAt[0]] = batch;
    p.out[outAt[1]] = outputs;
    bool fits = true;
    for (int d = 0; d < spatial; ++d) {
      const int64_t size = r.in(1, 7), window = r.in(1, 4), low = r.in(-2, 4), high = r.in(-2, 4);
      p.strides.push_back(r.in(1, 3));
      p.lhsDilation.push_back(r.in(1, 3));
      p.rhsDilation.push_back(r.in(1, 3));
      p.padding.insert(p.padding.end(), {low, high});
      p.reversed[d] = r.coin();
      p.lhsSpatial.push_back(lhsAt[2 + d]);
      p.rhsSpatial.push_back(rhsAt[2 + d]);
      p.outSpatial.push_back(outAt[2 + d]);
      p.lhs[lhsAt[2 + d]] = size;
      p.rhs[rhsAt[2 + d]] = window;
      const int64_t rest = (size - 1) * p.lhsDilation[d] + low + high - (window - 1) * p.rhsDilation[d];
      fits &= rest >= 0;
      p.out[outAt[2 + d]] = rest / p.strides[d] + 1;
    }
    if (fits) return p;
  }
}

/// Calls f(element of out, of lhs, of rhs) for every term; elements of padding are none.
void forEachConvTerm(const Convolved& p, const std::function<void(int64_t, int64_t, int64_t)>& term) {
  const TestTensor lhs(DType::pred, p.lhs), rhs(DType::pred, p.rhs), out(DType::pred, p.out);
  const ConvDims& n = p.numbers;
  const int64_t groups = n.featureGroups * n.batchGroups, inputs = p.rhs[n.rhsInput];
  forEachIndex(p.out, [&](const Index& o) {
    const int64_t group = o[n.outFeature] / (p.rhs[n.rhsOutput] / groups);
    forEachIndex(p.rhs, [&](const Index& k) {
      if (k[n.rhsOutput] != o[n.outFeature]) return;
      Index at(p.lhs.size());
      at[n.lhsBatch] = o[n.outBatch] + (n.batchGroups > 1 ? group * p.out[n.outBatch] : 0);
      at[n.lhsFeature] = k[n.rhsInput] + (n.featureGroups > 1 ? group * inputs : 0);
      for (size_t d = 0; d < p.strides.size(); ++d) {
        const int64_t window = p.rhs[p.rhsSpatial[d]], place = k[p.rhsSpatial[d]];
        const int64_t dilated = o[p.outSpatial[d]] * p.strides[d] - p.padding[2 * d] +
                                (p.reversed[d] ? window - 1 - place : place) * p.rhsDilation[d];
        if (dilated < 0 || dilated % p.lhsDilation[d] != 0) return;
        at[p.lhsSpatial[d]] = dilated / p.lhsDilation[d];
        if (at[p.lhsSpatial[d]] >= p.lhs[p.lhsSpatial[d]]) return;
      }
      term(out.linear(o), lhs.linear(at), rhs.linear(k));
    });
  });
}

/// Small whole numbers: sums of them are exact in any order.
TestTensor wholeNumbers(Random& r, DType t, const Shape& shape, bool splat = false) {
  TestTensor numbers(t, shape, splat);
  for (int64_t i = 0; i < numbers.stored(); ++i) {
    const int64_t x = r.in(-4, 3);
    const auto f = static_cast<float>(x);
    if (is_float(t))
      floatsFromF32(t, &f, numbers.bytes.data() + i * storage_bytes(t), 1);
    else
      numbers.setBits(i, static_cast<uint64_t>(x));
  }
  return numbers;
}

TEST(Conv, EveryAttributeOfEveryDimension) {
  Random r(1);
  constexpr DType kTypes[][3] = {{DType::f32, DType::f32, DType::f32},        {DType::bf16, DType::bf16, DType::f32},
                                 {DType::bf16, DType::f32, DType::bf16},      {DType::i8, DType::i8, DType::i32},
                                 {DType::i4, DType::i8, DType::i32},          {DType::i8, DType::bf16, DType::f32},
                                 {DType::f8e4m3fn, DType::f8e5m2, DType::f32}};
  for (int trial = 0; trial < 300; ++trial) {
    const Convolved p = anyConvolution(r);
    const auto& [lt, rt, ot] = kTypes[trial % std::size(kTypes)];
    const TestTensor lhs = wholeNumbers(r, lt, p.lhs, r.in(0, 9) == 0),
                     rhs = wholeNumbers(r, rt, p.rhs, r.in(0, 9) == 0), acc = wholeNumbers(r, ot, p.out, r.coin());
    TestTensor out(ot, p.out);
    ASSERT_TRUE(conv(lhs.in(), rhs.in(), p.dims(), acc.in(), out.out()));
    std::vector<double> sums;
    for (int64_t i = 0; i < out.elements(); ++i) sums.push_back(valueAt(acc, i));
    forEachConvTerm(p, [&](int64_t o, int64_t a, int64_t b) { sums[o] += valueAt(lhs, a) * valueAt(rhs, b); });
    for (int64_t i = 0; i < out.elements(); ++i)
      ASSERT_NEAR(valueAt(out, i), sums[i], ot == DType::bf16 ? std::abs(sums[i]) / 256 : 0) << "trial " << trial;
    EXPECT_TRUE(out.guardIntact());
  }
}

TEST(Conv, AnElementIsDefinedWhenAllThatItsWindowSeesIs) {
  Random r(2);
  for (int trial = 0; trial < 200; ++trial) {
    const Convolved p = anyConvolution(r);
    const auto mask = [&](const Shape& shape, bool splat) {
      TestTensor m(DType::pred, shape, splat);
      for (int64_t i = 0; i < m.stored(); ++i) m.setBits(i, r.in(0, 29) != 0);
      return m;
    };
    const TestTensor lhs = mask(p.lhs, r.in(0, 9) == 0), rhs = mask(p.rhs, r.in(0, 9) == 0), acc = mask(p.out, false);
    const bool lhsDefined = r.in(0, 4) == 0, rhsDefined = r.in(0, 4) == 0;
    Input l = lhs.in(), w = rhs.in();
    if (lhsDefined) l.data = nullptr;
    if (rhsDefined) w.data = nullptr;
    TestTensor out = acc;
    convMask(l, w, p.dims(), out.as<uint8_t>(), p.out);
    std::vector<uint64_t> expected;
    for (int64_t i = 0; i < out.elements(); ++i) expected.push_back(acc.bitsAt(i));
    // Weights that meet only padding count as well: they are multiplied with zeros.
    const ConvDims& n = p.numbers;
    forEachIndex(p.out, [&](const Index& o) {
      forEachIndex(p.rhs, [&](const Index& k) {
        if (k[n.rhsOutput] == o[n.outFeature] && !rhsDefined)
          expected[static_cast<size_t>(acc.linear(o))] &= rhs.bitsAt(rhs.linear(k));
      });
    });
    forEachConvTerm(p, [&](int64_t o, int64_t a, int64_t) {
      if (!lhsDefined) expected[static_cast<size_t>(o)] &= lhs.bitsAt(a);
    });
    for (int64_t i = 0; i < out.elements(); ++i)
      ASSERT_EQ(out.bitsAt(i), expected[static_cast<size_t>(i)]) << "trial " << trial << " element " << i;
    EXPECT_TRUE(out.guardIntact());
  }
}

TEST(Conv, ManyRowsAreLaidOutInPieces) {
  Random r(3);
  Convolved p;
  p.numbers = {0, 2, 1, 2, 0, 2};
  p.lhsSpatial = p.outSpatial = {1};
  p.rhsSpatial = {0};
  p.strides = p.lhsDilation = p.rhsDilation = {1};
  p.padding = {2, 2};
  p.lhs = {2, 3000, 40};
  p.rhs = {5, 40, 3};
  p.out = {2, 3000, 3};
  const TestTensor lhs = wholeNumbers(r, DType::f32, p.lhs), rhs = wholeNumbers(r, DType::f32, p.rhs),
                   acc = wholeNumbers(r, DType::f32, p.out);
  TestTensor out(DType::f32, p.out);
  ASSERT_TRUE(conv(lhs.in(), rhs.in(), p.dims(), acc.in(), out.out()));
  for (const int64_t row : {0, 1, 1500, 2998, 2999, 3000, 4500, 5999})
    for (int64_t f = 0; f < 3; ++f) {
      const int64_t batch = row / 3000, at = row % 3000;
      float sum = acc.as<float>()[row * 3 + f];
      for (int64_t k = 0; k < 5; ++k)
        for (int64_t c = 0; c < 40 && at + k - 2 >= 0 && at + k - 2 < 3000; ++c)
          sum += lhs.as<float>()[((batch * 3000) + at + k - 2) * 40 + c] * rhs.as<float>()[(k * 40 + c) * 3 + f];
      EXPECT_EQ(out.as<float>()[row * 3 + f], sum) << row << " " << f;
    }
}

TEST(Conv, NumericsOfATpuRoundOperands) {
  const Shape one{1, 1};
  TestTensor lhs(DType::f32, one), rhs(DType::f32, one), zero(DType::f32, one), out(DType::f32, one);
  *lhs.as<float>() = 1.00390625F;  // rounds to 1 in bf16
  *rhs.as<float>() = 1;
  *zero.as<float>() = 0;
  const ConvDims dims{0, 1, 0, 1, 0, 1, {}, {}, {}, {}, {}, {}, {}, {}};
  ASSERT_TRUE(conv(lhs.in(), rhs.in(), dims, zero.in(), out.out(), DotNumerics::bf16x1));
  EXPECT_EQ(*out.as<float>(), 1);
  ASSERT_TRUE(conv(lhs.in(), rhs.in(), dims, zero.in(), out.out(), DotNumerics::bf16x6));
  EXPECT_EQ(*out.as<float>(), 1.00390625F);
}

TEST(Conv, NoProductOfSuchDtypes) {
  const Shape one{1, 1};
  TestTensor lhs(DType::i32, one), rhs(DType::i32, one), acc(DType::f32, one), out(DType::i32, one);
  const ConvDims dims{0, 1, 0, 1, 0, 1, {}, {}, {}, {}, {}, {}, {}, {}};
  EXPECT_FALSE(conv(lhs.in(), rhs.in(), dims, acc.in(), out.out()));
}

}  // namespace
}  // namespace smalti::eval::test
