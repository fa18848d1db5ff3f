// Blocks of windows: whole tiles or whole dimensions.
#include <fmt/format.h>

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "ir/KernelArguments.h"
#include "tpu/Multiple.h"
#include "tpu/ShapeText.h"
#include "tpu/Tiling.h"
#include "tpu/View.h"
#include "tpu/rules/Index.h"
#include "tpu/rules/Reasons.h"
#include "tpu/rules/Table.h"

namespace smalti::tpu {
namespace {

struct BlockOf {
  std::string operand;  ///< "input 0"
  const Window& window;
  const ArrayType& array;
  mlir::func::FuncOp map;
  mlir::Location at;
};

void checkElementWindow(const Judge& judge, BlockOf& b, size_t d, int64_t tile) {
  if (!b.map || b.map.empty()) return;
  const mlir::Value index = b.map.front().getTerminator()->getOperand(d);
  if (knownMultiple(index) % tile == 0) return;
  judge.refuse(
      reason::kElementIndex, b.at,
      {.message = fmt::format(
           "Couldn't prove that tiling ({}) divides index returned by transform_indices on dimension {}", tile, d),
       .need = fmt::format("a multiple of {}", tile),
       .have = proofText(index, tile),
       .help = multipleHelp(index, tile),
       .where = {b.operand}});
}

void checkBlock(const Judge& judge, BlockOf& b) {
  const Shape &block = b.window.bounds, &array = b.array.shape;
  const size_t rank = block.size();
  for (size_t d = rank >= 2 ? rank - 2 : 0; d < rank; ++d) {
    const bool row = d + 2 == rank;
    const int64_t unit = rank == 1 ? tileElements(b.array.dtype) : row ? judge.chip.tiles.rows32 : kLanes;
    if (b.window.elementIndexed) {
      const int64_t tile = row ? tileRows(judge.chip, b.array.dtype, array[d]) : unit;
      checkElementWindow(judge, b, d, tile);
    }
    if (block[d] == array[d] || block[d] % unit == 0) continue;
    return judge.refuse(
        reason::kBlockShape, b.at,
        {.message = fmt::format(
             "Failed to set window params for {}: Operand of shape {} has tiling {}, but its block shape {} is "
             "not divisible by tiling evenly nor matches the full shape",
             b.operand, tuple(array),
             rank == 1 ? fmt::format("({})", unit) : fmt::format("({}, {})", judge.chip.tiles.rows32, kLanes),
             tuple(block)),
         .need = fmt::format("{} or a multiple of {} along dimension {}", array[d], unit, d),
         .have = fmt::format("{}", block[d]),
         .help = "choose such a block; the last block along a dimension may extend past its end",
         .where = {b.operand}});
  }
}

void onWindows(const Judge& judge) {
  const KernelArguments arguments(judge.kernel);
  if (arguments.function().getNumArguments() < arguments.count()) return;
  for (size_t i = 0; i < arguments.numBlocks(); ++i) {
    const auto& window = arguments.windowOf(i);
    if (!window) continue;
    const auto type = mlir::dyn_cast<mlir::MemRefType>(arguments.block(i).getType());
    if (!type || memorySpaceOf(type) != MemorySpace::vmem) continue;
    auto map = arguments.indexMap(*window);
    const ArrayType& array = arguments.arrayOf(i);
    if (array.shape.size() != window->bounds.size()) continue;
    BlockOf block{arguments.roleOf(arguments.block(i))->str(), *window, array, map,
                  map ? map.getLoc() : arguments.function().getLoc()};
    checkBlock(judge, block);
  }
}

}  // namespace

std::span<const Rule> blockRules() {
  static constexpr Rule kRules[]{{.onKernel = onWindows}};
  return kRules;
}

}  // namespace smalti::tpu
