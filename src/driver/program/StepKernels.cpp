#include "driver/program/StepKernels.h"

#include <map>
#include <optional>
#include <string>

#include <fmt/ranges.h>

#include "base/Guarded.h"
#include "cpu/runtime/Pool.h"
#include "driver/program/Steps.h"
#include "lang/fuse/DotKernel.h"
#include "lang/fuse/ElementwiseKernel.h"
#include "lang/print/Print.h"

namespace smalti::driver {
namespace {

/// Multiply-adds below which compiling a kernel (5 to 50 ms on an AMD EPYC, Zen 4) takes longer than hundreds of
/// products as ops.
constexpr int64_t kWorthCompiling = 1 << 22;
/// The same of a group: ops times elements. Native code takes 0.2 to 0.9 of the time of a list of kernels.
constexpr int64_t kWorthCompilingGroup = 1 << 20;
/// Ops of a group from which on a list of kernels is faster: native code would keep too many values in L2. Measured:
/// 400 random ops take half the time of a list, 1600 three times as long.
constexpr int64_t kMostOps = 800;

/// A kernel of the language, and the shapes in which it takes its operands.
struct Source {
  std::shared_ptr<const lang::CalledKernel> kernel;
  std::vector<Shape> operands;
};

/// A kernel, and the steps that it computes.
struct Wanted {
  std::optional<lang::DotForm> product;  ///< whose kernel is not made before the first is compiled; else:
  Source group;
  std::vector<Step*> steps;
};

/// What the code depends on.
std::string keyOf(const lang::DotForm& form) {
  return fmt::format("{} {} {} {} {} {}", form.lhs.shape(), form.rhs.shape(), name(form.operands), name(form.result),
                     static_cast<int>(form.lhs.contractsLast) + 2 * static_cast<int>(form.rhs.contractsLast),
                     static_cast<int>(form.precision));
}
std::string keyOf(const lang::TracedKernel& kernel, const lang::ElementwiseForm& form) {
  std::string key = lang::print(kernel);
  for (const lang::TracedOperand& o : kernel.operands) key += o.array.str();
  for (const auto& [v, constant] : form.constants)
    key.append(reinterpret_cast<const char*>(constant.data()), static_cast<size_t>(constant.bytes()));
  return key;
}

void collect(const Function& f, const std::vector<Op>& ops, ProgramSteps& steps, std::map<std::string, Wanted>& into) {
  if (ops.empty()) return;
  for (Step& step : steps.of(ops)) {
    for (const Block& block : step.op->regions) collect(f, block.ops, steps, into);
    if (step.group) {
      const ElementwiseGroup& group = *step.group;
      const int64_t count = group.kernels.kernels();
      if (count > kMostOps || count * group.elements < kWorthCompilingGroup) continue;
      auto made = lang::elementwiseKernel(group.form, f.values);
      if (!made.kernel) continue;
      Wanted& wanted = into[keyOf(made.kernel->traced(), group.form)];
      wanted.group = {made.kernel, std::move(made.operands)};
      wanted.steps.push_back(&step);
      continue;
    }
    auto form = lang::dotForm(*step.op, f.values, step.permutations);
    if (!form || form->multiplyAdds() < kWorthCompiling) continue;
    Wanted& wanted = into[keyOf(*form)];
    wanted.product = *form;
    wanted.steps.push_back(&step);
  }
}

/// Null: there is no native code.
std::shared_ptr<const StepKernel> compiledFrom(const Wanted& wanted, const KernelCompiler& compile,
                                               const CompileOptions& options) {
  const Source source = wanted.product ? Source{lang::dotKernel(*wanted.product),
                                                {wanted.product->lhs.shape(), wanted.product->rhs.shape()}}
                                       : wanted.group;
  if (!source.kernel) return nullptr;
  const auto compiled = guarded([&] { return compile(source.kernel->package(), options); });
  if (!compiled) return nullptr;
  const auto code = (*compiled)->code();
  if (!code || !code->notNative.empty()) return nullptr;
  return std::make_shared<StepKernel>(StepKernel{*compiled, source.operands});
}

}  // namespace

Result<std::vector<Array>> StepKernel::run(const std::vector<Array>& arrays, std::span<const ArrayType> types,
                                           const ExecuteSettings& settings) const {
  std::vector<std::vector<Array>> given(1);
  for (size_t i = 0; i < arrays.size(); ++i) {
    auto array = arrays[i].reshaped(operands[i]);
    if (!array) return fail(std::move(array.error()));
    given[0].push_back(std::move(*array));
  }
  // The limit of steps is for the program's own kernels.
  const ExecuteSettings own{
      .memoryLimitBytes = settings.memoryLimitBytes, .stop = settings.stop, .threads = settings.threads};
  auto ran = kernel->run(given, own);
  if (!ran) return fail(std::move(ran.error()));
  std::vector<Array> results;
  for (size_t i = 0; i < types.size(); ++i) {
    auto result = ran->results[0][i].reshaped(types[i].shape);
    if (!result) return fail(std::move(result.error()));
    results.push_back(std::move(*result));
  }
  return results;
}

void compileSteps(const std::vector<Function>& functions, ProgramSteps& steps, const KernelCompiler& compile,
                  const CompileOptions& options) {
  std::map<std::string, Wanted> kernels;
  for (const Function& f : functions) collect(f, f.ops, steps, kernels);
  std::vector<Wanted*> all;
  for (auto& [key, wanted] : kernels) all.push_back(&wanted);
  cpu::parallelFor(static_cast<int64_t>(all.size()), /*threads=*/0, [&](int64_t first, int64_t last, int) {
    for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) {
      const auto kernel = compiledFrom(*all[i], compile, options);
      for (Step* step : all[i]->steps) step->computeWith(kernel);
    }
  });
}

}  // namespace smalti::driver
