// Data movement against loops over multi-indices, for every element size, ranks 0 to 8, empty dims and splats.
#include "eval/Shape.h"

#include <gtest/gtest.h>

#include "TestTensor.h"

namespace smalti::eval::test {
namespace {

constexpr DType kSizes[] = {DType::pred, DType::i4,  DType::f8e5m2, DType::bf16,
                            DType::i16,  DType::f32, DType::i32,    DType::f64};

DType anyDType(Random& r) { return kSizes[r.in(0, std::size(kSizes) - 1)]; }
int64_t largestFor(int rank) { return rank <= 2 ? 40 : rank <= 3 ? 12 : rank <= 5 ? 4 : 2; }

/// out[i] must be what `source(i)` names in `in`.
void expectMoved(const TestTensor& in, const TestTensor& out, const std::function<Index(const Index&)>& source) {
  forEachIndex(out.shape,
               [&](const Index& i) { ASSERT_EQ(out.bitsAt(out.linear(i)), in.bitsAt(in.linear(source(i)))); });
  EXPECT_TRUE(out.guardIntact());
}

TEST(Shape, BroadcastAlignsTrailingDims) {
  Random r(1);
  for (int trial = 0; trial < 300; ++trial) {
    const int rank = static_cast<int>(r.in(0, 8)), inRank = static_cast<int>(r.in(0, rank));
    const Shape shape = r.shape(rank, largestFor(rank));
    Shape inShape(shape.end() - inRank, shape.end());
    for (int64_t& d : inShape)
      if (r.coin()) d = 1;
    const TestTensor in = r.tensor(anyDType(r), inShape, r.in(0, 7) == 0);
    TestTensor out(in.dtype, shape);
    broadcast(in.in(), out.out());
    expectMoved(in, out, [&](const Index& i) {
      Index j(i.end() - inRank, i.end());
      for (int d = 0; d < inRank; ++d)
        if (inShape[d] == 1) j[d] = 0;
      return j;
    });
  }
}

TEST(Shape, SE14_BroadcastInDimAlongNewLeadingAndMinorDims) {
  Random r(2);
  for (int trial = 0; trial < 300; ++trial) {
    const int rank = static_cast<int>(r.in(0, 6)), inRank = static_cast<int>(r.in(0, rank));
    const Shape shape = r.shape(rank, largestFor(rank));
    Index dims = r.permutation(rank);
    dims.resize(inRank);  // stablehlo sorts them; any order is well defined
    Shape inShape;
    for (int64_t d : dims) inShape.push_back(r.in(0, 3) == 0 ? 1 : shape[d]);
    const TestTensor in = r.tensor(anyDType(r), inShape, r.in(0, 7) == 0);
    TestTensor out(in.dtype, shape);
    broadcastInDim(in.in(), dims, out.out());
    expectMoved(in, out, [&](const Index& i) {
      Index j;
      for (int d = 0; d < inRank; ++d) j.push_back(inShape[d] == 1 ? 0 : i[dims[d]]);
      return j;
    });
  }
}

TEST(Shape, SE15_TransposeByAnyPermutation) {
  Random r(3);
  for (int trial = 0; trial < 400; ++trial) {
    const int rank = static_cast<int>(r.in(0, 8));
    const Index permutation = r.permutation(rank);
    const TestTensor in = r.tensor(anyDType(r), r.shape(rank, largestFor(rank)), r.in(0, 9) == 0);
    Shape shape;
    for (int64_t d : permutation) shape.push_back(in.shape[d]);
    TestTensor out(in.dtype, shape);
    transpose(in.in(), permutation, out.out());
    expectMoved(in, out, [&](const Index& i) {
      Index j(rank);
      for (int d = 0; d < rank; ++d) j[permutation[d]] = i[d];
      return j;
    });
  }
}

TEST(Shape, SE15_TransposeOfLargeMatrices) {
  Random r(4);
  for (DType t : kSizes)
    for (const Shape& s : {Shape{128, 256}, Shape{3, 129, 67}, Shape{1, 300}, Shape{255, 8}}) {
      const TestTensor in = r.tensor(t, s);
      const int rank = static_cast<int>(s.size());
      Index permutation = r.permutation(rank);
      for (int d = 0; d < rank; ++d) permutation[d] = d;
      std::swap(permutation[rank - 1], permutation[rank - 2]);
      Shape shape = s;
      std::swap(shape[rank - 1], shape[rank - 2]);
      TestTensor out(t, shape);
      transpose(in.in(), permutation, out.out());
      expectMoved(in, out, [&](Index i) {
        std::swap(i[rank - 1], i[rank - 2]);
        return i;
      });
    }
}

TEST(Shape, SliceWithStrides) {
  Random r(5);
  for (int trial = 0; trial < 300; ++trial) {
    const int rank = static_cast<int>(r.in(0, 6));
    const TestTensor in = r.tensor(anyDType(r), r.shape(rank, largestFor(rank) + 2), r.in(0, 9) == 0);
    Index starts, strides;
    Shape shape;
    for (int64_t n : in.shape) {
      const int64_t stride = r.in(1, 3), start = r.in(0, n);
      starts.push_back(start);
      strides.push_back(stride);
      shape.push_back(r.in(0, (n - start + stride - 1) / stride));
    }
    TestTensor out(in.dtype, shape);
    slice(in.in(), starts, strides, out.out());
    expectMoved(in, out, [&](Index i) {
      for (int d = 0; d < rank; ++d) i[d] = starts[d] + i[d] * strides[d];
      return i;
    });
  }
}

TEST(Shape, Concatenate) {
  Random r(6);
  for (int trial = 0; trial < 200; ++trial) {
    const int rank = static_cast<int>(r.in(1, 6)), dim = static_cast<int>(r.in(0, rank - 1));
    const DType t = anyDType(r);
    Shape shape = r.shape(rank, largestFor(rank));
    std::vector<TestTensor> parts;
    std::vector<Input> ins;
    Index starts;
    int64_t total = 0;
    const int64_t count = r.in(1, 4);
    for (int64_t k = 0; k < count; ++k) {
      Shape part = shape;
      part[dim] = r.in(0, 5);
      starts.push_back(total);
      total += part[dim];
      parts.push_back(r.tensor(t, part, r.in(0, 4) == 0));
    }
    for (const TestTensor& p : parts) ins.push_back(p.in());
    shape[dim] = total;
    TestTensor out(t, shape);
    concatenate(ins, dim, out.out());
    forEachIndex(shape, [&](Index i) {
      size_t k = parts.size() - 1;
      while (starts[k] > i[dim] || parts[k].shape[dim] == 0) --k;
      const int64_t to = out.linear(i);
      i[dim] -= starts[k];
      ASSERT_EQ(out.bitsAt(to), parts[k].bitsAt(parts[k].linear(i)));
    });
    EXPECT_TRUE(out.guardIntact());
  }
}

TEST(Shape, PadWithNegativeLowAndHighAndInterior) {
  Random r(7);
  for (int trial = 0; trial < 400; ++trial) {
    const int rank = static_cast<int>(r.in(0, 5));
    const TestTensor in = r.tensor(anyDType(r), r.shape(rank, largestFor(rank)), r.in(0, 9) == 0);
    const TestTensor value = r.tensor(in.dtype, {});
    Index low, interior;
    Shape shape;
    for (int64_t n : in.shape) {
      const int64_t inside = r.in(0, 2), below = r.in(-4, 4), above = r.in(-4, 4);
      low.push_back(below);
      interior.push_back(inside);
      shape.push_back(std::max<int64_t>(0, below + above + n + std::max<int64_t>(0, n - 1) * inside));
    }
    TestTensor out(in.dtype, shape);
    pad(in.in(), value.bytes.data(), low, interior, out.out());
    forEachIndex(shape, [&](const Index& i) {
      Index j(rank);
      bool inside = true;
      for (int d = 0; d < rank; ++d) {
        const int64_t at = i[d] - low[d], step = interior[d] + 1;
        inside &= at >= 0 && at % step == 0 && at / step < in.shape[d];
        j[d] = at / step;
      }
      ASSERT_EQ(out.bitsAt(out.linear(i)), inside ? in.bitsAt(in.linear(j)) : value.bitsAt(0));
    });
    EXPECT_TRUE(out.guardIntact());
  }
}

TEST(Shape, SE16_RotateMovesElementIToIPlusAmountModN) {
  Random r(8);
  for (int trial = 0; trial < 400; ++trial) {
    const int rank = static_cast<int>(r.in(1, 5)), dim = static_cast<int>(r.in(0, rank - 1));
    const TestTensor in = r.tensor(anyDType(r), r.shape(rank, largestFor(rank)), r.in(0, 19) == 0);
    int strideDim = -1;
    int64_t stride = 0;
    if (rank > 1 && r.coin()) {
      do strideDim = static_cast<int>(r.in(0, rank - 1));
      while (strideDim == dim);
      stride = r.in(-5, 50);
    }
    const int64_t amount = r.coin() ? r.in(-100, 100) : r.in(INT32_MIN, INT32_MAX);
    TestTensor out(in.dtype, in.shape);
    dynamicRotate(in.in(), amount, dim, stride, strideDim, out.out());
    const int64_t n = in.shape[dim];
    expectMoved(in, out, [&](Index i) {
      const int64_t by = amount + (strideDim >= 0 ? stride * i[strideDim] : 0);
      i[dim] = (((i[dim] - by) % n) + n) % n;
      return i;
    });
  }
}

TEST(Shape, SE17_GatherTakesTheUnsignedIndexModuloTheSize) {
  Random r(9);
  constexpr DType kIndices[] = {DType::i32, DType::i16, DType::i8, DType::u8, DType::i4, DType::i64};
  for (int trial = 0; trial < 400; ++trial) {
    const int rank = static_cast<int>(r.in(1, 5));
    Shape shape = r.shape(rank, largestFor(rank));
    Index dims = r.permutation(rank);
    dims.resize(r.in(1, std::min(rank, 2)));
    Shape sourceShape = shape;
    for (int64_t d : dims) sourceShape[d] = r.in(1, 40);
    const TestTensor in = r.tensor(anyDType(r), sourceShape, r.in(0, 19) == 0);
    const TestTensor indices = r.tensor(kIndices[r.in(0, 5)], shape, r.in(0, 9) == 0);
    TestTensor out(in.dtype, shape);
    dynamicGather(in.in(), indices.in(), dims, out.out());
    expectMoved(in, out, [&](const Index& i) {
      uint64_t k = indices.bitsAt(indices.linear(i));
      if (indices.dtype == DType::i4) k &= 15;
      uint64_t total = 1;
      for (int64_t d : dims) total *= sourceShape[d];
      k %= total;
      Index j = i;
      for (size_t q = dims.size(); q-- > 0; k /= sourceShape[dims[q]]) j[dims[q]] = k % sourceShape[dims[q]];
      return j;
    });
  }
}

TEST(Shape, SE14_IotaIsTheLinearIndexOverTheListedDims) {
  Random r(10);
  for (DType t :
       {DType::i32, DType::i8, DType::u8, DType::i16, DType::i64, DType::index, DType::i4, DType::u4, DType::i2})
    for (int trial = 0; trial < 30; ++trial) {
      const int rank = static_cast<int>(r.in(0, 4));
      const Shape shape = r.shape(rank, largestFor(rank));
      Index dims = r.permutation(rank);
      dims.resize(r.in(0, rank));
      TestTensor out(t, shape);
      iota(dims, out.out());
      forEachIndex(shape, [&](const Index& i) {
        int64_t x = 0;
        for (int64_t d : dims) x = x * shape[d] + i[d];
        const int bits = bit_width(t);
        uint64_t expected = bits == 64 ? x : x & ((uint64_t{1} << bits) - 1);
        if (bits < 8 && is_signed_integer(t) && (expected >> (bits - 1))) expected |= 0xff & (0xff << bits);
        ASSERT_EQ(out.bitsAt(out.linear(i)), expected);
      });
      EXPECT_TRUE(out.guardIntact());
    }
}

TEST(Shape, SE14_IotaOfFloats) {
  TestTensor out(DType::f32, {2, 300});
  const Index dims{1};
  iota(dims, out.out());
  EXPECT_EQ(out.as<float>()[299], 299.0f);
  EXPECT_EQ(out.as<float>()[301], 1.0f);
}

TEST(Shape, CopyStridedWithZeroAndNegativeStridesAndAnyElementSize) {
  Random r(11);
  for (int trial = 0; trial < 400; ++trial) {
    const int rank = static_cast<int>(r.in(0, 5));
    const int bytes = static_cast<int>(Index{1, 2, 3, 4, 8, 16}[r.in(0, 5)]);
    const Shape shape = r.shape(rank, largestFor(rank));
    // A view of a dense tensor: permuted, some dims reversed, some source dims broadcast.
    auto view = [&](bool mayBroadcast, int64_t& base, int64_t& size) {
      const Index order = r.permutation(rank);
      Index strides(rank);
      base = 0;
      size = r.in(0, 3);
      int64_t step = 1;
      for (int64_t d : order) {
        if (mayBroadcast && r.in(0, 5) == 0) continue;
        const int64_t gap = r.in(1, 2);
        strides[d] = step * gap;
        if (r.in(0, 4) == 0) {
          base += strides[d] * (shape[d] - 1);
          strides[d] = -strides[d];
        }
        step *= std::max<int64_t>(1, shape[d]) * gap;
      }
      size += step;
      return strides;
    };
    int64_t srcBase, srcSize, dstBase, dstSize;
    const Index src = view(true, srcBase, srcSize), dst = view(false, dstBase, dstSize);
    const TestTensor from = r.tensor(DType::u8, {srcSize * bytes});
    TestTensor to(DType::u8, {dstSize * bytes}), expected = to;
    copyStrided(from.bytes.data() + srcBase * bytes, src, to.bytes.data() + dstBase * bytes, dst, shape, bytes);
    forEachIndex(shape, [&](const Index& i) {
      int64_t a = srcBase, b = dstBase;
      for (int d = 0; d < rank; ++d) a += i[d] * src[d], b += i[d] * dst[d];
      std::memcpy(expected.bytes.data() + b * bytes, from.bytes.data() + a * bytes, bytes);
    });
    ASSERT_EQ(to.bytes, expected.bytes);
  }
}

TEST(Shape, FillOfEveryElementSize) {
  Random r(12);
  for (int bytes : {1, 2, 3, 4, 8, 16})
    for (int64_t n : {0, 1, 7, 64, 1000}) {
      const TestTensor value = r.tensor(DType::u8, {bytes});
      TestTensor out(DType::u8, {n * bytes});
      fill(out.bytes.data(), value.bytes.data(), n, bytes);
      for (int64_t i = 0; i < n * bytes; ++i) ASSERT_EQ(out.bytes[i], value.bytes[i % bytes]);
      EXPECT_TRUE(out.guardIntact());
    }
}

}  // namespace
}  // namespace smalti::eval::test
