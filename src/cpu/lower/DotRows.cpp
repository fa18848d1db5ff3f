#include "cpu/lower/DotRows.h"

#include "cpu/gemm/Ir.h"
#include "cpu/lower/CarriedLoop.h"
#include "cpu/lower/Reduction.h"

namespace smalti::cpu {
namespace {

/// Rows of A up to which reading B once per row costs less than packing it.
constexpr int64_t kFewRows = 8;

class DotRowsEmitter {
 public:
  DotRowsEmitter(Lowering& l, const RowProduct& d) : l_(l), b_(l.b), d_(d), s_(d.shape) {}

  void emit() {
    const int lanes = l_.processor.lanes(4);
    const int64_t blocks = s_.k >= lanes ? s_.n / lanes * lanes : 0;
    if (blocks) l_.loop(l_.index(0), l_.index(blocks), l_.index(lanes), [&](Reg j) { block(j, lanes); });
    if (blocks < s_.n)
      l_.loop(l_.index(blocks), l_.index(s_.n), l_.index(1),
              [&](Reg j) { l_.loop(l_.index(0), l_.index(s_.m), l_.index(1), [&](Reg i) { single(i, j); }); });
  }

 private:
  Reg at(Reg base, DType t, Reg row, Reg stride, Reg column) {
    return b_.CreateGEP(storageType(b_.getContext(), t), base, b_.CreateAdd(b_.CreateMul(row, stride), column));
  }
  Reg elementOfB(Reg row, Reg k) { return at(d_.b, s_.b, row, d_.bRow, k); }

  /// As many rows of B as a vector has lanes, from row j on: a vector of dot products for each row of A.
  void block(Reg j, int rows) {
    const int lanes = rows;
    const int64_t whole = s_.k / lanes * lanes;
    Reg zero = llvm::Constant::getNullValue(registerType(b_.getContext(), DType::f32, lanes));
    llvm::SmallVector<Reg, 16> rowOfB;
    for (int r = 0; r < rows; ++r) rowOfB.push_back(elementOfB(b_.CreateAdd(j, l_.index(r)), l_.index(0)));
    llvm::Type* stored = storageType(b_.getContext(), s_.b);
    const auto products = [&](Reg i, Reg k, Carried sums, Reg mask, bool first) {
      Reg x = loadElements(b_, s_.a, at(d_.a, s_.a, i, d_.aRow, k), lanes, mask);
      for (int r = 0; r < rows; ++r) {
        Reg from = b_.CreateGEP(stored, rowOfB[r], k);
        if (first) prefetchUpcoming(l_, d_, b_.CreateAdd(j, l_.index(r)), from);
        Reg y = loadElements(b_, s_.b, from, lanes, mask);
        sums[r] = b_.CreateIntrinsic(x->getType(), llvm::Intrinsic::fma, {x, y, sums[r]});
      }
      return sums;
    };
    const auto dots = [&](Reg i, bool first) {
      Carried sums = carriedLoop(l_, 0, whole, lanes, Carried(static_cast<size_t>(rows), zero),
                                 [&](Reg k, const Carried& now) { return products(i, k, now, nullptr, first); });
      if (whole < s_.k)
        sums = products(i, l_.index(whole), sums, firstLanes(b_, lanes, static_cast<int>(s_.k - whole)), false);
      Reg all = sumsOfRows(sums);
      Reg target = at(d_.c, DType::f32, i, d_.cRow, j);
      if (s_.accumulate) all = b_.CreateFAdd(loadElements(b_, DType::f32, target, lanes), all);
      storeElements(b_, DType::f32, all, target, lanes);
    };
    dots(l_.index(0), true);
    if (s_.m > 1) l_.loop(l_.index(1), l_.index(s_.m), l_.index(1), [&](Reg i) { dots(i, false); });
  }

  /// Lane r: the sum of the lanes of v[r]. Halves are exchanged between vectors and added, round by round.
  Reg sumsOfRows(Carried v) {
    const int lanes = static_cast<int>(v.size());
    for (int d = lanes / 2; d >= 1; d /= 2) {
      llvm::SmallVector<int, 16> low, high;
      for (int lane = 0; lane < lanes; ++lane) {
        low.push_back(lane & d ? lanes + lane - d : lane);
        high.push_back(lane & d ? lanes + lane : lane + d);
      }
      Carried next;
      for (int i = 0; i < d; ++i)
        next.push_back(
            b_.CreateFAdd(b_.CreateShuffleVector(v[static_cast<size_t>(i)], v[static_cast<size_t>(i + d)], low),
                          b_.CreateShuffleVector(v[static_cast<size_t>(i)], v[static_cast<size_t>(i + d)], high)));
      v = std::move(next);
    }
    return v[0];
  }

  void single(Reg i, Reg j) {
    int lanes = 4 * l_.processor.lanes(4);
    while (lanes > 1 && lanes / 2 >= s_.k) lanes /= 2;
    const int64_t whole = s_.k / lanes * lanes;
    llvm::Type* type = registerType(b_.getContext(), DType::f32, lanes);
    const auto products = [&](Reg k, Reg sum, Reg mask) {
      Reg x = loadElements(b_, s_.a, at(d_.a, s_.a, i, d_.aRow, k), lanes, mask);
      Reg y = loadElements(b_, s_.b, elementOfB(j, k), lanes, mask);
      return b_.CreateIntrinsic(type, llvm::Intrinsic::fma, {x, y, sum});
    };
    Reg sum = llvm::Constant::getNullValue(type);
    sum = carriedLoop(l_, 0, whole, lanes, Carried(1, sum), [&](Reg k, const Carried& now) {
            return Carried(1, products(k, now.front(), nullptr));
          }).front();
    if (whole < s_.k)
      sum =
          products(l_.index(whole), sum, lanes == 1 ? nullptr : firstLanes(b_, lanes, static_cast<int>(s_.k - whole)));
    const Accumulator all{sum};
    Reg total = finishAccumulators(b_, eval::ReduceKind::add, DType::f32, std::span(&all, 1));
    Reg target = at(d_.c, DType::f32, i, d_.cRow, j);
    if (s_.accumulate) total = b_.CreateFAdd(loadElements(b_, DType::f32, target, 1), total);
    storeElements(b_, DType::f32, total, target, 1);
  }

  Lowering& l_;
  Builder& b_;
  const RowProduct& d_;
  const GemmShape& s_;
};

}  // namespace

bool isDotOfRows(const GemmShape& s) {
  return s.m <= kFewRows && s.transposedB && !s.transposedA && s.c == DType::f32 && s.k > 0;
}

void emitDotRows(Lowering& l, const RowProduct& d) { DotRowsEmitter(l, d).emit(); }

void prefetchUpcoming(Lowering& l, const RowProduct& p, Reg row, Reg address) {
  // Further than the processor looks ahead by itself, near enough to stay in the first cache until then.
  constexpr int64_t kAhead = 8 << 10;
  // A large second cache keeps it until then too, and the first one's fill buffers are free for what is read now.
  constexpr int64_t kLargeBytes = 2 << 20;
  Builder& b = l.b;
  const int64_t size = storage_bytes(p.shape.b), rows = p.shape.transposedB ? p.shape.n : p.shape.k;
  const int64_t rowBytes = size * (p.shape.transposedB ? p.shape.k : p.shape.n);
  if (!p.upcoming && rows * rowBytes < l.processor.l1Bytes) return;
  const int64_t ahead = std::min(rows, (kAhead + rowBytes - 1) / rowBytes);
  Reg stride = b.CreateMul(p.bRow, l.index(size));
  Reg distance = b.CreateMul(stride, l.index(ahead));
  if (p.upcoming) {
    Reg next = b.CreateAdd(p.upcoming, b.CreateMul(stride, l.index(ahead - rows)));
    distance = b.CreateSelect(b.CreateICmpULT(row, l.index(rows - ahead)), distance, next);
  }
  prefetchLine(b, b.CreatePtrAdd(address, distance),
               l.processor.l2Bytes >= kLargeBytes ? CacheLevel::second : CacheLevel::first);
}

}  // namespace smalti::cpu
