#include "cpu/product/GemvDot.h"

#include <algorithm>
#include <numeric>

#include "base/Arithmetic.h"
#include "cpu/nest/CarriedLoop.h"
#include "cpu/product/Bf16Dot.h"
#include "cpu/product/gemm/Ir.h"

namespace smalti::cpu {
namespace {

class GemvDotEmitter {
 public:
  GemvDotEmitter(NativeLowering& l, const RowProduct& d, const GemvDotPlan& plan)
      : l_(l),
        b_(l.b),
        d_(d),
        s_(d.shape),
        plan_(plan),
        lanes_(plan.lanes),
        width_(plan.width),
        size_(storage_bytes(d.shape.b)) {}

  /// Multiplies the rows of B in groups: `consecutiveRowsOfB` rows of each of up to `rowsOfB` blocks. The loop over k
  /// interleaves the rows of a group by cache line.
  void emit() {
    if (plan_.holdsA)
      for (int64_t i = 0; i < s_.m; ++i)
        for (int64_t k = 0; k < s_.k; k += width_) held_.push_back(elementsOfA(i, {}, l_.index(k), maskAt(k, s_.k)));
    if (plan_.partOfK > 0) return inPartsOfK();
    const auto blocks = static_cast<int64_t>(d_.b.size());
    const PartOfK all{.first = l_.index(0), .count = s_.k};
    if (plan_.stagedColumns == 0) {
      dotsOfRows(l_.index(0), d_.rowsOfBlock(), all);
      return;
    }
    staged_ = l_.allocate(DType::f32, Shape{blocks, s_.m, plan_.stagedColumns});
    forEachTile(l_, l_.index(0), d_.rowsOfBlock(), plan_.stagedColumns, [&](Reg from, int64_t count) {
      dotsOfRows(from, count, all);
      storeStaged(from, count);
    });
  }

 private:
  struct PartOfK {
    Reg first = nullptr;
    int64_t count = 0;
    bool adds = false;  ///< to the sums of the parts before
  };

  /// Every part of A stays in L1 while it is multiplied with some rows of B. Parts are contiguous, since rows of A and
  /// B with a stride of whole pages map to the same sets.
  void inPartsOfK() {
    partsOfA_ = l_.allocate(s_.a, Shape{ceilDiv(s_.k, plan_.partOfK), s_.m, plan_.partOfK});
    const llvm::Align align(static_cast<uint64_t>(storage_bytes(s_.a)));
    forEachTile(l_, l_.index(0), s_.k, plan_.partOfK, [&](Reg k, int64_t count) {
      for (int64_t i = 0; i < s_.m; ++i)
        b_.CreateMemCpy(elementAt(b_, s_.a, partsOfA_->base, inParts(i, k, l_.index(0))), align,
                        at(d_.a, s_.a, l_.index(i), d_.lda, k), align,
                        static_cast<uint64_t>(count * storage_bytes(s_.a)));
    });
    forEachTile(l_, l_.index(0), d_.rowsOfBlock(), plan_.rowsOfPart, [&](Reg from, int64_t rows) {
      dotsOfRows(from, rows, {.first = l_.index(0), .count = plan_.partOfK});
      forEachTile(l_, l_.index(plan_.partOfK), s_.k - plan_.partOfK, plan_.partOfK,
                  [&](Reg k, int64_t count) { dotsOfRows(from, rows, {.first = k, .count = count, .adds = true}); });
    });
  }

  /// The place of A's value k = first + `inPart` in partsOfA_.
  Reg inParts(int64_t row, Reg first, Reg inPart) {
    return b_.CreateAdd(b_.CreateMul(first, l_.index(s_.m)), b_.CreateAdd(l_.index(row * plan_.partOfK), inPart));
  }

  /// `size` rows of each block from row `from` on.
  void dotsOfRows(Reg from, int64_t size, const PartOfK& part) {
    forEachTile(l_, from, size, plan_.consecutiveRowsOfB, [&](Reg j, int64_t count) {
      forEachBlockGroup(d_, plan_.rowsOfB, [&](llvm::ArrayRef<BlockOfRows> blocks, int64_t at) {
        std::vector<RowOfB> rows;
        for (const BlockOfRows& block : blocks) {
          Reg column = columnOf(at++, from, j);
          for (int64_t i = 0; i < count; ++i)
            rows.push_back({&block, b_.CreateAdd(j, l_.index(i)), b_.CreateAdd(column, l_.index(i))});
        }
        for (int64_t i = 0; i < s_.m; i += plan_.rowsOfA) dots(i, std::min(plan_.rowsOfA, s_.m - i), rows, count, part);
      });
    });
  }

  /// The column to which a sum is written: of C, or of the staging memory for some columns of C.
  Reg columnOf(int64_t block, Reg from, Reg j) {
    return staged_ ? b_.CreateAdd(b_.CreateSub(j, from), l_.index(block * s_.m * plan_.stagedColumns))
                   : b_.CreateAdd(j, l_.index(block * d_.rowsOfBlock()));
  }
  Reg targetOf(int64_t row, Reg column) {
    return staged_ ? elementAt(b_, DType::f32, staged_->base, b_.CreateAdd(column, l_.index(row * plan_.stagedColumns)))
                   : elementOfC(l_, d_, l_.index(row), column);
  }

  /// Stores the staged sums to C: those of `count` rows of each block of B, from row `from` on.
  void storeStaged(Reg from, int64_t count) {
    l_.loop(l_.index(0), l_.index(s_.m), l_.index(1), [&](Reg i) {
      for (int64_t block = 0; block < static_cast<int64_t>(d_.b.size()); ++block)
        for (int64_t at = 0; at < count; at += lanes_) {
          Reg on = count - at < lanes_ ? firstLanes(b_, lanes_, static_cast<int>(count - at)) : nullptr;
          Reg first = b_.CreateAdd(b_.CreateMul(i, l_.index(plan_.stagedColumns)),
                                   l_.index(block * s_.m * plan_.stagedColumns + at));
          Reg sums = loadElements(b_, DType::f32, elementAt(b_, DType::f32, staged_->base, first), lanes_, on);
          Reg to = elementOfC(l_, d_, i, b_.CreateAdd(from, l_.index(block * d_.rowsOfBlock() + at)));
          if (s_.accumulate) sums = b_.CreateFAdd(loadElements(b_, DType::f32, to, lanes_, on), sums);
          storeElements(b_, DType::f32, sums, to, lanes_, on);
        }
    });
  }

  struct RowOfB {
    const BlockOfRows* block = nullptr;
    Reg number = nullptr;  ///< number of the row in its block
    Reg column = nullptr;  ///< in C, or in the staging memory
  };

  Reg at(Reg base, DType t, Reg row, Reg stride, Reg column) {
    return elementAt(b_, t, base, b_.CreateAdd(b_.CreateMul(row, stride), column));
  }

  /// Vectors in a row of A or B.
  int64_t vectors() const { return ceilDiv(s_.k, width_); }
  Reg elementsOfA(int64_t row, const PartOfK& part, Reg inPart, Reg mask) {
    Reg from = partsOfA_ ? elementAt(b_, s_.a, partsOfA_->base, inParts(row, part.first, inPart))
                         : at(d_.a, s_.a, l_.index(row), d_.lda, inPart);
    return loadCoefficients(b_, s_.a, d_.bf16Pairs, from, lanes_, mask);
  }
  /// The mask of the elements from value k of `count` on; null: all are inside.
  Reg maskAt(int64_t k, int64_t count) {
    return count - k < width_ ? firstLanes(b_, static_cast<int>(width_), static_cast<int>(count - k)) : nullptr;
  }

  /// Dot products of some rows of B, in runs of `consecutiveRowsOfB` adjacent rows, with some rows of A.
  void dots(int64_t first, int64_t rows, llvm::ArrayRef<RowOfB> ofB, int64_t consecutiveRowsOfB, const PartOfK& ofK) {
    const auto together = static_cast<int64_t>(ofB.size());
    // Independent sums, and whole cache lines per iteration.
    const int64_t chains = GemvDotPlan::chains(rows, together), line = kLineBytes / (width_ * size_);
    const int64_t parts = std::max(chains, line);
    const int64_t pass = parts * width_, whole = held_.empty() ? ofK.count / pass * pass : 0;
    // Each pass over the rows of B prefetches for some of them, since fill buffers limit how many lines arrive at once.
    const int64_t passesOverA = ceilDiv(s_.m, plan_.rowsOfA);
    Reg zero = llvm::Constant::getNullValue(registerType(b_.getContext(), DType::f32, lanes_));
    const auto add = [&](Reg inPart, int64_t part, int64_t row, Values& sums, Reg mask) {
      const RowOfB& of = ofB[static_cast<size_t>(row)];
      Reg k = b_.CreateAdd(ofK.first, inPart);
      Reg from = at(of.block->base, s_.b, of.number, d_.ldb, k);
      if (row % passesOverA == first / plan_.rowsOfA && part * width_ * size_ % kLineBytes == 0)
        prefetchUpcoming(l_, d_, *of.block, of.number, from);
      Reg y = loadOfB(b_, s_, d_.bf16Pairs, from, lanes_, mask);
      for (int64_t i = 0; i < rows; ++i) {
        Reg x = held_.empty() ? elementsOfA(first + i, ofK, inPart, mask)
                              : held_[static_cast<size_t>((first + i) * vectors() + part)];
        Reg& sum = sums[static_cast<size_t>((i * together + row) * chains + part % chains)];
        sum = addProducts(b_, x, y, sum);
      }
    };
    const Values zeros(static_cast<size_t>(together * rows * chains), zero);
    Values sums = carriedLoop(l_, 0, whole, pass, zeros, [&](Reg k, Values now) {
      for (int64_t begin = 0; begin < parts; begin += line)
        for (int64_t row = 0; row < together; ++row)
          for (int64_t part = begin; part < begin + line; ++part)
            add(b_.CreateAdd(k, l_.index(part * width_)), part, row, now, nullptr);
      return now;
    });
    for (int64_t k = whole; k < ofK.count; k += width_)
      for (int64_t row = 0; row < together; ++row)
        add(l_.index(k), (k - whole) / width_, row, sums, maskAt(k, ofK.count));

    Values totals;
    for (int64_t i = 0; i < together * rows; ++i) {
      const auto of = llvm::ArrayRef(sums).slice(static_cast<size_t>(i * chains), static_cast<size_t>(chains));
      totals.push_back(
          std::accumulate(of.begin() + 1, of.end(), of.front(), [&](Reg a, Reg b) { return b_.CreateFAdd(a, b); }));
    }
    Reg all = lanes_ > 1 ? sumsOfLanes(totals) : totals.front();
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t row = 0; row < together; row += consecutiveRowsOfB) {
        Reg target = targetOf(first + i, ofB[static_cast<size_t>(row)].column);
        Reg sum =
            lanes_ > 1 ? lanesOf(all, static_cast<int>(i * together + row), static_cast<int>(consecutiveRowsOfB)) : all;
        if (ofK.adds || (s_.accumulate && !staged_))
          sum = b_.CreateFAdd(loadElements(b_, DType::f32, target, static_cast<int>(consecutiveRowsOfB)), sum);
        storeElements(b_, DType::f32, sum, target, static_cast<int>(consecutiveRowsOfB));
      }
  }

  Reg lanesOf(Reg v, int first, int count) {
    if (count == 1) return b_.CreateExtractElement(v, l_.index(first));
    llvm::SmallVector<int, 4> lanes(static_cast<size_t>(count));
    std::iota(lanes.begin(), lanes.end(), first);
    return b_.CreateShuffleVector(v, lanes);
  }

  /// Returns a vector whose lane i is the sum of the lanes of v[i]; there are at most as many vectors as lanes. Halves
  /// are exchanged between vectors and added until one vector is left, then halves of that one. An exchange is a blend
  /// of the lanes that stay, which most ports execute, and a shuffle of the others.
  Reg sumsOfLanes(Values v) {
    v.resize(llvm::PowerOf2Ceil(v.size()), llvm::PoisonValue::get(v.front()->getType()));
    const int rows = static_cast<int>(v.size());
    for (int d = rows / 2; d >= 1; d /= 2) {
      llvm::SmallVector<int, 16> staying, moving;
      for (int lane = 0; lane < lanes_; ++lane) {
        staying.push_back(lane & d ? lanes_ + lane : lane);
        moving.push_back(lane & d ? lanes_ + lane - d : lane + d);
      }
      for (int i = 0; i < d; ++i) {
        Reg a = v[static_cast<size_t>(i)], b = v[static_cast<size_t>(i + d)];
        v[static_cast<size_t>(i)] =
            b_.CreateFAdd(b_.CreateShuffleVector(a, b, staying), b_.CreateShuffleVector(a, b, moving));
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

  NativeLowering& l_;
  Builder& b_;
  const RowProduct& d_;
  const GemmShape& s_;
  const GemvDotPlan& plan_;
  const int lanes_;
  const int64_t width_;           ///< values of k in a register
  std::optional<View> partsOfA_;  ///< GemvDotPlan::partOfK: [part, row of A, value of k]
  std::optional<View> staged_;    ///< sums that are not in C yet: [block, row of A, stagedColumns]
  Values held_;                   ///< A, row after row, if it fits
  const int64_t size_;            ///< bytes of an element of B
};

}  // namespace

void emitGemvDot(NativeLowering& l, const RowProduct& d, const GemvDotPlan& plan) { GemvDotEmitter(l, d, plan).emit(); }

}  // namespace smalti::cpu
