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
  std::string constants{};  ///< the bytes of those that it contains
};

Source sourceOf(const Function& f, const Step& step) {
  if (step.group) {
    const ElementwiseGroup& group = *step.group;
    const int64_t ops = group.kernels.kernels();
    if (ops > kMostOps || ops * group.elements < kWorthCompilingGroup) return {};
    auto made = lang::elementwiseKernel(group.form, f.values);
    std::string constants;
    for (const auto& [v, constant] : group.form.constants)
      constants.append(reinterpret_cast<const char*>(constant.data()), static_cast<size_t>(constant.bytes()));
    return {made.kernel, std::move(made.operands), std::move(constants)};
  }
  const auto form = lang::dotForm(*step.op, f.values, step.permutations);
  if (!form || form->multiplyAdds() < kWorthCompiling) return {};
  return {lang::dotKernel(*form), {form->lhs.shape(), form->rhs.shape()}};
}

/// What the code depends on.
std::string keyOf(const Source& source) {
  const lang::TracedKernel& kernel = source.kernel->traced();
  std::string key = lang::print(kernel);
  for (const lang::TracedOperand& o : kernel.operands) key += o.array.str();
  return key + source.constants;
}

/// A kernel, and the steps that it computes.
struct Wanted {
  Source source;
  std::vector<Step*> steps;
};

void collect(const Function& f, const std::vector<Op>& ops, ProgramSteps& steps, std::map<std::string, Wanted>& into) {
  if (ops.empty()) return;
  for (Step& step : steps.of(ops)) {
    for (const Block& block : step.op->regions) collect(f, block.ops, steps, into);
    const Source source = sourceOf(f, step);
    if (!source.kernel) continue;
    into.try_emplace(keyOf(source), Wanted{source, {}}).first->second.steps.push_back(&step);
  }
}

/// Null: there is no native code.
std::shared_ptr<const StepKernel> compiledFrom(const Source& source, const KernelCompiler& compile,
                                               const CompileOptions& options) {
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
      const auto kernel = compiledFrom(all[i]->source, compile, options);
      for (Step* step : all[i]->steps) step->computeWith(kernel);
    }
  });
}

}  // namespace smalti::driver
