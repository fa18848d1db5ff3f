// From the op's name to the code.
#include "cpu/math/Math.h"

#include "cpu/math/Families.h"

namespace smalti::cpu {

llvm::Value* emitMath(llvm::IRBuilderBase& code, std::string_view name, std::span<llvm::Value* const> operands) {
  // The algorithms rely on the order of their operations: none of the caller's freedoms.
  const llvm::IRBuilderBase::FastMathFlagGuard guard(code);
  code.clearFastMathFlags();
  if (operands.size() == 2) {
    for (const BinaryFunction& f : binaryFunctions())
      if (f.name == name) return f.emit({code, operands[0]}, {code, operands[1]}).value();
    return nullptr;
  }
  if (operands.size() != 1) return nullptr;
  for (const auto family :
       {exponentials(), logarithms(), circular(), inverseCircular(), hyperbolic(), errorFunctions(), roots()})
    for (const UnaryFunction& f : family)
      if (f.name == name) return f.emit({code, operands[0]}).value();
  return nullptr;
}

}  // namespace smalti::cpu
