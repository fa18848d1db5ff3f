// Mathematical functions as vector code: polynomials inside the kernel, no calls. Special values are those of
// docs/values.md.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "llvm/IR/IRBuilder.h"
#include "smalti/tolerance.h"

namespace smalti::cpu {

/// Emits the function that an op computes, by the op's name ("math.exp", "math.tanh", "math.rsqrt", "math.erf",
/// "math.log1p", "math.powf", …). `operands` are float or <N x float>; the result has their type. Null if the function
/// is not implemented. With a tolerance the code may be shorter. That of math.sin, cos and tan ends in another block
/// than it began (Reduction.h), so ask the builder where it is afterwards.
llvm::Value* emitMath(llvm::IRBuilderBase&, std::string_view name, std::span<llvm::Value* const> operands,
                      Tolerance = {});

/// Whether that function is implemented.
bool hasMath(std::string_view name);

}  // namespace smalti::cpu
