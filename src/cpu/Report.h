// Reports about the compilation of a kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace smalti::cpu {

/// The times and sizes of one compilation.
struct CompileReport {
  double emitMs = 0, optimiseMs = 0, codegenMs = 0, linkMs = 0;
  int64_t objectBytes = 0;  ///< size of the object file: code, constants, symbols and relocations
  int64_t frameBytes = 0;   ///< stack frames of all functions: calls take no more, as none is recursive
  bool fromCache = false;
};

struct KernelPlan;

/// A summary of what the compiler did, for `show`.
struct NativeReport {
  CompileReport compile;
  int64_t arenaBytes = 0;                  ///< memory for values and packed operands, per thread
  std::vector<std::string> matmuls;        ///< one line per product: shape, tile, blocks
  int sharedAxes = 0;                      ///< leading grid axes that threads share
  std::string sequentialReason;            ///< why threads do not share more axes (Parallel.h)
  std::vector<std::string> interpreted;    ///< ops without native code, which src/eval computes; one line per kind
  std::shared_ptr<const KernelPlan> plan;  ///< the decisions (plan/KernelPlan.h); null: the code is from the cache
};

}  // namespace smalti::cpu
