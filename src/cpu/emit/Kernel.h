// Emits a whole call as one function, according to its plan: the grid, its windows, and the body.
#pragma once

#include "cpu/emit/InterpreterFallback.h"
#include "cpu/emit/NativeLowering.h"
#include "cpu/plan/PlanKernel.h"
#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// Name and type of the generated function:
/// i32 (ptr context, ptr operands, ptr arena, i64 begin, i64 end); a KernelStatus.
/// `operands`: the call's operands, then its results, each a pointer. `context`: begins with the thread's CallLimits,
/// which no other thread uses meanwhile; the rest is private to the run-time functions.
/// [begin, end): points of the shared grid axes (planParallel), row-major; [0, 1) without any.
inline constexpr const char* kKernelSymbol = "smalti_kernel";
using KernelFunction = int32_t(void* context, void* const* operands, void* arena, int64_t begin, int64_t end);

struct LoweredKernel {
  int64_t arenaBytes = 0;
  std::vector<int64_t> sharedBounds;  ///< of the leading grid axes that threads share; kDynamicBound as in the grid
  /// Parts of the arena that start undefined in every call: scratch and window buffers. Semaphores start at 0.
  struct Undefined {
    int64_t offset = 0;
    ArrayType type;
  };
  std::vector<Undefined> undefined;
  /// Results of which the kernel surely writes every element, so that they need not be made undefined first.
  std::vector<bool> written;
};

/// Emits the function into the module, and reports the plan. The caller aligns results with non-temporal stores to
/// cache lines. The processor is the plan's.
tl::expected<LoweredKernel, Unsupported> lowerKernel(const PlannedKernel&, llvm::Module&, const Processor&,
                                                     NativeReport&, FallbackOps&, LowerOptions);

}  // namespace smalti::cpu
