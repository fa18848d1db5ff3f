#include <algorithm>

#include <fmt/format.h>

#include "driver/program/ProgramRunner.h"

namespace smalti::driver {
namespace {

/// Finds, for each block, the op after which each of its values is not needed any more.
class Lifetimes {
 public:
  explicit Lifetimes(CompiledProgram& compiled) : compiled_(compiled) {}

  void visit(const std::vector<ValueId>& arguments, const std::vector<Op>& ops) {
    std::unordered_map<ValueId, const Op*> lastUse;
    for (const ValueId v : arguments) lastUse[v] = nullptr;
    for (const Op& op : ops) {
      use(op, op, lastUse);
      for (const ValueId v : op.results) lastUse[v] = &op;  // until it is used: dies where it is made
    }
    for (const auto& [value, op] : lastUse)
      if (op) compiled_.dying[op].push_back(value);
    for (const Op& op : ops)
      for (const Block& block : op.regions) visit(block.arguments, block.ops);
  }

 private:
  /// `outer` is an op of this block, `op` it or an op inside its regions.
  void use(const Op& outer, const Op& op, std::unordered_map<ValueId, const Op*>& lastUse) {
    for (const ValueId v : op.operands)
      if (const auto found = lastUse.find(v); found != lastUse.end()) found->second = &outer;
    for (const Block& block : op.regions)
      for (const Op& inner : block.ops) use(outer, inner, lastUse);
  }

  CompiledProgram& compiled_;
};

}  // namespace

namespace {

Result<const Target*> requireTarget(std::string_view wanted) {
  if (const Target* target = findTarget(wanted)) return target;
  std::string known;
  for (const Target& t : targets()) known += fmt::format("{}{}", known.empty() ? "" : ", ", t.name);
  return fail({.code = "SM5006",
               .message = fmt::format("there is no target '{}'", wanted),
               .place = {},
               .need = known,
               .help = "choose one of these"});
}

}  // namespace

Result<std::shared_ptr<const TargetKernel>> compileKernel(const KernelPackage& kernel, const RunOptions& options) {
  const auto target = requireTarget(options.target);
  if (!target) return fail(target.error());
  auto ready = (*target)->compile(kernel, options);
  if (ready) return ready;
  Diagnostic d = std::move(ready.error());
  if (std::none_of(d.where.begin(), d.where.end(), [](auto& w) { return w.starts_with("kernel '"); }))
    d.where.insert(d.where.begin(), fmt::format("kernel '{}'", kernel.name));
  return fail(std::move(d));
}

Result<std::shared_ptr<const CompiledProgram>> compileProgram(const Program& program, const RunOptions& options) {
  if (auto status = verify(program); !status) return fail(std::move(status.error()));
  if (const auto target = requireTarget(options.target); !target) return fail(target.error());
  auto compiled = std::make_shared<CompiledProgram>();
  compiled->program = &program;
  for (const KernelPackage& kernel : program.kernels) {
    auto ready = compileKernel(kernel, options);
    if (!ready) return fail(std::move(ready.error()));
    compiled->kernels.push_back(std::move(*ready));
  }
  for (const Function& f : program.functions) {
    compiled->functions.emplace(f.name, &f);
    Lifetimes(*compiled).visit(f.arguments, f.ops);
  }
  return compiled;
}

Result<RunOutcome> run(const CompiledProgram& compiled, std::span<const Array> arguments, const RunOptions& options) {
  return ProgramRunner(compiled, options).run(arguments);
}

Result<RunOutcome> runProgram(const Program& program, std::span<const Array> arguments, const RunOptions& options) {
  auto compiled = compileProgram(program, options);
  if (!compiled) return fail(std::move(compiled.error()));
  return run(**compiled, arguments, options);
}

}  // namespace smalti::driver
