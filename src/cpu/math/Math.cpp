// From the op's name to the code.
#include "cpu/math/Math.h"

#include "cpu/math/Families.h"

namespace smalti::cpu {
namespace {

const UnaryFunction* findUnary(std::string_view name) {
  for (const auto family :
       {exponentials(), logarithms(), circular(), inverseCircular(), hyperbolic(), errorFunctions(), roots()})
    for (const UnaryFunction& f : family)
      if (f.name == name) return &f;
  return nullptr;
}

const BinaryFunction* findBinary(std::string_view name) {
  for (const BinaryFunction& f : binaryFunctions())
    if (f.name == name) return &f;
  return nullptr;
}

const Approximation* findApproximation(std::string_view name) {
  for (const Approximation& f : approximateExponentials())
    if (f.name == name) return &f;
  return nullptr;
}

}  // namespace

llvm::Value* emitMath(llvm::IRBuilderBase& code, std::string_view name, std::span<llvm::Value* const> operands,
                      Tolerance tolerance) {
  // The algorithms rely on the order of operations, so the caller's fast-math flags do not apply.
  const llvm::IRBuilderBase::FastMathFlagGuard guard(code);
  code.clearFastMathFlags();
  if (operands.size() == 2) {
    const BinaryFunction* f = findBinary(name);
    return f ? f->emit({code, operands[0]}, {code, operands[1]}).value() : nullptr;
  }
  if (const Approximation* f = operands.size() == 1 ? findApproximation(name) : nullptr)
    return f->emit({code, operands[0]}, tolerance).value();
  const UnaryFunction* f = operands.size() == 1 ? findUnary(name) : nullptr;
  return f ? f->emit({code, operands[0]}).value() : nullptr;
}

bool hasMath(std::string_view name) { return findBinary(name) || findUnary(name); }

}  // namespace smalti::cpu
