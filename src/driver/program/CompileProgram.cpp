#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/Guarded.h"
#include "cpu/CompileSteps.h"
#include "cpu/runtime/Pool.h"
#include "driver/processes/ProgramIdentity.h"
#include "driver/program/EqualValues.h"
#include "driver/program/ProgramRunner.h"
#include "driver/program/TimeLimit.h"
#include "driver/target/interpret/Interpret.h"
#include "ir/program/Inline.h"
#include "ir/program/UnitReductions.h"

namespace smalti::driver {
namespace {

bool hasMesh(const std::vector<Op>& ops) {
  return std::ranges::any_of(ops, [](const Op& op) {
    return op.name == "manual_computation" ||
           std::ranges::any_of(op.regions, [](const Block& block) { return hasMesh(block.ops); });
  });
}

/// Whether the op does more than compute its results: calls a kernel, whose findings count, or meets other devices.
class Effects {
 public:
  explicit Effects(const Program& program) : program_(program) {}

  bool has(const Op& op) {
    if (op.name == "kernel_call" || plain::findCollective(op.name)) return true;
    if (op.name == "call" && has(op.callee)) return true;
    return std::ranges::any_of(op.regions, [&](const Block& block) { return has(block.ops); });
  }

 private:
  bool has(const std::vector<Op>& ops) {
    return std::ranges::any_of(ops, [&](const Op& op) { return has(op); });
  }
  bool has(const std::string& function) {
    const auto [found, isNew] = ofFunction_.try_emplace(function, false);  // calls do not recur
    if (isNew) found->second = has(program_.find(function)->ops);
    return found->second;
  }

  const Program& program_;
  std::map<std::string, bool> ofFunction_;
};

/// The kernel that main calls with its arguments in order and whose results it returns in order; -1: main is more.
int soleKernelOf(const Program& program) {
  const Function& main = program.functions[static_cast<size_t>(program.main)];
  if (main.ops.size() != 2 || main.ops[0].name != "kernel_call" || main.ops[1].name != "return") return -1;
  const Op& call = main.ops[0];
  return call.operands == main.arguments && main.ops[1].operands == call.results ? call.kernel : -1;
}

/// Whether the target supports all requested checks; otherwise the machine runs the kernel.
bool checksItself(const Target& target, const Contract& contract) {
  return std::ranges::all_of(contract.checks, [&](const machine::ObserverRow* row) { return target.checks(*row); });
}

Result<KernelCompiler> compilerFor(const Target& target, const CompileOptions& options) {
  if (!checksItself(target, options.contract)) return KernelCompiler(compileForMachine);
  return openTarget(options.target);
}

Result<std::shared_ptr<const TargetKernel>> compileWith(const KernelCompiler& compile, const KernelPackage& kernel,
                                                        const CompileOptions& options) {
  auto ready = compile(kernel, options);
  if (ready) return ready;
  Diagnostic d = std::move(ready.error());
  if (std::none_of(d.where.begin(), d.where.end(), [](auto& w) { return w.starts_with("kernel '"); }))
    d.where.insert(d.where.begin(), fmt::format("kernel '{}'", kernel.name));
  return fail(std::move(d));
}

using Ready = Result<std::shared_ptr<const TargetKernel>>;

/// One for each kernel.
std::vector<Ready> compileAll(const KernelCompiler& compile, const Program& program, const CompileOptions& options) {
  std::vector<Ready> ready(program.kernels.size());
  if (findTarget(options.target)->aheadOfTime && ready.size() > 1) {
    // Exceptions must not escape from pool threads.
    const KernelCompiler inPool = [&](const KernelPackage& kernel, const CompileOptions& o) {
      return guarded([&] { return compile(kernel, o); });
    };
    cpu::parallelFor(static_cast<int64_t>(ready.size()), /*threads=*/0, [&](int64_t first, int64_t last, int) {
      for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i)
        ready[i] = compileWith(inPool, program.kernels[i], options);
    });
    return ready;
  }
  for (size_t i = 0; i < ready.size(); ++i) {
    ready[i] = compileWith(compile, program.kernels[i], options);
    if (!ready[i]) break;
  }
  return ready;
}

}  // namespace

Result<std::shared_ptr<const CompiledProgram>> compileProgram(std::shared_ptr<const Program> program,
                                                              const CompileOptions& options) {
  if (options.floatsInF64)
    return fail({.code = "SM7114",
                 .message = "numerics f64 is for kernels in C++ that are called on interpret",
                 .place = {},
                 .need = "a pallas_call that is called outside of jit, or another value of numerics",
                 .have = "a compiled program on " + options.target,
                 .help = "omit the option numerics"});
  if (auto status = verify(*program); !status) return fail(std::move(status.error()));
  // If the checks require the machine, the target need not be available.
  if (Status named = checkTarget(options.target); !named) return fail(std::move(named.error()));
  const Target& target = *findTarget(options.target);
  auto compiled = std::make_shared<CompiledProgram>();
  if (target.openProgram && checksItself(target, options.contract)) {
    const auto compiler = openTargetForPrograms(options.target);
    if (!compiler) return fail(compiler.error());
    auto whole = (*compiler)(*program, options);
    if (!whole) return fail(std::move(whole.error()));
    compiled->whole = std::move(*whole);
    compiled->program = std::move(program);
    return compiled;
  }
  const auto compiler = compilerFor(target, options);
  if (!compiler) return fail(compiler.error());
  for (Ready& kernel : compileAll(*compiler, *program, options)) {
    if (!kernel) return fail(std::move(kernel.error()));
    compiled->kernels.push_back(std::move(*kernel));
  }
  const bool meshes = std::ranges::any_of(program->functions, [](const Function& f) { return hasMesh(f.ops); });
  std::vector<bool> follow;
  for (const KernelPackage& kernel : program->kernels) follow.push_back(meshes && resultsFollowFromOperands(kernel));
  Effects effects(*program);
  // Plans of meshes are of the program's own functions.
  if (!meshes) compiled->inlined = withSmallCallsInlined(*program);
  for (Function& f : compiled->inlined) expandUnitReductions(f);
  for (const Function& f : meshes ? program->functions : compiled->inlined) {
    compiled->functions.emplace(f.name, &f);
    compiled->plans.add(*program, f, f.ops, follow);
    compiled->steps.add(
        f, [&](const Op& op) { return compiled->plans.isComputedOnce(op); },
        [&](const Op& op) { return effects.has(op); });
  }
  compiled->numerics = options.contract.numerics;
  if (target.stepsAsKernels && compiled->numerics == Numerics::f32 && options.contract.checks.empty())
    compileSteps(meshes ? program->functions : compiled->inlined, compiled->steps, *compiler, options);
  if (meshes) {
    // Processes share the devices of meshes; a program without runs as a whole in each.
    auto group = processGroup(options.processes, options.network);
    if (!group) return fail(std::move(group.error()));
    compiled->group = *group;
    if (*group) compiled->identity = programIdentity(*program);
    for (const KernelPackage& kernel : program->kernels) compiled->namesDevices.push_back(cpu::namesDevices(kernel));
  }
  if (!compiled->group) compiled->direct = DirectCollective::of(*program, compiled->plans);
  compiled->soleKernel = soleKernelOf(*program);
  compiled->program = std::move(program);
  return compiled;
}

Result<RunOutcome> runProgram(const Program& program, std::span<const Array> arguments, const RunSettings& settings) {
  const std::shared_ptr<const Program> borrowed(std::shared_ptr<void>(), &program);
  auto compiled = compileProgram(borrowed, settings.compile);
  if (!compiled) return fail(std::move(compiled.error()));
  return withinTimeLimit(settings.execute, [&](const ExecuteSettings& limited) {
    return run(**compiled, {arguments.begin(), arguments.end()}, limited);
  });
}

}  // namespace smalti::driver
