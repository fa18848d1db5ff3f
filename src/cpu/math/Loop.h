// A single function applied to arrays, for tests and measurements.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "cpu/jit/Jit.h"
#include "llvm/IR/IRBuilder.h"

namespace smalti::cpu {

/// Value of operands of type float or <N x float>; see emitMath.
using LaneFunction = std::function<llvm::Value*(llvm::IRBuilderBase&, std::span<llvm::Value* const>)>;

/// out[i] = f(a[i], b[i]); n is a multiple of the lanes.
using LoopFunction = void(const float* a, const float* b, float* out, int64_t n);

struct Loop {
  std::shared_ptr<const LoadedCode> code;
  LoopFunction* run = nullptr;
};

/// `lanes` 0: one float at a time, not in a vector. `arity` 1 or 2. Another processor than the host must be one whose
/// instructions the host has.
Result<Loop> compileLoop(const LaneFunction&, int arity, int lanes, const Processor& = hostProcessor());
/// The assembly of such a loop for any processor.
Result<std::string> loopAssembly(const LaneFunction&, int arity, int lanes, const Processor&);

}  // namespace smalti::cpu
