// Gathers along an axis, and the reductions and rolls that have the same restrictions.
#include <fmt/format.h>

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "ir/TpuOps.h"
#include "ir/Types.h"
#include "tpu/Tiling.h"
#include "tpu/rules/Reasons.h"
#include "tpu/rules/Table.h"

namespace smalti::tpu {
namespace {

void onGather(mlir::Operation* op, const Judge& judge) {
  auto gather = mlir::dyn_cast<DynamicGatherOp>(op);
  if (!gather || gather.getDimensions().size() != 1) return;
  const auto source = arrayTypeOf(gather.getSource().getType()), indices = arrayTypeOf(gather.getIndices().getType());
  if (!source || !indices || source->shape.empty()) return;
  const auto axis = static_cast<size_t>(gather.getDimensions()[0]);
  const int64_t bits = elementBits(source->dtype);
  const bool lanes = axis + 1 == source->shape.size();
  if (source->shape[axis] == 1) return;  // there is nothing to choose
  if (bits != elementBits(indices->dtype))
    return judge.refuse(reason::kGatherWidth, op->getLoc(),
                        {.message = "Gather indices and result have different bitwidths",
                         .need = fmt::format("indices of {} bits", bits),
                         .have = fmt::format("{} by {}", source->str(), indices->str()),
                         .help = "convert the values to 32 bits, gather, and convert back"});
  if (bits == 8 && !judge.chip.takes.narrowGather)
    return judge.refuse(reason::kUnsupportedOp, op->getLoc(),
                        {.message = "Byte gather not supported by this TPU generation",
                         .need = "32-bit values and indices",
                         .have = fmt::format("{} by {}", source->str(), indices->str()),
                         .help = "convert the values to i32, gather, and convert back; or use another chip"});
  const int64_t most = lanes ? kLanes : judge.chip.vector.sublanes * (32 / bits);
  if (source->shape[axis] > most)
    return judge.refuse(reason::kGatherRegisters, op->getLoc(),
                        {.message = "Multiple source vregs along gather dimension",
                         .need = fmt::format("at most {} elements along axis {}", most, axis),
                         .have = source->str(),
                         .help = "gather from pieces of that size, and choose among the results"});
  if (!lanes && !judge.chip.takes.sublaneGather)
    return judge.refuse(reason::kSublaneGather, op->getLoc(),
                        {.message = "Sublane gather not supported by this TPU generation",
                         .need = "a gather along the last axis",
                         .have = fmt::format("axis {} of {}", axis, source->str()),
                         .help = "transpose before and after, or use another chip"});
}

/// Is a value that is a row in the type and a column in the registers used as a column only?
bool staysColumn(mlir::Value v) {
  return llvm::all_of(v.getUsers(), [&](mlir::Operation* user) {
    if (auto cast = mlir::dyn_cast<mlir::vector::ShapeCastOp>(user))
      return cast.getResultVectorType().getRank() > 0 && cast.getResultVectorType().getShape().back() == 1;
    const llvm::StringRef dialect = user->getName().getDialectNamespace();
    return (dialect == "arith" || dialect == "math") && user->getNumResults() == 1 && staysColumn(user->getResult(0));
  });
}

/// Reductions over lanes whose result does not keep its rows as rows: (N, 1) becomes (N,).
void onLaneReduction(mlir::Operation* op, const Judge& judge) {
  if (judge.chip.takes.sublaneGather) return;
  mlir::Value result;
  std::optional<ArrayType> from;
  if (auto reduce = mlir::dyn_cast<mlir::vector::MultiDimReductionOp>(op)) {
    from = arrayTypeOf(reduce.getSource().getType());
    const auto dims = reduce.getReductionDims();
    if (from && llvm::is_contained(dims, static_cast<int64_t>(from->shape.size()) - 1)) result = reduce.getDest();
  } else if (auto reduce = mlir::dyn_cast<ReduceIndexOp>(op)) {
    from = arrayTypeOf(reduce.getInput().getType());
    if (from && reduce.getAxis() + 1 == static_cast<int64_t>(from->shape.size())) result = reduce.getResult();
  } else if (auto matmul = mlir::dyn_cast<MatmulOp>(op)) {
    from = arrayTypeOf(matmul.getLhs().getType());
    result = matmul.getResult();
    if (mlir::cast<mlir::VectorType>(result.getType()).getRank() != 1 || !from || from->shape.size() != 2) return;
  }
  if (!result) return;
  const auto type = arrayTypeOf(result.getType());
  if (!type || type->shape.empty()) return;
  int64_t rows = 1;
  for (int64_t d : type->shape) rows *= d;
  if (rows == 1) return;
  if (staysColumn(result)) return;
  judge.refuse(reason::kSublaneGather, op->getLoc(),
               {.message = "Sublane gather not supported by this TPU generation",
                .need = "a result that keeps its rows: keepdims=True",
                .have = fmt::format("{} reduced to {}", from->str(), type->str()),
                .help = "reduce with keepdims=True, or use another chip"});
}

void onIndexReduce(mlir::Operation* op, const Judge& judge) {
  auto reduce = mlir::dyn_cast<ReduceIndexOp>(op);
  if (!reduce) return;
  const auto type = arrayTypeOf(reduce.getInput().getType());
  if (!type) return;
  if (type->dtype == DType::bf16 && !judge.chip.takes.bf16IndexReduce)
    judge.refuse(reason::kUnsupportedOp, op->getLoc(),
                 {.message = "Operation not supported: index reduction of bf16",
                  .need = "f32",
                  .have = type->str(),
                  .help = "convert to f32 first"});
}

void onRotate(mlir::Operation* op, const Judge& judge) {
  auto rotate = mlir::dyn_cast<DynamicRotateOp>(op);
  if (!rotate) return;
  const auto type = arrayTypeOf(rotate.getValue().getType());
  if (!type) return;
  if (type->dtype == DType::pred)
    judge.refuse(reason::kBoolRelayout, op->getLoc(),
                 {.message = "changeBitwidth when src bitwidth and dst bitwidth differs too much",
                  .need = "integers or floats",
                  .have = type->str(),
                  .help = "convert to i32, roll, and compare with 0"});
  if (rotate.getStride() && !judge.chip.takes.stridedRoll)
    judge.refuse(reason::kUnsupportedOp, op->getLoc(),
                 {.message = "Target does not support rolls with a stride",
                  .need = "",
                  .have = type->str(),
                  .help = "use another chip"});
}

}  // namespace

std::span<const Rule> gatherRules() {
  static constexpr Rule kRules[]{
      {.onOp = onGather}, {.onOp = onLaneReduction}, {.onOp = onIndexReduce}, {.onOp = onRotate}};
  return kRules;
}

}  // namespace smalti::tpu
