// compileKernel: from a KernelPackage to what the runtime works on.
#include <fmt/format.h>

#include "machine/flat/Types.h"
#include "machine/runtime/Compiled.h"
#include "machine/runtime/ProgramText.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::machine {

int CompiledKernel::numDynamicBounds() const {
  int n = 0;
  for (int64_t bound : grid) n += bound == kDynamicBound;
  return n;
}

int CompiledKernel::numInputs() const { return static_cast<int>(operands.size() - callResults.size()); }

namespace {

/// JAX's functions have no place, their ops do; of several the last, which is the result's.
SourcePlace placeOfMap(mlir::func::FuncOp function) {
  SourcePlace place = placeOf(function.getLoc());
  if (place.known()) return place;
  for (mlir::Operation& op : function.getBody().front())
    if (SourcePlace at = placeOf(op.getLoc()); at.known()) place = std::move(at);
  return place;
}

class KernelCompiler {
 public:
  KernelCompiler(const KernelPackage& package, const CompileOptions& options)
      : package_(package), options_(options), function_(package.kernelFunction()) {}

  Result<std::shared_ptr<const CompiledKernel>> run() {
    if (!function_) return fail(internal("the module has no kernel function"));
    const KernelSignature& signature = package_.signature;
    kernel_->name = package_.name;
    kernel_->grid = signature.grid;
    kernel_->dimensionSemantics = signature.dimensionSemantics;
    kernel_->callOperands = package_.operands;
    kernel_->callResults = package_.results;
    kernel_->aliases = package_.aliases;
    if (auto ok = arguments(); !ok) return fail(std::move(ok.error()));
    aliases();

    auto program = compile(function_, options_);
    if (!program) return fail(withKernel(std::move(program.error())));
    kernel_->program = std::move(*program);
    kernel_->valueBytes = valueBytes(*kernel_->program);

    Communication communication = findCommunication(function_, gridRank());
    kernel_->signalSites = std::move(communication.sites);
    kernel_->usesCommunication = communication.otherDevices;
    kernel_->coreAxis = coreAxis(communication.otherCores);
    return std::shared_ptr<const CompiledKernel>(std::move(kernel_));
  }

 private:
  int gridRank() const { return static_cast<int>(package_.signature.grid.size()); }

  Diagnostic internal(std::string message) const {
    return withKernel({.code = "SM9001",
                       .message = std::move(message),
                       .place = {},
                       .help = "this is a mistake of smalti, not of the kernel: please report it with the module"});
  }
  Diagnostic withKernel(Diagnostic d) const {
    d.where.insert(d.where.begin(), fmt::format("kernel '{}'", package_.name));
    return d;
  }

  Result<ArgumentPlan> argument(unsigned number, std::string name) {
    mlir::BlockArgument value = function_.getArgument(number);
    auto type = mlir::dyn_cast<mlir::MemRefType>(value.getType());
    const auto dtype = type ? dtypeOf(type.getElementType()) : std::nullopt;
    const auto space = type ? flat::memorySpaceOf(type) : std::nullopt;
    if (!dtype || !space || !type.hasStaticShape())
      return fail(
          internal(fmt::format("argument {} of the kernel has type {}", number, flat::typeText(value.getType()))));
    return ArgumentPlan{std::move(name), {*dtype, flat::shapeOf(type)}, *space, mayBeWritten(value)};
  }

  Status arguments() {
    const KernelSignature& s = package_.signature;
    const int numOutputs = static_cast<int>(package_.results.size()), numInputs = package_.numInputs();
    const unsigned expected = gridRank() + s.numScalarPrefetch + numInputs + numOutputs + s.numScratch;
    if (function_.getNumArguments() != expected || s.windows.size() != static_cast<size_t>(numInputs + numOutputs))
      return fail(internal(fmt::format("the kernel function has {} arguments, its signature says {}",
                                       function_.getNumArguments(), expected)));
    unsigned at = gridRank();
    for (int i = 0; i < s.numScalarPrefetch; ++i) {
      auto plan = argument(at++, fmt::format("prefetch {}", i));
      if (!plan) return fail(std::move(plan.error()));
      kernel_->prefetch.push_back(std::move(*plan));
    }
    for (int i = 0; i < numInputs + numOutputs; ++i)
      if (auto ok = operand(at++, i, numInputs); !ok) return ok;
    for (int i = 0; i < s.numScratch; ++i) {
      auto plan = argument(at++, fmt::format("scratch {}", i));
      if (!plan) return fail(std::move(plan.error()));
      kernel_->scratch.push_back(std::move(*plan));
    }
    return {};
  }

  Status operand(unsigned number, int i, int numInputs) {
    OperandPlan plan;
    plan.isOutput = i >= numInputs;
    plan.index = plan.isOutput ? i - numInputs : i;
    auto base = argument(number, fmt::format("{} {}", plan.isOutput ? "output" : "input", plan.index));
    if (!base) return fail(std::move(base.error()));
    static_cast<ArgumentPlan&>(plan) = std::move(*base);
    plan.array = plan.isOutput ? package_.results[plan.index]
                               : package_.operands[package_.operands.size() - numInputs + plan.index];
    plan.window = package_.signature.windows[i];
    if (plan.window) {
      auto function = mlir::cast<mlir::func::FuncOp>(package_.module.get().lookupSymbol(plan.window->transform));
      plan.mapPlace = placeOfMap(function);
      auto map = compileIndexMap(function, gridRank(), options_);
      if (!map) {
        map.error().where.push_back(fmt::format("index map of {}", plan.name));
        return fail(withKernel(std::move(map.error())));
      }
      plan.map = std::move(*map);
    }
    kernel_->operands.push_back(std::move(plan));
    return {};
  }

  void aliases() {
    const int firstInput = static_cast<int>(package_.operands.size()) - package_.numInputs();
    for (const Alias& alias : package_.aliases)
      if (alias.operand >= firstInput)
        kernel_->operands[package_.numInputs() + alias.output].sharedWith = alias.operand - firstInput;
  }

  /// core_parallel says so; a core mesh is a grid of one parallel axis over whole operands whose cores talk to each
  /// other.
  int coreAxis(bool otherCores) const {
    const auto& semantics = package_.signature.dimensionSemantics;
    for (size_t d = 0; d < semantics.size() && d < package_.signature.grid.size(); ++d)
      if (semantics[d] == DimensionSemantics::core_parallel || semantics[d] == DimensionSemantics::subcore_parallel)
        return static_cast<int>(d);
    bool whole = otherCores && gridRank() == 1 && semantics.size() == 1 && semantics[0] == DimensionSemantics::parallel;
    for (const auto& window : package_.signature.windows) whole &= !window.has_value();
    return whole ? 0 : -1;
  }

  const KernelPackage& package_;
  CompileOptions options_;
  mlir::func::FuncOp function_;
  std::shared_ptr<CompiledKernel> kernel_ = std::make_shared<CompiledKernel>();
};

}  // namespace

Result<std::shared_ptr<const CompiledKernel>> compileKernel(const KernelPackage& package, Numerics numerics) {
  return KernelCompiler(package, {.tpuNumerics = numerics == Numerics::tpu}).run();
}

}  // namespace smalti::machine
