// What one compilation of a kernel came to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace smalti::cpu {

/// Where the time of one compilation went, and what came of it.
struct CompileReport {
  double emitMs = 0, optimiseMs = 0, codegenMs = 0, linkMs = 0;
  int64_t objectBytes = 0;  ///< of the object file: code, constants, symbols and what loading needs
  bool fromCache = false;
};

struct KernelPlan;

/// What the compiler did, for `show` and for people who wonder.
struct NativeReport {
  CompileReport compile;
  int64_t arenaBytes = 0;                ///< of values and packed operands, per thread
  std::vector<std::string> matmuls;      ///< one line per product: shape, tile, blocks
  int sharedAxes = 0;                    ///< leading grid axes that threads share
  std::string inOrder;                   ///< why no more of them are (Parallel.h)
  std::vector<std::string> interpreted;  ///< ops that are not native yet: computed by src/eval, one line per kind
  std::shared_ptr<KernelPlan> plan;      ///< what was decided (plan/KernelPlan.h); null: the code is from the cache
};

}  // namespace smalti::cpu
