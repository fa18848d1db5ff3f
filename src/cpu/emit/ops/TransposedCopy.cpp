// Copies between memory that runs along one dimension and memory that runs along another: square tiles in registers.
#include <bit>

#include "cpu/emit/ops/Columns.h"

namespace smalti::cpu {
namespace {

/// The dimension with contiguous elements, ignoring dimensions of size 1. The rank if there is none.
size_t runningDimension(const View& v) {
  size_t d = 0;
  while (d < v.shape.size() && (v.shape[d] == 1 || constantOf(v.strides[d]) != 1)) ++d;
  return d;
}

/// Rows of a square become its columns: each step exchanges blocks of half the size across the diagonal.
void transposeSquare(Builder& b, llvm::SmallVector<Reg, 16>& rows) {
  const int n = static_cast<int>(rows.size());
  for (int size = n / 2; size > 0; size /= 2)
    for (int i = 0; i < n; ++i) {
      if (i & size) continue;
      llvm::SmallVector<int, 16> upper, lower;
      for (int lane = 0; lane < n; ++lane) {
        const bool second = lane & size;
        upper.push_back(second ? n + lane - size : lane);
        lower.push_back(second ? n + lane : lane + size);
      }
      Reg &x = rows[static_cast<size_t>(i)], &y = rows[static_cast<size_t>(i + size)];
      Reg above = b.CreateShuffleVector(x, y, upper), below = b.CreateShuffleVector(x, y, lower);
      x = above;
      y = below;
    }
}

}  // namespace

bool copyTransposed(NativeLowering& l, const View& from, const View& to) {
  constexpr int64_t kSmallestTile = 4, kLargestTile = 16;
  if (from.dynamic() || to.dynamic() || from.shape != to.shape || from.shape.size() < 2) return false;
  const size_t along = runningDimension(from), across = runningDimension(to), rank = from.shape.size();
  if (along == rank || across == rank || along == across) return false;
  const int bytes = storage_bytes(to.dtype);
  const int64_t most = bytes < 4 ? kLargestTile : std::min<int64_t>(kLargestTile, l.processor.lanes(bytes));
  const int64_t tile = std::min<int64_t>(
      most,
      static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::min(from.shape[along], from.shape[across])))));
  if (tile < kSmallestTile) return false;
  Builder& b = l.b;
  const int64_t wholeAlong = from.shape[along] / tile * tile, wholeAcross = from.shape[across] / tile * tile;
  const llvm::Align align(static_cast<uint64_t>(bytes));
  auto* type = llvm::FixedVectorType::get(storageType(b.getContext(), to.dtype), static_cast<unsigned>(tile));
  std::vector<Reg> at(rank, l.index(0));
  const auto step = [&](const View& v, size_t d, int64_t k) {
    return b.CreateGEP(storageType(b.getContext(), v.dtype), elementPointer(b, v, at),
                       b.CreateMul(v.strides[d], l.index(k)));
  };
  std::function<void(size_t)> walk = [&](size_t d) {
    if (d == rank) {
      l.loop(l.index(0), l.index(wholeAcross), l.index(tile), [&](Reg column) {
        l.loop(l.index(0), l.index(wholeAlong), l.index(tile), [&](Reg row) {
          at[along] = row;
          at[across] = column;
          llvm::SmallVector<Reg, 16> rows;
          for (int64_t k = 0; k < tile; ++k) rows.push_back(b.CreateAlignedLoad(type, step(from, across, k), align));
          transposeSquare(b, rows);
          for (int64_t k = 0; k < tile; ++k)
            b.CreateAlignedStore(rows[static_cast<size_t>(k)], step(to, along, k), align);
        });
      });
      at[along] = at[across] = l.index(0);
      return;
    }
    if (d == along || d == across) return walk(d + 1);
    l.loop(l.index(0), l.index(from.shape[d]), l.index(1), [&](Reg i) {
      at[d] = i;
      walk(d + 1);
      at[d] = l.index(0);
    });
  };
  walk(0);
  // What is left of the rows, and of the columns of the others.
  const auto rest = [&](size_t d, int64_t start, int64_t otherSize) {
    if (start == from.shape[d]) return;
    std::vector<Reg> starts(rank, l.index(0));
    starts[d] = l.index(start);
    Shape sizes = from.shape;
    sizes[d] -= start;
    sizes[d == along ? across : along] = otherSize;
    l.copy(slice(b, from, starts, sizes), slice(b, to, starts, sizes));
  };
  rest(along, wholeAlong, from.shape[across]);
  rest(across, wholeAcross, wholeAlong);
  return true;
}

}  // namespace smalti::cpu
