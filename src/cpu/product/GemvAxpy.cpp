#include "cpu/product/GemvAxpy.h"

#include <algorithm>
#include <vector>

#include "base/Arithmetic.h"
#include "cpu/nest/CarriedLoop.h"
#include "cpu/product/Bf16Dot.h"
#include "cpu/product/gemm/Ir.h"

namespace smalti::cpu {
namespace {

class GemvAxpyEmitter {
 public:
  GemvAxpyEmitter(NativeLowering& l, const RowProduct& p, const GemvAxpyPlan& plan)
      : l_(l),
        b_(l.b),
        p_(p),
        s_(p.shape),
        plan_(plan),
        lanes_(l.processor.lanes(4)),
        rowsPerStep_(p.bf16Pairs ? 2 : 1) {}

  /// The sums stay in registers over all rows of B if enough are available; otherwise each row is added to C in memory.
  void emit() {
    if (plan_.sumsInRegisters)
      inRegisters();
    else
      forEachTile(l_, l_.index(0), s_.n, plan_.cachedColumns,
                  [&](Reg first, int64_t columns) { inMemory(first, columns); });
  }

 private:
  /// A row of B, or the first of two that are multiplied as pairs.
  struct RowOfB {
    const BlockOfRows* block = nullptr;
    Reg number = nullptr;  ///< number of the row in its block
    Reg k = nullptr;       ///< and in B
  };
  using Rows = llvm::ArrayRef<RowOfB>;
  using SumOf = llvm::function_ref<Reg(int64_t row, int64_t vector)>;
  using Keep = llvm::function_ref<void(int64_t row, int64_t vector, Reg sum)>;

  /// `count` rows from row j on of each block; `first`: the number of the first block.
  std::vector<RowOfB> rowsOf(llvm::ArrayRef<BlockOfRows> blocks, int64_t first, Reg j, int64_t count) {
    std::vector<RowOfB> rows;
    for (size_t block = 0; block < blocks.size(); ++block)
      for (int64_t r = 0; r < count; r += rowsPerStep_) {
        Reg number = b_.CreateAdd(j, l_.index(r));
        const int64_t before = (first + static_cast<int64_t>(block)) * p_.rowsOfBlock();
        rows.push_back({&blocks[block], number, b_.CreateAdd(number, l_.index(before))});
      }
    return rows;
  }

  void inRegisters() {
    const auto at = [&](int64_t row, int64_t vector) { return static_cast<size_t>(row * vectors(s_.n) + vector); };
    Reg zero = llvm::Constant::getNullValue(registerType(b_.getContext(), DType::f32, lanes_));
    const Values zeros(at(s_.m, 0), zero);
    const Values sums = carriedLoop(l_, 0, p_.rowsOfBlock(), rowsPerStep_, zeros, [&](Reg j, Values now) {
      forEachBlockGroup(p_, plan_.rowsOfB, [&](llvm::ArrayRef<BlockOfRows> blocks, int64_t first) {
        const std::vector<RowOfB> rows = rowsOf(blocks, first, j, rowsPerStep_);
        add(
            rows, factors(rows), l_.index(0), s_.n, [&](int64_t i, int64_t v) { return now[at(i, v)]; },
            [&](int64_t i, int64_t v, Reg sum) { now[at(i, v)] = sum; });
      });
      return now;
    });
    for (int64_t i = 0; i < s_.m; ++i)
      for (int64_t v = 0; v < vectors(s_.n); ++v) {
        Reg to = elementOfC(l_, p_, l_.index(i), l_.index(v * lanes_)), mask = lanesWithin(l_, s_.n, v),
            sum = sums[at(i, v)];
        if (s_.accumulate) sum = b_.CreateFAdd(loadElements(b_, DType::f32, to, lanes_, mask), sum);
        storeElements(b_, DType::f32, sum, to, lanes_, mask);
      }
  }

  void inMemory(Reg first, int64_t columns) {
    if (!s_.accumulate) clearColumnsOfC(l_, p_, first, columns);
    // One loop per group, because in a common loop, sums to which the next group adds would be spilled in addition to
    // C.
    forEachBlockGroup(p_, plan_.rowsOfB, [&](llvm::ArrayRef<BlockOfRows> blocks, int64_t firstBlock) {
      forEachTile(l_, l_.index(0), p_.rowsOfBlock(), plan_.consecutiveRowsOfB * rowsPerStep_,
                  [&](Reg j, int64_t together) {
                    const std::vector<RowOfB> rows = rowsOf(blocks, firstBlock, j, together);
                    const Values ofRows = factors(rows);
                    forEachTile(l_, first, columns, plan_.passColumns, [&](Reg at, int64_t count) {
                      const auto to = [&](int64_t i, int64_t v) {
                        return elementOfC(l_, p_, l_.index(i), b_.CreateAdd(at, l_.index(v * lanes_)));
                      };
                      add(
                          rows, ofRows, at, count,
                          [&](int64_t i, int64_t v) {
                            return loadElements(b_, DType::f32, to(i, v), lanes_, lanesWithin(l_, count, v));
                          },
                          [&](int64_t i, int64_t v, Reg sum) {
                            storeElements(b_, DType::f32, sum, to(i, v), lanes_, lanesWithin(l_, count, v));
                          });
                    });
                  });
    });
  }

  /// The factors of the rows, for every row of A.
  Values factors(Rows rows) {
    Values all;
    for (int64_t i = 0; i < s_.m; ++i)
      for (const RowOfB& row : rows) {
        Reg from = elementAt(b_, s_.a, p_.a, b_.CreateAdd(b_.CreateMul(l_.index(i), p_.lda), row.k));
        all.push_back(splat(b_, loadCoefficients(b_, s_.a, rowsPerStep_ == 2, from, 1), lanes_));
      }
    return all;
  }

  /// Adds some columns of the rows, whose vectors are interleaved.
  void add(Rows rows, const Values& factors, Reg first, int64_t columns, SumOf sumOf, Keep keep) {
    // The rows that are read together need one register each.
    for (int64_t v = 0; v < vectors(columns); v += rowsPerStep_) {
      const int64_t count = std::min(columns - v * lanes_, rowsPerStep_ * lanes_);
      std::vector<Values> values;  // by row
      for (const RowOfB& row : rows) {
        Values addresses;
        for (int64_t r = 0; r < rowsPerStep_; ++r)
          addresses.push_back(
              ofRow(*row.block, b_.CreateAdd(row.number, l_.index(r)), b_.CreateAdd(first, l_.index(v * lanes_)), v));
        values.push_back(loadRows(l_, s_, addresses, count));
      }
      for (int64_t u = 0; u < vectors(count); ++u)
        for (int64_t i = 0; i < s_.m; ++i) {
          Reg sum = sumOf(i, v + u);
          for (size_t row = 0; row < rows.size(); ++row)
            sum = addProducts(b_, factors[static_cast<size_t>(i) * rows.size() + row],
                              values[row][static_cast<size_t>(u)], sum);
          keep(i, v + u, sum);
        }
    }
  }

  /// The address of `column` in row j of a block; prefetches once per cache line. `v`: the number of the vector that is
  /// read there.
  Reg ofRow(const BlockOfRows& block, Reg j, Reg column, int64_t v) {
    Reg from = elementAt(b_, s_.b, block.base, b_.CreateAdd(b_.CreateMul(j, p_.ldb), column));
    if (storage_bytes(s_.b) * v * lanes_ % kLineBytes == 0) prefetchUpcoming(l_, p_, block, j, from);
    return from;
  }

  int64_t vectors(int64_t columns) const { return ceilDiv(columns, lanes_); }

  NativeLowering& l_;
  Builder& b_;
  const RowProduct& p_;
  const GemmShape& s_;
  const GemvAxpyPlan& plan_;
  const int lanes_;
  const int64_t rowsPerStep_;
};

}  // namespace

void emitGemvAxpy(NativeLowering& l, const RowProduct& p, const GemvAxpyPlan& plan) {
  GemvAxpyEmitter(l, p, plan).emit();
}

}  // namespace smalti::cpu
