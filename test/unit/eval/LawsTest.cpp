// Laws that hold between the evaluators, for generated shapes, dtypes and contents.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "TestTensor.h"
#include "eval/Contract.h"
#include "eval/Reduce.h"
#include "eval/Shape.h"

namespace smalti::eval::test {
namespace {

constexpr DType kMovedTypes[] = {DType::pred, DType::i4, DType::i8, DType::bf16, DType::f32, DType::i32, DType::i64};

struct Generated {
  Random random;
  TestTensor in;
  int rank;
};

Generated anyTensor(int leastRank = 0) {
  Generated g{Random(*rc::gen::arbitrary<uint64_t>()), {}, *rc::gen::inRange(leastRank, 6)};
  const DType t = *rc::gen::elementOf(std::vector<DType>(std::begin(kMovedTypes), std::end(kMovedTypes)));
  g.in = g.random.tensor(t, g.random.shape(g.rank, g.rank < 3 ? 70 : 6));
  return g;
}

TEST(Laws, SE15_TransposingBackIsTheIdentity) {
  EXPECT_TRUE(rc::check([] {
    auto [r, in, rank] = anyTensor();
    const Index there = r.permutation(rank);
    Index back(rank);
    Shape shape;
    for (int d = 0; d < rank; ++d) back[there[d]] = d, shape.push_back(in.shape[there[d]]);
    TestTensor moved(in.dtype, shape), out(in.dtype, in.shape);
    transpose(in.in(), there, moved.out());
    transpose(moved.in(), back, out.out());
    RC_ASSERT(out.bytes == in.bytes);
  }));
}

TEST(Laws, SE16_RotationsAddUp) {
  EXPECT_TRUE(rc::check([] {
    auto [r, in, rank] = anyTensor(1);
    const int dim = static_cast<int>(r.in(0, rank - 1));
    const int64_t a = r.in(-1000, 1000), b = r.in(-1000, 1000);
    TestTensor once(in.dtype, in.shape), twice(in.dtype, in.shape), sum(in.dtype, in.shape);
    dynamicRotate(in.in(), a, dim, 0, -1, once.out());
    dynamicRotate(once.in(), b, dim, 0, -1, twice.out());
    dynamicRotate(in.in(), a + b, dim, 0, -1, sum.out());
    RC_ASSERT(twice.bytes == sum.bytes);
  }));
}

TEST(Laws, SE17_GatherByIotaIsTheIdentity) {
  EXPECT_TRUE(rc::check([] {
    auto [r, in, rank] = anyTensor(1);
    Index dims = r.permutation(rank);
    dims.resize(r.in(1, rank));
    TestTensor indices(DType::i32, in.shape), out(in.dtype, in.shape);
    iota(dims, indices.out());
    dynamicGather(in.in(), indices.in(), dims, out.out());
    RC_ASSERT(out.bytes == in.bytes);
  }));
}

TEST(Laws, SlicesConcatenateToTheWhole) {
  EXPECT_TRUE(rc::check([] {
    auto [r, in, rank] = anyTensor(1);
    const int dim = static_cast<int>(r.in(0, rank - 1));
    std::vector<TestTensor> parts;
    std::vector<Input> inputs;
    for (int64_t at = 0; at < in.shape[dim];) {
      Index starts(rank, 0), strides(rank, 1);
      Shape shape = in.shape;
      starts[dim] = at;
      shape[dim] = r.in(1, in.shape[dim] - at);
      at += shape[dim];
      parts.emplace_back(in.dtype, shape);
      slice(in.in(), starts, strides, parts.back().out());
    }
    for (const TestTensor& p : parts) inputs.push_back(p.in());
    TestTensor out(in.dtype, in.shape);
    concatenate(inputs, dim, out.out());
    RC_ASSERT(out.bytes == in.bytes);
  }));
}

TEST(Laws, SlicingUndoesPadding) {
  EXPECT_TRUE(rc::check([] {
    auto [r, in, rank] = anyTensor();
    Index low, interior, steps;
    Shape padded;
    for (int64_t n : in.shape) {
      low.push_back(r.in(0, 3));
      interior.push_back(r.in(0, 2));
      steps.push_back(interior.back() + 1);
      padded.push_back(low.back() + (n > 0 ? (n - 1) * steps.back() + 1 : 0) + r.in(0, 3));
    }
    const TestTensor value = r.tensor(in.dtype, {});
    TestTensor wide(in.dtype, padded), out(in.dtype, in.shape);
    pad(in.in(), value.bytes.data(), low, interior, wide.out());
    slice(wide.in(), low, steps, out.out());
    RC_ASSERT(out.bytes == in.bytes);
  }));
}

TEST(Laws, ReducingDimByDimIsReducingAllAtOnceForIntegers) {
  EXPECT_TRUE(rc::check([] {
    Random r(*rc::gen::arbitrary<uint64_t>());
    const int rank = *rc::gen::inRange(2, 5);
    const TestTensor in = r.tensor(DType::i32, r.shape(rank, 9));
    const ReduceKind kind = static_cast<ReduceKind>(
        *rc::gen::elementOf(std::vector<int>{static_cast<int>(ReduceKind::add), static_cast<int>(ReduceKind::xori),
                                             static_cast<int>(ReduceKind::andi), static_cast<int>(ReduceKind::maxsi)}));
    TestTensor identity(DType::i32, {}, true);
    identity.setBits(0, kind == ReduceKind::andi ? 0xffffffff : kind == ReduceKind::maxsi ? 0x80000000 : 0);
    auto reduced = [&](const TestTensor& from, const Index& dims) {
      Shape shape;
      for (int64_t d = 0; d < static_cast<int64_t>(from.shape.size()); ++d)
        if (std::find(dims.begin(), dims.end(), d) == dims.end()) shape.push_back(from.shape[d]);
      TestTensor out(DType::i32, shape);
      RC_ASSERT(multiReduce(kind, from.in(), dims, identity.in(), out.out()));
      return out;
    };
    const int64_t a = r.in(0, rank - 2), b = r.in(a + 1, rank - 1);
    RC_ASSERT(reduced(reduced(in, {b}), {a}).bytes == reduced(in, {a, b}).bytes);
  }));
}

TEST(Laws, SE4_TheTransposedProductIsTheProductOfTheTransposed) {
  EXPECT_TRUE(rc::check([] {
    Random r(*rc::gen::arbitrary<uint64_t>());
    const int64_t m = *rc::gen::inRange(1, 60), n = *rc::gen::inRange(1, 60), k = *rc::gen::inRange(0, 80);
    const TestTensor a = r.tensor(DType::i8, {m, k}), b = r.tensor(DType::i8, {k, n});
    TestTensor zero(DType::i32, {}, true), ab(DType::i32, {m, n}), ba(DType::i32, {n, m}),
        transposed(DType::i32, {n, m});
    zero.setBits(0, 0);
    const Index d0{0}, d1{1}, both{1, 0};
    RC_ASSERT(dotGeneral(a.in(), b.in(), {d1, d0, d0, d1, {}, {}}, zero.in(), ab.out()));
    RC_ASSERT(dotGeneral(b.in(), a.in(), {d0, d1, d1, d0, {}, {}}, zero.in(), ba.out()));
    transpose(ab.in(), both, transposed.out());
    RC_ASSERT(transposed.bytes == ba.bytes);
  }));
}

}  // namespace
}  // namespace smalti::eval::test
