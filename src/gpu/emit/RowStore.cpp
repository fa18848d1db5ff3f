#include "gpu/emit/RowStore.h"

namespace smalti::gpu {
namespace {

constexpr int64_t kStoredBytes = LaunchPlan::kStoredRowBytes, kCopyBytes = 16, kRows = ProductTile::kRows;
constexpr int64_t kLanesPerRow = kStoredBytes / kCopyBytes, kRowsAtOnce = kWarp / kLanesPerRow;

class RowStore {
 public:
  RowStore(GpuLowering& l, mlir::Value value, const View& to, const Distribution& from)
      : l_(l), b_(l.b), to_(to), from_(from), bytes_(storage_bytes(to.dtype)), value_(value) {
    // One instruction rounds a pair.
    if (to.dtype == DType::bf16) unrounded_ = l.unrounded(value);
  }

  void run() {
    Reg thread = l_.device.opaqueCopy(b_, l_.thread);
    Reg lane = b_.CreateURem(thread, number(kWarp)), warp = b_.CreateUDiv(thread, number(kWarp));
    rows_ = b_.CreateGEP(
        b_.getInt8Ty(), l_.sharedBase,
        b_.CreateZExt(b_.CreateAdd(b_.CreateMul(warp, number(kRows * kStoredBytes)), number(l_.plan.storesAt())),
                      b_.getInt64Ty()));
    firstRow_ = b_.CreateMul(b_.CreateURem(warp, number(from_.tile.warpsDown)), number(kRows));
    // Where a thread's pairs of a fragment are; rows are swizzled like a stage, against bank conflicts.
    Reg row = b_.CreateUDiv(lane, number(4));
    pairs_ = b_.CreateAdd(b_.CreateMul(row, number(kStoredBytes)),
                          b_.CreateMul(b_.CreateURem(lane, number(4)), number(2 * bytes_)));
    swizzle_ = b_.CreateMul(row, number(kCopyBytes));
    readRow_ = b_.CreateUDiv(lane, number(kLanesPerRow));
    readVector_ = b_.CreateURem(lane, number(kLanesPerRow));
    aligned_ = isAligned();
    const int64_t fragmentsPerRow = kStoredBytes / (ProductTile::kColumns * bytes_);
    int64_t count = 0;
    Reg first = nullptr;
    l_.forDistributed(from_, to_.shape, GpuLowering::RowsBeyond::skip, [&](const ElementIndex& at) {
      const int64_t e = count % ProductTile::kFragmentSums, fragment = count / ProductTile::kFragmentSums;
      ++count;
      const int64_t m = fragment / from_.tile.fragmentsN, n = fragment % from_.tile.fragmentsN;
      if (e == 0 && n % fragmentsPerRow == 0) l_.device.warpBarrier(b_);  // the rows before have been read
      Reg r = l_.element(unrounded_ ? unrounded_ : value_, at);
      if (!r) return;
      if (e % 2 == 0) {
        first = r;
        return;
      }
      storePair(first, r, n % fragmentsPerRow, e / 2);
      if (e + 1 < ProductTile::kFragmentSums || (n + 1) % fragmentsPerRow != 0) return;
      l_.device.warpBarrier(b_);
      storeRows(m * from_.tile.warpsDown * kRows, (n + 1 - fragmentsPerRow) * ProductTile::kColumns);
    });
  }

 private:
  Reg number(int64_t i) { return b_.getInt32(static_cast<uint32_t>(i)); }
  Reg inRows(Reg offset) { return b_.CreateGEP(b_.getInt8Ty(), rows_, b_.CreateZExt(offset, b_.getInt64Ty())); }

  /// i1: whether rows can be stored in 16-byte vectors.
  Reg isAligned() {
    Reg bits = b_.CreatePtrToInt(to_.base, b_.getInt64Ty());
    bits = b_.CreateOr(bits, b_.CreateMul(to_.strides[to_.shape.size() - 2], l_.index(bytes_)));
    return b_.CreateICmpEQ(b_.CreateAnd(bits, l_.index(kCopyBytes - 1)), l_.index(0));
  }

  void storePair(Reg first, Reg second, int64_t fragment, int64_t half) {
    auto* wide = b_.getIntNTy(static_cast<unsigned>(16 * bytes_));
    Reg pair = nullptr;
    if (unrounded_) {
      pair = l_.device.packed(b_, first, second, DType::bf16);
    } else {
      const auto bits = [&](Reg r) {
        Reg stored = cpu::toStorage(b_, to_.dtype, r);
        return b_.CreateZExt(b_.CreateBitCast(stored, b_.getIntNTy(static_cast<unsigned>(8 * bytes_))), wide);
      };
      pair = b_.CreateOr(bits(first), b_.CreateShl(bits(second), static_cast<uint64_t>(8 * bytes_)));
    }
    Reg place = b_.CreateXor(b_.CreateAdd(pairs_, number(fragment * ProductTile::kColumns * bytes_)), swizzle_);
    place = b_.CreateAdd(place, number(half * 8 * kStoredBytes));
    b_.CreateAlignedStore(pair, inRows(place), llvm::Align(static_cast<uint64_t>(2 * bytes_)));
  }

  /// Stores 16 rows from shared memory to memory; `row` and `column`: where they begin in the tile.
  void storeRows(int64_t row, int64_t column) {
    const auto vector = [&](Reg inRows16) {
      Reg at = b_.CreateMul(b_.CreateXor(readVector_, b_.CreateURem(inRows16, number(8))), number(kCopyBytes));
      return inRows(b_.CreateAdd(b_.CreateMul(inRows16, number(kStoredBytes)), at));
    };
    const auto place = [&](Reg inRows16) {
      ElementIndex at(to_.shape.size(), l_.index(0));
      at[to_.shape.size() - 2] =
          b_.CreateZExt(b_.CreateAdd(b_.CreateAdd(firstRow_, inRows16), number(row)), b_.getInt64Ty());
      at[to_.shape.size() - 1] = b_.CreateZExt(
          b_.CreateAdd(b_.CreateMul(readVector_, number(kCopyBytes / bytes_)), number(column)), b_.getInt64Ty());
      return cpu::elementPointer(b_, to_, at);
    };
    auto* words = llvm::FixedVectorType::get(b_.getFloatTy(), kCopyBytes / 4);
    const llvm::Align align(kCopyBytes);
    l_.when(aligned_, [&] {
      for (int64_t i = 0; i < kRows; i += kRowsAtOnce) {
        Reg at = b_.CreateAdd(readRow_, number(i));
        b_.CreateAlignedStore(b_.CreateAlignedLoad(words, vector(at), align), place(at), align);
      }
    });
    l_.when(b_.CreateNot(aligned_), [&] {
      auto* type = cpu::storageType(b_.getContext(), to_.dtype);
      const llvm::Align own(static_cast<uint64_t>(bytes_));
      l_.loop(readRow_, number(kRows), number(kRowsAtOnce), [&](Reg at) {
        Reg from = vector(at), to = place(at);
        for (int64_t e = 0; e < kCopyBytes / bytes_; ++e) {
          const auto element = [&](Reg base) {
            return b_.CreateConstInBoundsGEP1_64(type, base, static_cast<uint64_t>(e));
          };
          b_.CreateAlignedStore(b_.CreateAlignedLoad(type, element(from), own), element(to), own);
        }
      });
    });
  }

  GpuLowering& l_;
  Builder& b_;
  const View& to_;
  const Distribution& from_;
  const int64_t bytes_;
  mlir::Value value_, unrounded_;
  Reg rows_ = nullptr, firstRow_ = nullptr, pairs_ = nullptr, swizzle_ = nullptr, readRow_ = nullptr,
      readVector_ = nullptr, aligned_ = nullptr;
};

}  // namespace

bool storeInRows(GpuLowering& l, mlir::Value value, const View& to, const Distribution& from) {
  const ProductTile& t = from.tile;
  const int64_t bytes = storage_bytes(to.dtype);
  const size_t rank = to.shape.size();
  const bool wholeRows = !from.perRow && rank >= 2 && to.shape[rank - 2] == t.rows() &&
                         to.shape[rank - 1] == t.columns() &&
                         t.fragmentsN * ProductTile::kColumns * bytes % kStoredBytes == 0;
  if (l.plan.storeBytes == 0 || t.unit != ProductUnit::warpGroups || bytes > 4 || !wholeRows || to.dynamic() ||
      constantOf(to.strides.back()) != 1)
    return false;
  RowStore(l, value, to, from).run();
  return true;
}

}  // namespace smalti::gpu
