#include "cpu/product/DotTiles.h"

#include <algorithm>
#include <bit>

#include "cpu/plan/product/Layout.h"
#include "cpu/plan/product/TileLayout.h"
#include "cpu/product/RowsAsColumns.h"
#include "cpu/product/gemm/Ir.h"
#include "cpu/product/gemm/TileRegisters.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace smalti::cpu {
namespace {

/// Tiles of k whose products are added to two registers without an intermediate sum in C.
constexpr int64_t kMaxTiles = 2 * kMaxChain / kTileBf16;
/// Tile registers: sums of even and odd tiles of k, which are added at the end since additions to one wait for each
/// other; rows of B; and A.
constexpr int sumsOf(int64_t tileOfK) { return static_cast<int>(tileOfK % 2); }
constexpr int rowsOf(int64_t tileOfK) { return 2 + static_cast<int>(tileOfK % 2); }
constexpr int factorsOf(int64_t tileOfK) { return 4 + static_cast<int>(tileOfK % DotTilesPlan::kTilesOfA); }

class DotTilesEmitter {
 public:
  DotTilesEmitter(NativeLowering& l, const RowProduct& p, const DotTilesPlan& plan)
      : l_(l),
        b_(l.b),
        p_(p),
        s_(p.shape),
        plan_(plan),
        tilesOfK_(s_.k / kTileBf16),
        columnBits_(std::countr_zero(static_cast<uint64_t>(plan.columns))),
        addsToC_(s_.accumulate || tilesOfK_ > kMaxTiles),
        strideB_(b_.CreateMul(p.ldb, l.index(storage_bytes(s_.b)))),
        bases_(l, p.b.size() + 1) {}

  void emit() {
    const auto blocks = static_cast<int64_t>(p_.b.size());
    packed_ = rowsAsColumns(l_, p_, kTileLanes);
    sums_ = l_.allocate(DType::f32, Shape{2, kTileRows, plan_.columns});
    for (int64_t i = 0; i < blocks; ++i) bases_.store(i, p_.b[static_cast<size_t>(i)].base);
    bases_.store(blocks, blockAfterLast(l_, p_, 0));
    if (addsToC_ && !s_.accumulate) clearColumnsOfC(l_, p_, l_.index(0), s_.n);
    configureTiles(b_, sizes());
    for (int64_t k = 0; plan_.holdsA && k < tilesOfK_; ++k) loadA(k, l_.index(k));
    const int64_t tilesOfBlock = p_.rowsOfBlock() / kTileRows;
    l_.loop(l_.index(0), l_.index(s_.n / kTileRows), l_.index(1), [&](Reg tile) {
      const auto rows = [&](Reg number) {
        Reg row = b_.CreateMul(b_.CreateURem(number, l_.index(tilesOfBlock)), l_.index(kTileRows));
        Reg base = bases_.load(b_.CreateUDiv(number, l_.index(tilesOfBlock)));
        return b_.CreatePtrAdd(base, b_.CreateMul(row, strideB_));
      };
      Reg here = rows(tile), next = rows(b_.CreateAdd(tile, l_.index(1)));
      forEachTile(l_, l_.index(0), tilesOfK_, std::min(tilesOfK_, kMaxTiles), [&](Reg first, int64_t count) {
        multiply(here, next, first, count);
        store(b_.CreateMul(tile, l_.index(kTileRows)));
      });
    });
    releaseTiles(b_);
  }

 private:
  TileSizes sizes() const {
    const int columns = static_cast<int>(plan_.columns);
    TileSizes all;
    all.fill({kTileRows, columns});
    all[rowsOf(0)] = all[rowsOf(1)] = {kTileRows, kTileLanes};
    return all;
  }

  int64_t rowBytesOfA() const { return int64_t{4} * plan_.columns; }

  Reg tileOfA(Reg number) {
    return b_.CreatePtrAdd(packed_.base, b_.CreateMul(number, l_.index(kTileRows * rowBytesOfA())));
  }
  void loadA(int64_t k, Reg number) { loadTile(b_, factorsOf(k), tileOfA(number), l_.index(rowBytesOfA())); }

  /// Multiplies some tiles of 16 rows of B, and prefetches those of the next rows.
  void multiply(Reg rows, Reg next, Reg firstTile, int64_t tiles) {
    for (const int64_t tile : {0, 1}) clearTile(b_, sumsOf(tile));
    forEachTile(l_, firstTile, tiles, plan_.holdsA ? tiles : 2, [&](Reg first, int64_t count) {
      for (int64_t k = 0; k < count; ++k) {
        Reg number = b_.CreateAdd(first, l_.index(k));
        Reg offset = b_.CreateMul(number, l_.index(kTileBf16 * storage_bytes(s_.b)));
        loadTile(b_, rowsOf(k), b_.CreatePtrAdd(rows, offset), strideB_);
        if (!plan_.holdsA) loadA(k, number);
        Reg line = b_.CreatePtrAdd(next, offset);
        for (int row = 0; row < kTileRows; ++row) {
          prefetchLine(b_, line, plan_.prefetchesL1 ? CacheLevel::l1 : CacheLevel::l2);
          line = b_.CreatePtrAdd(line, strideB_);
        }
        multiplyTiles(b_, llvm::Intrinsic::x86_tdpbf16ps, sumsOf(k), rowsOf(k), factorsOf(k));
      }
    });
  }

  /// Stores the sums, a row of which belongs to a row of B, to 16 columns of C.
  void store(Reg column) {
    const int64_t size = kTileRows * rowBytesOfA();
    for (const int64_t tile : {0, 1})
      storeTile(b_, sumsOf(tile), b_.CreatePtrAdd(sums_.base, l_.index(tile * size)), l_.index(rowBytesOfA()));
    Values sums;
    for (int64_t i = 0; i < plan_.columns; ++i) {
      const auto ofTile = [&](int64_t tile) {
        return loadElements(b_, DType::f32,
                            elementAt(b_, DType::f32, sums_.base, l_.index((tile * plan_.columns + i) * kTileLanes)),
                            kTileLanes);
      };
      sums.push_back(b_.CreateFAdd(ofTile(0), ofTile(1)));
    }
    sums = rotatedRight(b_, sums, columnBits_);
    for (int64_t i = 0; i < s_.m; ++i) {
      Reg to = elementOfC(l_, p_, l_.index(i), column), sum = sums[static_cast<size_t>(i)];
      if (addsToC_) sum = b_.CreateFAdd(loadElements(b_, DType::f32, to, kTileLanes), sum);
      storeElements(b_, DType::f32, sum, to, kTileLanes);
    }
  }

  NativeLowering& l_;
  Builder& b_;
  const RowProduct& p_;
  const GemmShape& s_;
  const DotTilesPlan& plan_;
  const int64_t tilesOfK_;
  const int columnBits_;
  const bool addsToC_;
  Reg strideB_;         ///< bytes
  BlockTable bases_;    ///< of the blocks, and of the rows that are prefetched after the last one
  View packed_, sums_;  ///< A in tiles [k / 32][k / 2 % 16][row][k % 2]; sums of the even and the odd tiles
};

}  // namespace

void emitDotTiles(NativeLowering& l, const RowProduct& p, const DotTilesPlan& plan) {
  DotTilesEmitter(l, p, plan).emit();
}

}  // namespace smalti::cpu
