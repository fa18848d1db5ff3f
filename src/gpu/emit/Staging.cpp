#include "gpu/emit/Staging.h"

#include "llvm/IR/Intrinsics.h"

namespace smalti::gpu {
namespace {

/// The offset in bytes (i32), from where the operand begins in the stage, of the 16-byte vector number `vector` along
/// the inner dimension at index `row` of the other.
Reg stagedPlace(GpuLowering& l, const StagedOperand& o, Reg row, Reg vector) {
  Builder& b = l.b;
  const auto number = [&](int64_t i) { return b.getInt32(static_cast<uint32_t>(i)); };
  constexpr int64_t kVectors = ProductTile::kRowBytes / StagedOperand::kCopyBytes;  // of a row
  Reg matrix = b.CreateUDiv(vector, number(kVectors)), column = b.CreateURem(vector, number(kVectors));
  Reg where = b.CreateAdd(b.CreateMul(matrix, number(o.rows() * ProductTile::kRowBytes)),
                          b.CreateMul(row, number(ProductTile::kRowBytes)));
  Reg mixed = b.CreateXor(column, b.CreateURem(row, number(8)));
  return b.CreateAdd(where, b.CreateMul(mixed, number(StagedOperand::kCopyBytes)));
}

class Staging {
 public:
  Staging(GpuLowering& l, const StagedOperand& o, Reg to, Reg firstSide, Reg firstDepth)
      : l_(l), b_(l.b), o_(o), to_(to), elements_(cpu::storageType(b_.getContext(), o.dtype)) {
    const int64_t round = o.depthInner ? 8 : o.perRow(), sides = (o.staged + round - 1) / round * round;
    const bool sideEnds = sides != o.staged || o.side % sides != 0, depthEnds = o.depth % o.perRow() != 0;
    if (o.depthInner)
      s_ = {sides,   o.perRow(), firstSide, firstDepth,   o.side,
            o.depth, sideEnds,   depthEnds, o.sideStride, o.depthStride};
    else
      s_ = {o.perRow(), sides,     firstDepth, firstSide,     o.depth,
            o.side,     depthEnds, sideEnds,   o.depthStride, o.sideStride};
  }

  void run() {
    if (constantOf(o_.aligned).value_or(1) != 0) l_.when(o_.aligned, [&] { copyVectors(); });
    l_.when(b_.CreateNot(o_.aligned), [&] { copyElements(); });
  }

 private:
  /// A chunk as rows of elements that are neighbours in the stage.
  struct Rows {
    int64_t rows = 0, inner = 0;                   ///< sizes
    Reg firstRow = nullptr, firstInner = nullptr;  ///< first indices in the operand
    int64_t rowsEnd = 0, innerEnd = 0;             ///< sizes of the operand
    bool rowsMayEnd = true, innerMayEnd = true;    ///< the operand may end within the chunk
    Reg rowStride = nullptr, innerStride = nullptr;
  };

  Reg number(int64_t i) { return b_.getInt32(static_cast<uint32_t>(i)); }
  Reg inStage(Reg place) { return b_.CreateGEP(b_.getInt8Ty(), to_, b_.CreateZExt(place, b_.getInt64Ty())); }

  /// Copies 16 bytes at a time with cp.async. Elements outside the operand are 0.
  void copyVectors() {
    const int64_t perVector = o_.perVector(), perRow = s_.inner / perVector, all = s_.rows * perRow,
                  threads = l_.plan.threads;
    // If the threads take whole rows, the next vector of a thread is in the same column, a constant number of rows on.
    const bool wholeRows = threads % perRow == 0;
    for (int64_t i = 0; i < all; i += threads) {
      const GpuLowering::Scope scope(l_);
      Reg vector = b_.CreateAdd(l_.thread, number(wholeRows ? 0 : i));
      const int64_t rowOffset = wholeRows ? i / perRow : 0;
      const auto copy = [&] {
        Reg row = b_.CreateUDiv(vector, number(perRow)), column = b_.CreateURem(vector, number(perRow));
        Reg place = rowOffset % 8 == 0
                        ? b_.CreateAdd(stagedPlace(l_, o_, row, column), number(rowOffset * ProductTile::kRowBytes))
                        : stagedPlace(l_, o_, b_.CreateAdd(row, number(rowOffset)), column);
        Reg inRows = b_.CreateAdd(s_.firstRow, b_.CreateZExt(row, b_.getInt64Ty())),
            inner =
                b_.CreateAdd(s_.firstInner, b_.CreateZExt(b_.CreateMul(column, number(perVector)), b_.getInt64Ty()));
        Reg offset = b_.CreateAdd(b_.CreateAdd(b_.CreateMul(inRows, s_.rowStride), b_.CreateMul(inner, s_.innerStride)),
                                  b_.CreateMul(s_.rowStride, l_.index(rowOffset)));
        Reg bytes = number(StagedOperand::kCopyBytes);
        if (s_.rowsMayEnd || s_.innerMayEnd) {
          Reg count = present(b_.CreateAdd(inRows, l_.index(rowOffset)), inner);
          // A vector without elements of the operand reads no bytes from the operand's first address.
          offset = b_.CreateSelect(b_.CreateICmpSGT(count, l_.index(0)), offset, l_.index(0));
          bytes = b_.CreateTrunc(b_.CreateMul(count, l_.index(o_.bytes())), b_.getInt32Ty());
        }
        l_.device.copy(b_, inStage(place), b_.CreateGEP(elements_, o_.base, offset), bytes);
      };
      if (i + threads <= all)
        copy();
      else
        l_.when(b_.CreateICmpULT(vector, number(all - (wholeRows ? i : 0))), copy);
    }
  }

  /// The number of elements of the vector from this index on that are inside the operand.
  Reg present(Reg row, Reg inner) {
    Reg count = l_.index(o_.perVector());
    if (s_.innerMayEnd) {
      Reg left =
          b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateSub(l_.index(s_.innerEnd), inner), l_.index(0));
      count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, count);
    }
    return s_.rowsMayEnd ? b_.CreateSelect(b_.CreateICmpULT(row, l_.index(s_.rowsEnd)), count, l_.index(0)) : count;
  }

  /// Copies element by element: for operands with other strides, or in shared memory, which cp.async cannot read.
  /// Consecutive threads take elements that are neighbours in memory.
  void copyElements() {
    const int64_t fastest = o_.isTransposed ? s_.rows : s_.inner;
    const llvm::Align align(static_cast<uint64_t>(o_.bytes()));
    l_.loop(
        b_.CreateZExt(l_.thread, b_.getInt64Ty()), l_.index(s_.rows * s_.inner), l_.index(l_.plan.threads), [&](Reg i) {
          Reg slow = b_.CreateUDiv(i, l_.index(fastest)), fast = b_.CreateURem(i, l_.index(fastest));
          Reg row = o_.isTransposed ? fast : slow, column = o_.isTransposed ? slow : fast;
          Reg narrow = b_.CreateTrunc(column, b_.getInt32Ty());
          Reg place =
              stagedPlace(l_, o_, b_.CreateTrunc(row, b_.getInt32Ty()), b_.CreateUDiv(narrow, number(o_.perVector())));
          place = b_.CreateAdd(place, b_.CreateMul(b_.CreateURem(narrow, number(o_.perVector())), number(o_.bytes())));
          Reg inRows = b_.CreateAdd(s_.firstRow, row), inner = b_.CreateAdd(s_.firstInner, column);
          Reg inside = b_.CreateAnd(b_.CreateICmpULT(inRows, l_.index(s_.rowsEnd)),
                                    b_.CreateICmpULT(inner, l_.index(s_.innerEnd)));
          Reg offset = b_.CreateAdd(b_.CreateMul(inRows, s_.rowStride), b_.CreateMul(inner, s_.innerStride));
          Reg from = b_.CreateGEP(elements_, o_.base, b_.CreateSelect(inside, offset, l_.index(0)));
          Reg bits = b_.CreateAlignedLoad(elements_, from, align);
          b_.CreateAlignedStore(b_.CreateSelect(inside, bits, llvm::Constant::getNullValue(elements_)), inStage(place),
                                align);
        });
  }

  GpuLowering& l_;
  Builder& b_;
  const StagedOperand& o_;
  Reg to_;
  llvm::Type* elements_;
  Rows s_;
};

}  // namespace

void computeAlignment(GpuLowering& l, StagedOperand& o, bool inShared) {
  Builder& b = l.b;
  const bool depthIsInner = o.depthInner != o.isTransposed;
  Reg outer = depthIsInner ? o.sideStride : o.depthStride, inner = depthIsInner ? o.depthStride : o.sideStride;
  if (o.isTransposed || inShared || constantOf(inner) != 1) {
    o.aligned = b.getFalse();
    return;
  }
  Reg bits = b.CreateOr(b.CreatePtrToInt(o.base, b.getInt64Ty()), b.CreateMul(outer, l.index(o.bytes())));
  o.aligned = b.CreateICmpEQ(b.CreateAnd(bits, l.index(StagedOperand::kCopyBytes - 1)), l.index(0));
}

void stageChunk(GpuLowering& l, const StagedOperand& o, Reg to, Reg firstSide, Reg firstDepth) {
  Staging(l, o, to, firstSide, firstDepth).run();
}

}  // namespace smalti::gpu
