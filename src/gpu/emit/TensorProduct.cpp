// Products of bf16 and f16 by the tensor cores. Products are exact, sums are in f32.
//
//   stage 0 … stage s-2 are on their way
//   for each chunk of the depth:
//     wait for its stage; a barrier: it is there for all, and all have read the one before
//     the chunk s-1 further on is on its way, to the stage that was read last
//     multiply
//
// A stage has of each operand a matrix of rows of 128 bytes, swizzled as TMA and wgmma have it (PTX ISA, "Swizzling
// Modes"): the 16 bytes at column c of row r lie at column c xor r mod 8, so that 8 rows are read without bank
// conflicts. A side of more than 64 inner elements is several such matrices, one after the other.
#include <algorithm>

#include "gpu/emit/Product.h"
#include "llvm/IR/Intrinsics.h"

namespace smalti::gpu {
namespace {

constexpr int64_t kSide = ProductTile::kDepth, kRowBytes = ProductTile::kRowBytes, kChunkBytes = 16, kPerChunk = 8;

/// One operand: a side (rows of the result, or columns) and the depth.
struct Operand {
  const View& view;
  size_t sideDim, depthDim;
  bool depthInner;
  int64_t side, depth;    ///< sizes
  int64_t staged;         ///< of the side, at once
  Reg base = nullptr;     ///< of this batch
  Reg aligned = nullptr;  ///< i1: 16 bytes may be copied at once

  Reg sideStride() const { return view.strides[sideDim]; }
  Reg depthStride() const { return view.strides[depthDim]; }
};

class TensorProduct {
 public:
  TensorProduct(Lowering& l, const ProductForm& p, const ProductTile& tile, Reg sums)
      : l_(l),
        b_(l.b),
        p_(p),
        t_(tile),
        keeps_(sums != nullptr),
        sums_(sums ? sums : l.slot(llvm::ArrayType::get(l.b.getFloatTy(), static_cast<uint64_t>(tile.sums())))),
        lhs_(operand(p.lhs, p.dims.lhsFree, p.dims.lhsContracting, p.m(), tile.rows())),
        rhs_(operand(p.rhs, p.dims.rhsFree, p.dims.rhsContracting, p.n(), tile.columns())),
        chunks_((p.k() + kSide - 1) / kSide) {}

  void run() {
    lane_ = b_.CreateURem(l_.thread, b_.getInt32(kWarp));
    Reg warp = b_.CreateUDiv(l_.thread, b_.getInt32(kWarp));
    down_ = b_.CreateURem(warp, number(t_.warpsDown));
    across_ = b_.CreateUDiv(warp, number(t_.warpsDown));
    l_.loop(l_.index(0), l_.index(num_elements(p_.batch)), l_.index(1), [&](Reg batch) {
      const Place at = l_.placeOf(batch, p_.batch);
      begin(lhs_, offsetIn(l_, p_.lhs, p_.dims.lhsBatch, at));
      begin(rhs_, offsetIn(l_, p_.rhs, p_.dims.rhsBatch, at));
      if (keeps_) return tile(at, l_.index(0), l_.index(0));
      l_.loop(l_.index(0), l_.index(p_.m()), l_.index(t_.rows()), [&](Reg row) {
        l_.loop(l_.index(0), l_.index(p_.n()), l_.index(t_.columns()), [&](Reg column) { tile(at, row, column); });
      });
    });
    // Since the last barrier stages have been read, and the result has been written.
    l_.hazards.clear();
    if (!keeps_) l_.hazards.note(l_.reads(p_.acc), {p_.made.memory});
  }

 private:
  static Operand operand(const View& v, const Shape& free, const Shape& contracting, int64_t side, int64_t staged) {
    const auto sideDim = static_cast<size_t>(free[0]), depthDim = static_cast<size_t>(contracting[0]);
    return {v, sideDim, depthDim, depthDim > sideDim, side, v.shape[depthDim], staged};
  }
  Reg number(int64_t i) { return b_.getInt32(static_cast<uint32_t>(i)); }

  void begin(Operand& o, Reg offset) {
    o.base = b_.CreateGEP(b_.getInt16Ty(), o.view.base, offset);
    Reg outer = o.depthInner ? o.sideStride() : o.depthStride();
    Reg inner = o.depthInner ? o.depthStride() : o.sideStride();
    Reg bits = b_.CreateOr(b_.CreatePtrToInt(o.base, b_.getInt64Ty()), b_.CreateShl(outer, 1));
    o.aligned = constantOf(inner) == 1 && !l_.isShared(o.view)
                    ? b_.CreateICmpEQ(b_.CreateAnd(bits, l_.index(kChunkBytes - 1)), l_.index(0))
                    : static_cast<Reg>(b_.getFalse());
  }

  // ---- stages

  Reg stage(Reg chunk) {
    Reg number = b_.CreateURem(chunk, l_.index(t_.stages));
    return b_.CreateGEP(b_.getInt8Ty(), l_.sharedBase, b_.CreateMul(number, l_.index(t_.stageBytes())));
  }

  /// A chunk of the depth of both operands is on its way.
  void fetch(Reg chunk, Reg row, Reg column) {
    Reg to = stage(chunk), depth = b_.CreateMul(chunk, l_.index(kSide));
    fetch(lhs_, to, row, depth);
    fetch(rhs_, b_.CreateGEP(b_.getInt8Ty(), to, l_.index(t_.lhsBytes)), column, depth);
  }

  /// What of an operand is staged at once: rows of elements that lie side by side.
  struct Staged {
    int64_t rows, inner;           ///< sizes
    Reg firstRow, firstInner;      ///< in the operand
    int64_t rowsEnd, innerEnd;     ///< sizes of the operand
    bool rowsMayEnd, innerMayEnd;  ///< there may be less
    Reg rowStride, innerStride;
    int64_t perRow() const { return inner / kPerChunk; }
  };
  Staged staged(const Operand& o, Reg firstSide, Reg firstDepth) const {
    const int64_t round = o.depthInner ? 8 : kSide, sides = (o.staged + round - 1) / round * round;
    const bool sideEnds = sides != o.staged || o.side % sides != 0, depthEnds = o.depth % kSide != 0;
    if (o.depthInner)
      return {sides,   kSide,    firstSide, firstDepth,     o.side,
              o.depth, sideEnds, depthEnds, o.sideStride(), o.depthStride()};
    return {kSide, sides, firstDepth, firstSide, o.depth, o.side, depthEnds, sideEnds, o.depthStride(), o.sideStride()};
  }

  void fetch(const Operand& o, Reg to, Reg firstSide, Reg firstDepth) {
    const Staged s = staged(o, firstSide, firstDepth);
    if (constantOf(o.aligned).value_or(1) != 0) l_.when(o.aligned, [&] { copyPieces(o, s, to); });
    l_.when(b_.CreateNot(o.aligned), [&] { copyElements(o, s, to); });
  }

  /// 16 bytes at a time. What lies outside of the operand is 0.
  void copyPieces(const Operand& o, const Staged& s, Reg to) {
    const int64_t perRow = s.perRow(), all = s.rows * perRow, threads = l_.plan.threads;
    // The threads take whole rows, if they can: what a thread takes next lies so many rows further on.
    const bool wholeRows = threads % perRow == 0;
    for (int64_t i = 0; i < all; i += threads) {
      const Lowering::Scope scope(l_);
      Reg piece = b_.CreateAdd(l_.thread, number(wholeRows ? 0 : i));
      const int64_t ahead = wholeRows ? i / perRow : 0;
      const auto copy = [&] {
        Reg row = b_.CreateUDiv(piece, number(perRow)), column = b_.CreateURem(piece, number(perRow));
        Reg place = ahead % 8 == 0 ? b_.CreateAdd(placeOf(column, row, s.rows), number(ahead * kRowBytes))
                                   : placeOf(column, b_.CreateAdd(row, number(ahead)), s.rows);
        Reg inRows = b_.CreateAdd(s.firstRow, b_.CreateZExt(row, b_.getInt64Ty())),
            inner = b_.CreateAdd(s.firstInner, b_.CreateZExt(b_.CreateMul(column, number(kPerChunk)), b_.getInt64Ty()));
        Reg offset = b_.CreateAdd(b_.CreateAdd(b_.CreateMul(inRows, s.rowStride), b_.CreateMul(inner, s.innerStride)),
                                  b_.CreateMul(s.rowStride, l_.index(ahead)));
        Reg bytes = b_.getInt32(kChunkBytes);
        if (s.rowsMayEnd || s.innerMayEnd) {
          Reg count = present(s, b_.CreateAdd(inRows, l_.index(ahead)), inner);
          // Of a piece with nothing in it, the address is one of the operand's.
          offset = b_.CreateSelect(b_.CreateICmpSGT(count, l_.index(0)), offset, l_.index(0));
          bytes = b_.CreateTrunc(b_.CreateShl(count, 1), b_.getInt32Ty());
        }
        l_.device.copy(b_, b_.CreateGEP(b_.getInt8Ty(), to, b_.CreateZExt(place, b_.getInt64Ty())),
                       b_.CreateGEP(b_.getInt16Ty(), o.base, offset), bytes);
      };
      if (i + threads <= all)
        copy();
      else
        l_.when(b_.CreateICmpULT(piece, number(all - (wholeRows ? i : 0))), copy);
    }
  }

  /// Of the eight elements from here on, how many the operand has.
  Reg present(const Staged& s, Reg row, Reg inner) {
    Reg count = l_.index(kPerChunk);
    if (s.innerMayEnd) {
      Reg left =
          b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateSub(l_.index(s.innerEnd), inner), l_.index(0));
      count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, count);
    }
    return s.rowsMayEnd ? b_.CreateSelect(b_.CreateICmpULT(row, l_.index(s.rowsEnd)), count, l_.index(0)) : count;
  }

  /// Operands of any strides, and those in shared memory, which no asynchronous copy reads.
  void copyElements(const Operand& o, const Staged& s, Reg to) {
    l_.loop(
        b_.CreateZExt(l_.thread, b_.getInt64Ty()), l_.index(s.rows * s.inner), l_.index(l_.plan.threads), [&](Reg i) {
          Reg row = b_.CreateUDiv(i, l_.index(s.inner)), column = b_.CreateURem(i, l_.index(s.inner));
          Reg narrow = b_.CreateTrunc(column, b_.getInt32Ty());
          Reg place = placeOf(b_.CreateUDiv(narrow, number(kPerChunk)), b_.CreateTrunc(row, b_.getInt32Ty()), s.rows);
          place = b_.CreateAdd(place, b_.CreateShl(b_.CreateURem(narrow, number(kPerChunk)), 1));
          Reg inRows = b_.CreateAdd(s.firstRow, row), inner = b_.CreateAdd(s.firstInner, column);
          Reg inside = b_.CreateAnd(b_.CreateICmpULT(inRows, l_.index(s.rowsEnd)),
                                    b_.CreateICmpULT(inner, l_.index(s.innerEnd)));
          Reg offset = b_.CreateAdd(b_.CreateMul(inRows, s.rowStride), b_.CreateMul(inner, s.innerStride));
          Reg from = b_.CreateGEP(b_.getInt16Ty(), o.base, b_.CreateSelect(inside, offset, l_.index(0)));
          Reg bits = b_.CreateAlignedLoad(b_.getInt16Ty(), from, llvm::Align(2));
          b_.CreateAlignedStore(b_.CreateSelect(inside, bits, b_.getInt16(0)),
                                b_.CreateGEP(b_.getInt8Ty(), to, b_.CreateZExt(place, b_.getInt64Ty())),
                                llvm::Align(2));
        });
  }

  /// Where 16 bytes of a row lie in the stage of an operand of so many rows: `column` counts them (i32).
  Reg placeOf(Reg column, Reg row, int64_t rows) {
    return swizzled(b_.CreateUDiv(column, number(kSide / kPerChunk)), row,
                    b_.CreateURem(column, number(kSide / kPerChunk)), rows);
  }

  /// Bytes from an operand's first matrix to 16 bytes: of which matrix, which row, which column of eight (i32).
  Reg swizzled(Reg matrix, Reg row, Reg column, int64_t rows) {
    Reg where = b_.CreateAdd(b_.CreateMul(matrix, number(rows * kRowBytes)), b_.CreateMul(row, number(kRowBytes)));
    Reg mixed = b_.CreateXor(column, b_.CreateURem(row, number(8)));
    return b_.CreateAdd(where, b_.CreateMul(mixed, number(kChunkBytes)));
  }

  // ---- one tile of the result

  void tile(const Place& batch, Reg row, Reg column) {
    const Lowering::Scope scope(l_);
    for (int64_t i = 0; i < t_.sums() && !keeps_; ++i)
      b_.CreateStore(llvm::ConstantFP::get(b_.getFloatTy(), 0.0),
                     b_.CreateConstInBoundsGEP1_64(b_.getFloatTy(), sums_, static_cast<uint64_t>(i)));
    l_.device.barrier(b_);  // all have read the stages of the product before, and written what these are to have
    for (int64_t s = 0; s + 1 < t_.stages; ++s) {
      if (s < chunks_) fetch(l_.index(s), row, column);
      l_.device.commitCopies(b_);
    }
    l_.loop(l_.index(0), l_.index(chunks_), l_.index(1), [&](Reg chunk) {
      l_.device.waitForCopies(b_, t_.stages - 2);
      if (t_.wgmma) l_.device.publish(b_);
      l_.device.barrier(b_);
      Reg ahead = b_.CreateAdd(chunk, l_.index(t_.stages - 1));
      l_.when(b_.CreateICmpSLT(ahead, l_.index(chunks_)), [&] { fetch(ahead, row, column); });
      l_.device.commitCopies(b_);
      Reg from = stage(chunk);
      if (t_.wgmma)
        multiplyByGroups(from);
      else
        multiplyByWarps(from);
    });
    if (!keeps_) storeTile(batch, row, column);
  }

  Reg sumsAt(int64_t piece) {
    return b_.CreateConstInBoundsGEP1_64(b_.getFloatTy(), sums_, static_cast<uint64_t>(ProductTile::kPiece * piece));
  }

  void multiplyByGroups(Reg from) {
    constexpr int64_t kWarps = 4, kRows = 64, kMatrix = kSide * kRowBytes;  // of 64 × 64 elements
    const GroupProduct product{.columns = static_cast<int>(t_.columns()),
                               .isF16 = p_.lhs.dtype == DType::f16,
                               .lhsDepthInner = lhs_.depthInner,
                               .rhsDepthInner = rhs_.depthInner,
                               .lhsStride = lhs_.depthInner ? 0 : static_cast<int>(kMatrix),
                               .rhsStride = rhs_.depthInner ? 0 : static_cast<int>(kMatrix)};
    Reg group = b_.CreateUDiv(down_, number(kWarps));
    const int64_t groups = t_.warpsDown / kWarps;
    const auto step = [](const Operand& o) { return ProductTile::kRows * (o.depthInner ? 2 : kRowBytes); };
    l_.device.groupBegin(b_);
    for (int64_t i = 0; i < t_.high; ++i)
      for (int64_t k = 0; k < kSide / ProductTile::kRows; ++k) {
        // 64 rows are as many bytes in either order: rows of the depth inside, or one matrix.
        Reg rows = b_.CreateMul(b_.CreateAdd(group, number(i * groups)), number(kRows * kRowBytes));
        Reg left = b_.CreateGEP(b_.getInt8Ty(), from,
                                b_.CreateZExt(b_.CreateAdd(rows, number(k * step(lhs_))), b_.getInt64Ty()));
        Reg right =
            b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), from, static_cast<uint64_t>(t_.lhsBytes + k * step(rhs_)));
        l_.device.groupMma(b_, sumsAt(i * t_.wide), left, right, product);
      }
    l_.device.groupEnd(b_);
  }

  void multiplyByWarps(Reg from) {
    Reg right = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), from, static_cast<uint64_t>(t_.lhsBytes));
    for (int64_t k = 0; k < kSide; k += ProductTile::kRows) {
      std::vector<std::array<Reg, 4>> left;
      for (int64_t i = 0; i < t_.high; ++i)
        left.push_back(matrices(lhs_, from,
                                b_.CreateMul(b_.CreateAdd(down_, number(i * t_.warpsDown)), number(ProductTile::kRows)),
                                k, true));
      for (int64_t j = 0; j < t_.wide; j += 2) {
        // Two pieces at once; the last of an odd number twice.
        Reg second = number(std::min<int64_t>(j + 1, t_.wide - 1) - j);
        Reg piece = b_.CreateAdd(number(j), b_.CreateMul(b_.CreateUDiv(lane_, number(16)), second));
        Reg first = b_.CreateMul(b_.CreateAdd(across_, b_.CreateMul(piece, number(t_.warpsAcross))),
                                 number(ProductTile::kColumns));
        const std::array<Reg, 4> two = matrices(rhs_, right, first, k, false);
        for (int64_t i = 0; i < t_.high; ++i)
          for (int64_t of = 0; of < 2 && j + of < t_.wide; ++of)
            l_.device.mma(b_, sumsAt(i * t_.wide + j + of), left[static_cast<size_t>(i)],
                          std::span(two).subspan(static_cast<size_t>(2 * of), 2), p_.lhs.dtype == DType::f16);
      }
    }
  }

  /// Four matrices of 8 × 8: of the left operand 16 rows from `first` on × 16 of the depth; of the right one 8 columns
  /// from each lane's `first` on × 16 of the depth.
  std::array<Reg, 4> matrices(const Operand& o, Reg from, Reg first, int64_t depth, bool isLeft) {
    Reg inEight = b_.CreateURem(lane_, number(8)), eighth = b_.CreateUDiv(lane_, number(8));
    Reg low = b_.CreateURem(eighth, number(2)), high = b_.CreateUDiv(eighth, number(2));
    Reg sideStep = isLeft ? low : number(0), depthStep = isLeft ? high : low;  // in eights
    Reg side = b_.CreateAdd(first, b_.CreateMul(sideStep, number(8)));
    Reg along = b_.CreateAdd(number(depth), b_.CreateMul(depthStep, number(8)));
    Reg row = b_.CreateAdd(o.depthInner ? side : along, inEight);
    Reg inner = o.depthInner ? along : side;
    const int64_t rows = o.depthInner ? (o.staged + 7) / 8 * 8 : kSide;
    Reg place = placeOf(b_.CreateUDiv(inner, number(kPerChunk)), row, rows);
    return l_.device.loadMatrices(b_, b_.CreateGEP(b_.getInt8Ty(), from, b_.CreateZExt(place, b_.getInt64Ty())),
                                  !o.depthInner);
  }

  void storeTile(const Place& batch, Reg firstRow, Reg firstColumn) {
    Reg inRow = b_.CreateUDiv(lane_, number(4)), inColumn = b_.CreateMul(b_.CreateURem(lane_, number(4)), number(2));
    for (int64_t i = 0; i < t_.high; ++i)
      for (int64_t j = 0; j < t_.wide; ++j)
        for (int64_t e = 0; e < ProductTile::kPiece; ++e) {
          Reg row =
              b_.CreateAdd(b_.CreateMul(b_.CreateAdd(down_, number(i * t_.warpsDown)), number(ProductTile::kRows)),
                           b_.CreateAdd(inRow, number(8 * (e / 2))));
          Reg column = b_.CreateAdd(
              b_.CreateMul(b_.CreateAdd(across_, number(j * t_.warpsAcross)), number(ProductTile::kColumns)),
              b_.CreateAdd(inColumn, number(e % 2)));
          Reg sum = b_.CreateLoad(
              b_.getFloatTy(),
              b_.CreateConstInBoundsGEP1_64(b_.getFloatTy(), sums_,
                                            static_cast<uint64_t>(ProductTile::kPiece * (i * t_.wide + j) + e)));
          storeSum(l_, p_, batch, b_.CreateAdd(firstRow, b_.CreateZExt(row, b_.getInt64Ty())),
                   b_.CreateAdd(firstColumn, b_.CreateZExt(column, b_.getInt64Ty())), sum);
        }
  }

  Lowering& l_;
  Builder& b_;
  const ProductForm& p_;
  const ProductTile t_;
  bool keeps_;  ///< the sums stay in registers
  Reg sums_;
  Operand lhs_, rhs_;
  int64_t chunks_;
  Reg lane_ = nullptr, down_ = nullptr, across_ = nullptr;
};

}  // namespace

void emitTensorProduct(Lowering& l, const ProductForm& p, const ProductTile& tile, Reg sums) {
  TensorProduct(l, p, tile, sums).run();
}

}  // namespace smalti::gpu
