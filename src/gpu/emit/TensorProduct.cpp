// Products whose operands are staged in shared memory, by tensor cores or by multiply-adds of f32. Products are exact,
// sums are in f32; sums of integers are in i32.
//
//   start copying the chunks 0 … s - 2 of K into the s stages
//   for each chunk i:
//     wait for its copy; barrier: all threads see the chunk, and all have read the one before
//     start copying chunk i + s - 1 into the stage that was just read
//     multiply chunk i
//
// Earlier steps have started the first copies of streamed products (Stream.h).
#include <algorithm>

#include "gpu/emit/FmaChunk.h"
#include "gpu/emit/Product.h"
#include "gpu/emit/Staging.h"
#include "gpu/emit/Stream.h"
#include "llvm/IR/Intrinsics.h"

namespace smalti::gpu {
namespace {

constexpr int64_t kRowBytes = ProductTile::kRowBytes;
constexpr int64_t kSteps = kRowBytes / ProductTile::kStepBytes;  ///< instructions along K per stage

class TensorProduct {
 public:
  TensorProduct(GpuLowering& l, const ProductForm& p, const ProductTile& tile, Reg sums,
                const StreamedProduct* streamed, Reg begins)
      : l_(l),
        b_(l.b),
        p_(p),
        t_(tile),
        keeps_(sums != nullptr),
        sums_(sums ? sums : l.slot(llvm::ArrayType::get(l.sumType(tile), static_cast<uint64_t>(tile.sums())))),
        lhs_(operand(p.lhs, p.dims.lhsFree, p.dims.lhsContracting, p.m(), tile.rows(), tile.unit)),
        rhs_(operand(p.rhs, p.dims.rhsFree, p.dims.rhsContracting, p.n(), tile.columns(), tile.unit)),
        chunks_((p.k() + tile.depth() - 1) / tile.depth()),
        stream_(streamed ? l.stream : nullptr),
        streamed_(streamed),
        begins_(begins) {}

  void run() {
    lane_ = b_.CreateURem(l_.thread, b_.getInt32(kWarp));
    Reg warp = b_.CreateUDiv(l_.thread, b_.getInt32(kWarp));
    down_ = b_.CreateURem(warp, number(t_.warpsDown));
    across_ = b_.CreateUDiv(warp, number(t_.warpsDown));
    l_.loop(l_.index(0), l_.index(num_elements(p_.batch)), l_.index(1), [&](Reg batch) {
      const ElementIndex at = l_.placeOf(batch, p_.batch);
      if (p_.left.empty()) begin(lhs_, p_.lhs, offsetIn(l_, p_.lhs, p_.dims.lhsBatch, at));
      begin(rhs_, p_.rhs, offsetIn(l_, p_.rhs, p_.dims.rhsBatch, at));
      if (keeps_) return tile(at, l_.index(0), l_.index(0));
      l_.loop(l_.index(0), l_.index(p_.m()), l_.index(t_.rows()), [&](Reg row) {
        l_.loop(l_.index(0), l_.index(p_.n()), l_.index(t_.columns()), [&](Reg column) { tile(at, row, column); });
      });
    });
    // If all threads copy, there is a barrier before each chunk is multiplied; since the last one, threads have only
    // read stages and written the result.
    if (!stream_ || !stream_->plan().usesTma) l_.hazards.clear();
    if (!keeps_) l_.hazards.note(l_.reads(p_.acc), {p_.made.memory});
  }

 private:
  static StagedOperand operand(const View& v, const Shape& free, const Shape& contracting, int64_t side, int64_t staged,
                               ProductUnit unit) {
    const auto sideDim = static_cast<size_t>(free[0]), depthDim = static_cast<size_t>(contracting[0]);
    StagedOperand o{.dtype = v.dtype,
                    .sideStride = v.strides[sideDim],
                    .depthStride = v.strides[depthDim],
                    .side = side,
                    .depth = v.shape[depthDim],
                    .staged = staged};
    o.setOrder(depthDim > sideDim, unit);
    return o;
  }
  Reg number(int64_t i) { return b_.getInt32(static_cast<uint32_t>(i)); }

  void begin(StagedOperand& o, const View& view, Reg offset) {
    o.base = b_.CreateGEP(cpu::storageType(b_.getContext(), view.dtype), view.base, offset);
    computeAlignment(l_, o, l_.isShared(view));
  }

  // ---- stages

  Reg stage(Reg chunk) {
    Reg number = b_.CreateURem(chunk, l_.index(t_.stages));
    return b_.CreateGEP(
        b_.getInt8Ty(), l_.sharedBase,
        b_.CreateAdd(l_.index(l_.plan.stream.bytes()), b_.CreateMul(number, l_.index(t_.stageBytes()))));
  }

  /// Starts copying a chunk of both operands.
  void fetch(Reg chunk, Reg row, Reg column) {
    Reg to = stage(chunk), depth = b_.CreateMul(chunk, l_.index(t_.depth()));
    if (p_.left.empty()) stageChunk(l_, lhs_, to, row, depth);
    stageChunk(l_, rhs_, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), to, static_cast<uint64_t>(t_.lhsBytes)), column,
               depth);
  }

  /// Multiplies all chunks of one tile, with stages that only this product uses.
  void staged(Reg row, Reg column) {
    l_.device.barrier(b_);  // all have read the stages of the last product and written the operands of this one
    for (int64_t s = 0; s + 1 < t_.stages; ++s) {
      if (s < chunks_) fetch(l_.index(s), row, column);
      l_.device.commitCopies(b_);
    }
    forChunks([&](Reg chunk) {
      l_.device.waitForCopies(b_, t_.stages - 2);
      if (groups()) l_.device.publish(b_);
      l_.device.barrier(b_);
      Reg prefetched = b_.CreateAdd(chunk, l_.index(t_.stages - 1));
      l_.when(b_.CreateICmpSLT(prefetched, l_.index(chunks_)), [&] { fetch(prefetched, row, column); });
      l_.device.commitCopies(b_);
      multiply(stage(chunk), chunk);
      if (groups()) l_.device.groupWait(b_, 0, sums_, t_.sums(), sumOf(t_.dtype));
    });
  }

  /// Multiplies all chunks of one step. With TMA, products of warp groups are in flight during the wait for the next
  /// chunk.
  void streamed() {
    const bool overlaps = groups() && stream_->plan().usesTma;
    stream_->beginProduct();
    stream_->beginTurn();
    forChunks([&](Reg chunk) {
      multiply(stream_->next(groups()), chunk);
      if (overlaps) {
        l_.device.groupWait(b_, 1, nullptr, 0, DType::f32);
        stream_->release();
        stream_->advance();
        return;
      }
      if (groups()) l_.device.groupWait(b_, 0, sums_, t_.sums(), sumOf(t_.dtype));
      stream_->advance();
      stream_->release();
    });
    if (!overlaps || stream_->plan().pendingAcrossSteps) return;
    const bool isComputed = !p_.left.empty();  // its left operand, in registers
    if (!isComputed) stream_->endTurn();
    l_.device.groupWait(b_, 0, sums_, t_.sums(), sumOf(t_.dtype));
    stream_->release();
    if (isComputed) stream_->endTurnUnlessContinued();
  }

  /// Loops over a few products of warp groups are unrolled: ptxas then sees that the first product of a sum that begins
  /// at 0 reads no registers. So are all loops with a left operand in registers, which cannot be indexed.
  void forChunks(const std::function<void(Reg)>& body) {
    constexpr int64_t kFewChunks = 4;  // chosen, not measured
    if (p_.left.empty() && (!groups() || chunks_ > kFewChunks))
      return l_.loop(l_.index(0), l_.index(chunks_), l_.index(1), body);
    for (int64_t chunk = 0; chunk < chunks_; ++chunk) body(l_.index(chunk));
  }

  bool groups() const { return t_.unit == ProductUnit::warpGroups; }

  /// Where the operands of a chunk begin: in its stage, or among the residents.
  Reg leftIn(Reg stage, Reg chunk) { return isResident(0) ? stream_->residentAt(*streamed_, 0, chunk) : stage; }
  Reg rightIn(Reg stage, Reg chunk) {
    if (isResident(1)) return stream_->residentAt(*streamed_, 1, chunk);
    const int64_t offset = streamed_ ? streamed_->offsetInStage(1) : t_.lhsBytes;
    return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), stage, static_cast<uint64_t>(offset));
  }
  bool isResident(size_t side) const {
    return streamed_ && streamed_->operand(side) && streamed_->operand(side)->resident;
  }

  void multiply(Reg from, Reg chunk) {
    switch (t_.unit) {
      case ProductUnit::warpGroups:
        return multiplyByGroups(from, chunk);
      case ProductUnit::warps:
        return multiplyByWarps(p_.left.empty() ? leftIn(from, chunk) : nullptr, rightIn(from, chunk), chunk);
      case ProductUnit::threads:
        return multiplyByThreads(p_.left.empty() ? leftIn(from, chunk) : nullptr, rightIn(from, chunk), chunk);
    }
  }

  // ---- one tile of the result

  void tile(const ElementIndex& batch, Reg row, Reg column) {
    const GpuLowering::Scope scope(l_);
    const auto clear = [&] {
      for (int64_t i = 0; i < t_.sums(); ++i) b_.CreateStore(llvm::Constant::getNullValue(l_.sumType(t_)), sumAt(i));
    };
    if (!keeps_) clear();
    if (begins_ && !groups()) l_.when(begins_, clear);
    if (stream_)
      streamed();
    else
      staged(row, column);
    if (!keeps_) storeTile(batch, row, column);
  }

  Reg sumAt(int64_t i) { return b_.CreateConstInBoundsGEP1_64(l_.sumType(t_), sums_, static_cast<uint64_t>(i)); }
  Reg sumsAt(int64_t fragment) { return sumAt(ProductTile::kFragmentSums * fragment); }

  void multiplyByGroups(Reg from, Reg chunk) {
    constexpr int64_t kWarps = 4, kRows = 64, kMatrix = kRows * kRowBytes;  // bytes of 64 × 64 16-bit elements
    const GroupProduct product{.columns = static_cast<int>(t_.columns()),
                               .dtype = t_.dtype,
                               .lhsDepthInner = lhs_.depthInner,
                               .rhsDepthInner = rhs_.depthInner,
                               .lhsInRegisters = !p_.left.empty(),
                               .lhsStride = lhs_.depthInner ? 0 : static_cast<int>(kMatrix),
                               .rhsStride = rhs_.depthInner ? 0 : static_cast<int>(kMatrix)};
    Reg group = b_.CreateUDiv(down_, number(kWarps));
    const int64_t groups = t_.warpsDown / kWarps;
    const auto step = [](const StagedOperand& o) {
      return o.depthInner ? ProductTile::kStepBytes : ProductTile::kStepBytes / o.bytes() * kRowBytes;
    };
    Reg adds = b_.getTrue();
    if (begins_) adds = b_.CreateNot(b_.CreateAnd(begins_, b_.CreateICmpEQ(chunk, l_.index(0))));
    l_.device.groupBegin(b_);
    // 64 rows have the same size in both orders: as 64 rows along K, or as one matrix.
    constexpr int64_t kRowsBytes = kRows * kRowBytes;
    Reg left = placeOfWarp(leftIn(from, chunk), b_.CreateMul(group, number(kRowsBytes))),
        right = placeOfWarp(rightIn(from, chunk), number(0));
    for (int64_t i = 0; i < t_.fragmentsM; ++i)
      for (int64_t k = 0; k < kSteps; ++k) {
        const GroupOperand rhs{right, k * step(rhs_)};
        Reg addsHere = k == 0 ? adds : b_.getTrue();
        if (p_.left.empty()) {
          l_.device.groupMma(b_, sumsAt(i * t_.fragmentsN), {left, i * groups * kRowsBytes + k * step(lhs_)}, rhs,
                             addsHere, product);
          continue;
        }
        for (int part = 0; part < t_.parts; ++part)
          l_.device.groupMma(b_, sumsAt(i * t_.fragmentsN), leftInRegisters(i, chunk, k, part), rhs,
                             part == 0 ? addsHere : b_.getTrue(), product);
      }
    l_.device.groupCommit(b_);
  }

  /// An address in shared memory that ptxas knows to be uniform in the warp, for matrix descriptors.
  Reg placeOfWarp(Reg from, Reg offset) {
    const auto number = [&](Reg pointer) { return b_.CreatePtrToInt(pointer, b_.getInt64Ty()); };
    Reg at = b_.CreateTrunc(b_.CreateSub(number(from), number(l_.sharedBase)), b_.getInt32Ty());
    at = l_.device.sameInWarp(b_, b_.CreateAdd(at, offset));
    return b_.CreateGEP(b_.getInt8Ty(), l_.sharedBase, b_.CreateZExt(at, b_.getInt64Ty()));
  }

  /// A fragment of the left operand: the i-th of this warp or warp group along the rows, for the k-th instruction of
  /// the chunk.
  const std::array<Reg, 4>& leftInRegisters(int64_t i, Reg chunk, int64_t k, int part = 0) const {
    const int64_t row = part * t_.fragmentsM + i;
    return p_.left[static_cast<size_t>((row * chunks_ + cpu::constantOf(chunk).value_or(0)) * kSteps + k)];
  }

  void multiplyByThreads(Reg left, Reg right, Reg chunk) {
    FmaChunk c{.tile = t_,
               .down = down_,
               .across = across_,
               .lane = lane_,
               .sums = sums_,
               .lhs = &lhs_,
               .rhs = &rhs_,
               .left = left,
               .right = right};
    if (!left)
      for (int64_t i = 0; i < t_.fragmentsM; ++i)
        for (int64_t k = 0; k < kSteps; ++k) c.leftInRegisters.push_back(leftInRegisters(i, chunk, k));
    emitFmaChunk(l_, c);
  }

  /// `from`: null if the left operand is in registers.
  void multiplyByWarps(Reg from, Reg right, Reg chunk) {
    constexpr int64_t kOfFragment = ProductTile::kRows / kGroup;  // groups of its rows
    Reg inPair = b_.CreateURem(eighth(), number(2)), pair = b_.CreateUDiv(eighth(), number(2));
    for (int64_t k = 0; k < kSteps; ++k) {
      std::vector<std::array<Reg, 4>> left;
      for (int64_t i = 0; i < t_.fragmentsM; ++i) {
        if (!from) {
          for (int part = 0; part < t_.parts; ++part) left.push_back(leftInRegisters(i, chunk, k, part));
          continue;
        }
        const Groups rows{b_.CreateAdd(b_.CreateMul(down_, number(kOfFragment)), inPair),
                          i * t_.warpsDown * kOfFragment};
        left.push_back(matrices(lhs_, from, rows, k, pair));
      }
      for (int64_t j = 0; j < t_.fragmentsN; j += 2) {
        // One load for two fragments; the last of an odd number is loaded twice.
        const bool hasSecond = j + 1 < t_.fragmentsN;
        const Groups columns{hasSecond ? b_.CreateAdd(across_, b_.CreateMul(pair, number(t_.warpsAcross))) : across_,
                             j * t_.warpsAcross};
        const std::array<Reg, 4> two = matrices(rhs_, right, columns, k, inPair);
        for (int64_t i = 0; i < t_.fragmentsM; ++i)
          for (int64_t of = 0; of < 2 && j + of < t_.fragmentsN; ++of)
            for (int part = 0; part < t_.parts; ++part)
              l_.device.mma(b_, sumsAt(i * t_.fragmentsN + j + of), left[static_cast<size_t>(i * t_.parts + part)],
                            std::span(two).subspan(static_cast<size_t>(2 * of), 2), t_.dtype);
      }
    }
  }

  static constexpr int64_t kGroup = 8;  ///< rows of a matrix that ldmatrix loads
  /// Which eight lanes of the warp this one belongs to: they hold the addresses of the rows of a matrix.
  Reg eighth() { return b_.CreateUDiv(lane_, number(kGroup)); }

  /// The number of a group of eight rows or columns of the result: the sum of two numbers without common bits, since
  /// the numbers of warps are powers of 2.
  struct Groups {
    Reg ofThread = nullptr;
    int64_t constant = 0;
  };

  /// Loads four matrices of 8 rows of 16 bytes, for the 32 bytes along K that `step` tells. This lane's row belongs to
  /// `groups` and to the half `half` (0 or 1) of these bytes. As in FmaChunk.cpp, addresses consist of a part that
  /// depends on the thread, of which there are few, and a constant.
  std::array<Reg, 4> matrices(const StagedOperand& o, Reg from, const Groups& groups, int64_t step, Reg half) {
    constexpr int64_t kVectors = kRowBytes / StagedOperand::kCopyBytes;  // of a row
    Reg inGroup = b_.CreateURem(lane_, number(kGroup));
    Reg row, vector;         // of the thread: a row of 128 bytes; which 16 of them, swizzled
    int64_t constant = 0;    // bytes
    Reg matrix = number(0);  // where the matrix with the thread's row begins
    if (o.depthInner) {
      row = b_.CreateAdd(b_.CreateMul(groups.ofThread, number(kGroup)), inGroup);
      vector = b_.CreateXor(b_.CreateXor(half, inGroup), number(2 * step));
      constant = groups.constant * kGroup * kRowBytes;
    } else {
      // A row of a matrix is an index of K; it is transposed.
      const int64_t matrixBytes = o.rows() * kRowBytes;
      row = b_.CreateAdd(b_.CreateMul(half, number(kGroup)), inGroup);
      vector = b_.CreateXor(b_.CreateXor(b_.CreateURem(groups.ofThread, number(kVectors)), inGroup),
                            number(groups.constant % kVectors));
      matrix = b_.CreateMul(b_.CreateUDiv(groups.ofThread, number(kVectors)), number(matrixBytes));
      constant = groups.constant / kVectors * matrixBytes + 2 * step * kGroup * kRowBytes;
    }
    Reg ofThread = b_.CreateAdd(b_.CreateAdd(matrix, b_.CreateMul(row, number(kRowBytes))),
                                b_.CreateMul(vector, number(StagedOperand::kCopyBytes)));
    Reg place = b_.CreateGEP(b_.getInt8Ty(), from, b_.CreateZExt(ofThread, b_.getInt64Ty()));
    return l_.device.loadMatrices(
        b_, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), place, static_cast<uint64_t>(constant)), !o.depthInner);
  }

  void storeTile(const ElementIndex& batch, Reg firstRow, Reg firstColumn) {
    Reg inRow = b_.CreateUDiv(lane_, number(4)), inColumn = b_.CreateMul(b_.CreateURem(lane_, number(4)), number(2));
    for (int64_t i = 0; i < t_.fragmentsM; ++i)
      for (int64_t j = 0; j < t_.fragmentsN; ++j)
        for (int64_t e = 0; e < ProductTile::kFragmentSums; ++e) {
          Reg row =
              b_.CreateAdd(b_.CreateMul(b_.CreateAdd(down_, number(i * t_.warpsDown)), number(ProductTile::kRows)),
                           b_.CreateAdd(inRow, number(8 * (e / 2))));
          Reg column = b_.CreateAdd(
              b_.CreateMul(b_.CreateAdd(across_, number(j * t_.warpsAcross)), number(ProductTile::kColumns)),
              b_.CreateAdd(inColumn, number(e % 2)));
          Reg sum = b_.CreateLoad(l_.sumType(t_), sumAt(ProductTile::kFragmentSums * (i * t_.fragmentsN + j) + e));
          storeSum(l_, p_, batch, b_.CreateAdd(firstRow, b_.CreateZExt(row, b_.getInt64Ty())),
                   b_.CreateAdd(firstColumn, b_.CreateZExt(column, b_.getInt64Ty())), sum);
        }
  }

  GpuLowering& l_;
  Builder& b_;
  const ProductForm& p_;
  const ProductTile t_;
  bool keeps_;  ///< the sums stay in registers
  Reg sums_;
  StagedOperand lhs_, rhs_;
  int64_t chunks_;
  Stream* stream_;  ///< null: the stages are this product's own
  const StreamedProduct* streamed_;
  Reg begins_;  ///< i1: the sums begin at 0 instead of their values; null: never
  Reg lane_ = nullptr, down_ = nullptr, across_ = nullptr;
};

}  // namespace

void emitTensorProduct(GpuLowering& l, const ProductForm& p, const ProductTile& tile, Reg sums,
                       const StreamedProduct* streamed, Reg begins) {
  TensorProduct(l, p, tile, sums, streamed, begins).run();
}

}  // namespace smalti::gpu
