// Products of bf16 and f16 by the tensor cores: mma.sync.aligned.m16n8k16 (PTX ISA, "Matrix Fragments for mma.m16n8k16
// with floating point type"). Products are exact, sums are in f32.
#include <algorithm>

#include "gpu/emit/Product.h"
#include "llvm/IR/Intrinsics.h"

namespace smalti::gpu {
namespace {

constexpr int64_t kRows = 16, kColumns = 8, kDepth = 16;

/// One warp's part of the result.
class WarpTile {
 public:
  WarpTile(Lowering& l, const ProductForm& p)
      : l_(l),
        b_(l.b),
        p_(p),
        high_(std::min<int64_t>(2, (p.m() + kRows - 1) / kRows)),
        wide_(std::min<int64_t>(4, (p.n() + kColumns - 1) / kColumns)) {}

  void run() {
    Reg thread = b_.CreateZExt(l_.thread, b_.getInt64Ty());
    Reg lane = b_.CreateURem(thread, l_.index(kWarp)), warp = b_.CreateUDiv(thread, l_.index(kWarp));
    group_ = b_.CreateUDiv(lane, l_.index(4));
    inGroup_ = b_.CreateMul(b_.CreateURem(lane, l_.index(4)), l_.index(2));
    const int64_t down = (p_.m() + high_ * kRows - 1) / (high_ * kRows),
                  across = (p_.n() + wide_ * kColumns - 1) / (wide_ * kColumns);
    const int64_t warps = l_.plan.threads / kWarp;
    l_.loop(l_.index(0), l_.index(num_elements(p_.batch)), l_.index(1), [&](Reg batch) {
      const Place batchPlace = l_.placeOf(batch, p_.batch);
      lhsBase_ = offsetIn(l_, p_.lhs, p_.dims.lhsBatch, batchPlace);
      rhsBase_ = offsetIn(l_, p_.rhs, p_.dims.rhsBatch, batchPlace);
      l_.loop(warp, l_.index(down * across), l_.index(warps), [&](Reg tile) {
        tile_(batchPlace, b_.CreateMul(b_.CreateUDiv(tile, l_.index(across)), l_.index(high_ * kRows)),
              b_.CreateMul(b_.CreateURem(tile, l_.index(across)), l_.index(wide_ * kColumns)));
      });
    });
  }

 private:
  void tile_(const Place& batch, Reg firstRow, Reg firstColumn) {
    const Lowering::Scope scope(l_);
    std::vector<Reg> rowAt, columnAt;  // two rows of each block of 16, one column of each of 8
    for (int64_t i = 0; i < 2 * high_; ++i)
      rowAt.push_back(b_.CreateAdd(b_.CreateAdd(firstRow, group_), l_.index(i * kRows / 2)));
    for (int64_t j = 0; j < wide_; ++j)
      columnAt.push_back(b_.CreateAdd(b_.CreateAdd(firstColumn, group_), l_.index(j * kColumns)));
    Reg zero = llvm::ConstantFP::get(b_.getFloatTy(), 0.0);
    const auto sums = l_.carry(
        l_.index(0), l_.index(p_.k()), l_.index(kDepth), std::vector<Reg>(static_cast<size_t>(4 * high_ * wide_), zero),
        [&](Reg k, const std::vector<Reg>& now) {
          std::vector<Reg> a, c, next = now;
          // Registers of A: the upper row and the lower, then both 8 further along the depth. Of B: both depths.
          for (int64_t i = 0; i < high_; ++i)
            for (int64_t r = 0; r < 4; ++r)
              a.push_back(pair(p_.lhs, lhsBase_, p_.dims.lhsFree, p_.rows, rowAt[static_cast<size_t>(2 * i + r % 2)],
                               p_.dims.lhsContracting, b_.CreateAdd(k, b_.CreateAdd(inGroup_, l_.index(8 * (r / 2))))));
          for (int64_t j = 0; j < wide_; ++j)
            for (int64_t r = 0; r < 2; ++r)
              c.push_back(pair(p_.rhs, rhsBase_, p_.dims.rhsFree, p_.columns, columnAt[static_cast<size_t>(j)],
                               p_.dims.rhsContracting, b_.CreateAdd(k, b_.CreateAdd(inGroup_, l_.index(8 * r)))));
          for (int64_t i = 0; i < high_; ++i)
            for (int64_t j = 0; j < wide_; ++j) {
              const auto at = static_cast<size_t>(4 * (i * wide_ + j));
              const auto sum = l_.device.mma(b_, std::span(a).subspan(static_cast<size_t>(4 * i), 4),
                                             std::span(c).subspan(static_cast<size_t>(2 * j), 2),
                                             std::span(now).subspan(at, 4), p_.lhs.dtype == DType::f16);
              std::copy(sum.begin(), sum.end(), next.begin() + static_cast<ptrdiff_t>(at));
            }
          return next;
        });
    for (int64_t i = 0; i < high_; ++i)
      for (int64_t j = 0; j < wide_; ++j)
        for (int64_t e = 0; e < 4; ++e) {
          Reg column = b_.CreateAdd(b_.CreateAdd(firstColumn, inGroup_), l_.index(j * kColumns + e % 2));
          storeSum(l_, p_, batch, rowAt[static_cast<size_t>(2 * i + e / 2)], column,
                   sums[static_cast<size_t>(4 * (i * wide_ + j) + e)]);
        }
  }

  /// Two neighbours along the depth, the first in the low half. What lies outside of the operand is 0.
  Reg pair(const View& v, Reg base, const Shape& freeDims, const Shape& free, Reg at, const Shape& depthDims, Reg k) {
    const int64_t size = num_elements(free);
    const int64_t covered = &v == &p_.lhs ? high_ * kRows : wide_ * kColumns;  // by a warp
    Reg inside = size % covered == 0 ? b_.getTrue() : b_.CreateICmpULT(at, l_.index(size));
    Reg place = b_.CreateSelect(inside, at, l_.index(0));
    Reg first = b_.CreateAdd(base, offsetIn(l_, v, freeDims, l_.placeOf(place, free)));
    Reg word = b_.getInt32(0);
    for (int64_t i = 0; i < 2; ++i) {
      Reg depth = b_.CreateAdd(k, l_.index(i));
      Reg there = p_.k() % kDepth == 0 ? inside : b_.CreateAnd(inside, b_.CreateICmpULT(depth, l_.index(p_.k())));
      Reg along = offsetIn(l_, v, depthDims, l_.placeOf(b_.CreateSelect(there, depth, l_.index(0)), p_.depth));
      Reg bits = b_.CreateAlignedLoad(
          b_.getInt16Ty(), b_.CreateGEP(b_.getInt16Ty(), v.base, b_.CreateAdd(first, along)), llvm::Align(2));
      bits = b_.CreateZExt(b_.CreateSelect(there, bits, b_.getInt16(0)), b_.getInt32Ty());
      word = b_.CreateOr(word, i == 0 ? bits : b_.CreateShl(bits, 16));
    }
    return word;
  }

  Lowering& l_;
  Builder& b_;
  const ProductForm& p_;
  int64_t high_, wide_;  ///< tiles of a warp
  Reg group_ = nullptr, inGroup_ = nullptr, lhsBase_ = nullptr, rhsBase_ = nullptr;
};

}  // namespace

bool hasMma(const ProductForm& p) {
  const DType t = p.lhs.dtype;
  return p.rhs.dtype == t && (t == DType::bf16 || t == DType::f16) && is_float(p.out) && p.m() >= kRows / 2 &&
         p.n() >= kColumns && p.k() >= kDepth;
}

void emitMma(Lowering& l, const ProductForm& p) { WarpTile(l, p).run(); }

}  // namespace smalti::gpu
