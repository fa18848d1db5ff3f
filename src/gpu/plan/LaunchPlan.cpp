#include "gpu/plan/LaunchPlan.h"

#include <algorithm>
#include <bit>

#include "gpu/device/Primitives.h"
#include "gpu/plan/StepConditions.h"
#include "ir/KernelArguments.h"
#include "ir/Types.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::gpu {
namespace {

/// Threads of a block of a kernel without planned products: two to eight warps. Chosen, not measured.
constexpr int kMinThreads = 64, kMaxThreads = 256;
/// Elements per thread of the largest value, so that several accesses are in flight. Chosen, not measured.
constexpr int64_t kElementsPerThread = 4;

/// The number of threads of a block for the largest value of the body.
int threadsFor(const KernelPackage& package) {
  int64_t most = 1;
  const auto look = [&](mlir::Type type) {
    if (llvm::isa<mlir::VectorType>(type)) most = std::max(most, checkedElements(shapeOf(type)));
  };
  mlir::func::FuncOp(package.kernelFunction()).walk([&](mlir::Operation* op) {
    for (mlir::Type t : op->getResultTypes()) look(t);
    for (mlir::Type t : op->getOperandTypes()) look(t);
  });
  const auto wanted = std::bit_ceil(static_cast<uint64_t>((most + kElementsPerThread - 1) / kElementsPerThread));
  return static_cast<int>(std::clamp<uint64_t>(wanted, kMinThreads, kMaxThreads));
}

/// Bytes of shared memory in which warps collect rows of results: 16 rows per warp.
int64_t storeBytesFor(const RegisterPlan& plan) {
  const bool keeps = std::ranges::any_of(plan.products, [](const auto& each) {
    return each.second.tile.unit == ProductUnit::warpGroups && each.second.result != ProductResult::memory;
  });
  return keeps ? plan.threads / kWarp * ProductTile::kRows * LaunchPlan::kStoredRowBytes : 0;
}

/// The number of elements in 16 bytes of the narrowest array. Arrays whose blocks are much smaller than the largest
/// block do not count.
int64_t longestRunFor(const KernelPackage& package) {
  // 16 bytes are the largest access of a thread (PTX ISA, ld). Runs of at most 8 elements, and blocks of at least 1/8
  // of the largest: chosen, not measured.
  constexpr int64_t kBytes = 16, kMost = 8, kFraction = 8;
  const KernelArguments arguments(package);
  int64_t most = 0, narrowest = kBytes;
  for (size_t i = 0; i < arguments.numBlocks(); ++i)
    most = std::max(most, num_elements(shapeOf(arguments.block(i).getType())));
  for (size_t i = 0; i < arguments.numBlocks(); ++i)
    if (num_elements(shapeOf(arguments.block(i).getType())) >= most / kFraction)
      narrowest = std::min<int64_t>(narrowest, storage_bytes(elementDType(arguments.block(i).getType())));
  return std::clamp<int64_t>(kBytes / std::max<int64_t>(narrowest, 1), 1, kMost);
}

}  // namespace

tl::expected<LaunchPlan, cpu::Unsupported> planLaunch(const KernelPackage& package, const Architecture& architecture,
                                                      bool checkBlocks, const GpuParams& params) {
  LaunchPlan plan;
  const cpu::ParallelPlan parallel = cpu::planParallel(package);
  if (!parallel.runs) plan.sequentialReason = parallel.reason;
  auto grid = cpu::planGrid(package, {.sharedAxes = parallel.axes, .checkBlocks = checkBlocks});
  if (!grid) return tl::unexpected(std::move(grid.error()));
  plan.grid = std::move(*grid);
  plan.runs = parallel.runs;
  plan.products = planRegisters(package, architecture, params);
  plan.stream = planStream(package, plan.products, plan.grid, plan.runs.has_value(), architecture, params);
  plan.order = planPoints(package, plan.grid, plan.runs.has_value(), plan.products, plan.stream);
  plan.stepConditions = stepConditions(package, plan.grid);
  int64_t others = 0;
  for (const auto& [op, p] : plan.products.products)
    if (!plan.stream.find(op)) others = std::max(others, p.tile.stages * p.tile.stageBytes());
  plan.stageBytes = plan.stream.bytes() + others;
  if (const int64_t bytes = storeBytesFor(plan.products);
      plan.stageBytes + bytes + kOtherSharedBytes <= architecture.sharedBytes) {
    plan.storeBytes = bytes;
    plan.stageBytes += bytes;
  }
  plan.threads = plan.products.threads ? plan.products.threads
                 : params.num_warps    ? static_cast<int>(*params.num_warps) * kWarp
                                       : threadsFor(package);
  plan.longestRun = longestRunFor(package);
  plan.sharedBytes = std::min(kSharedBytes, architecture.sharedBytes - plan.stageBytes);
  return plan;
}

}  // namespace smalti::gpu
