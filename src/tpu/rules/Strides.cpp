// Loads and stores with strides.
#include <fmt/format.h>

#include "ir/TpuOps.h"
#include "tpu/Multiple.h"
#include "tpu/Tiling.h"
#include "tpu/View.h"
#include "tpu/rules/Reasons.h"
#include "tpu/rules/Table.h"

namespace smalti::tpu {
namespace {

void onStrided(mlir::Operation* op, const Judge& judge) {
  mlir::Value base;
  mlir::ValueRange indices;
  llvm::ArrayRef<int32_t> strides;
  bool store = false;
  if (auto load = mlir::dyn_cast<StridedLoadOp>(op)) {
    base = load.getBase(), indices = load.getIndices(), strides = load.getStrides();
  } else if (auto s = mlir::dyn_cast<StridedStoreOp>(op)) {
    base = s.getBase(), indices = s.getIndices(), strides = s.getStrides(), store = true;
  } else {
    return;
  }
  const auto view = viewOf(base);
  if (!view || strides.empty()) return;
  const std::string have = view->array.str();
  const bool packed = elementBits(view->array.dtype) != 32;
  if (strides.back() != 1)
    return judge.refuse(reason::kStridedLanes, op->getLoc(),
                        {.message = "Stride on last dim is not 1",
                         .need = "a stride of 1 along the last dimension",
                         .have = fmt::format("{} of {}", strides.back(), have),
                         .help = "load all lanes, and take the ones you want from the value"});
  if (store && packed)
    return judge.refuse(reason::kStridedStore, op->getLoc(),
                        {.message = "Strided store with non 32-bit data",
                         .need = "f32 or i32",
                         .have = have,
                         .help = "keep the ref as f32 or i32"});
  const int64_t lanes = view->array.shape.back();
  // One row in every sublane: the hardware broadcasts whole registers of 32-bit data as it loads them.
  const bool broadcast = !store && !packed && lanes % kLanes == 0 && strides.size() > 1 && strides.end()[-2] == 0;
  if (lanes > kLanes && !broadcast)
    return judge.refuse(reason::kStridedMinor, op->getLoc(),
                        {.message = "The last dim size is not 128 in original base memref",
                         .need = "a ref of at most 128 lanes",
                         .have = have,
                         .help = "give the ref a last dimension of 128, or load all rows and slice the value"});
  if (!packed) return;
  for (mlir::Value index : indices)
    if (!constantOf(index))
      return judge.refuse(reason::kStridedStart, op->getLoc(),
                          {.message = "Only static indices are supported for packed types",
                           .need = "constant starts, or f32 or i32",
                           .have = fmt::format("a start of {} in {}", derivationOf(index), have),
                           .help = "keep the ref as f32 or i32"});
}

}  // namespace

std::span<const Rule> strideRules() {
  static constexpr Rule kRules[]{{.onOp = onStrided}};
  return kRules;
}

}  // namespace smalti::tpu
