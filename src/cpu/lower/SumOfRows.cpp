#include "cpu/lower/SumOfRows.h"

#include "cpu/gemm/Ir.h"
#include "cpu/lower/CarriedLoop.h"

namespace smalti::cpu {
namespace {

class SumOfRowsEmitter {
 public:
  SumOfRowsEmitter(Lowering& l, const RowProduct& p)
      : l_(l), b_(l.b), p_(p), s_(p.shape), lanes_(l.processor.lanes(4)) {}

  void emit() {
    const int64_t vectors = (s_.n + lanes_ - 1) / lanes_, most = accumulators(l_.processor) / s_.m;
    for (int64_t v = 0; v < vectors; v += most) columns(v * lanes_, static_cast<int>(std::min(most, vectors - v)));
  }

  static int64_t accumulators(const Processor& p) { return p.vectorRegisters >= 32 ? 24 : 8; }

 private:
  Reg element(Reg base, DType t, Reg offset) { return b_.CreateGEP(storageType(b_.getContext(), t), base, offset); }
  /// Null: all lanes of columns [first, first + lanes) are there.
  Reg mask(int64_t first) {
    return first + lanes_ <= s_.n ? nullptr : firstLanes(b_, lanes_, static_cast<int>(s_.n - first));
  }

  /// Some vectors of columns of C, in registers while the rows of B go by.
  void columns(int64_t first, int vectors) {
    Reg zero = llvm::Constant::getNullValue(registerType(b_.getContext(), DType::f32, lanes_));
    const int64_t rows = p_.rowsOfBlock();
    const Carried sums =
        carriedLoop(l_, 0, rows, 1, Carried(static_cast<size_t>(s_.m * vectors), zero), [&](Reg j, Carried now) {
          Reg k = j;
          for (const BlockOfRows& block : p_.b) {
            now = row(block, j, k, first, vectors, std::move(now));
            k = b_.CreateAdd(k, l_.index(rows));
          }
          return now;
        });
    for (int64_t i = 0; i < s_.m; ++i)
      for (int v = 0; v < vectors; ++v) {
        const int64_t column = first + v * lanes_;
        Reg to = element(p_.c, DType::f32, b_.CreateAdd(b_.CreateMul(l_.index(i), p_.cRow), l_.index(column)));
        Reg sum = sums[static_cast<size_t>(i * vectors + v)];
        if (s_.accumulate) sum = b_.CreateFAdd(loadElements(b_, DType::f32, to, lanes_, mask(column)), sum);
        storeElements(b_, DType::f32, sum, to, lanes_, mask(column));
      }
  }

  /// Row j of a block, which is row k of B.
  Carried row(const BlockOfRows& block, Reg j, Reg k, int64_t first, int vectors, Carried sums) {
    Reg start = b_.CreateMul(j, p_.bRow);
    Carried values;
    for (int v = 0; v < vectors; ++v) {
      const int64_t column = first + v * lanes_;
      Reg from = element(block.base, s_.b, b_.CreateAdd(start, l_.index(column)));
      if (storage_bytes(s_.b) * column % kLineBytes == 0) prefetchUpcoming(l_, p_, block, j, from);
      values.push_back(loadElements(b_, s_.b, from, lanes_, mask(column)));
    }
    for (int64_t i = 0; i < s_.m; ++i) {
      Reg at = element(p_.a, s_.a, b_.CreateAdd(b_.CreateMul(l_.index(i), p_.aRow), k));
      Reg factor = splat(b_, loadElements(b_, s_.a, at, 1), lanes_);
      for (int v = 0; v < vectors; ++v) {
        Reg& sum = sums[static_cast<size_t>(i * vectors + v)];
        sum = b_.CreateIntrinsic(sum->getType(), llvm::Intrinsic::fma, {factor, values[static_cast<size_t>(v)], sum});
      }
    }
    return sums;
  }

  Lowering& l_;
  Builder& b_;
  const RowProduct& p_;
  const GemmShape& s_;
  const int lanes_;
};

}  // namespace

bool isSumOfRows(const GemmShape& s, const Processor& p) {
  return !s.transposedA && !s.transposedB && s.c == DType::f32 && s.k > 0 &&
         s.m <= SumOfRowsEmitter::accumulators(p) / 8;
}

void emitSumOfRows(Lowering& l, const RowProduct& p) { SumOfRowsEmitter(l, p).emit(); }

}  // namespace smalti::cpu
