// Elements of a side (rows or columns of the result) belong to groups of eight. A warp has every n-th group, from its
// first one on; a lane has one row of each group, or two neighbouring columns. Addresses consist of a part that depends
// on the thread, of which there are few, and a constant, which load instructions contain.
#include "gpu/emit/FmaChunk.h"

#include "llvm/IR/Intrinsics.h"

namespace smalti::gpu {
namespace {

constexpr size_t kVector = 4;  ///< f32 in 16 bytes
constexpr int64_t kGroup = 8, kRowBytes = ProductTile::kRowBytes;

class Chunk {
 public:
  Chunk(GpuLowering& l, const FmaChunk& c) : l_(l), b_(l.b), c_(c), t_(c.tile) {}

  /// Each thread has two rows of each fragment, which are eight apart, and two neighbouring columns.
  void run() {
    const Side rows{.operand = c_.lhs,
                    .base = c_.left,
                    .first = t_.warpsDown == 1 ? number(0) : b_.CreateMul(c_.down, number(2)),
                    .firstBits = 2 * (t_.warpsDown - 1),
                    .inGroup = b_.CreateUDiv(c_.lane, number(4))};
    const Side columns{.operand = c_.rhs,
                       .base = c_.right,
                       .first = t_.warpsAcross == 1 ? number(0) : c_.across,
                       .firstBits = t_.warpsAcross - 1,
                       .inGroup = b_.CreateMul(b_.CreateURem(c_.lane, number(4)), number(2))};
    std::vector<Reg> sums;
    for (int64_t i = 0; i < t_.sums(); ++i) sums.push_back(b_.CreateLoad(b_.getFloatTy(), sumAt(i)));
    for (int64_t k = 0; k < t_.depth(); k += kVector) {
      std::vector<std::array<Reg, kVector>> x;
      for (int64_t r = 0; r < 2 * t_.fragmentsM; ++r)
        x.push_back(c_.left ? alongDepth<1>(rows, r / 2 * 2 * t_.warpsDown + r % 2, k)[0] : ofNeighbours(r, k));
      for (int64_t j = 0; j < t_.fragmentsN; ++j) {
        const auto y = alongDepth<2>(columns, j * t_.warpsAcross, k);
        for (size_t d = 0; d < kVector; ++d)
          for (int64_t i = 0; i < t_.fragmentsM; ++i)
            for (int64_t e = 0; e < ProductTile::kFragmentSums; ++e) {
              Reg& sum = sums[static_cast<size_t>((i * t_.fragmentsN + j) * ProductTile::kFragmentSums + e)];
              sum =
                  b_.CreateIntrinsic(llvm::Intrinsic::fma, {b_.getFloatTy()},
                                     {x[static_cast<size_t>(2 * i + e / 2)][d], y[static_cast<size_t>(e % 2)][d], sum});
            }
      }
    }
    for (int64_t i = 0; i < t_.sums(); ++i) b_.CreateStore(sums[static_cast<size_t>(i)], sumAt(i));
  }

 private:
  struct Side {
    const StagedOperand* operand = nullptr;
    Reg base = nullptr;
    Reg first = nullptr;    ///< the warp's first group
    int64_t firstBits = 0;  ///< the bits that may be set in it; they are clear in all numbers that are added to it
    Reg inGroup = nullptr;  ///< the lane's first element of each group
  };

  Reg number(int64_t i) { return b_.getInt32(static_cast<uint32_t>(i)); }
  Reg sumAt(int64_t i) { return b_.CreateConstInBoundsGEP1_64(b_.getFloatTy(), c_.sums, static_cast<uint64_t>(i)); }

  /// Loads four values along K of n neighbours of the side, in this group after the warp's first one.
  template <size_t n>
  std::array<std::array<Reg, kVector>, n> alongDepth(const Side& s, int64_t group, int64_t depth) {
    std::array<std::array<Reg, kVector>, n> all{};
    if (s.operand->depthInner) {
      for (size_t i = 0; i < n; ++i)
        all[i] = loadTogether<kVector>(vectorAlongDepth(s, static_cast<int64_t>(i), group, depth));
      return all;
    }
    for (size_t d = 0; d < kVector; ++d) {
      const auto neighbours = loadTogether<n>(acrossDepth(s, group, depth + static_cast<int64_t>(d)));
      for (size_t i = 0; i < n; ++i) all[i][d] = neighbours[i];
    }
    return all;
  }

  /// The address of 16 bytes along K of the lane's i-th element of a group.
  Reg vectorAlongDepth(const Side& s, int64_t i, int64_t group, int64_t depth) {
    Reg row = b_.CreateAdd(s.inGroup, number(i));
    Reg vector = b_.CreateXor(row, number(depth / static_cast<int64_t>(kVector)));
    Reg ofThread =
        b_.CreateAdd(b_.CreateMul(b_.CreateAdd(b_.CreateMul(s.first, number(kGroup)), row), number(kRowBytes)),
                     b_.CreateMul(vector, number(StagedOperand::kCopyBytes)));
    return at(s, ofThread, group * kGroup * kRowBytes);
  }

  /// The address of the lane's first element of a group, of an operand in which K is not the inner dimension. A group
  /// is two vectors of a row, and a row has four groups. The number of the vector is
  ///   2 (first + group) + inGroup / 4,
  /// whose summands have no bits in common; it is swizzled by the row, which is the index along K.
  Reg acrossDepth(const Side& s, int64_t group, int64_t depth) {
    constexpr int64_t kVectors = kRowBytes / StagedOperand::kCopyBytes, kGroups = kVectors / 2;
    const int64_t ofThreadBits = (2 * s.firstBits + 1) % kVectors, swizzle = depth % kVectors;
    Reg vector = b_.CreateAdd(b_.CreateMul(b_.CreateURem(s.first, number(kGroups)), number(2)),
                              b_.CreateUDiv(s.inGroup, number(static_cast<int64_t>(kVector))));
    vector = b_.CreateXor(vector, number(swizzle & ofThreadBits));
    const int64_t ofGroup = (2 * group % kVectors) ^ (swizzle & ~ofThreadBits);
    const int64_t matrixBytes = s.operand->rows() * kRowBytes;
    Reg ofThread = b_.CreateMul(b_.CreateUDiv(s.first, number(kGroups)), number(matrixBytes));
    ofThread = b_.CreateAdd(ofThread, b_.CreateMul(vector, number(StagedOperand::kCopyBytes)));
    Reg inVector = b_.CreateMul(b_.CreateURem(s.inGroup, number(static_cast<int64_t>(kVector))), number(4));
    return at(s, b_.CreateAdd(ofThread, inVector),
              group / kGroups * matrixBytes + depth * kRowBytes + ofGroup * StagedOperand::kCopyBytes);
  }

  Reg at(const Side& s, Reg ofThread, int64_t constant) {
    Reg place = b_.CreateGEP(b_.getInt8Ty(), s.base, b_.CreateZExt(ofThread, b_.getInt64Ty()));
    return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), place, static_cast<uint64_t>(constant));
  }

  /// Loads n f32 that are neighbours in the stage.
  template <size_t n>
  std::array<Reg, n> loadTogether(Reg at) {
    if constexpr (n == 1) return {b_.CreateAlignedLoad(b_.getFloatTy(), at, llvm::Align(4))};
    Reg all = b_.CreateAlignedLoad(llvm::FixedVectorType::get(b_.getFloatTy(), n), at, llvm::Align(4 * n));
    std::array<Reg, n> each{};
    for (size_t i = 0; i < n; ++i) each[i] = b_.CreateExtractElement(all, i);
    return each;
  }

  /// Four elements along K of a row of a left operand in registers. A fragment has 8 columns, of which each of four
  /// neighbouring lanes has two.
  std::array<Reg, kVector> ofNeighbours(int64_t row, int64_t depth) {
    constexpr int64_t kColumns = ProductTile::kColumns;
    const auto& elements =
        c_.leftInRegisters[static_cast<size_t>(row / 2 * (t_.depth() / kColumns) + depth / kColumns)];
    std::array<Reg, kVector> each{};
    for (size_t d = 0; d < kVector; ++d) {
      const int64_t column = depth % kColumns + static_cast<int64_t>(d);
      Reg bits = b_.CreateBitCast(elements[static_cast<size_t>(2 * (row % 2) + column % 2)], b_.getInt32Ty());
      each[d] = b_.CreateBitCast(l_.device.ofQuad(b_, bits, static_cast<int>(column / 2)), b_.getFloatTy());
    }
    return each;
  }

  GpuLowering& l_;
  Builder& b_;
  const FmaChunk& c_;
  const ProductTile& t_;
};

}  // namespace

void emitFmaChunk(GpuLowering& l, const FmaChunk& c) { Chunk(l, c).run(); }

}  // namespace smalti::gpu
