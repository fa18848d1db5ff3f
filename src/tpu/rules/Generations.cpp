// Operations that only some generations have.
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "ir/TpuOps.h"
#include "ir/TpuOpsAtomic.h"
#include "ir/Types.h"
#include "tpu/rules/Reasons.h"
#include "tpu/rules/Table.h"

namespace smalti::tpu {
namespace {

void refuseOn(const Judge& judge, mlir::Operation* op, std::string message, std::string help) {
  const auto type = op->getNumResults() ? arrayTypeOf(op->getResult(0).getType()) : std::nullopt;
  judge.refuse(reason::kUnsupportedOp, op->getLoc(),
               {.message = std::move(message),
                .need = "another generation",
                .have = type ? type->str() : std::string(),
                .help = std::move(help)});
}

void onStochasticConvert(mlir::Operation* op, const Judge& judge) {
  if (mlir::isa<StochasticConvertOp>(op) && !judge.chip.takes.stochasticRound)
    refuseOn(judge, op, "Stochastic convert not supported on TPU generations < 5", "round to nearest");
}

void onUnpack(mlir::Operation* op, const Judge& judge) {
  auto unpack = mlir::dyn_cast<UnpackElementwiseOp>(op);
  if (unpack && unpack.getSourceType().isBF16() && !judge.chip.takes.interleavedUnpack)
    refuseOn(judge, op, "interleaved unpacking is not implemented",
             "take the halves of words with shifts and bitcasts");
}

void onAtomic(mlir::Operation* op, const Judge& judge) {
  if (mlir::isa<AtomicOp>(op))
    judge.refuse(reason::kUnsupportedOp, op->getLoc(),
                 {.message = "no TPU has atomic updates",
                  .need = "an op that a TensorCore has",
                  .have = "tpu.atomic",
                  .help = "the programs of a TensorCore run one after the other: read, compute and write in VMEM"});
}

void onPadding(const Judge& judge) {
  for (const auto& window : judge.kernel.signature.windows)
    if (window && llvm::any_of(window->padLow, [](int64_t pad) { return pad != 0; }))
      return refuseOn(judge, judge.kernel.kernelFunction(), "Low padding not supported yet",
                      "pad the array, and shift the index map");
}

/// On every generation.
void onEmptyArrays(const Judge& judge) {
  mlir::func::FuncOp f = judge.kernel.kernelFunction();
  for (mlir::BlockArgument argument : f.getArguments()) {
    const auto type = mlir::dyn_cast<mlir::MemRefType>(argument.getType());
    if (!type || !type.hasStaticShape() || type.getNumElements() > 0) continue;
    const auto array = arrayTypeOf(type);
    return judge.refuse(reason::kUnsupportedOp, f.getLoc(),
                        {.message = "the compiler ends in a failed check of its own at arrays without elements",
                         .need = "at least one element",
                         .have = array ? array->str() : std::string(),
                         .help = "call no kernel where there is nothing to compute"});
  }
}

}  // namespace

std::span<const Rule> generationRules() {
  static constexpr Rule kRules[]{{.onOp = onStochasticConvert},
                                 {.onOp = onUnpack},
                                 {.onOp = onAtomic},
                                 {.onKernel = onPadding},
                                 {.onKernel = onEmptyArrays}};
  return kRules;
}

}  // namespace smalti::tpu
