#include "cpu/lower/DotRows.h"

#include <algorithm>
#include <numeric>

#include "cpu/gemm/Ir.h"
#include "cpu/lower/CarriedLoop.h"

namespace smalti::cpu {
namespace {

/// Rows of A up to which reading B once per row costs less than packing it.
constexpr int64_t kFewRows = 8;

class DotRowsEmitter {
 public:
  DotRowsEmitter(Lowering& l, const RowProduct& d)
      : l_(l), b_(l.b), d_(d), s_(d.shape), lanes_(l.processor.lanes(4)), size_(storage_bytes(d.shape.b)) {
    while (lanes_ > 1 && lanes_ / 2 >= s_.k) lanes_ /= 2;
  }

  /// Rows of B one after the other, each from its begin to its end: some processors fetch ahead in no other order. Of
  /// several blocks in turns: memory fetches from all of them at a time.
  void emit() {
    // A few vectors of A stay in registers all the time.
    if (s_.m <= lanes_ && s_.m * vectors() <= l_.processor.vectorRegisters / 2)
      for (int64_t i = 0; i < s_.m; ++i)
        for (int64_t k = 0; k < s_.k; k += lanes_) held_.push_back(elementsOfA(i, l_.index(k), maskAt(k)));
    const int64_t rows = d_.rowsOfBlock();
    l_.loop(l_.index(0), l_.index(rows), l_.index(1), [&](Reg j) {
      Reg column = j;
      for (const BlockOfRows& block : d_.b) {
        for (int64_t i = 0; i < s_.m; i += lanes_) dots(i, std::min<int64_t>(lanes_, s_.m - i), block, j, column);
        column = b_.CreateAdd(column, l_.index(rows));
      }
    });
  }

 private:
  Reg at(Reg base, DType t, Reg row, Reg stride, Reg column) {
    return b_.CreateGEP(storageType(b_.getContext(), t), base, b_.CreateAdd(b_.CreateMul(row, stride), column));
  }

  /// Of a row.
  int64_t vectors() const { return (s_.k + lanes_ - 1) / lanes_; }
  Reg elementsOfA(int64_t row, Reg k, Reg mask) {
    return loadElements(b_, s_.a, at(d_.a, s_.a, l_.index(row), d_.aRow, k), lanes_, mask);
  }
  /// Null: all lanes from column k on are there.
  Reg maskAt(int64_t k) { return s_.k - k < lanes_ ? firstLanes(b_, lanes_, static_cast<int>(s_.k - k)) : nullptr; }

  /// Row j of a block with some rows of A: a column of C.
  void dots(int64_t first, int64_t rows, const BlockOfRows& block, Reg j, Reg column) {
    // Sums that do not wait for each other, and whole cache lines in a pass.
    const int64_t chains = std::max<int64_t>(1, 4 / rows), parts = std::max(chains, kLineBytes / (lanes_ * size_));
    const int64_t pass = parts * lanes_, whole = held_.empty() ? s_.k / pass * pass : 0;
    Reg zero = llvm::Constant::getNullValue(registerType(b_.getContext(), DType::f32, lanes_));
    const auto add = [&](Reg k, int64_t part, Carried& sums, Reg mask) {
      Reg from = at(block.base, s_.b, j, d_.bRow, k);
      if (part * lanes_ * size_ % kLineBytes == 0) prefetchUpcoming(l_, d_, block, j, from);
      Reg y = loadElements(b_, s_.b, from, lanes_, mask);
      for (int64_t i = 0; i < rows; ++i) {
        Reg x = held_.empty() ? elementsOfA(first + i, k, mask) : held_[static_cast<size_t>(i * vectors() + part)];
        Reg& sum = sums[static_cast<size_t>(i * chains + part % chains)];
        sum = b_.CreateIntrinsic(x->getType(), llvm::Intrinsic::fma, {x, y, sum});
      }
    };
    Carried sums =
        carriedLoop(l_, 0, whole, pass, Carried(static_cast<size_t>(rows * chains), zero), [&](Reg k, Carried now) {
          for (int64_t part = 0; part < parts; ++part)
            add(b_.CreateAdd(k, l_.index(part * lanes_)), part, now, nullptr);
          return now;
        });
    for (int64_t k = whole; k < s_.k; k += lanes_) add(l_.index(k), (k - whole) / lanes_, sums, maskAt(k));

    Carried totals;
    for (int64_t i = 0; i < rows; ++i) {
      const auto of = llvm::ArrayRef(sums).slice(static_cast<size_t>(i * chains), static_cast<size_t>(chains));
      totals.push_back(
          std::accumulate(of.begin() + 1, of.end(), of.front(), [&](Reg a, Reg b) { return b_.CreateFAdd(a, b); }));
    }
    Reg all = lanes_ > 1 ? sumsOfLanes(totals) : totals.front();
    for (int64_t i = 0; i < rows; ++i) {
      Reg target = at(d_.c, DType::f32, l_.index(first + i), d_.cRow, column);
      Reg sum = lanes_ > 1 ? b_.CreateExtractElement(all, l_.index(i)) : all;
      if (s_.accumulate) sum = b_.CreateFAdd(loadElements(b_, DType::f32, target, 1), sum);
      storeElements(b_, DType::f32, sum, target, 1);
    }
  }

  /// Lane i: the sum of the lanes of v[i], of no more vectors than lanes. Halves are exchanged between vectors and
  /// added until one vector is left, then halves of that one.
  Reg sumsOfLanes(Carried v) {
    v.resize(llvm::PowerOf2Ceil(v.size()), llvm::PoisonValue::get(v.front()->getType()));
    const int rows = static_cast<int>(v.size());
    for (int d = rows / 2; d >= 1; d /= 2) {
      llvm::SmallVector<int, 16> low, high;
      for (int lane = 0; lane < lanes_; ++lane) {
        low.push_back(lane & d ? lanes_ + lane - d : lane);
        high.push_back(lane & d ? lanes_ + lane : lane + d);
      }
      for (int i = 0; i < d; ++i) {
        Reg a = v[static_cast<size_t>(i)], b = v[static_cast<size_t>(i + d)];
        v[static_cast<size_t>(i)] =
            b_.CreateFAdd(b_.CreateShuffleVector(a, b, low), b_.CreateShuffleVector(a, b, high));
      }
    }
    Reg sum = v.front();
    for (int half = lanes_ / 2; half >= rows; half /= 2) {
      llvm::SmallVector<int, 16> low(static_cast<size_t>(half)), high(low);
      std::iota(low.begin(), low.end(), 0);
      std::iota(high.begin(), high.end(), half);
      sum = b_.CreateFAdd(b_.CreateShuffleVector(sum, low), b_.CreateShuffleVector(sum, high));
    }
    return sum;
  }

  Lowering& l_;
  Builder& b_;
  const RowProduct& d_;
  const GemmShape& s_;
  int lanes_;
  Carried held_;        ///< A, row after row, if it fits
  const int64_t size_;  ///< bytes of an element of B
};

}  // namespace

bool isDotOfRows(const GemmShape& s) {
  return s.m <= kFewRows && s.transposedB && !s.transposedA && s.c == DType::f32 && s.k > 0;
}

void emitDotRows(Lowering& l, const RowProduct& d) { DotRowsEmitter(l, d).emit(); }

void prefetchUpcoming(Lowering& l, const RowProduct& p, const BlockOfRows& block, Reg row, Reg address) {
  // Further than the processor looks ahead by itself.
  constexpr int64_t kAhead = 8 << 10;
  // Processors with as large a second cache look ahead less than memory asks for; others are disturbed by more.
  constexpr int64_t kLargeBytes = 2 << 20;
  Builder& b = l.b;
  const int64_t size = storage_bytes(p.shape.b), rows = p.rowsOfBlock();
  const int64_t rowBytes = size * (p.shape.transposedB ? p.shape.k : p.shape.n);
  const bool far = rows * rowBytes >= l.processor.l1Bytes && l.processor.l2Bytes >= kLargeBytes;
  if (!block.upcoming && !far) return;
  const int64_t ahead = std::min(rows, (kAhead + rowBytes - 1) / rowBytes);
  Reg stride = b.CreateMul(p.bRow, l.index(size));
  Reg distance = b.CreateMul(stride, l.index(ahead));
  if (block.upcoming) {
    Reg next = b.CreateAdd(block.upcoming, b.CreateMul(stride, l.index(ahead - rows)));
    distance = b.CreateSelect(b.CreateICmpULT(row, l.index(rows - ahead)), distance, next);
  }
  // The first cache's fill buffers are free for what is read now.
  prefetchLine(b, b.CreatePtrAdd(address, distance), CacheLevel::second);
}

}  // namespace smalti::cpu
