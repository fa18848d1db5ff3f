#include "ir/KernelArguments.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace smalti {

std::string ArgumentRole::str() const {
  static constexpr std::array<const char*, 5> kNames{"grid index", "scalar prefetch", "input", "output", "scratch"};
  return fmt::format("{} {}", kNames[kind], index);
}

ArgumentRole KernelArguments::roleOf(unsigned argumentNumber) const {
  const std::pair<ArgumentRole::Kind, size_t> counts[] = {
      {ArgumentRole::gridIndex, gridRank()},
      {ArgumentRole::scalarPrefetch, numScalarPrefetch()},
      {ArgumentRole::input, numInputs()},
      {ArgumentRole::output, numOutputs()},
  };
  size_t rest = argumentNumber;
  for (const auto& [kind, count] : counts) {
    if (rest < count) return {kind, static_cast<int>(rest)};
    rest -= count;
  }
  return {ArgumentRole::scratch, static_cast<int>(rest)};
}

std::optional<ArgumentRole> KernelArguments::roleOf(mlir::Value value) const {
  auto argument = mlir::dyn_cast<mlir::BlockArgument>(value);
  mlir::func::FuncOp function = function_;
  if (!argument || argument.getOwner() != &function.getBody().front()) return std::nullopt;
  return roleOf(argument.getArgNumber());
}

std::optional<size_t> KernelArguments::blockNumber(mlir::Value value) const {
  const auto role = roleOf(value);
  if (role && role->kind == ArgumentRole::input) return static_cast<size_t>(role->index);
  if (role && role->kind == ArgumentRole::output) return numInputs() + static_cast<size_t>(role->index);
  return std::nullopt;
}

const ArrayType& KernelArguments::arrayOf(size_t block) const {
  return block < numInputs() ? package_->operands[inputOperand(block)] : package_->results[block - numInputs()];
}

mlir::func::FuncOp KernelArguments::indexMap(const Window& window) const {
  return mlir::ModuleOp(package_->module.get()).lookupSymbol<mlir::func::FuncOp>(window.transform);
}

std::optional<size_t> KernelArguments::aliasedInput(size_t output) const {
  const size_t first = inputOperand(0);
  for (const Alias& a : package_->aliases)
    if (a.output == static_cast<int>(output) && static_cast<size_t>(a.operand) >= first)
      return static_cast<size_t>(a.operand) - first;
  return std::nullopt;
}

std::optional<size_t> KernelArguments::aliasedOutput(size_t input) const {
  for (const Alias& a : package_->aliases)
    if (a.operand == static_cast<int>(inputOperand(input))) return static_cast<size_t>(a.output);
  return std::nullopt;
}

bool KernelArguments::isAliased(size_t output) const {
  return std::ranges::any_of(package_->aliases, [&](const Alias& a) { return a.output == static_cast<int>(output); });
}

}  // namespace smalti
