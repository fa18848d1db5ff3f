#include "driver/program/ProgramProducts.h"

#include <map>

#include <fmt/ranges.h>

#include "base/Guarded.h"
#include "cpu/runtime/Pool.h"
#include "driver/program/Steps.h"
#include "lang/fuse/DotKernel.h"

namespace smalti::driver {
namespace {

/// Multiply-adds below which compiling a kernel (5 to 50 ms on an AMD EPYC, Zen 4) takes longer than hundreds of
/// products as ops.
constexpr int64_t kWorthCompiling = 1 << 22;

/// A product, and the steps that compute one like it.
struct Wanted {
  lang::DotForm form;
  std::vector<Step*> steps;
};

/// What the code depends on.
std::string keyOf(const lang::DotForm& form) {
  return fmt::format("{} {} {} {} {}", form.lhs.shape(), form.rhs.shape(), name(form.operands), name(form.result),
                     static_cast<int>(form.lhs.contractsLast) + 2 * static_cast<int>(form.rhs.contractsLast));
}

void collect(const Function& f, const std::vector<Op>& ops, ProgramSteps& steps, std::map<std::string, Wanted>& into) {
  if (ops.empty()) return;
  for (Step& step : steps.of(ops)) {
    for (const Block& block : step.op->regions) collect(f, block.ops, steps, into);
    if (step.group) continue;
    auto form = lang::dotForm(*step.op, f.values, step.permutations);
    if (!form || form->multiplyAdds() < kWorthCompiling) continue;
    Wanted& wanted = into.try_emplace(keyOf(*form), Wanted{*form, {}}).first->second;
    wanted.steps.push_back(&step);
  }
}

/// Null: there is no native code.
std::shared_ptr<const ProgramProduct> productOf(const lang::DotForm& form, const KernelCompiler& compile,
                                                const CompileOptions& options) {
  const auto kernel = lang::dotKernel(form);
  if (!kernel) return nullptr;
  const auto compiled = guarded([&] { return compile(kernel->package(), options); });
  if (!compiled) return nullptr;
  const auto code = (*compiled)->code();
  if (!code || !code->notNative.empty()) return nullptr;
  return std::make_shared<ProgramProduct>(ProgramProduct{*compiled, form.lhs.shape(), form.rhs.shape()});
}

}  // namespace

Result<Array> ProgramProduct::run(const std::vector<Array>& operands, const ArrayType& type,
                                  const ExecuteSettings& settings) const {
  std::vector<std::vector<Array>> matrices(1);
  for (const auto& [array, shape] : {std::pair(&operands[0], &lhs), std::pair(&operands[1], &rhs)}) {
    auto matrix = array->reshaped(*shape);
    if (!matrix) return matrix;
    matrices[0].push_back(std::move(*matrix));
  }
  auto ran = kernel->run(matrices, settings);
  if (!ran) return fail(std::move(ran.error()));
  return ran->results[0][0].reshaped(type.shape);
}

void compileProducts(const Program& program, ProgramSteps& steps, const KernelCompiler& compile,
                     const CompileOptions& options) {
  std::map<std::string, Wanted> products;
  for (const Function& f : program.functions) collect(f, f.ops, steps, products);
  std::vector<Wanted*> all;
  for (auto& [key, wanted] : products) all.push_back(&wanted);
  cpu::parallelFor(static_cast<int64_t>(all.size()), /*threads=*/0, [&](int64_t first, int64_t last, int) {
    for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) {
      const auto product = productOf(all[i]->form, compile, options);
      for (Step* step : all[i]->steps) step->multiplyWith(product);
    }
  });
}

}  // namespace smalti::driver
