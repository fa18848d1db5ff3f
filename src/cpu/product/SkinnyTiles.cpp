#include "cpu/product/SkinnyTiles.h"

#include <algorithm>
#include <optional>

#include "base/Arithmetic.h"
#include "cpu/nest/CarriedLoop.h"
#include "cpu/product/Bf16Dot.h"
#include "cpu/product/RowsAsColumns.h"
#include "cpu/product/gemm/Ir.h"

namespace smalti::cpu {
namespace {

class SkinnyTilesEmitter {
 public:
  SkinnyTilesEmitter(NativeLowering& l, const RowProduct& p, const SkinnyTilesPlan& plan)
      : l_(l),
        b_(l.b),
        p_(p),
        s_(p.shape),
        plan_(plan),
        lanes_(l.processor.lanes(4)),
        rowsPerStep_(p.bf16Pairs ? 2 : 1),
        size_(storage_bytes(p.shape.b)) {}

  void emit() {
    // The factors of a row of B are copied to contiguous memory, since rows of A with a stride of whole pages map to
    // the same cache set.
    factors_ = rowsAsColumns(l_, p_, lanes_);
    bases_.emplace(l_, p_.b.size() + static_cast<size_t>(blocksAhead()));
    forEachTile(l_, l_.index(0), s_.n, plan_.panelColumns, [&](Reg first, int64_t count) { panel({first, count}); });
  }

 private:
  struct Columns {
    Reg first = nullptr;
    int64_t count = 0;
  };
  /// Successive rows of a block.
  struct Rows {
    Reg from = nullptr;           ///< address of the first row
    Reg prefetchedRow = nullptr;  ///< address of the first row that is prefetched meanwhile
    Reg k = nullptr;              ///< number of the first row
  };
  /// Rows of B that stay in L1 while they are added to all tiles of C: as many of each of several blocks.
  struct Group {
    llvm::SmallVector<Rows, 4> blocks;
    int64_t rows = 0;  ///< of each block
  };

  /// The part of a group's row that a tile reads.
  struct RowPart {
    const Rows& block;
    int64_t rows = 0;  ///< of the block in the group
    Reg row = nullptr, column = nullptr;
    int64_t columns = 0;
    int64_t rowOfA = 0;  ///< number of the tile's first row
    const Columns& panel;
  };

  void panel(const Columns& c) {
    if (!s_.accumulate) clearColumnsOfC(l_, p_, c.first, c.count);
    // A loop over the blocks. The table of their addresses also holds the blocks that are prefetched after the last
    // one.
    const auto blocks = static_cast<int64_t>(p_.b.size());
    for (int64_t i = 0; i < blocks; ++i) bases_->store(i, p_.b[static_cast<size_t>(i)].base);
    for (int64_t i = 0; i < blocksAhead(); ++i) bases_->store(blocks + i, afterLast(i, c));
    l_.loop(l_.index(0), l_.index(blocks), l_.index(plan_.streams), [&](Reg first) {
      const auto rowAt = [&](Reg base, Reg row) { return elementAt(b_, s_.b, base, b_.CreateMul(row, p_.ldb)); };
      Reg size = l_.index(p_.rowsOfBlock());
      forEachTile(l_, l_.index(0), p_.rowsOfBlock(), plan_.groupRows, [&](Reg row, int64_t rows) {
        Reg ahead = b_.CreateAdd(row, l_.index(plan_.prefetchedRows));
        Reg blocksAhead = b_.CreateMul(b_.CreateUDiv(ahead, size), l_.index(plan_.streams));
        Group made{.rows = rows};
        for (int64_t s = 0; s < plan_.streams; ++s) {
          Reg block = b_.CreateAdd(first, l_.index(s));
          made.blocks.push_back(
              {.from = rowAt(bases_->load(block), row),
               .prefetchedRow = rowAt(bases_->load(b_.CreateAdd(block, blocksAhead)), b_.CreateURem(ahead, size)),
               .k = b_.CreateAdd(b_.CreateMul(block, size), row)});
        }
        group(made, c);
      });
    });
  }

  /// The prefetch distance in blocks, rounded up.
  int64_t blocksAhead() const { return ceilDiv(plan_.prefetchedRows, p_.rowsOfBlock()) * plan_.streams; }

  /// A block to prefetch after a panel's last block: the next panel's, or as blockAfterLast says.
  Reg afterLast(int64_t block, const Columns& c) {
    const auto last = static_cast<int64_t>(p_.b.size()) - 1;
    if (c.count < s_.n)
      return elementAt(b_, s_.b, p_.b[static_cast<size_t>(std::min(block, last))].base, l_.index(c.count));
    return blockAfterLast(l_, p_, block);
  }

  void group(const Group& g, const Columns& c) {
    forEachTile(l_, c.first, c.count, plan_.tileColumns, [&](Reg column, int64_t columns) {
      for (int64_t i = 0; i < s_.m; i += plan_.tileRows)
        tile(g, c, i, std::min(plan_.tileRows, s_.m - i), {column, columns});
    });
  }

  /// Adds the group's rows to a tile of C, which stays in registers meanwhile.
  void tile(const Group& g, const Columns& panel, int64_t first, int64_t rows, const Columns& columns) {
    const int64_t vectors = ceilDiv(columns.count, lanes_);
    const auto mask = [&](int64_t v) { return lanesWithin(l_, columns.count, v); };
    const auto each = [&](llvm::function_ref<void(size_t, Reg, Reg)> use) {
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t v = 0; v < vectors; ++v)
          use(static_cast<size_t>(i * vectors + v),
              elementOfC(l_, p_, l_.index(first + i), b_.CreateAdd(columns.first, l_.index(v * lanes_))), mask(v));
    };
    Values sums(static_cast<size_t>(rows * vectors));
    each([&](size_t at, Reg to, Reg on) { sums[at] = loadElements(b_, DType::f32, to, lanes_, on); });
    const auto addRows = [&](const Rows& of, Reg row, Values& now) {
      const Values values = valuesOf({of, g.rows, row, columns.first, columns.count, first, panel});
      for (int64_t i = 0; i < rows; ++i) {
        Reg factor = coefficientOf(b_.CreateAdd(of.k, row), first + i);
        for (int64_t v = 0; v < vectors; ++v) {
          Reg& sum = now[static_cast<size_t>(i * vectors + v)];
          sum = addProducts(b_, factor, values[static_cast<size_t>(v)], sum);
        }
      }
    };
    const int64_t pass = g.rows % (2 * rowsPerStep_) == 0 ? 2 * rowsPerStep_ : rowsPerStep_;
    for (const Rows& of : g.blocks)
      sums = carriedLoop(l_, 0, g.rows, pass, sums, [&](Reg row, Values now) {
        for (int64_t r = 0; r < pass; r += rowsPerStep_) addRows(of, b_.CreateAdd(row, l_.index(r)), now);
        return now;
      });
    each([&](size_t at, Reg to, Reg on) { storeElements(b_, DType::f32, sums[at], to, lanes_, on); });
  }

  /// Loads a tile's columns of one row of a group, or of two rows if pairs are multiplied; prefetches meanwhile.
  Values valuesOf(const RowPart& of) {
    Values rows;
    for (int64_t r = 0; r < rowsPerStep_; ++r) {
      Reg row = b_.CreateAdd(of.row, l_.index(r));
      rows.push_back(elementAt(b_, s_.b, of.block.from, b_.CreateAdd(b_.CreateMul(row, p_.ldb), of.column)));
      if (of.rowOfA == 0)
        fetch(of, row);
      else if (of.rowOfA == plan_.tileRows)
        fetchNextColumns(of, rows.back());
    }
    return loadRows(l_, s_, rows, of.columns);
  }

  /// The factor of row k of B (or of two successive rows) for a row of C, in all lanes.
  Reg coefficientOf(Reg k, int64_t row) {
    Reg at = b_.CreateAdd(b_.CreateMul(k, l_.index(paddedRows(s_))), l_.index(rowsPerStep_ * row));
    Reg from = elementAt(b_, s_.a, factors_.base, at);
    return splat(b_, loadCoefficients(b_, s_.a, rowsPerStep_ == 2, from, 1), lanes_);
  }

  /// Prefetches a part of a row of the next group, as wide as a tile, into L2: L1 has too few fill buffers for misses
  /// to DRAM. The tiles of a panel prefetch its parts in the order of memory, row by row, whatever they read
  /// themselves: rows of panels are pages apart, and DRAM is slow if each access is to another page.
  void fetch(const RowPart& of, Reg row) {
    Reg tilesBefore = b_.CreateUDiv(b_.CreateSub(of.column, of.panel.first), l_.index(plan_.tileColumns));
    Reg part = b_.CreateAdd(b_.CreateMul(tilesBefore, l_.index(of.rows)), row);
    Reg partsOfRow = l_.index(ceilDiv(of.panel.count, plan_.tileColumns));
    Reg column =
        b_.CreateAdd(of.panel.first, b_.CreateMul(b_.CreateURem(part, partsOfRow), l_.index(plan_.tileColumns)));
    Reg offset = b_.CreateAdd(b_.CreateMul(b_.CreateUDiv(part, partsOfRow), p_.ldb), column);
    for (int64_t at = 0; at < of.columns; at += kLineBytes / size_)
      prefetchLine(b_, elementAt(b_, s_.b, of.block.prefetchedRow, b_.CreateAdd(offset, l_.index(at))), CacheLevel::l2);
  }

  /// Prefetches from L2 to L1 the columns of a row that the next tile reads; after the last columns, the first columns
  /// of a row of the next group.
  void fetchNextColumns(const RowPart& of, Reg address) {
    Reg next = b_.CreateAdd(of.column, l_.index(of.columns));
    Reg offset = b_.CreateSelect(b_.CreateICmpULT(next, l_.index(s_.n)), l_.index(of.columns),
                                 b_.CreateSub(b_.CreateMul(l_.index(of.rows), p_.ldb), of.column));
    prefetchLine(b_, elementAt(b_, s_.b, address, offset), CacheLevel::l1);
  }

  NativeLowering& l_;
  Builder& b_;
  const RowProduct& p_;
  const GemmShape& s_;
  const SkinnyTilesPlan& plan_;
  const int lanes_;
  const int64_t rowsPerStep_;
  const int64_t size_;               ///< bytes of an element of B
  View factors_;                     ///< A as columns, in pairs if two rows are added at once
  std::optional<BlockTable> bases_;  ///< of the blocks, and of those prefetched after them
};

}  // namespace

void emitSkinnyTiles(NativeLowering& l, const RowProduct& p, const SkinnyTilesPlan& plan) {
  SkinnyTilesEmitter(l, p, plan).emit();
}

}  // namespace smalti::cpu
