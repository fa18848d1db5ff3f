#include <fmt/format.h>

#include "ir/KernelArguments.h"
#include "ir/package/Checks.h"

namespace smalti::package {
namespace {

std::string typeList(llvm::ArrayRef<mlir::Type> types) {
  std::vector<std::string> texts;
  for (mlir::Type t : types) texts.push_back(describe(t));
  return fmt::format("({})", fmt::join(texts, ", "));
}

}  // namespace

void checkIndexMaps(const KernelPackage& p, mlir::func::FuncOp kernel, Violations& violations) {
  mlir::ModuleOp module = kernel->getParentOfType<mlir::ModuleOp>();
  const size_t numTaken = p.signature.grid.size() + p.signature.numScalarPrefetch;
  const llvm::ArrayRef<mlir::Type> taken = kernel.getArgumentTypes().take_front(numTaken);
  for (size_t i = 0; i < p.signature.windows.size(); ++i) {
    const auto& window = p.signature.windows[i];
    if (!window) continue;
    const size_t numInputs = p.numInputs();
    const ArgumentRole role = i < numInputs ? ArgumentRole{ArgumentRole::input, static_cast<int>(i)}
                                            : ArgumentRole{ArgumentRole::output, static_cast<int>(i - numInputs)};
    mlir::func::FuncOp map = module.lookupSymbol<mlir::func::FuncOp>(window->transform);
    auto add = [&](std::string message, std::string need, std::string have, std::string help = "") {
      violations.add({.code = "SM3010",
                      .message = std::move(message),
                      .place = map ? placeOf(map.getLoc()) : SourcePlace(),
                      .where = {role.str()},
                      .need = std::move(need),
                      .have = std::move(have),
                      .help = std::move(help)});
    };
    if (!map || map.getBody().empty() || map == kernel) {
      add(fmt::format("the index map function '{}' is missing", window->transform), "a function in the module", "none");
      continue;
    }
    if (!map.getBody().hasOneBlock())
      add(fmt::format("index map '{}' branches between blocks", window->transform), "structured control flow",
          fmt::format("{} blocks", map.getBody().getBlocks().size()));
    if (map.getArgumentTypes() != taken)
      add(fmt::format("index map '{}' takes other arguments than it gets", window->transform),
          fmt::format("the grid indices and the scalar prefetch refs: {}", typeList(taken)),
          typeList(map.getArgumentTypes()));
    const bool i32s = llvm::all_of(map.getResultTypes(), [](mlir::Type t) { return t.isSignlessInteger(32); });
    if (map.getNumResults() != window->bounds.size() || !i32s)
      add(fmt::format("index map '{}' must give an index for each dimension of the block", window->transform),
          fmt::format("{} of type i32, for the block ({})", window->bounds.size(), fmt::join(window->bounds, ", ")),
          typeList(map.getResultTypes()),
          llvm::any_of(map.getResultTypes(), [](mlir::Type t) { return t.isInteger(64); })
              ? "Python's integers have 64 bits under jax_enable_x64: return jnp.int32(0) instead of 0"
              : "");
  }
}

void checkAliases(const KernelPackage& p, Violations& violations) {
  std::vector<bool> outputTaken(p.results.size()), operandTaken(p.operands.size());
  for (const Alias& alias : p.aliases) {
    auto add = [&](std::string message, std::string need, std::string have) {
      violations.add({.code = "SM3011",
                      .message = std::move(message),
                      .place = {},
                      .where = {fmt::format("input_output_aliases {{{}: {}}}", alias.operand, alias.output)},
                      .need = std::move(need),
                      .have = std::move(have)});
    };
    const size_t output = alias.output, operand = alias.operand;
    if (alias.output < 0 || output >= p.results.size()) {
      add("an alias names an output that is not there", fmt::format("0 to {}", std::ssize(p.results) - 1),
          fmt::format("output {}", alias.output));
      continue;
    }
    if (alias.operand < 0 || operand >= p.operands.size()) {
      add("an alias names an operand that is not there", fmt::format("0 to {}", std::ssize(p.operands) - 1),
          fmt::format("operand {}", alias.operand));
      continue;
    }
    if (p.operands[operand] != p.results[output])
      add("an aliased operand and output have different types", p.results[output].str(), p.operands[operand].str());
    if (outputTaken[output] || operandTaken[operand])
      add("an operand or output is aliased twice", "one alias for each",
          fmt::format("operand {}, output {}", alias.operand, alias.output));
    outputTaken[output] = operandTaken[operand] = true;
  }
}

}  // namespace smalti::package
